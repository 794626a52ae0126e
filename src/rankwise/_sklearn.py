"""Private interfaces of scikit-learn, in one place; ``tests/test_private_interfaces`` shows what a release breaks."""

import sys
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import _safe_indexing as take_rows
from sklearn.utils._param_validation import HasMethods, Interval, Options, StrOptions

from rankwise._warn import warn_user

__all__ = [
    "COUNT",
    "NOT_NEGATIVE",
    "PASSES",
    "POSITIVE",
    "Classifier",
    "HasMethods",
    "Interval",
    "Options",
    "StrOptions",
    "cross_val_predict_encodes",
    "output_frame",
    "set_output_frame",
    "take_rows",
    "within_metrics",
]  # fmt: skip

POSITIVE = Interval(Real, 0, None, closed="neither")
NOT_NEGATIVE = Interval(Real, 0, None, closed="left")
COUNT = Interval(Integral, 1, None, closed="left")

#: Constraints of the parameters of every estimator that learns in passes over its rows.
PASSES: dict[str, list[Any]] = {
    "n_epochs": [COUNT],
    "shuffle": ["boolean"],
    "average": ["boolean"],
    "random_state": ["random_state"],
}


def cross_val_predict_encodes() -> bool:
    """Whether scikit-learn's ``cross_val_predict`` is replacing labels by its own numbers right now.

    It does so for ``predict_proba`` and ``decision_function``, through ``np.asarray(y)`` in its own body; the splitters
    that it calls make the same array in functions of their own.
    """
    frame = sys._getframe(2)
    for _ in range(4):
        name = frame.f_code.co_name
        if name not in ("asarray", "array", "wrapped_f", "__array__"):
            return name == "cross_val_predict"
        if frame.f_back is None:
            return False
        frame = frame.f_back
    return False


def within_metrics() -> bool:
    """Whether a metric of scikit-learn asks for an array of labels right now, and no splitter or caller of ours."""
    frame = sys._getframe(2)
    while frame is not None and frame.f_globals.get("__name__", "").startswith(
        ("sklearn.", "numpy.", "rankwise.labels.")
    ):
        if frame.f_globals["__name__"].startswith("sklearn.metrics."):
            return True
        frame = frame.f_back  # type: ignore[assignment]
    return False


_FOLDS = "sklearn.model_selection."  # where cross_val_score and the searches are


class Classifier(ClassifierMixin):
    """Classifier whose labels may be missing: where scikit-learn cannot stratify its folds by them, it takes KFold.

    ``cv=5`` is stratified for classifiers, which sorts the labels: those of mixed types, and None or NaN, are errors.
    """

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if _folds_are_asked_for_unsortable_labels():
            tags.estimator_type = None
        return tags


def _folds_are_asked_for_unsortable_labels() -> bool:
    """Whether a function of scikit-learn that makes folds asks right now if this is a classifier, for such labels."""
    frame = sys._getframe(2)
    for _ in range(30):
        back = frame.f_back
        if back is None:
            return False
        if frame.f_code.co_name == "is_classifier" and back.f_globals.get("__name__", "").startswith(_FOLDS):
            function, y, method = back.f_code.co_name, back.f_locals.get("y"), back.f_locals.get("method")
            if not _is_unsortable(y):
                return False
            asking = vars(back.f_locals["self"]) if "self" in back.f_locals else back.f_locals
            if not isinstance(asking.get("cv"), int | None):  # a splitter of the caller's own
                return False
            if function == "cross_val_predict" and method != "predict":
                raise RuntimeError(  # pipelines drop a ValueError
                    "scikit-learn's cross_val_predict takes missing labels for a class. Use "
                    "rankwise.evaluation.cross_val_predict."
                )
            warn_user(
                "scikit-learn cannot stratify folds by labels with missing values, so the folds are blocks of rows "
                "(KFold). Pass rankwise.labels.as_labels(y) instead of y for stratified folds."
            )
            return True
        frame = back
    return False


def _is_unsortable(y: Any) -> bool:
    """Whether y is one column of labels with missing values, or of several types."""
    if hasattr(y, "lower") and hasattr(y, "upper"):  # encoded labels
        return False
    try:
        values = np.asarray(y, dtype=object if isinstance(y, Sequence) else None)
    except (TypeError, ValueError):
        return False
    if values.ndim != 1:
        return False
    if values.dtype.kind == "f":
        return bool(np.isnan(values).any())
    kinds = set(map(type, values.tolist())) if values.dtype.kind == "O" else set()
    nested = any(issubclass(kind, (tuple, list, set, frozenset, np.ndarray)) for kind in kinds)
    return not nested and (len(kinds) > 1 or any(value != value for value in values.tolist() if kinds == {float}))


def output_frame(model: Any) -> str | None:
    """The kind of frame that ``set_output`` asked a transformer for, itself and not its parts; None if it did not."""
    frame: str | None = vars(model).get("_sklearn_output_config", {}).get("transform")
    return frame


def set_output_frame(model: Any, frame: Any) -> None:
    """Make :func:`output_frame` be this; ``set_output`` would overwrite that of its parts, too."""
    if frame not in ("default", "pandas", "polars") or not hasattr(model, "set_output"):
        raise ValueError(f"a {type(model).__name__} has no output {str(frame)[:20]!r}")
    model._sklearn_output_config = {"transform": frame}
