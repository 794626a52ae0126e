"""What all losses share: checks of their arguments, and the reduction of one value a row.

Shapes and types are always checked, which costs nothing. Values are checked unless ``check=False``: one look at the
result, for which the host must wait for a GPU.
"""

import math
from collections.abc import Collection
from typing import Any, Literal

import torch
from torch import Tensor, nn

REDUCTIONS = ("mean", "sum", "none")


class RowLoss(nn.Module):
    """A loss with one value a row: its reduction, and whether codes and weights are checked."""

    #: Names of the parameters that a loss has besides ``reduction`` and ``check``.
    _option_names: tuple[str, ...] = ()

    def __init__(self, reduction: str = "mean", check: bool = True) -> None:
        super().__init__()
        check_choice("reduction", reduction, REDUCTIONS)
        self.reduction = reduction
        self.check = check

    @property
    def _options(self) -> dict[str, Any]:
        """The parameters, under their names in the loss function."""
        return {name: getattr(self, name) for name in (*self._option_names, "reduction", "check")}

    def extra_repr(self) -> str:
        """Parameters, ``check`` only where it is off."""
        shown = {name: value for name, value in self._options.items() if name != "check" or not value}
        return ", ".join(f"{name}={value!r}" for name, value in shown.items())


def reduce_rows(losses: Tensor, weight: Tensor | None, reduction: str, check: bool) -> Tensor:
    """Weigh the losses of the rows; return them, their sum, or their weighted mean.

    The mean divides by the sum of the weights, and is zero where there is nothing to weigh: a batch of rows without
    weight must not put NaN into a network.
    """
    check_choice("reduction", reduction, REDUCTIONS)
    if weight is not None:
        if not isinstance(weight, Tensor) or weight.shape != losses.shape or weight.is_complex():
            raise ValueError(f"weight must be a tensor of shape {tuple(losses.shape)}. Got {describe(weight)}.")
        if check:
            refuse_rows(~(weight >= 0) | weight.isinf(), "a weight must be a finite number >= 0", weight)
        weight = weight.to(losses.dtype)
        losses = losses * weight
    if reduction == "none":
        return losses
    if reduction == "sum":
        return losses.sum()
    if weight is None:
        return losses.sum() / max(losses.numel(), 1)
    total = weight.sum()
    return losses.sum() / torch.where(total > 0, total, torch.ones_like(total))


def check_scores(name: str, scores: Tensor, shape: Literal["(n,)", "(n, K)"]) -> None:
    """Raise unless scores are floating-point numbers of a shape; K is at least 1."""
    n_dimensions = {"(n,)": 1, "(n, K)": 2}[shape]
    fits = isinstance(scores, Tensor) and scores.is_floating_point() and scores.ndim == n_dimensions
    if not fits or (n_dimensions == 2 and scores.shape[1] == 0):
        raise ValueError(f"{name} must be a floating-point tensor of shape {shape}. Got {describe(scores)}.")


def check_codes(lower: Tensor, upper: Tensor, like: Tensor, top: int, check: bool) -> tuple[Tensor, Tensor]:
    """Raise unless both ends are integer codes, one a row of ``like``, with ``0 <= lower <= upper <= top``.

    They come back as int64, which is what indexing needs.
    """
    n = like.shape[0]
    for name, codes in (("lower", lower), ("upper", upper)):
        whole = isinstance(codes, Tensor) and not (codes.is_floating_point() or codes.is_complex())
        if not whole or codes.dtype == torch.bool or codes.shape != (n,):
            raise ValueError(
                f"{name} must be an integer tensor of shape ({n},), one code a row. Got {describe(codes)}."
            )
    lower, upper = lower.long(), upper.long()
    if check:
        wrong = (lower < 0) | (lower > upper) | (upper > top)
        refuse_rows(wrong, f"0 <= lower <= upper <= {top} must hold", torch.stack([lower, upper], dim=1))
    return lower, upper


def check_margin(name: str, value: float, *, zero: bool) -> None:
    """Raise unless a margin is a finite number, positive or, if ``zero`` is allowed, not negative."""
    if not (math.isfinite(value) and (value >= 0 if zero else value > 0)):
        raise ValueError(f"{name} must be a finite number {'>=' if zero else '>'} 0. Got {value!r} instead.")


def check_choice(name: str, value: Any, choices: Collection[str]) -> None:
    """Raise unless a parameter has one of its values."""
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}. Got {value!r} instead.")


def check_count(name: str, value: Any, least: int) -> None:
    """Raise unless a number of things is a whole number that is large enough."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} must be a whole number >= {least}. Got {value!r} instead.")


def refuse_rows(wrong: Tensor, rule: str, values: Tensor) -> None:
    """Raise if any row is wrong; the message names the first one and its value."""
    if bool(wrong.any()):
        row = int(wrong.nonzero()[0, 0])
        raise ValueError(f"row {row}: {rule}. Got {values[row].tolist()}.")


def describe(value: Any) -> str:
    """Type and shape of what was found in place of a tensor, for a message."""
    return f"{value.dtype} of shape {tuple(value.shape)}" if isinstance(value, Tensor) else type(value).__name__
