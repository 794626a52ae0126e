"""rankwise: learn ordered answers from imprecise labels.

Every estimator is ``rankwise.Name``. Names are loaded when first used, so ``import rankwise`` costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rankwise._version import __version__

if TYPE_CHECKING:
    from rankwise import (
        annotation as annotation,
        auto as auto,
        bounds as bounds,
        datasets as datasets,
        decisions as decisions,
        evaluation as evaluation,
        explanations as explanations,
        labels as labels,
        losses as losses,
        metrics as metrics,
        plots as plots,
        raters as raters,
        report as report,
        structured as structured,
    )
    from rankwise._errors import RowError as RowError
    from rankwise.auto import AutoOrdinal as AutoOrdinal, BlendedOrdinal as BlendedOrdinal, PathCV as PathCV
    from rankwise.batch import (
        MORD as MORD,
        SVOR as SVOR,
        VILMA as VILMA,
        CumulativeLink as CumulativeLink,
        PiecewiseMORD as PiecewiseMORD,
        RoundedRegression as RoundedRegression,
        UnifiedClassifier as UnifiedClassifier,
    )
    from rankwise.calibration import (
        CalibratedOrdinal as CalibratedOrdinal,
        ConformalOrdinal as ConformalOrdinal,
        OnlineConformalOrdinal as OnlineConformalOrdinal,
    )
    from rankwise.explanations import explain as explain
    from rankwise.features import (
        HiddenFeatures as HiddenFeatures,
        OnlineScaler as OnlineScaler,
        TableEncoder as TableEncoder,
    )
    from rankwise.label_ranking import LabelRanker as LabelRanker
    from rankwise.multilabel import MissingLabelClassifier as MissingLabelClassifier
    from rankwise.online import (
        PRIL as PRIL,
        CuSumRank as CuSumRank,
        ImportanceWeightedPerceptron as ImportanceWeightedPerceptron,
        KernelCuSumRank as KernelCuSumRank,
        KernelPRIL as KernelPRIL,
        MulticlassPerceptron as MulticlassPerceptron,
        MultiplicativePRIL as MultiplicativePRIL,
        OnlineCumulativeLink as OnlineCumulativeLink,
        PRank as PRank,
        WidrowHoff as WidrowHoff,
    )
    from rankwise.persistence import load as load, save as save
    from rankwise.raters import RaterModel as RaterModel
    from rankwise.serve.client import Client as Client, ServiceError as ServiceError
    from rankwise.structured import ChainClassifier as ChainClassifier, StructuredPerceptron as StructuredPerceptron
    from rankwise.table_model import TableModel as TableModel
    from rankwise.trees import BoostedThresholds as BoostedThresholds

_NAMES = {
    "rankwise._errors": ("RowError",),
    "rankwise.auto": ("AutoOrdinal", "BlendedOrdinal", "PathCV"),
    "rankwise.batch": (
        "CumulativeLink", "MORD", "PiecewiseMORD", "RoundedRegression", "SVOR", "UnifiedClassifier", "VILMA",
    ),
    "rankwise.calibration": ("CalibratedOrdinal", "ConformalOrdinal", "OnlineConformalOrdinal"),
    "rankwise.explanations": ("explain",),
    "rankwise.features": ("HiddenFeatures", "OnlineScaler", "TableEncoder"),
    "rankwise.label_ranking": ("LabelRanker",),
    "rankwise.multilabel": ("MissingLabelClassifier",),
    "rankwise.online": (
        "CuSumRank", "ImportanceWeightedPerceptron", "KernelCuSumRank", "KernelPRIL", "MulticlassPerceptron",
        "MultiplicativePRIL", "OnlineCumulativeLink", "PRIL", "PRank", "WidrowHoff",
    ),
    "rankwise.persistence": ("load", "save"),
    "rankwise.raters": ("RaterModel",),
    "rankwise.serve.client": ("Client", "ServiceError"),
    "rankwise.structured": ("ChainClassifier", "StructuredPerceptron"),
    "rankwise.table_model": ("TableModel",),
    "rankwise.trees": ("BoostedThresholds",),
}  # fmt: skip
_HOME = {name: module for module, names in _NAMES.items() for name in names}
_PACKAGES = (
    "annotation", "auto", "bounds", "datasets", "decisions", "evaluation", "explanations", "labels", "losses",
    "metrics", "plots", "raters", "report", "structured",
)  # fmt: skip

__all__ = ["__version__", *sorted(_HOME), *_PACKAGES]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
    elif name in _PACKAGES:
        value = import_module(f"rankwise.{name}")
    else:
        raise AttributeError(f"module 'rankwise' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
