"""Quality of predictions, added up batch by batch: nothing is kept but sums."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.labels import ClassOrder, Labels


class RunningLoss:
    """Losses of predictions against labels of any form. Rows without a label, or without weight, are left out."""

    #: What is added up for each row, and then divided by the weight.
    LOSSES = ("mae", "zero_one", "within_one", "mae_at_worst")

    def __init__(self, order: ClassOrder) -> None:
        self.order = order
        self.n_rows = 0
        self.n_exact = 0
        self.n_unlabelled = 0
        self._weight = 0.0
        self._squared_weight = 0.0
        self._sums = np.zeros(len(self.LOSSES))
        self._variances = np.zeros((2, len(self.LOSSES)))  # sums of w^2 loss and of w^2 loss^2

    def add(self, labels: Labels, predictions: NDArray[Any], weight: NDArray[np.float64] | None) -> None:
        codes = self.order.codes(np.asarray(predictions)).astype(np.int64)
        missing = labels.is_missing
        w = np.ones(len(labels)) if weight is None else weight
        if missing.any() or weight is not None:
            kept = np.flatnonzero(~missing & (w > 0))
            labels, codes, w = labels.take(kept), codes[kept], w[kept]
        nearest = labels.distance(codes).astype(np.float64)
        farthest = np.maximum(np.abs(codes - labels.lower), np.abs(labels.upper - codes)).astype(np.float64)
        losses = np.stack([nearest, nearest > 0, nearest <= 1, farthest])
        self.n_rows += len(labels)
        self.n_exact += int(np.count_nonzero(labels.is_exact))
        self.n_unlabelled += int(np.count_nonzero(missing))
        self._weight += float(w.sum())
        self._squared_weight += float(w @ w)
        self._sums += losses @ w
        self._variances += losses @ (w * w), (losses * losses) @ (w * w)

    @property
    def mae(self) -> float:
        """Mean absolute error so far, in ranks; NaN before the first row."""
        return float(self._sums[0] / self._weight) if self._weight else math.nan

    def state(self) -> dict[str, Any]:
        """All sums, as plain values: what a checkpoint must hold."""
        return {name: value for name, value in vars(self).items() if name != "order"}

    def restore(self, state: Mapping[str, Any]) -> None:
        vars(self).update(state)

    def results(self) -> dict[str, Any]:
        """Means, and standard errors of the means as ``<name>_se``."""
        results: dict[str, Any] = {"rows": self.n_rows, "exact_labels": self.n_exact}
        results["unlabelled_rows"] = self.n_unlabelled
        if not self._weight:
            return results
        means = self._sums / self._weight
        spread = self._variances[1] - 2 * means * self._variances[0] + means**2 * self._squared_weight
        errors = np.sqrt(np.maximum(spread, 0.0)) / self._weight
        for name, mean, error in zip(self.LOSSES, means.tolist(), errors.tolist(), strict=True):
            results[name] = mean
            results[f"{name}_se"] = error
        return results


def describe(results: dict[str, Any]) -> dict[str, str]:
    """Results in words, for people."""
    rows = f"{results['rows']:,}"
    if results["unlabelled_rows"]:
        rows += f" with labels, {results['unlabelled_rows']:,} without"
    facts = {"rows": rows}
    if "mae" not in results:
        return facts
    facts["mean absolute error"] = f"{results['mae']:.4f} ranks (standard error {results['mae_se']:.4f})"
    inexact = results["rows"] - results["exact_labels"]
    if inexact:
        worst = f"at most {results['mae_at_worst']:.4f} whatever the truth behind {inexact:,} imprecise labels"
        facts["mean absolute error"] += f", and {worst}"
    facts["wrong"] = f"{results['zero_one']:.2%} (standard error {results['zero_one_se']:.2%})"
    facts["at most one rank off"] = f"{results['within_one']:.2%} (standard error {results['within_one_se']:.2%})"
    if "log_score" in results:
        facts["log score"] = f"{results['log_score']:.4f}"
        facts["ranked probability score"] = _range(results, "ranked_probability_score", inexact)
        facts["calibration error"] = _range(results, "calibration_error", inexact) + ", of the events y <= k"
    if "sets" in results:
        sets = results["sets"]
        share = (f"{sets['coverage_at_worst']:.2%} to " if inexact else "") + f"{sets['coverage']:.2%}"
        size = f"{sets['width']:.3g} classes on average"
        facts[f"sets at {sets['level']:.4g}"] = f"hold the class of {share} of the rows; {size}"
    return facts


def _range(results: dict[str, Any], name: str, inexact: int) -> str:
    """A score, or its range where labels are imprecise."""
    return f"{results[name]:.4f}" + (f" to {results[f'{name}_at_worst']:.4f}" if inexact else "")
