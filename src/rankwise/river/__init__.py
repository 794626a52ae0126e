"""Online estimators as river classifiers, and a metric for ordered classes that takes interval labels.

The estimators have river's methods themselves: ``learn_one(x, y, w)`` and ``predict_one(x)`` with dicts.
:class:`OrdinalClassifier` adds river's type, so that pipelines, progressive validation, voting ensembles and everything
else that needs a classifier accept them.

No other package of rankwise imports river. Without it: ``pip install 'rankwise[river]'``.
"""

from rankwise._extras import require

require("river", "rankwise.river needs the package river: pip install 'rankwise[river]'")

from rankwise.river._adapter import OrdinalClassifier
from rankwise.river._metric import OrdinalMAE

__all__ = ["OrdinalClassifier", "OrdinalMAE"]
