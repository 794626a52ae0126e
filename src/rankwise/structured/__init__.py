"""Structured outputs: a framework where predictions solve an optimisation problem, and models for it."""

from rankwise.structured._sequences import Tree
from rankwise.structured.chain import ChainClassifier
from rankwise.structured.classes import MixedClasses, SharedClasses
from rankwise.structured.perceptron import StructuredPerceptron
from rankwise.structured.ranks import CumulativeRanks, ProjectedRanks
from rankwise.structured.structured_model import Atom, Bonus, Score, StructuredModel

__all__ = [
    "Atom", "Bonus", "ChainClassifier", "CumulativeRanks", "MixedClasses", "ProjectedRanks", "Score", "SharedClasses",
    "StructuredModel", "StructuredPerceptron", "Tree",
]  # fmt: skip
