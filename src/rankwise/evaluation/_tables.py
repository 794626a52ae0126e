"""Models side by side: fitted to the same rows, judged on the same rows, in a table."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sklearn.base import clone

from rankwise.labels._read import read
from rankwise.losses import interval_insensitive
from rankwise.metrics._compare import compare as on_one_scale
from rankwise.metrics._compare import mean


def compare(
    models: Mapping[str, Any],
    X: Any,
    y: Any,
    X_test: Any,
    y_test: Any,
    *,
    classes: Any = None,
    sample_weight: Any = None,
) -> list[dict[str, Any]]:
    """Fit a clone of every model and judge all on the same test rows; one row of results per model, best first.

    Examples
    --------
    >>> from rankwise import MulticlassPerceptron, PRank
    >>> from rankwise.datasets import make_ordinal
    >>> X, y = make_ordinal(2000, 5, 4, noise=0.1, random_state=0)
    >>> models = {"PRank": PRank(random_state=0), "multi-class": MulticlassPerceptron(random_state=0)}
    >>> [row["model"] for row in compare(models, X[:1000], y[:1000], X[1000:], y[1000:])]
    ['PRank', 'multi-class']
    """
    results, labels = [], read(y_test)
    for name, model in models.items():
        start = time.perf_counter()
        fitted = clone(model).fit(X, y) if sample_weight is None else clone(model).fit(X, y, sample_weight)
        seconds = time.perf_counter() - start
        predicted = fitted.predict(X_test)
        judged, codes, weight = on_one_scale(labels, predicted, fitted.classes_ if classes is None else classes, None)
        losses = {loss: mean(interval_insensitive(judged, codes, loss), weight) for loss in ("mae", "zero_one")}
        results.append({"model": name, **losses, "fit_seconds": seconds})
    return sorted(results, key=lambda row: row["mae"])


def format_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows of results as an aligned text table (numbers with four significant digits).

    >>> print(format_table([{"model": "PRank", "mae": 0.25}, {"model": "other", "mae": 1}]))
    model   mae
    -----  ----
    PRank  0.25
    other     1
    """
    names = list(rows[0])
    cells = [[f"{row[n]:.4g}" if isinstance(row[n], float) else str(row[n]) for n in names] for row in rows]
    widths = [max(map(len, column)) for column in zip(names, *cells, strict=True)]
    text = [i for i, n in enumerate(names) if isinstance(rows[0][n], str)]

    def line(values: Iterable[str]) -> str:
        padded = (v.ljust(w) if i in text else v.rjust(w) for i, (v, w) in enumerate(zip(values, widths, strict=True)))
        return "  ".join(padded).rstrip()

    return "\n".join([line(names), line("-" * w for w in widths), *map(line, cells)])
