"""Errors on streams: averaged against last weights, late labels, and support vectors on a budget.

``python -m benchmarks.streams order`` compares weights on real rows in the order of their files, on the same rows
shuffled, and on simulated changes; ``late`` lets labels come in batches; ``budget`` compares ways to keep a budget of
support vectors. Without a name all three run. Sets that are not there are left out.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np
from numba import njit
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

from rankwise import PRIL, KernelCuSumRank, KernelPRIL
from rankwise.datasets import DatasetNotFoundError, load
from rankwise.evaluation import format_table

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Stream = tuple[str, Floats, Codes]

DECAY = 100  # rounds that an exponentially decayed average looks back
#: Of these sets the files are in an order that says something: places, patients, days. Those of the others are not.
IN_ORDER = ("california", "parkinsons", "stock")
SHUFFLED = (*IN_ORDER, "house_16H", "cpu_act", "bank32nh", "winequality_white", "boston")


def real(name: str) -> Stream:
    """Rows with scaled columns and up to ten classes of nearly equal size, in the order of the file."""
    found = load(name)
    rows = StandardScaler().fit_transform(np.asarray(found.X, dtype=float))
    return name, rows, classes_of(np.asarray(found.y, dtype=float))


def classes_of(numbers: Floats) -> Codes:
    """Codes of classes between the deciles; equal numbers stay together."""
    return np.digitize(numbers, np.unique(np.quantile(numbers, np.arange(1, 10) / 10)))


def simulated(what: str, n: int = 20_000) -> Stream:
    """Rows whose meaning changes at once or turns, slowly or fast; or that resemble their neighbours, as weather."""
    rng = np.random.default_rng(0)
    X, noise, t = rng.normal(size=(n, 10)), rng.normal(size=n), np.arange(n) / n
    w, v = (direction / np.linalg.norm(direction) for direction in rng.normal(size=(2, 10)))
    turns = {"abrupt": (t >= 0.5) * np.pi / 2, "slow": t * np.pi, "fast": 8 * t * np.pi, "persistent": 0 * t}[what]
    if what == "persistent":
        for i in range(1, n):
            X[i], noise[i] = 0.98 * X[i - 1] + 0.2 * X[i], 0.98 * noise[i - 1] + 0.2 * noise[i]
    score = np.cos(turns) * (X @ w) + np.sin(turns) * (X @ v) + (2.0 if what == "persistent" else 0.3) * noise
    return f"simulated, {what}", X, classes_of(score)


def streams() -> Iterator[Stream]:
    """Streams that change, then shuffled ones."""
    for name in dict.fromkeys((*IN_ORDER, *SHUFFLED)):
        try:
            _, X, y = real(name)
        except DatasetNotFoundError as error:
            print(f"{name} is left out: {error}", file=sys.stderr)
            continue
        if name in IN_ORDER:
            yield f"{name}, in order", X, y
        order = np.random.default_rng(0).permutation(len(y))
        yield f"{name}, shuffled", X[order], y[order]
    for what in ("persistent", "abrupt", "slow", "fast"):
        yield simulated(what)


@njit
def decayed_errors(X: Floats, y: Codes, n_classes: int, decay: float) -> Floats:
    """Errors of PRIL's weights under an exponentially decayed average, before each row is learnt."""
    w, t, mean_w, mean_t = np.zeros(X.shape[1]), np.zeros(n_classes - 1), np.zeros(X.shape[1]), np.zeros(n_classes - 1)
    errors = np.empty(len(y))
    for i in range(len(y)):
        errors[i] = abs(np.sum(np.dot(X[i], mean_w) >= mean_t) - y[i])
        tau = np.where(np.arange(n_classes - 1) < y[i], 1.0, -1.0)
        tau *= tau * (np.dot(X[i], w) - t) <= 0.0
        w += tau.sum() * X[i]
        t -= tau
        rate = max(1.0 / decay, 1.0 / (i + 1.0))
        mean_w += rate * (w - mean_w)
        mean_t += rate * (t - mean_t)
    return errors


def order() -> None:
    """Print the mean absolute error of each kind of weights."""
    rows = []
    for name, X, y in streams():
        row: dict[str, object] = {"stream": name, "rows": len(y)}
        for label, average in (("last weights", False), ("mean", True), ("auto", "auto")):
            model = PRIL(average=average, classes=range(y.max() + 1))
            row[label] = float(np.abs(model.progressive_predict(X, y) - y).mean())
        row["decayed mean"] = float(decayed_errors(np.ascontiguousarray(X), y, int(y.max()) + 1, float(DECAY)).mean())
        row["last label"] = float(np.abs(np.diff(y)).mean())
        row["auto / mean"] = row["auto"] / row["mean"]  # type: ignore[operator]
        rows.append(row)
    print("PRIL, one pass, up to ten classes: mean absolute error in ranks before learning from a row\n")
    print(format_table(rows))


def late() -> None:
    """Print the error where labels come in batches."""
    rows = []
    for name, X, y in streams():
        if "in order" not in name and "slow" not in name:
            continue
        row: dict[str, object] = {"stream": name}
        at_once = PRIL(classes=range(y.max() + 1)).progressive_predict(X, y)
        row["at once"] = float(np.abs(at_once - y).mean())
        for batch in (10, 100, 1000):
            model, errors = PRIL(classes=range(y.max() + 1)).partial_fit(X[:1], y[:1]), []
            for start in range(1, len(y), batch):
                piece = slice(start, start + batch)
                errors.append(np.abs(model.predict(X[piece]) - y[piece]))
                model.partial_fit(X[piece], y[piece])
            row[f"every {batch} rows"] = float(np.concatenate(errors).mean())
        rows.append(row)
    print('PRIL(average="auto"), labels known at once or in batches\n')
    print(format_table(rows))


def budget(n_train: int = 4000) -> None:
    """Print the test error of averaged models with a tenth of the support vectors."""
    rows = []
    for name in ("house_16H", "california", "cpu_act"):
        try:
            _, X, y = real(name)
        except DatasetNotFoundError as error:
            print(f"{name} is left out: {error}", file=sys.stderr)
            continue
        picked = np.random.default_rng(0).permutation(len(y))
        train, test = picked[:n_train], picked[n_train : n_train + 3000]
        for model in (KernelPRIL(random_state=0), KernelCuSumRank(random_state=0)):
            free = clone(model).fit(X[train], y[train])
            few, error = len(free.dual_coef_) // 10, -free.score(X[test], y[test])
            row: dict[str, object] = {"set": name, "model": type(model).__name__, "vectors": len(free.dual_coef_)}
            row |= {"error": error, "budget": few}
            for n_neighbors in (0, 1, 4, 8, 16, 32):
                kept = clone(model).set_params(budget=few, n_neighbors=n_neighbors).fit(X[train], y[train])
                row["dropped" if not n_neighbors else f"on {n_neighbors}"] = -kept.score(X[test], y[test]) / error
            kept = clone(model).set_params(budget=few, n_neighbors=0, average=False).fit(X[train], y[train])
            row["dropped, last weights"] = -kept.score(X[test], y[test]) / error
            rows.append(row)
    print(f"{n_train} rows, 5 epochs, averaged: error of all vectors, and of a tenth of them as a multiple of it\n")
    print(format_table(rows))


ALL = {"order": order, "late": late, "budget": budget}

if __name__ == "__main__":
    for wanted in sys.argv[1:] or ALL:
        ALL[wanted]()
