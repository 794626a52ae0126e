"""Explanations in the report: importances of the columns on the first rows, and three of these rows in detail."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from rankwise._extras import require
from rankwise.base.model import Model
from rankwise.base.row_data import rows_at
from rankwise.explanations import explain
from rankwise.features.arrow_columns import as_table
from rankwise.labels import Labels

_MOST_ROWS = 100
_SAMPLES = 10  # background rows of contributions that must be sampled
_SHOWN = 15  # classes of one row
_PLACES = (("a low score", 0.1), ("a middle score", 0.5), ("a high score", 0.9))


class FirstRows:
    """The first rows of a stream, as the caller passed them, with their labels."""

    def __init__(self) -> None:
        self._batches: list[Any] = []
        self._labels: list[Labels] = []
        self._n = 0

    def add(self, X: Any, labels: Labels) -> None:
        """Keep rows of a batch until there are enough."""
        rows = np.arange(min(len(labels), _MOST_ROWS - self._n))
        if rows.size:
            self._batches.append(rows_at(X, rows))
            self._labels.append(labels.take(rows))
            self._n += rows.size

    def facts(self, model: Model, top: int) -> dict[str, Any] | None:
        """Importances of the columns and some rows in detail, as plain values; None for unordered classes."""
        if not model.ordered or self._n < 2 or len(model.classes) < 2:
            return None
        X = _concatenated(self._batches)
        try:
            explanation = explain(model.given, X, n_samples=_SAMPLES)
        except (ValueError, TypeError):  # sparse rows of a model whose contributions are sampled
            return None
        labels, sizes = Labels.concatenate(self._labels), explanation.importances()
        order = np.argsort(-sizes, kind="stable")[:top]
        by_score = np.argsort(explanation.scores, kind="stable")
        chosen = {int(by_score[int(share * (self._n - 1))]): name for name, share in _PLACES}
        return {
            "rows": self._n,
            "method": explanation.method,
            "score": explanation.score_name,
            "columns": [{"name": explanation.columns[j], "size": float(sizes[j])} for j in order],
            "n_columns": len(explanation.columns),
            "each": [_row(model, X, labels, row) | {"which": which, "reasons": explanation.sentences(row)}
                     for row, which in chosen.items()],
        }  # fmt: skip


def _row(model: Model, X: Any, labels: Labels, row: int) -> dict[str, Any]:
    """Prediction, label, and where the model has them, the probabilities and the set of one row."""
    answers = model.predict(rows_at(X, np.array([row])))
    names = [str(name) for name in model.classes.tolist()]
    admitted, missing = labels.admissible()[row], labels.is_missing[row]
    facts: dict[str, Any] = {"row": row, "predicted": str(answers.classes.tolist()[0])}
    facts["label"] = "none" if missing else ", ".join(np.array(names)[admitted].tolist())
    sets = answers.sets
    inside = np.zeros(len(names), dtype=bool) if sets is None else sets.holds[0]
    if sets is not None:
        facts["level"], held = sets.level, np.flatnonzero(inside)
        facts["set"] = names[held[0]] if held.size == 1 else f"{names[held[0]]} to {names[held[-1]]}"
    if answers.probabilities is not None:
        p = answers.probabilities[0]
        shown = np.sort(np.argsort(-p, kind="stable")[:_SHOWN])
        facts["classes"] = [
            {"name": names[k], "probability": float(p[k]), "inside": bool(inside[k]),
             "admitted": bool(admitted[k] and not missing)} for k in shown
        ]  # fmt: skip
    return facts


def _concatenated(batches: list[Any]) -> Any:
    first = batches[0]
    if len(batches) == 1:
        return first
    if sparse.issparse(first):
        return sparse.vstack(batches, format="csr")
    if hasattr(first, "iloc"):
        return require("pandas", "rows of pandas need pandas").concat(batches)
    if hasattr(first, "schema"):
        return require("pyarrow", "tables need pyarrow").concat_tables([as_table(batch) for batch in batches])
    return np.concatenate(batches)
