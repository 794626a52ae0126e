"""Private interfaces of scikit-learn, in one place; ``tests/test_private_interfaces`` shows what a release breaks."""

import sys
from numbers import Integral, Real
from typing import Any

from sklearn.utils import _safe_indexing as take_rows
from sklearn.utils._param_validation import HasMethods, Interval, Options, StrOptions

__all__ = [
    "COUNT", "NOT_NEGATIVE", "PASSES", "POSITIVE", "HasMethods", "Interval", "Options", "StrOptions",
    "cross_val_predict_encodes", "output_frame", "set_output_frame", "take_rows",
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


def output_frame(model: Any) -> str | None:
    """The kind of frame that ``set_output`` asked a transformer for, itself and not its parts; None if it did not."""
    frame: str | None = vars(model).get("_sklearn_output_config", {}).get("transform")
    return frame


def set_output_frame(model: Any, frame: Any) -> None:
    """Make :func:`output_frame` be this; ``set_output`` would overwrite that of its parts, too."""
    if frame not in ("default", "pandas", "polars") or not hasattr(model, "set_output"):
        raise ValueError(f"a {type(model).__name__} has no output {str(frame)[:20]!r}")
    model._sklearn_output_config = {"transform": frame}
