"""Columns that alone give the label: the label under another name, or something that follows from it.

In a sample of the labelled rows, each column predicts the labels of a fifth from those of the others, five times: the
most frequent label among the rows with the same value or, for a number that does not occur there, with the nearest one.
Honest columns, however good, are wrong now and then; an identifier knows nothing of values that it has not seen.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

from rankwise._types import Floats, Places
from rankwise._warn import warn_user
from rankwise._words import either
from rankwise.base.row_data import row_count, rows_at
from rankwise.features.arrow_columns import as_table, coded_texts
from rankwise.features.column_kinds import kind_of
from rankwise.features.encoded_columns import NumberColumn, fit_column
from rankwise.features.encoding_rules import Rules
from rankwise.labels import Labels

_FEWEST_ROWS, _MOST_ROWS = 100, 4_000
_MOST_COLUMNS = 500  # beyond them are words and pixels
_FOLDS = 5
_WRONG = 0.03  # largest share of wrong predictions, at a confidence of 95 %
_BETTER = 0.1  # and the largest share of the errors of the most frequent label, which must make some
_FEWEST_ERRORS = 10
_GROUPS = ("category", "ordered", "text")


class LeakageWarning(UserWarning):
    """A column among the features predicts the labels nearly perfectly on its own."""

    __module__ = "rankwise.features"  # the public name, in tracebacks and pickles


def warn_of_leakage(X: Any, labels: Labels, used: Any = None) -> None:
    """Warn of columns that alone give the label; ``used`` names those that matter, by default all.

    Rows that are not a table or a dense matrix, or have too many columns, are not looked at.
    """
    names = leaking_columns(X, labels, used)
    if not names:
        return
    some = ", ".join(map(repr, names[:5])) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
    who = f"the column {some} alone predicts" if len(names) == 1 else f"the columns {some}, each alone, predict"
    drop = either("leave it out", f"--ignore {','.join(map(str, names[:5]))}")
    warn_user(
        f"{who} nearly all labels of rows not learnt from. This may be the label under another name, or what follows "
        f"from it; if it is not known before the label, {drop}.",
        LeakageWarning,
    )


def leaking_columns(X: Any, labels: Labels, used: Any = None) -> list[str]:
    """Names of the columns that alone give the label."""
    labelled = np.flatnonzero(~labels.is_missing)
    shape = getattr(X, "shape", (row_count(X), 1) if hasattr(X, "__len__") else (0, 0))
    if labelled.size < _FEWEST_ROWS or len(shape) != 2 or shape[1] > _MOST_COLUMNS or hasattr(X, "tocsr"):
        return []
    if find_spec("pyarrow") is None:
        return []
    generator = np.random.RandomState(0)
    if labelled.size > _MOST_ROWS:
        labelled = np.sort(generator.permutation(labelled)[:_MOST_ROWS])
    try:
        table, some = as_table(rows_at(X, labelled)), labels.take(labelled)
    except (TypeError, ValueError):  # what holds no columns, such as texts or dictionaries
        return []
    folds = generator.permutation(labelled.size) % _FOLDS
    # Imprecise labels are compared with others that admit the same; exact ones also among themselves.
    tests = [(np.arange(labelled.size), some.distinct()[1])]
    exact = np.flatnonzero(some.is_exact)
    if exact.size < labelled.size:
        tests.append((exact, np.asarray(some.lower[exact], dtype=np.intp)))
    tests = [(rows, answers) for rows, answers in tests if _is_telling(answers)]
    names = table.column_names if used is None else [name for name in used if name in table.column_names]
    return [
        name
        for name in (names if tests else [])
        if (column := _values(name, table.column(name))) is not None
        and any(_gives(column[0][rows], column[1], answers, folds[rows]) for rows, answers in tests)
    ]


def _most_frequent(answers: Places) -> int:
    return int(np.bincount(answers).max())


def _is_telling(answers: Places) -> bool:
    """Whether predicting the most frequent answer makes enough errors for a column to be much better."""
    return answers.size >= _FEWEST_ROWS and answers.size - _most_frequent(answers) >= _FEWEST_ERRORS


def _values(name: str, column: Any) -> tuple[Floats, bool] | None:
    """Values of a column as numbers, NaN where missing, and whether near numbers mean alike; None if it is ignored."""
    try:
        kind, _ = kind_of(name, column)
        if kind == "ignore":
            return None
        if kind in _GROUPS:
            codes = coded_texts(column)[1].astype(np.float64)
            return np.where(codes < 0, np.nan, codes), False
        read = fit_column(name, kind, column, Rules())[0]
        return (read.read(column)[0], True) if isinstance(read, NumberColumn) else None
    except (TypeError, ValueError):  # what reads the rows complains of it
        return None


def _gives(values: Floats, is_number: bool, answers: Places, folds: Places) -> bool:
    """Whether the values give the answers in rows that were not used to learn which."""
    n = answers.size
    counts = np.arange(int(_WRONG * n) + 1)
    limits = beta.ppf(0.95, counts + 1, n - counts)  # of Clopper and Pearson
    most = min(float(counts[limits <= _WRONG].max(initial=-1)), _BETTER * (n - _most_frequent(answers)))
    wrong = 0
    for fold in range(_FOLDS):
        test = folds == fold
        wrong += int((_predicted(values[~test], answers[~test], values[test], is_number) != answers[test]).sum())
        if wrong > most:
            return False
    return True


def _predicted(values: Floats, answers: Places, asked: Floats, is_number: bool) -> NDArray[np.intp]:
    """The most frequent answer at each value; elsewhere that of the nearest number, or -1."""
    order = np.lexsort((answers, values))
    pairs = np.flatnonzero(np.append(True, (np.diff(answers[order]) != 0) | (np.diff(values[order]) != 0)))
    # NaN, which comes last, is not equal to itself: its rows are told apart here, and counted one by one below.
    counts = np.diff(np.append(pairs, order.size))
    at, answer = values[order][pairs], answers[order][pairs]
    best = np.lexsort((-counts, at))
    first = np.append(True, np.diff(at[best]) != 0)
    known, best_answer = at[best][first], answer[best][first]
    missing = np.isnan(asked)
    found = np.full(asked.size, -1, dtype=np.intp)
    if np.isnan(values).any():
        found[missing] = np.bincount(answers[np.isnan(values)]).argmax()
    numbers = known[~np.isnan(known)]
    if numbers.size:
        right = np.clip(np.searchsorted(numbers, asked[~missing]), 0, numbers.size - 1)
        left = np.maximum(right - 1, 0)
        nearest = np.where(asked[~missing] - numbers[left] < numbers[right] - asked[~missing], left, right)
        same = numbers[nearest] == asked[~missing]
        found[~missing] = np.where(same | is_number, best_answer[nearest], -1)
    return found
