"""What rankwise takes from scikit-learn beyond its documented surface, in one place that a new release can break."""

from sklearn.utils._param_validation import Interval, Options, StrOptions

__all__ = ["Interval", "Options", "StrOptions"]
