"""Annotations: generated from exact labels, counted, their precision, and their price.

Generators return labels, not codes. An array of strings has no order, so pass the same ``classes`` to the function that
reads the intervals.
"""

from rankwise.annotation._budget import Plan, Purchase, plan_budget
from rankwise.annotation._plan import Condition, PlanReport, check_plan
from rankwise.annotation._precision import Overlap, Precision, Summary, overlap, precision, summary
from rankwise.annotation._stopping import ErrorMonitor, Estimate
from rankwise.annotation.interval_types import (
    alpha_beta_intervals,
    partial_labels,
    partition_intervals,
    type1_intervals,
    type2_intervals,
)
from rankwise.annotation.questions import Question, QuestionChooser, expected_rps

__all__ = [
    "Condition",
    "ErrorMonitor",
    "Estimate",
    "Overlap",
    "Plan",
    "PlanReport",
    "Precision",
    "Purchase",
    "Question",
    "QuestionChooser",
    "Summary",
    "alpha_beta_intervals",
    "check_plan",
    "expected_rps",
    "overlap",
    "partial_labels",
    "partition_intervals",
    "plan_budget",
    "precision",
    "summary",
    "type1_intervals",
    "type2_intervals",
]
