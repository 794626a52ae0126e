"""Quality of predictions, probabilities and sets of classes, as sums over batches; no rows are kept.

Rows without a label, or with one that admits every class, are left out, and those without weight: all that is said is
about the others. A mean over these, against their true classes, lies within the range of the nearest and the farthest
classes that their labels admit.
"""

import math
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rankwise._types import Floats
from rankwise.base.model import LEVEL, Predictions, Sets
from rankwise.labels import ClassOrder, Labels
from rankwise.metrics import Reliability, cumulative_brier_scores, log_score, ranked_probability_score

_BINS = 10  # of the reliability of the events ``y <= k``
_ENDS: tuple[Literal["nearest", "farthest"], ...] = ("nearest", "farthest")


class RunningLoss:
    """Losses of predictions against labels of any form."""

    #: Weighted means over rows.
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
        farthest = labels.largest_distance(codes).astype(np.float64)
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
        """All sums, as plain values, for a checkpoint."""
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


class ProbabilitySums:
    """Scores of probabilities against labels of any form.

    Examples
    --------
    >>> from rankwise.labels import encode
    >>> sums = ProbabilitySums()
    >>> sums.add(encode([1, (1, 2)], [1, 2, 3]), np.array([[0.5, 0.25, 0.25], [0.5, 0.25, 0.25]]), None)
    >>> {name: round(value, 3) for name, value in sums.results().items() if name.startswith("ranked")}
    {'ranked_probability_score': 0.312, 'ranked_probability_score_at_worst': 0.312}
    """

    def __init__(self) -> None:
        self.weight = 0.0
        self.reliability: Reliability | None = None
        self._log = 0.0
        self._ranked = np.zeros(2)
        self._brier: Any = 0.0  # (2, K-1) from the first batch on

    def add(self, labels: Labels, probabilities: Floats, weight: Floats | None) -> None:
        w = np.ones(len(labels)) if weight is None else weight
        kept = np.flatnonzero(~labels.is_missing & (w > 0.0))
        if not kept.size or len(labels.order) < 2:
            return
        labels, P, w = labels.take(kept), probabilities[kept], w[kept]
        total = float(w.sum())
        self.weight += total
        self._log += total * log_score(labels, P, sample_weight=w)
        self._ranked += [total * ranked_probability_score(labels, P, against=end, sample_weight=w) for end in _ENDS]
        self._brier = self._brier + np.stack(
            [total * cumulative_brier_scores(labels, P, against=end, sample_weight=w) for end in _ENDS]
        )
        reliability = Reliability.of(labels, P, w, _BINS)
        self.reliability = reliability if self.reliability is None else self.reliability + reliability

    def results(self) -> dict[str, Any]:
        """Means; for imprecise labels, limits of those against the true classes.

        ``log_score`` is that of the labels as given, which is not above that of the true classes. The others are
        lower limits, with the upper ones as ``<name>_at_worst``: of the ranked probability score and of each of the
        ``brier_scores``, one for each threshold, some truth attains them; of the calibration error none need do so.
        """
        if self.reliability is None:
            return {}
        best, worst = (self._brier / self.weight).tolist()
        errors = [float(self.reliability.errors(end).mean()) for end in _ENDS]
        ranked = (self._ranked / self.weight).tolist()
        return {
            "log_score": self._log / self.weight,
            "ranked_probability_score": ranked[0],
            "ranked_probability_score_at_worst": ranked[1],
            "brier_scores": best,
            "brier_scores_at_worst": worst,
            "calibration_error": errors[0],
            "calibration_error_at_worst": errors[1],
        }


class SetSums:
    """Sets against labels of any form.

    Examples
    --------
    >>> from rankwise.base.model import Sets
    >>> from rankwise.labels import encode
    >>> sums = SetSums()
    >>> sums.add(encode([1, (1, 2)], [1, 2, 3]), Sets(np.array([[True, False, False]] * 2), 0.9), None)
    >>> {name: sums.results()["sets"][name] for name in ("coverage", "coverage_at_worst", "width")}
    {'coverage': 1.0, 'coverage_at_worst': 0.5, 'width': 1.0}
    """

    def __init__(self) -> None:
        self.level = LEVEL
        self._sums: Any = 0.0  # weight, held at best, held at worst: (3, K+1) by size, from the first batch on

    def add(self, labels: Labels, sets: Sets | None, weight: Any) -> None:
        """Add the rows of a batch; nothing if there are no sets."""
        if sets is None:
            return
        held, self.level = sets
        w = np.where(labels.is_missing, 0.0, 1.0 if weight is None else weight)
        admitted = labels.admissible()
        best, worst = (held & admitted).any(axis=1), (held | ~admitted).all(axis=1)
        size, n = held.sum(axis=1), held.shape[1] + 1
        self._sums = self._sums + np.stack([np.bincount(size, w * one, n) for one in (1.0, best, worst)])

    def results(self) -> dict[str, Any]:
        """``sets``: level, coverage at best and at worst, mean width, and the same by size; {} if there are none."""
        if not np.any(self._sums):
            return {}
        weight, best, worst = self._sums
        total = float(weight.sum())
        sizes = [
            {
                "size": int(size),
                "share": float(weight[size] / total),
                "coverage": float(best[size] / weight[size]),
                "coverage_at_worst": float(worst[size] / weight[size]),
            }
            for size in np.flatnonzero(weight)
        ]
        shares = {"coverage": float(best.sum() / total), "coverage_at_worst": float(worst.sum() / total)}
        width = float(weight @ np.arange(weight.size) / total)
        return {"sets": {"level": self.level, **shares, "width": width, "sizes": sizes}}


class QualitySums:
    """Predictions, and probabilities and sets if a model has them."""

    def __init__(self, order: ClassOrder) -> None:
        self.loss, self.probabilities, self.sets = RunningLoss(order), ProbabilitySums(), SetSums()

    def add(self, labels: Labels, said: Predictions, weight: Floats | None) -> None:
        """Add what a model says of the rows of a batch."""
        self.loss.add(labels, said.classes, weight)
        if said.probabilities is not None:
            self.probabilities.add(labels, said.probabilities, weight)
        self.sets.add(labels, said.sets, weight)

    def results(self) -> dict[str, Any]:
        return self.loss.results() | self.probabilities.results() | self.sets.results()


def describe(results: dict[str, Any]) -> dict[str, str]:
    """Results in words."""
    rows = f"{results['rows']:,}"
    if results["unlabelled_rows"]:
        rows += f" with labels, {results['unlabelled_rows']:,} left out: no label, or one that admits every class"
    facts = {"rows": rows}
    if "mae" not in results:
        return facts
    inexact = results["rows"] - results["exact_labels"]
    least, most = ("at least ", "at most ") if inexact else ("", "")
    facts["mean absolute error"] = f"{least}{results['mae']:.4f} ranks (standard error {results['mae_se']:.4f})"
    if inexact:
        worst = f"at most {results['mae_at_worst']:.4f}, whatever the truth behind {inexact:,} imprecise labels"
        facts["mean absolute error"] += f", {worst}"
    facts["wrong"] = f"{least}{results['zero_one']:.2%} (standard error {results['zero_one_se']:.2%})"
    share = f"{results['within_one']:.2%} (standard error {results['within_one_se']:.2%})"
    facts["at most one rank off"] = most + share
    if "log_score" in results:
        facts["log score"] = f"{least}{results['log_score']:.4f}"
        facts["ranked probability score"] = _range(results, "ranked_probability_score", inexact)
        facts["calibration error"] = _range(results, "calibration_error", inexact) + ", of the events y <= k"
    if "sets" in results:
        sets = results["sets"]
        share = (f"{sets['coverage_at_worst']:.2%} to " if inexact else "") + f"{sets['coverage']:.2%}"
        size = f"{sets['width']:.3g} classes on average"
        facts[f"sets at {sets['level']:.4g}"] = f"hold the class of {share} of the rows; {size}"
    return facts


def _range(results: dict[str, Any], name: str, inexact: int) -> str:
    """A score, or its range if labels are imprecise."""
    value = f"{results[name]:.4f}"
    return f"at least {value}, at most {results[f'{name}_at_worst']:.4f}" if inexact else value
