"""Several raters for the same items: agreement, one label from all answers, and a model of each rater.

Answers come as a long table with the columns item, rater and label, or as a wide one with a row for each item and a
column for each rater; in pandas, polars, pyarrow or a dict of columns. Labels have every form of
:func:`rankwise.labels.encode`.
"""

from rankwise.raters._agreement import Agreement, Overlaps, agreement
from rankwise.raters._combine import Combined, combine
from rankwise.raters.rater_model import RaterModel, Weighted

__all__ = ["Agreement", "Combined", "Overlaps", "RaterModel", "Weighted", "agreement", "combine"]
