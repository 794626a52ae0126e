"""What rankwise takes from scikit-learn beyond its documented surface, in one place that a new release can break.

``tests/test_private_interfaces`` says what broke.
"""

from numbers import Integral, Real
from typing import Any

from sklearn.utils import _safe_indexing as take_rows
from sklearn.utils._param_validation import Interval, Options, StrOptions

__all__ = ["COUNT", "NOT_NEGATIVE", "PASSES", "POSITIVE", "Interval", "Options", "StrOptions", "take_rows"]

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
