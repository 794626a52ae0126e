"""VILMA's convex bound on the interval-insensitive form of any V-shaped loss, for networks with a score per class.

With K scores s and the highest one predicted, a target loss ``l[y, p]`` (p predicted where y is true) is a step
function of the scores. VILMA's two maxima bound its interval-insensitive form (thesis, eq. 3.36; any scores in place
of ``f y + b_y`` are ours):

    max_{k <= lower} [l[lower, k] + s(k) - s(lower)]  +  max_{k >= upper} [l[upper, k] + s(k) - s(upper)]

This is convex in the scores for every interval, unlike the CuSum margin loss, whose target is the best admissible rank.
With the absolute error, ``s(k) = k f - t_0 - ... - t_{k-1}`` and ordered thresholds it is the implicit loss at margin 1
(Proposition 2).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rankwise.losses import loss_matrix
from rankwise.torch._row_loss import RowLoss, check_choice, check_codes, check_scores, reduce_rows

_BY_DISTANCE: dict[str, Callable[[Tensor], Tensor]] = {
    "mae": torch.abs,
    "zero_one": lambda distance: distance != 0,
    "squared": torch.square,
}


def vilma_loss(
    scores: Tensor, lower: Tensor, upper: Tensor, weight: Tensor | None = None, *, loss: Any = "mae",
    reduction: str = "mean", check: bool = True,
) -> Tensor:  # fmt: skip
    """Convex bound on the interval-insensitive form of a V-shaped loss.

    Arguments are those of :meth:`VILMALoss.forward`, then the parameters of :class:`VILMALoss` by name.
    """
    check_scores("scores", scores, "(n, K)")
    lower, upper = check_codes(lower, upper, scores, scores.shape[1] - 1, check)
    codes = torch.arange(scores.shape[1], device=scores.device)
    if isinstance(loss, str):
        check_choice("loss", loss, _BY_DISTANCE)
    else:
        loss = torch.as_tensor(loss, device=scores.device)
        if check or loss.shape != (codes.numel(),) * 2:
            loss_matrix(loss.detach().cpu().numpy(), codes.numel())  # refuses what is no V-shaped loss

    def lead(end: Tensor, other_side: Tensor) -> Tensor:
        """By how much another class on this side beats an end of the interval, its cost added."""
        cost = _BY_DISTANCE[loss](codes - end[:, None]) if isinstance(loss, str) else loss[end]
        against = cost.to(scores.dtype) + scores - scores.gather(1, end[:, None])
        return against.masked_fill(other_side, -torch.inf).max(dim=1).values

    losses = lead(lower, codes > lower[:, None]) + lead(upper, codes < upper[:, None])
    return reduce_rows(losses, weight, reduction, check)


def vilma_mae_loss(
    scores: Tensor, lower: Tensor, upper: Tensor, weight: Tensor | None = None, *, reduction: str = "mean",
    check: bool = True,
) -> Tensor:  # fmt: skip
    """:func:`vilma_loss` of the mean absolute error."""
    return vilma_loss(scores, lower, upper, weight, reduction=reduction, check=check)


class VILMALoss(RowLoss):
    """Convex surrogate of any V-shaped loss, interval-insensitive, for any network with a score per class.

    It bounds the loss of the highest-scored class against the cheapest admissible one. Both ends of the interval have
    to beat the classes beyond them even where a class inside it leads: the price of being convex.

    Parameters
    ----------
    loss : {"mae", "zero_one", "squared"} or array-like of shape (K, K), default "mae"
        Target loss; see :func:`rankwise.losses.loss_matrix`. A matrix becomes a buffer, which moves with the
        module.
    reduction, check
        As in :class:`IntervalMAELoss`.

    Examples
    --------
    >>> import torch
    >>> scores, lower, upper = torch.tensor([[0.0, 1.0, 0.75, 0.0]]), torch.tensor([1]), torch.tensor([1])
    >>> VILMALoss()(scores, lower, upper), VILMALoss(loss="squared")(scores, lower, upper)
    (tensor(1.), tensor(3.))
    """

    _own: tuple[str, ...] = ("loss",)

    loss: str | Tensor

    def __init__(self, loss: Any = "mae", reduction: str = "mean", check: bool = True) -> None:
        super().__init__(reduction, check)
        if isinstance(loss, str):
            check_choice("loss", loss, _BY_DISTANCE)
            self.loss = loss
        else:
            matrix = np.asarray(loss.detach().cpu() if isinstance(loss, Tensor) else loss)
            self.register_buffer("loss", torch.as_tensor(loss_matrix(matrix, len(matrix))), persistent=False)

    def forward(self, scores: Tensor, lower: Tensor, upper: Tensor, weight: Tensor | None = None) -> Tensor:
        """Loss of the scores.

        Parameters
        ----------
        scores : tensor of shape (n, K)
            Score of every class.
        lower, upper, weight
            As in :meth:`IntervalMAELoss.forward`.
        """
        return vilma_loss(scores, lower, upper, weight, **self._options)


class VILMAMAELoss(VILMALoss):
    """:class:`VILMALoss` of the mean absolute error: it bounds the distance of the predicted class from the interval.

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

    _own = ()

    def __init__(self, reduction: str = "mean", check: bool = True) -> None:
        super().__init__("mae", reduction, check)
