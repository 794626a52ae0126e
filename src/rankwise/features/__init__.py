"""Features: from raw columns, and learnt from labels; transformers to put before an estimator."""

from rankwise._errors import RowError
from rankwise.features._polynomial import polynomial_features
from rankwise.features.column_kinds import ColumnWarning
from rankwise.features.hidden import HiddenFeatures
from rankwise.features.leakage import LeakageWarning
from rankwise.features.scaler import OnlineScaler
from rankwise.features.table import TableEncoder

__all__ = [
    "ColumnWarning", "HiddenFeatures", "LeakageWarning", "OnlineScaler", "RowError", "TableEncoder",
    "polynomial_features",
]  # fmt: skip
