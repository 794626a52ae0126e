"""Annotations turned into codes: the one encoder and the one decoder of the package.

Whatever form ``y`` has, it becomes a :class:`Labels`: every row is the interval ``[lower, upper]`` of class codes
0..K-1 that the annotation admits, with a mask where an admissible set has gaps. An exact label is an interval of
width 0, a missing one the full interval; algorithms do not distinguish them.
"""

from rankwise.labels._support import KINDS, estimators_for, estimators_with, require_support
from rankwise.labels._weights import UNIT_WEIGHTS, check_weights
from rankwise.labels.class_order import (
    ClassOrder,
    OrderNote,
    OrderWarning,
    UnknownOrderError,
    infer_order,
    warn_of_classes,
)
from rankwise.labels.encoded_labels import Labels, RankingLabels
from rankwise.labels.encoding import declared_order, decode, encode
from rankwise.labels.formatting import format_labels
from rankwise.labels.label_values import is_missing
from rankwise.labels.multilabel_labels import MultiLabels, encode_multilabel
from rankwise.labels.ranking_labels import Preferences, encode_rankings
from rankwise.labels.stratified_folds import as_labels
from rankwise.labels.text_labels import parse_labels
from rankwise.labels.unreadable import UnreadableLabelsError

__all__ = [
    "KINDS",
    "UNIT_WEIGHTS",
    "ClassOrder",
    "Labels",
    "MultiLabels",
    "OrderNote",
    "OrderWarning",
    "Preferences",
    "RankingLabels",
    "UnknownOrderError",
    "UnreadableLabelsError",
    "as_labels",
    "check_weights",
    "declared_order",
    "decode",
    "encode",
    "encode_multilabel",
    "encode_rankings",
    "estimators_for",
    "estimators_with",
    "format_labels",
    "infer_order",
    "is_missing",
    "parse_labels",
    "require_support",
    "warn_of_classes",
]
