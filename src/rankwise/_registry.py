"""The public estimators as data: where each is defined, from which labels it learns, what files and messages ask.

A question such as "which estimators learn from intervals?" is answered from here, without importing any of them.
"""

from dataclasses import dataclass
from importlib import import_module

_EXACT = ("exact",)
_INTERVAL = ("exact", "interval")
_ANY = ("exact", "interval", "candidates")
_PROBABILITIES = ("predict_proba", "predict_quantile", "predict_interval")


@dataclass(frozen=True, slots=True)
class Entry:
    """A public estimator ``rankwise.Name``."""

    home: str  #: module that defines or exports it
    label_kinds: tuple[str, ...] = ()  #: of ordered classes that it learns from; a missing label is always taken
    probable: tuple[str, ...] = ()  #: its methods that take probabilities
    saved: bool = True  #: whether model files hold it

    def load(self, name: str) -> type:
        """The class."""
        loaded: type = getattr(import_module(self.home), name)
        return loaded


ESTIMATORS = {
    "AutoOrdinal": Entry("rankwise.auto", _INTERVAL),
    "BlendedOrdinal": Entry("rankwise.auto", _ANY, _PROBABILITIES),
    "BoostedThresholds": Entry("rankwise.trees", _ANY, _PROBABILITIES),
    "CalibratedOrdinal": Entry("rankwise.calibration", _ANY, _PROBABILITIES),
    "ChainClassifier": Entry("rankwise.structured"),
    "ConformalOrdinal": Entry("rankwise.calibration", probable=("predict_interval",)),
    "CuSumRank": Entry("rankwise.online", _ANY),
    "CumulativeLink": Entry("rankwise.batch", _ANY, _PROBABILITIES),
    "HiddenFeatures": Entry("rankwise.features", saved=False),
    "ImportanceWeightedPerceptron": Entry("rankwise.online", _ANY),
    "KernelCuSumRank": Entry("rankwise.online", _ANY),
    "KernelPRIL": Entry("rankwise.online", _INTERVAL),
    "LabelRanker": Entry("rankwise.label_ranking"),
    "MORD": Entry("rankwise.batch", _INTERVAL),
    "MissingLabelClassifier": Entry("rankwise.multilabel"),
    "MulticlassPerceptron": Entry("rankwise.online", _ANY),
    "MultiplicativePRIL": Entry("rankwise.online", _INTERVAL),
    "OnlineConformalOrdinal": Entry("rankwise.calibration", probable=("predict_interval",)),
    "OnlineCumulativeLink": Entry("rankwise.online", _INTERVAL, _PROBABILITIES),
    "OnlineScaler": Entry("rankwise.features"),
    "PRIL": Entry("rankwise.online", _INTERVAL),
    "PRank": Entry("rankwise.online", _EXACT),
    "PathCV": Entry("rankwise.auto"),
    "PiecewiseMORD": Entry("rankwise.batch", _INTERVAL),
    "RaterModel": Entry("rankwise.raters", probable=("predict_proba",)),
    "RoundedRegression": Entry("rankwise.batch", _INTERVAL),
    "SVOR": Entry("rankwise.batch", _INTERVAL),
    "StructuredPerceptron": Entry("rankwise.structured", saved=False),
    "TableEncoder": Entry("rankwise.features"),
    "TableModel": Entry("rankwise.table_model"),
    "UnifiedClassifier": Entry("rankwise.batch", _INTERVAL),
    "VILMA": Entry("rankwise.batch", _INTERVAL),
    "WidrowHoff": Entry("rankwise.online", _INTERVAL),
}

#: Names of the estimators that model files hold.
SAVED = [name for name, entry in ESTIMATORS.items() if entry.saved]
