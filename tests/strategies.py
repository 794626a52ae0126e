"""Hypothesis strategies for labels of every form, shared by the tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from rankwise.labels import Labels, encode

KINDS = ("exact", "interval", "candidates", "missing")


def times(factor: int) -> settings:
    """So many times the examples that other tests have in this run: for inputs that are many and cheap."""
    return settings(max_examples=factor * settings().max_examples)


@dataclass(frozen=True)
class Annotated:
    """Labels as an annotator gives them, row by row, with predictions and weights to go with them."""

    classes: list[int]
    y: list[Any]
    codes: list[list[int]]  #: admissible codes of each row, ascending
    predicted: list[int]  #: a predicted code for each row
    weights: list[int]  #: small whole weights, not all zero

    def encoded(self) -> Labels:
        return encode(self.y, self.classes)

    @property
    def y_pred(self) -> list[int]:
        return [self.classes[code] for code in self.predicted]

    @property
    def predicted_codes(self) -> np.ndarray:
        return np.array(self.predicted)


def class_lists(min_classes: int = 2, max_classes: int = 6) -> st.SearchStrategy[list[int]]:
    """Ascending whole numbers, with gaps."""
    return st.lists(st.integers(-20, 20), min_size=min_classes, max_size=max_classes, unique=True).map(sorted)


@st.composite
def admissible_codes(draw: st.DrawFn, n_classes: int, kind: str) -> list[int]:
    """Admissible codes of one label of a kind; candidates may happen to have no gaps."""
    every = st.integers(0, n_classes - 1)
    if kind == "exact":
        return [draw(every)]
    if kind == "interval":
        low, high = sorted((draw(every), draw(every)))
        return list(range(low, high + 1))
    if kind == "candidates":
        return sorted(draw(st.sets(every, min_size=1)))
    return list(range(n_classes))


def said(codes: list[int], kind: str, classes: list[int]) -> Any:
    """One row of ``y`` that admits these codes, written in the way of its kind."""
    return {
        "exact": classes[codes[0]],
        "interval": (classes[codes[0]], classes[codes[-1]]),
        "candidates": {classes[code] for code in codes},  # a list of two beside pairs would read as a table of ends
        "missing": None,
    }[kind]


@st.composite
def annotated(
    draw: st.DrawFn, kinds: tuple[str, ...] = KINDS, min_classes: int = 2, max_classes: int = 6, max_rows: int = 10
) -> Annotated:
    """Rows of labels of the given kinds, in a random mixture."""
    classes = draw(class_lists(min_classes, max_classes))
    row_kinds = draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=max_rows))
    n = len(row_kinds)
    codes = [draw(admissible_codes(len(classes), kind)) for kind in row_kinds]
    return Annotated(
        classes=classes,
        y=[said(admitted, kind, classes) for admitted, kind in zip(codes, row_kinds, strict=True)],
        codes=codes,
        predicted=draw(st.lists(st.integers(0, len(classes) - 1), min_size=n, max_size=n)),
        weights=draw(st.lists(st.integers(0, 3), min_size=n, max_size=n).filter(any)),
    )
