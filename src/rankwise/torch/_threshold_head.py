"""One score and ordered thresholds on a network, and the two interval-insensitive losses of such models.

Label ``[lower, upper]`` (codes, both included) wants the score f above the thresholds ``0 .. lower-1`` and below the
thresholds ``upper .. K-2``; those in between say nothing. With margin m (thesis, sections 3.3.2 and 3.3.3):

    implicit  sum_{k < lower} (m - f + t_k)_+  +  sum_{k >= upper} (m + f - t_k)_+
    explicit  (m - f + t_{lower-1})_+          +  (m + f - t_upper)_+               with ordered thresholds

They are :func:`rankwise.losses.implicit_surrogate` and :func:`rankwise.losses.explicit_surrogate`, batched and with
gradients. The predicted code is the number of thresholds at or below the score.
"""

import math
from collections.abc import Callable
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from rankwise.torch._row_loss import (
    RowLoss,
    check_codes,
    check_count,
    check_margin,
    check_scores,
    describe,
    reduce_rows,
)


class OrderedThresholds(nn.Module):
    """K-1 thresholds that stay in order whatever an optimiser does: each is the one before plus a softplus.

    They start one apart, centred at zero. Calling the module gives the thresholds.

    Parameters
    ----------
    n_classes : int
        K, at least 2.
    device, dtype : optional
        As in :class:`torch.nn.Linear`.

    Attributes
    ----------
    first : Parameter of shape (1,)
        The lowest threshold.
    gaps : Parameter of shape (K-2,)
        Distances of the others from the one below, before the softplus.

    Examples
    --------
    >>> from rankwise.torch import OrderedThresholds
    >>> OrderedThresholds(n_classes=5)()
    tensor([-1.5000, -0.5000,  0.5000,  1.5000], grad_fn=<CumsumBackward0>)
    """

    def __init__(self, n_classes: int, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        check_count("n_classes", n_classes, 2)
        self.n_classes = n_classes
        self.first = nn.Parameter(torch.empty(1, device=device, dtype=dtype))
        self.gaps = nn.Parameter(torch.empty(n_classes - 2, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Put the thresholds one apart, centred at zero."""
        nn.init.constant_(self.first, -(self.n_classes - 2) / 2)
        nn.init.constant_(self.gaps, math.log(math.expm1(1.0)))  # its softplus is 1

    def forward(self) -> Tensor:
        """Thresholds in ascending order, shape (K-1,)."""
        return torch.cat([self.first, functional.softplus(self.gaps)]).cumsum(dim=0)

    def extra_repr(self) -> str:
        """Size."""
        return f"n_classes={self.n_classes}"


class ThresholdHead(nn.Module):
    """Last layer for ordered classes: one linear score, and thresholds on it. Calling it gives both.

    Parameters
    ----------
    in_features : int
        Size of the input.
    n_classes, device, dtype
        As in :class:`OrderedThresholds`.

    Attributes
    ----------
    score : torch.nn.Linear
        The score; it has no intercept, for the thresholds can move.
    thresholds : OrderedThresholds

    Examples
    --------
    >>> import torch
    >>> from rankwise.torch import ImplicitLoss, ThresholdHead
    >>> head = ThresholdHead(2, n_classes=4)
    >>> scores, thresholds = head(torch.randn(3, 2))
    >>> scores.shape, thresholds.shape, ThresholdHead.predict(scores, thresholds).shape
    (torch.Size([3]), torch.Size([3]), torch.Size([3]))
    >>> loss = ImplicitLoss()(scores, thresholds, lower=torch.tensor([0, 1, 3]), upper=torch.tensor([0, 2, 3]))
    """

    def __init__(self, in_features: int, n_classes: int, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        check_count("in_features", in_features, 1)
        self.score = nn.Linear(in_features, 1, bias=False, device=device, dtype=dtype)
        self.thresholds = OrderedThresholds(n_classes, device=device, dtype=dtype)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Scores, shape (...), and thresholds, shape (K-1,), for x of shape (..., in_features)."""
        return self.score(x).squeeze(-1), self.thresholds()

    @staticmethod
    def predict(scores: Tensor, thresholds: Tensor) -> Tensor:
        """Code of every score: the number of thresholds at or below it."""
        return (scores[..., None] >= thresholds).sum(dim=-1)


def implicit_loss(
    scores: Tensor, thresholds: Tensor, lower: Tensor, upper: Tensor, weight: Tensor | None = None, *,
    margin: float = 1.0, reduction: str = "mean", check: bool = True,
) -> Tensor:  # fmt: skip
    """What the score lacks to the margin, summed over all thresholds outside the interval.

    Arguments are those of :meth:`ImplicitLoss.forward`, then the parameters of :class:`ImplicitLoss` by name.
    """
    thresholds, lower, upper = _check(scores, thresholds, lower, upper, margin, check)
    place = torch.arange(thresholds.shape[-1], device=scores.device)
    above = scores[:, None] - thresholds
    too_low = functional.relu(margin - above).masked_fill(place >= lower[:, None], 0.0)
    too_high = functional.relu(margin + above).masked_fill(place < upper[:, None], 0.0)
    return reduce_rows((too_low + too_high).sum(dim=1), weight, reduction, check)


def explicit_loss(
    scores: Tensor, thresholds: Tensor, lower: Tensor, upper: Tensor, weight: Tensor | None = None, *,
    margin: float = 1.0, reduction: str = "mean", check: bool = True,
) -> Tensor:  # fmt: skip
    """What the score lacks to the margin at the two ends of the interval; arguments as in :func:`implicit_loss`."""
    thresholds, lower, upper = _check(scores, thresholds, lower, upper, margin, check)
    if check and bool((falls := thresholds[:, 1:] < thresholds[:, :-1]).any()):
        row, place = falls.nonzero()[0].tolist()
        before, after = thresholds[row, place : place + 2].tolist()
        raise ValueError(f"thresholds must not descend. Got {after} after {before} at place {place + 1}.")
    n_thresholds = thresholds.shape[-1]
    # An interval that reaches an end of the scale has no threshold there: an infinite one stands in for it.
    padded = functional.pad(thresholds, (1, 0), value=-torch.inf)
    padded = functional.pad(padded, (0, 1), value=torch.inf).expand(scores.shape[0], n_thresholds + 2)
    below = padded.gather(1, lower[:, None]).squeeze(1)
    above = padded.gather(1, upper[:, None] + 1).squeeze(1)
    losses = functional.relu(margin - scores + below) + functional.relu(margin + scores - above)
    return reduce_rows(losses, weight, reduction, check)


class _ThresholdLoss(RowLoss):
    """What the two losses of threshold models share: their arguments."""

    _option_names = ("margin",)
    _function: ClassVar[Callable[..., Tensor]]

    def __init__(self, margin: float = 1.0, reduction: str = "mean", check: bool = True) -> None:
        super().__init__(reduction, check)
        check_margin("margin", margin, zero=True)
        self.margin = margin

    def forward(
        self, scores: Tensor, thresholds: Tensor, lower: Tensor, upper: Tensor, weight: Tensor | None = None
    ) -> Tensor:
        """Loss of scores and thresholds.

        Parameters
        ----------
        scores : tensor of shape (n,)
            One score a row.
        thresholds : tensor of shape (K-1,) or (n, K-1)
            The thresholds, or each row's own.
        lower, upper, weight
            As in :meth:`IntervalMAELoss.forward`.
        """
        return type(self)._function(scores, thresholds, lower, upper, weight, **self._options)


class ImplicitLoss(_ThresholdLoss):
    """Interval-insensitive loss with implicit constraints: all thresholds outside the interval have a say.

    At margin 1 this is the loss of SVOR-IMC, which bounds the interval-insensitive mean absolute error. It needs no
    order of the thresholds: for any scores, some of the best thresholds are in order. A candidate set with holes is no
    label for a threshold model: it learns from the interval that spans it.

    Parameters
    ----------
    margin : float, default 1.0
        How far beyond a threshold the score must lie to cost nothing.
    reduction, check
        As in :class:`IntervalMAELoss`.

    Examples
    --------
    >>> import torch
    >>> ImplicitLoss()(torch.tensor([0.5]), torch.tensor([0.0, 1.0]), torch.tensor([2]), torch.tensor([2]))
    tensor(2.)
    """

    _function = implicit_loss


class ExplicitLoss(_ThresholdLoss):
    """Interval-insensitive loss with explicit constraints: only the two thresholds next to the interval have a say.

    At margin 1 this is the loss of SVOR-EXP, which bounds the interval-insensitive 0/1 loss. It needs thresholds in
    order, which :class:`OrderedThresholds` keeps.

    Parameters
    ----------
    margin, reduction, check
        As in :class:`ImplicitLoss`; ``check`` looks at the order of the thresholds too.

    Examples
    --------
    >>> import torch
    >>> scores, thresholds, code = torch.tensor([0.5]), torch.tensor([0.0, 1.0]), torch.tensor([2])
    >>> ExplicitLoss()(scores, thresholds, code, code)
    tensor(1.5000)
    """

    _function = explicit_loss


def _check(
    scores: Tensor, thresholds: Tensor, lower: Tensor, upper: Tensor, margin: float, check: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """Check everything; thresholds come back as (1, K-1) or (n, K-1)."""
    check_margin("margin", margin, zero=True)
    check_scores("scores", scores, "(n,)")
    floating = isinstance(thresholds, Tensor) and thresholds.is_floating_point()
    if not floating or thresholds.ndim not in (1, 2) or thresholds.shape[:-1] not in ((), scores.shape):
        raise ValueError(
            f"thresholds must be a floating-point tensor of shape (K-1,) or (n, K-1) for n = {scores.shape[0]} scores. "
            f"Got {describe(thresholds)}."
        )
    return torch.atleast_2d(thresholds), *check_codes(lower, upper, scores, thresholds.shape[-1], check)
