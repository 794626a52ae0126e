"""Online estimators as river classifiers, and a metric for ordered classes that takes interval labels.

The estimators speak river's language by themselves: ``learn_one(x, y, w)`` and ``predict_one(x)`` with dicts. What
:class:`OrdinalClassifier` adds is river's type, so that pipelines, progressive validation, voting ensembles and
whatever else asks for a classifier accept it.

No other package of rankwise imports river. Without it: ``pip install 'rankwise[river]'``.
"""

from rankwise._extras import require

require("river", "rankwise.river needs the package river: pip install 'rankwise[river]'")

from rankwise.river._adapter import OrdinalClassifier
from rankwise.river._metric import OrdinalMAE

__all__ = ["OrdinalClassifier", "OrdinalMAE"]
