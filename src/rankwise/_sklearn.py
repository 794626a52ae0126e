"""What rankwise takes from scikit-learn beyond its documented surface, in one place that a new release can break.

``tests/test_private_interfaces`` says what broke.
"""

from sklearn.utils import _safe_indexing as take_rows
from sklearn.utils._param_validation import Interval, Options, StrOptions

__all__ = ["Interval", "Options", "StrOptions", "take_rows"]
