"""Interval-insensitive mean absolute error, for networks with one output and for networks with a score per class.

With one output f, an estimate of the code as a number, it is the distance of f from the interval,

    (lower - f)_+ [lower > 0]  +  (f - upper)_+ [upper < K-1]

where an interval that reaches an end of the scale is open there: nothing is beyond the last class, and a missing label
costs nothing. Twice that bounds the distance of f, rounded into 0..K-1, from the interval.

With K scores and the highest one predicted, the error is a step function of the scores. VILMA's two maxima bound it
(thesis, eq. 3.36, with the target loss |y - y'|; any scores s in place of ``f y + b_y`` are ours):

    max_{k <= lower} [lower - k + s(k) - s(lower)]  +  max_{k >= upper} [k - upper + s(k) - s(upper)]

This is convex in the scores for every interval, unlike the CuSum margin loss, whose target is the best admissible rank.
With ``s(k) = k f - t_0 - ... - t_{k-1}`` and ordered thresholds it is the implicit loss at margin 1 (Proposition 2).
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from rankwise.torch._row_loss import RowLoss, check_codes, check_count, check_scores, reduce_rows


def interval_mae_loss(
    outputs: Tensor, lower: Tensor, upper: Tensor, weight: Tensor | None = None, *, n_classes: int,
    reduction: str = "mean", check: bool = True,
) -> Tensor:  # fmt: skip
    """Distance of one output a row from its interval, in ranks: see :class:`IntervalMAELoss`.

    The arguments are those of :meth:`IntervalMAELoss.forward`, then its parameters by name.

    Examples
    --------
    >>> import torch
    >>> lower, upper = torch.tensor([1, 1, 2]), torch.tensor([1, 3, 4])
    >>> interval_mae_loss(torch.tensor([1.5, 1.5, 1.5]), lower, upper, n_classes=5, reduction="none")
    tensor([0.5000, 0.0000, 0.5000])
    """
    check_count("n_classes", n_classes, 1)
    check_scores("outputs", outputs, "(n,)")
    lower, upper = check_codes(lower, upper, outputs, n_classes - 1, check)
    too_low = functional.relu(lower.to(outputs.dtype) - outputs).masked_fill(lower == 0, 0.0)
    too_high = functional.relu(outputs - upper.to(outputs.dtype)).masked_fill(upper == n_classes - 1, 0.0)
    return reduce_rows(too_low + too_high, weight, reduction, check)


def vilma_mae_loss(
    scores: Tensor, lower: Tensor, upper: Tensor, weight: Tensor | None = None, *, reduction: str = "mean",
    check: bool = True,
) -> Tensor:  # fmt: skip
    """Convex bound on the interval-insensitive mean absolute error of K scores: see :class:`VILMAMAELoss`.

    The arguments are those of :meth:`VILMAMAELoss.forward`, then its parameters by name.

    Examples
    --------
    >>> import torch
    >>> scores = torch.tensor([[0.0, 1.0, 3.0, 2.5], [0.0, 1.0, 3.0, 2.5]])
    >>> vilma_mae_loss(scores, torch.tensor([2, 0]), torch.tensor([2, 1]), reduction="none")
    tensor([0.5000, 3.5000])
    """
    check_scores("scores", scores, "(n, K)")
    lower, upper = check_codes(lower, upper, scores, scores.shape[1] - 1, check)
    codes = torch.arange(scores.shape[1], device=scores.device)

    def lead(end: Tensor, other_side: Tensor) -> Tensor:
        """By how much another class on this side beats an end of the interval, its distance added."""
        cost = (codes - end[:, None]).abs().to(scores.dtype)
        against = cost + scores - scores.gather(1, end[:, None])
        return against.masked_fill(other_side, -torch.inf).max(dim=1).values

    losses = lead(lower, codes > lower[:, None]) + lead(upper, codes < upper[:, None])
    return reduce_rows(losses, weight, reduction, check)


class IntervalMAELoss(RowLoss):
    """Mean absolute error of one output a row against intervals: the distance to the nearer end, zero inside.

    For a network that estimates the rank as a number, on the scale of the codes 0..K-1; predict by rounding into that
    range. Equal steps between the ranks are then part of the model. An interval that reaches an end of the scale is
    open there.

    Parameters
    ----------
    n_classes : int
        K.
    reduction : {"mean", "sum", "none"}, default "mean"
        Weighted mean of the rows, their weighted sum, or one value a row. A missing label is a row that costs
        nothing; give it weight 0 to leave it out of the mean.
    check : bool, default True
        Look whether codes and weights are in range. The host waits for a GPU then; labels made by
        :func:`labels_to_tensors` need no check.

    Examples
    --------
    >>> import torch
    >>> IntervalMAELoss(n_classes=5)(torch.tensor([0.0, 2.5]), torch.tensor([1, 1]), torch.tensor([2, 2]))
    tensor(0.7500)
    """

    _own = ("n_classes",)

    def __init__(self, n_classes: int, reduction: str = "mean", check: bool = True) -> None:
        super().__init__(reduction, check)
        check_count("n_classes", n_classes, 1)
        self.n_classes = n_classes

    def forward(self, outputs: Tensor, lower: Tensor, upper: Tensor, weight: Tensor | None = None) -> Tensor:
        """Loss of the outputs.

        Parameters
        ----------
        outputs : tensor of shape (n,)
            Estimated code of every row, as a number; 0 is the lowest class.
        lower, upper : integer tensor of shape (n,)
            Lowest and highest admissible code.
        weight : tensor of shape (n,), optional
            Importance of every row, at least 0.
        """
        return interval_mae_loss(outputs, lower, upper, weight, **self._options)


class VILMAMAELoss(RowLoss):
    """Convex surrogate of the interval-insensitive mean absolute error, for any network with a score per class.

    It bounds the distance of the highest-scored class from the interval. Both ends of the interval have to beat the
    classes beyond them even where a class inside it leads: the price of being convex.

    Parameters
    ----------
    reduction, check
        As in :class:`IntervalMAELoss`.

    Examples
    --------
    >>> import torch
    >>> VILMAMAELoss()(torch.tensor([[0.0, 1.0, 0.75]]), torch.tensor([1]), torch.tensor([1]))
    tensor(0.7500)
    """

    def forward(self, scores: Tensor, lower: Tensor, upper: Tensor, weight: Tensor | None = None) -> Tensor:
        """Loss of the scores.

        Parameters
        ----------
        scores : tensor of shape (n, K)
            Score of every class.
        lower, upper, weight
            As in :meth:`IntervalMAELoss.forward`.
        """
        return vilma_mae_loss(scores, lower, upper, weight, **self._options)
