"""Quality of probabilities, added up batch by batch: nothing is kept but sums."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rankwise.labels import Labels
from rankwise.metrics import Reliability, cumulative_brier_scores, log_score, ranked_probability_score

Floats = NDArray[np.float64]

_ENDS: tuple[Literal["nearest", "farthest"], ...] = ("nearest", "farthest")


class ProbabilitySums:
    """Scores of probabilities against labels of any form. Rows without a label, or without weight, are left out.

    Parameters
    ----------
    n_bins : int, default 10
        Bins of the reliability of the events ``y <= k``.

    Examples
    --------
    >>> from rankwise.labels import encode
    >>> sums = ProbabilitySums()
    >>> sums.add(encode([1, (1, 2)], [1, 2, 3]), np.array([[0.5, 0.25, 0.25], [0.5, 0.25, 0.25]]), None)
    >>> {name: round(value, 3) for name, value in sums.results().items() if name.startswith("ranked")}
    {'ranked_probability_score': 0.312, 'ranked_probability_score_at_worst': 0.312}
    """

    def __init__(self, n_bins: int = 10) -> None:
        self.n_bins = n_bins
        self.weight = 0.0
        self.reliability: Reliability | None = None
        self._log = 0.0
        self._ranked = np.zeros(2)
        self._brier: Any = 0.0  # (2, K-1) from the first batch on

    def add(self, labels: Labels, probabilities: Floats, weight: Floats | None) -> None:
        """Add the rows of a batch."""
        w = np.ones(len(labels)) if weight is None else weight
        kept = np.flatnonzero(~labels.is_missing & (w > 0.0))
        if not kept.size or len(labels.order) < 2:
            return
        said, P, w = labels.take(kept), probabilities[kept], w[kept]
        total = float(w.sum())
        self.weight += total
        self._log += total * log_score(said, P, sample_weight=w)
        self._ranked += [total * ranked_probability_score(said, P, against=end, sample_weight=w) for end in _ENDS]
        self._brier = self._brier + np.stack(
            [total * cumulative_brier_scores(said, P, against=end, sample_weight=w) for end in _ENDS]
        )
        found = Reliability.of(said, P, w, self.n_bins)
        self.reliability = found if self.reliability is None else self.reliability + found

    def results(self) -> dict[str, Any]:
        """Means; where labels are imprecise, the best and the worst that the truth behind them could bring.

        ``log_score`` is that of the labels as they are; the others are those against the nearest class, with
        ``<name>_at_worst``. ``brier_scores`` has one number for each threshold.
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
