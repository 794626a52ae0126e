"""Hostile labels: values and containers that no annotator meant, for every way in.

The promise: they are read, or refused with an error in the package's own words, and a fitted model stays what it was.
"""

from __future__ import annotations

import copy
import datetime
import decimal
import fractions
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from scipy import sparse

import rankwise as rw
from rankwise.labels import encode, encode_rankings
from tests.attack.harness import FaultError, require_own
from tests.test_contract import bits


class Odd:
    """A label that cannot be hashed or ordered."""

    __hash__ = None  # type: ignore[assignment]


GOOD = (0, 1, 2)
NUMBERS = (-1, 3, 2**53 + 1, 2**63, -(2**63), 10**40, 0.5, -0.0, 1e308, np.inf, -np.inf, np.nan, 1j, True, False)
TEXTS = (
    "",
    "1",
    "0-2",
    "2-0",
    "..",
    "1..",
    "<=1",
    "NA",
    "nan",
    "null",
    "non-smoker",
    "a\0b",
    "\ud800",
    "1" * 5000,
    b"1",
)
GROUPS = (
    (0, 2),
    (2, 0),
    (0, 1, 2),
    (),
    (None, None),
    (np.nan, 1),
    ("a", 1),
    [0, 1],
    [],
    [[0]],
    {0, 1},
    set(),
    range(2),
)
OTHERS = (None, frozenset({5}), {"a": 1}, pd.NA, pd.NaT, pd.Timestamp("2026-01-01"), pd.Interval(0, 1), int, len, Odd())
OTHERS += (datetime.date(2026, 1, 1), np.datetime64("NaT"), np.float32(1), np.uint64(2**64 - 1), np.array([0, 2]))
OTHERS += (
    np.array(1),
    np.bool_(True),
    decimal.Decimal("1"),
    decimal.Decimal("NaN"),
    fractions.Fraction(1, 2),
    object(),
)
VALUES: tuple[Any, ...] = (*NUMBERS, *TEXTS, *GROUPS, *OTHERS)


def _array(items: list[Any]) -> np.ndarray:
    found = np.empty(len(items), dtype=object)
    for i, item in enumerate(items):
        found[i] = item
    return found


CONTAINERS = {
    "list": list,
    "tuple": tuple,
    "object array": _array,
    "array": np.array,
    "series": pd.Series,
    "categorical": pd.Categorical,
    "ordered": lambda items: pd.Categorical(items, ordered=True),
    "frame": lambda items: pd.DataFrame({"low": items, "high": items[::-1]}),
    "interval array": lambda items: pd.arrays.IntervalArray.from_arrays(items, items, closed="both"),
    "polars": lambda items: pl.Series("y", items, strict=False),
    "arrow": pa.array,
    "two columns": lambda items: np.array([items, items]).T,
    "sparse": lambda items: sparse.csr_matrix(np.array([items, items]).T),
    "mask": lambda items: np.array([[v == k for k in GOOD] for v in items]),
    "iterator": iter,
    "dict": lambda items: dict(enumerate(items)),
    "text": str,
    "nested": lambda items: [items],
}
WAYS = ("encode", "encode with classes", "rankings", "fit", "partial_fit", "learn_one", "score", "metric")


def setup() -> dict[str, Any]:
    """A fitted model of each kind that reads labels in its own way."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, 2)), np.arange(12) % 3
    models = [rw.PRIL(n_epochs=1, random_state=0), rw.CuSumRank(n_epochs=1, random_state=0), rw.SVOR(tol=0.1)]
    models += [
        rw.CumulativeLink(tol=0.1),
        rw.OnlineCumulativeLink(n_epochs=1, random_state=0),
        rw.OnlineConformalOrdinal(rw.PRIL()),
    ]
    models += [rw.BoostedThresholds(max_iter=2, early_stopping=False, n_jobs=1), rw.TableModel(rw.PRIL(n_epochs=1))]
    models += [
        rw.CalibratedOrdinal(rw.PRIL(n_epochs=1), cv=2),
        rw.ConformalOrdinal(rw.PRIL(n_epochs=1), level=0.5, score="distance"),
    ]
    models += [rw.PathCV(rw.SVOR(tol=0.1), alphas=[0.1, 1.0], cv=2), rw.UnifiedClassifier(tol=0.1)]
    models += [rw.BlendedOrdinal([rw.CumulativeLink(tol=0.1), rw.CumulativeLink(alpha=1.0, tol=0.1)], cv=2)]
    models += [rw.ImportanceWeightedPerceptron(n_epochs=1, random_state=0), rw.LabelRanker(n_epochs=1, random_state=0)]
    fitted = [model.fit(X, y) for model in models] + [rw.MissingLabelClassifier(tol=0.1).fit(X, np.eye(3)[y])]
    return {"X": X, "models": fitted}


def labels(rng: np.random.Generator, n: int = 12) -> Any:
    """Labels of which some, or all, are hostile, in some container."""
    share = rng.choice([0.0, 0.1, 0.5, 1.0])
    pool = [VALUES[rng.integers(len(VALUES))] for _ in range(int(rng.integers(1, 4)))]
    items = [pool[rng.integers(len(pool))] if rng.random() < share else int(rng.choice(GOOD)) for _ in range(n)]
    if rng.random() < 0.1:
        items = items[: int(rng.integers(n))]
    container = CONTAINERS[str(rng.choice(list(CONTAINERS)))]
    try:
        return container(items)
    except (Exception, pl.exceptions.PanicException):  # the container itself refuses them
        return _array(items)


def case(shared: dict[str, Any], rng: np.random.Generator) -> str:
    """Give one kind of labels to one way in."""
    X, way, y = shared["X"], str(rng.choice(WAYS)), labels(rng)
    model = copy.deepcopy(shared["models"][rng.integers(len(shared["models"]))])
    before = bits(model.to_plain())
    classes = [None, [0, 1, 2], ["NA", "1", "a"], y][rng.integers(4)]
    try:
        if way == "encode":
            encode(y)
        elif way == "encode with classes":
            encode(y, classes)
        elif way == "rankings":
            encode_rankings(y, classes)
        elif way == "metric":
            rw.metrics.mean_absolute_error(y, [0] * 12)
        elif way == "learn_one" and hasattr(model, "learn_one"):
            model.learn_one({0: 1.0, "new": 2.0}, VALUES[rng.integers(len(VALUES))])
        elif way == "score":
            model.score(X, y)
        else:
            getattr(model, way if way == "partial_fit" and hasattr(model, way) else "fit")(X, y)
    except Exception as error:
        name = type(model).__name__ if way in ("fit", "partial_fit", "learn_one", "score") else ""
        try:
            require_own(error)
        except FaultError as fault:
            raise FaultError(f"{way} {name}: {fault}") from None
        if bits(model.to_plain()) != before:
            raise FaultError(f"{way} {name}: refused, and changed the model") from None
        return "refused"
    return "answer"
