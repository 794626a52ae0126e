"""Interval-insensitive mean absolute error, for networks with one output.

With f, an estimate of the code as a number, it is the distance of f from the interval,

    (lower - f)_+ [lower > 0]  +  (f - upper)_+ [upper < K-1]

where an interval that reaches an end of the scale is open there: nothing is beyond the last class, and a missing label
costs nothing. Twice that bounds the distance of f, rounded into 0..K-1, from the interval.
"""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional

from rankwise.torch._row_loss import RowLoss, check_codes, check_count, check_scores, reduce_rows


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
