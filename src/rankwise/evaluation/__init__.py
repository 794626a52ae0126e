"""How good is a model: progressive validation, tables, cross-validation and claims from partial labels."""

from rankwise.evaluation._claims import ErrorRange, error_range
from rankwise.evaluation._progressive import Progress, progressive
from rankwise.evaluation._scorers import IntervalScorer
from rankwise.evaluation._splits import StratifiedIntervalKFold
from rankwise.evaluation._tables import compare, format_table

__all__ = [
    "ErrorRange",
    "IntervalScorer",
    "Progress",
    "StratifiedIntervalKFold",
    "compare",
    "error_range",
    "format_table",
    "progressive",
]
