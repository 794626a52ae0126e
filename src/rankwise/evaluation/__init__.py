"""Evaluation of models: progressive validation, tables, cross-validation and claims from partial labels."""

from rankwise.evaluation._progressive import Progress, progressive
from rankwise.evaluation._tables import compare, format_table
from rankwise.evaluation._tradeoff import Annotated, annotation_tradeoff
from rankwise.evaluation.annotation_simulation import AnnotationCurve, SimulatedRater, simulate_annotation
from rankwise.evaluation.confusion import interval_confusion
from rankwise.evaluation.cross_validation import StratifiedIntervalKFold, cross_val_predict
from rankwise.evaluation.error_bounds import ErrorRange, error_range
from rankwise.metrics.scorers import IntervalScorer, MetricScorer, ProbabilityScorer

__all__ = [
    "Annotated",
    "AnnotationCurve",
    "ErrorRange",
    "IntervalScorer",
    "MetricScorer",
    "ProbabilityScorer",
    "Progress",
    "SimulatedRater",
    "StratifiedIntervalKFold",
    "annotation_tradeoff",
    "compare",
    "cross_val_predict",
    "error_range",
    "format_table",
    "interval_confusion",
    "progressive",
    "simulate_annotation",
]
