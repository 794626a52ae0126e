"""Explaining models: contributions of columns to each prediction, importances, marginal effects, parallel lines."""

from rankwise.explanations._changes import Change
from rankwise.explanations._explanation import Explanation, explain
from rankwise.explanations._importance import Importances, permutation_importances
from rankwise.explanations._marginal import marginal_effects
from rankwise.explanations._parallel import ParallelLines, parallel_lines

__all__ = [
    "Change",
    "Explanation",
    "Importances",
    "ParallelLines",
    "explain",
    "marginal_effects",
    "parallel_lines",
    "permutation_importances",
]
