"""A layer of cumulative-sum units and its margin loss.

The layer judges "is the rank at least k?" for every rank but the first and adds up the answers (Milidiu and Rocha,
"Cumulative Sum Ranking", eq. 8: "a layer of cusum units for ordinal regression", in place of a softmax layer):

    s(k) = sum_{j <= k} <w_j, x> + b_j,   w_1 = 0, b_1 = 0,   yhat = the smallest maximiser of s

The loss of a row asks the best admissible rank to win against every other one by a margin that grows with the distance
d(k) of the rank k from the nearest admissible one:

    max_k [s(k) + delta d(k)] - max_{k admissible} s(k)

It bounds ``delta d(yhat)`` and is convex in the scores for exact labels; for imprecise ones it is a difference of two
convex functions, for the target is chosen among the admissible ranks. One gradient step of length 1 on a linear layer
is one round of :class:`rankwise.CuSumRank` with its perceptron step.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from rankwise.torch._row_loss import (
    RowLoss,
    check_choice,
    check_codes,
    check_count,
    check_margin,
    check_scores,
    describe,
    reduce_rows,
    refuse_rows,
)

MARGINS = ("none", "constant", "loss")


class CuSumHead(nn.Module):
    """Last layer for ordered classes: a vector per rank, whose scores add up.

    Parameters
    ----------
    in_features : int
        Size of the input.
    n_classes : int
        K, at least 2.
    bias : bool, default True
        Learn an intercept for every rank.
    device, dtype : optional
        As in :class:`torch.nn.Linear`.

    Attributes
    ----------
    weight : Parameter of shape (K-1, in_features)
        Vectors of the ranks 2..K; the first rank has none.
    bias : Parameter of shape (K-1,) or None
        Their intercepts.

    Notes
    -----
    All parameters start at zero, as in the paper: every rank scores 0. The layers below move from the second step on.

    Examples
    --------
    >>> import torch
    >>> from rankwise.torch import CuSumHead, CuSumMarginLoss
    >>> network = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.ReLU(), CuSumHead(8, n_classes=4))
    >>> scores = network(torch.randn(3, 2))
    >>> scores.shape, CuSumHead.predict(scores)
    (torch.Size([3, 4]), tensor([0, 0, 0]))
    >>> CuSumMarginLoss()(scores, lower=torch.tensor([0, 1, 3]), upper=torch.tensor([0, 2, 3])).backward()
    """

    def __init__(
        self, in_features: int, n_classes: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        check_count("in_features", in_features, 1)
        check_count("n_classes", n_classes, 2)
        self.in_features, self.n_classes = in_features, n_classes
        where = {"device": device, "dtype": dtype}
        self.weight = nn.Parameter(torch.empty(n_classes - 1, in_features, **where))
        self.register_parameter("bias", nn.Parameter(torch.empty(n_classes - 1, **where)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Put all parameters to zero."""
        for parameter in self.parameters():
            nn.init.zeros_(parameter)

    def forward(self, x: Tensor) -> Tensor:
        """Score of every rank, shape (..., K), for x of shape (..., in_features)."""
        answers = functional.linear(x, self.weight, self.bias)
        return functional.pad(answers.cumsum(dim=-1), (1, 0))

    @staticmethod
    def predict(scores: Tensor) -> Tensor:
        """Code of the highest score, the smallest one on a tie."""
        return scores.argmax(dim=-1)

    @classmethod
    def from_estimator(cls, estimator: Any, *, device: Any = None, dtype: Any = None) -> CuSumHead:
        """Layer with the vectors and intercepts of a fitted :class:`rankwise.CuSumRank`.

        Its scores are those of the estimator, but for the rounding to ``dtype``.

        Examples
        --------
        >>> import torch
        >>> from rankwise import CuSumRank
        >>> from rankwise.torch import CuSumHead
        >>> X = [[0.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, 0.0]]
        >>> head = CuSumHead.from_estimator(CuSumRank(n_epochs=50, random_state=0).fit(X, [1, 2, 2, 3]))
        >>> CuSumHead.predict(head(torch.tensor(X)))
        tensor([0, 1, 1, 2])
        """
        # Imported here: a network alone needs no estimators.
        from sklearn.utils.validation import check_is_fitted

        from rankwise.online import CuSumRank

        if not isinstance(estimator, CuSumRank):
            raise ValueError(f"estimator must be a CuSumRank. Got {type(estimator).__name__} instead.")
        check_is_fitted(estimator)
        coef, intercept = estimator.coef_, estimator.intercept_
        head = cls(coef.shape[1], coef.shape[0], estimator.fit_intercept, device, dtype)
        with torch.no_grad():
            head.weight.copy_(torch.as_tensor(coef[1:]))
            if head.bias is not None:
                head.bias.copy_(torch.as_tensor(intercept[1:]))
        return head

    def extra_repr(self) -> str:
        """Sizes."""
        return f"in_features={self.in_features}, n_classes={self.n_classes}, bias={self.bias is not None}"


def cusum_margin_loss(
    scores: Tensor, lower: Tensor, upper: Tensor, mask: Tensor | None = None, weight: Tensor | None = None, *,
    margin: str = "loss", delta: float = 1.0, reduction: str = "mean", check: bool = True,
) -> Tensor:  # fmt: skip
    """What the best admissible rank lacks to win by the margin.

    Arguments are those of :meth:`CuSumMarginLoss.forward`, then the parameters of :class:`CuSumMarginLoss` by name.
    """
    check_choice("margin", margin, MARGINS)
    check_margin("delta", delta, zero=False)
    check_scores("scores", scores, "(n, K)")
    lower, upper = check_codes(lower, upper, scores, scores.shape[1] - 1, check)
    away = _distance(lower, upper, _check_mask(mask, lower, upper, scores, check), scores)
    rival = scores
    if margin != "none":
        rival = scores + delta * (away if margin == "loss" else away.sign())
    # max() hands the gradient to the first maximum alone, which is the tie rule of the prediction.
    best = rival.max(dim=1).values
    target = scores.masked_fill(away > 0, -torch.inf).max(dim=1).values
    return reduce_rows(best - target, weight, reduction, check)


class CuSumMarginLoss(RowLoss):
    """Margin loss of :class:`CuSumHead`, or of any network with a score per rank, for labels of every kind.

    ``max_k [s(k) + delta d(k)] - max_{k admissible} s(k)``, with d(k) the distance from k to the nearest admissible
    rank (``margin="loss"``), whether there is one (``"constant"``), or zero (``"none"``).

    Parameters
    ----------
    margin : {"loss", "constant", "none"}, default "loss"
        By how much the label must win: by ``delta`` for every rank of distance, by ``delta``, or not at all.
    delta : float, default 1.0
        Size of the margin.
    reduction, check
        As in :class:`IntervalMAELoss`; ``check`` looks at candidate sets too.

    Examples
    --------
    >>> import torch
    >>> loss = CuSumMarginLoss(margin="constant", delta=0.5)
    >>> loss(torch.tensor([[0.0, 1.0, 0.75]]), torch.tensor([1]), torch.tensor([1]))
    tensor(0.2500)
    """

    _option_names = ("margin", "delta")

    def __init__(self, margin: str = "loss", delta: float = 1.0, reduction: str = "mean", check: bool = True) -> None:
        super().__init__(reduction, check)
        check_choice("margin", margin, MARGINS)
        check_margin("delta", delta, zero=False)
        self.margin, self.delta = margin, delta

    def forward(
        self, scores: Tensor, lower: Tensor, upper: Tensor, mask: Tensor | None = None, weight: Tensor | None = None
    ) -> Tensor:
        """Loss of the scores.

        Parameters
        ----------
        scores : tensor of shape (n, K)
            Score of every rank.
        lower, upper, weight
            As in :meth:`IntervalMAELoss.forward`.
        mask : bool tensor of shape (n, K), optional
            Candidate sets: of ``lower .. upper`` only the codes in the mask are admissible.
        """
        return cusum_margin_loss(scores, lower, upper, mask, weight, **self._options)


def _check_mask(mask: Tensor | None, lower: Tensor, upper: Tensor, scores: Tensor, check: bool) -> Tensor | None:
    """Admissible codes by mask and interval together; None without a mask."""
    if mask is None:
        return None
    if not isinstance(mask, Tensor) or mask.dtype != torch.bool or mask.shape != scores.shape:
        raise ValueError(f"mask must be a boolean tensor of shape {tuple(scores.shape)}. Got {describe(mask)}.")
    codes = torch.arange(scores.shape[1], device=scores.device)
    admissible = mask & (lower[:, None] <= codes) & (codes <= upper[:, None])
    if check:
        refuse_rows(~admissible.any(dim=1), "a candidate set must not be empty between lower and upper", mask)
    return admissible


def _distance(lower: Tensor, upper: Tensor, admissible: Tensor | None, scores: Tensor) -> Tensor:
    """Ranks from every code to the nearest admissible one, (n, K), in the type of the scores."""
    n_classes = scores.shape[1]
    codes = torch.arange(n_classes, device=scores.device)
    if admissible is None:
        away = torch.maximum(lower[:, None] - codes, codes - upper[:, None]).clamp(min=0)
    else:
        # The nearest one at or below is a running maximum, the nearest at or above a running minimum from the end.
        below = torch.where(admissible, codes, -n_classes).cummax(dim=1).values
        above = torch.where(admissible, codes, 2 * n_classes).flip(1).cummin(dim=1).values.flip(1)
        away = torch.minimum(codes - below, above - codes)
    return away.to(scores.dtype)
