"""Online estimators as river classifiers, and a metric for ordered classes that takes interval labels.

The estimators speak river's language by themselves: ``learn_one(x, y, w)`` and ``predict_one(x)`` with dicts. What
:class:`OrdinalClassifier` adds is river's type, so that pipelines, progressive validation, voting ensembles and
whatever else asks for a classifier accept it.

This is the only room that imports river. Without it: ``pip install 'rankwise[river]'``.
"""

try:
    import river as _river  # noqa: F401
except ModuleNotFoundError as error:
    if error.name != "river":  # river is there, but something that it needs is not: its own message says what
        raise
    raise ImportError("rankwise.river needs the package river: pip install 'rankwise[river]'") from None

from rankwise.river._classifier import OrdinalClassifier
from rankwise.river._metric import OrdinalMAE

__all__ = ["OrdinalClassifier", "OrdinalMAE"]
