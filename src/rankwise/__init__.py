"""rankwise: learn ordered answers from imprecise labels.

Every estimator is ``rankwise.Name``. Names are loaded when first used, so ``import rankwise`` costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rankwise._registry import ESTIMATORS
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
    from rankwise.batch import *  # noqa: F403 - the estimators of its __all__
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
    from rankwise.online import *  # noqa: F403
    from rankwise.persistence import load as load, save as save
    from rankwise.raters import RaterModel as RaterModel
    from rankwise.serve.client import Client as Client, ServiceError as ServiceError
    from rankwise.structured import ChainClassifier as ChainClassifier, StructuredPerceptron as StructuredPerceptron
    from rankwise.table_model import TableModel as TableModel
    from rankwise.trees import BoostedThresholds as BoostedThresholds

_HOME = {name: entry.home for name, entry in ESTIMATORS.items()} | {
    "Client": "rankwise.serve.client",
    "RowError": "rankwise._errors",
    "ServiceError": "rankwise.serve.client",
    "explain": "rankwise.explanations",
    "load": "rankwise.persistence",
    "save": "rankwise.persistence",
}
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
