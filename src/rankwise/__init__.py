"""rankwise: learn ordered answers from imprecise labels.

Every estimator is ``rankwise.Name``. Names are loaded when first used, so ``import rankwise`` costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rankwise._version import __version__

if TYPE_CHECKING:
    from rankwise import (
        annotation,
        bounds,
        datasets,
        evaluation,
        experiments,
        labels,
        losses,
        metrics,
        models,
        plots,
        structured,
    )
    from rankwise.features import HiddenFeatures, TableEncoder
    from rankwise.label_ranking import LabelRanker
    from rankwise.large_margin import MORD, SVOR, VILMA, PiecewiseMORD, RoundedRegression
    from rankwise.perceptrons import (
        PRIL,
        CuSumRank,
        ImportanceWeightedPerceptron,
        KernelCuSumRank,
        KernelPRIL,
        MulticlassPerceptron,
        MultiplicativePRIL,
        PRank,
        WidrowHoff,
    )
    from rankwise.persistence import load, save
    from rankwise.structured import ChainClassifier, MissingLabelClassifier, StructuredPerceptron
    from rankwise.table_model import TableModel

_HOME = {
    "ChainClassifier": "rankwise.structured",
    "MORD": "rankwise.large_margin",
    "PiecewiseMORD": "rankwise.large_margin",
    "RoundedRegression": "rankwise.large_margin",
    "SVOR": "rankwise.large_margin",
    "VILMA": "rankwise.large_margin",
    "CuSumRank": "rankwise.perceptrons",
    "HiddenFeatures": "rankwise.features",
    "KernelCuSumRank": "rankwise.perceptrons",
    "ImportanceWeightedPerceptron": "rankwise.perceptrons",
    "KernelPRIL": "rankwise.perceptrons",
    "LabelRanker": "rankwise.label_ranking",
    "MissingLabelClassifier": "rankwise.structured",
    "MulticlassPerceptron": "rankwise.perceptrons",
    "MultiplicativePRIL": "rankwise.perceptrons",
    "PRIL": "rankwise.perceptrons",
    "PRank": "rankwise.perceptrons",
    "StructuredPerceptron": "rankwise.structured",
    "TableEncoder": "rankwise.features",
    "TableModel": "rankwise.table_model",
    "WidrowHoff": "rankwise.perceptrons",
    "load": "rankwise.persistence",
    "save": "rankwise.persistence",
}
_ROOMS = (
    "annotation",
    "bounds",
    "datasets",
    "evaluation",
    "experiments",
    "labels",
    "losses",
    "metrics",
    "models",
    "plots",
    "structured",
)

__all__ = ["__version__", *sorted(_HOME), *_ROOMS]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
    elif name in _ROOMS:
        value = import_module(f"rankwise.{name}")
    else:
        raise AttributeError(f"module 'rankwise' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
