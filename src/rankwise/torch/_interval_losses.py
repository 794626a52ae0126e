"""Interval-insensitive losses: the absolute error of one output a row, and VILMA's bounds for a score per class.

With one output f, an estimate of the code as a number, the error is the distance of f from the interval,

    (lower - f)_+ [lower > 0]  +  (f - upper)_+ [upper < K-1]

where an interval that reaches an end of the scale is open there: nothing is beyond the last class, and a missing label
costs nothing. Twice that bounds the distance of f, rounded into 0..K-1, from the interval.

With K scores s and the highest one predicted, a target loss ``l[y, p]`` (p predicted where y is true) is a step
function of the scores. VILMA's two maxima bound its interval-insensitive form (thesis, eq. 3.36; any scores in place
of ``f y + b_y`` are ours):

    max_{k <= lower} [l[lower, k] + s(k) - s(lower)]  +  max_{k >= upper} [l[upper, k] + s(k) - s(upper)]

This is convex in the scores for every interval, unlike the CuSum margin loss, whose target is the best admissible rank.
With the absolute error, ``s(k) = k f - t_0 - ... - t_{k-1}`` and ordered thresholds it is the implicit loss at margin 1
(Proposition 2).
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from rankwise.losses import loss_matrix
from rankwise.torch._row_loss import RowLoss, check_choice, check_codes, check_count, check_scores, reduce_rows

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
            loss_matrix(loss.detach().cpu().numpy(), codes.numel())  # refuses a loss that is not V-shaped

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

    _option_names: tuple[str, ...] = ("loss",)

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

    _option_names = ()

    def __init__(self, reduction: str = "mean", check: bool = True) -> None:
        super().__init__("mae", reduction, check)


def interval_mae_loss(
    outputs: Tensor, lower: Tensor, upper: Tensor, weight: Tensor | None = None, *, n_classes: int,
    reduction: str = "mean", check: bool = True,
) -> Tensor:  # fmt: skip
    """Distance of one output a row from its interval, in ranks.

    Arguments are those of :meth:`IntervalMAELoss.forward`, then the parameters of :class:`IntervalMAELoss` by name.
    """
    check_count("n_classes", n_classes, 1)
    check_scores("outputs", outputs, "(n,)")
    lower, upper = check_codes(lower, upper, outputs, n_classes - 1, check)
    too_low = functional.relu(lower.to(outputs.dtype) - outputs).masked_fill(lower == 0, 0.0)
    too_high = functional.relu(outputs - upper.to(outputs.dtype)).masked_fill(upper == n_classes - 1, 0.0)
    return reduce_rows(too_low + too_high, weight, reduction, check)


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

    _option_names = ("n_classes",)

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
