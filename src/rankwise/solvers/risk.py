"""What solvers need of a risk, as protocols, and a check that a risk provides it.

A risk is a convex function of the scores of all rows and of some offsets (thresholds, intercepts) that all rows share,
usually a weighted mean of losses whose weights add up to 1. Every solver needs a :class:`Risk`. What only some risks
have is declared separately:

==========================  =======================================================================================
:class:`HasKinks`           smoother versions of the risk, for losses such as hinges; smooth losses need none
:class:`HasBestOffsets`     a formula for the best offsets at given scores
:class:`HasPieces`          losses that are maxima of linear pieces: without a regulariser, a linear programme
==========================  =======================================================================================

A solver documents what it needs and calls :func:`require_capabilities` first.

Shapes: with n rows, Z = ``n_scores`` scores per row and M = ``n_offsets`` offsets, ``scores`` are (n, Z), ``b`` (M,),
and derivatives have the shape of their variable. Rows elsewhere may have scores and derivatives of another kind, as
long as their :class:`~rankwise.solvers.design.LinearMap` returns and accepts these.
"""

from dataclasses import dataclass
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from rankwise._types import Floats
from rankwise.solvers.design import LinearMap


@runtime_checkable
class Risk(Protocol):
    """A convex risk that is not negative; see the module's docstring for shapes.

    Outside its domain a risk is infinite, and its derivatives there do not matter.
    """

    n_scores: int
    n_offsets: int
    #: The size of a loss: about how far offsets move, and the price of a pull at them. 1 for hinges of margin 1 and for
    #: likelihoods.
    unit: float

    def start(self) -> Floats:
        """Offsets to start from, with all scores zero."""

    def tidy(self, b: Floats, /) -> Floats:
        """Offsets at which the risk is not larger, in the form that the other methods expect."""

    def take(self, index: Any) -> Self:
        """The risk of some of the rows, at an index from ``LinearMap.sample``."""

    def exact(self, scores: Any, b: Floats, /) -> tuple[float, Floats]:
        """The risk itself, not smoothed, at feasible offsets near b; and these offsets."""

    def derivatives(self, scores: Any, b: Floats, /) -> tuple[float, Any, Floats]:
        """The risk and its derivatives by scores and by offsets; at a kink, any subgradient."""

    def hessian(self, design: LinearMap, scores: Any, b: Floats, /) -> Floats:
        """Second derivatives by (weights, offsets), (Z d + M, Z d + M); weights in the order of their (Z, d)."""

    def dual(self, scores: Any, b: Floats, /, *, balanced: bool) -> tuple[float, Any, Floats]:
        """A plane below the risk, near the one that touches it here: gain, pull at scores, pull at offsets.

        ``gain + <pull, scores'> + <pull_b, b'> <= risk(scores', b')`` for all scores' and all feasible b', also if
        gain and pulls are multiplied by a number in [0, 1]. ``balanced``: the second pull must be zero, because the
        offsets are not regularised. The gain is that of a dual point of the losses: the sum of the dual variables for
        hinges, minus the conjugate for smooth losses.
        """


@runtime_checkable
class HasKinks(Protocol):
    """A risk whose derivatives jump."""

    #: The first smoothing: a few times the size of the largest margin.
    first_smoothing: float

    def smoothed(self, mu: float) -> Any:
        """The :class:`Risk` smoothed by mu; by 0, the risk itself.

        Its ``derivatives`` and ``hessian`` are those of a smooth function between the risk and the risk plus a multiple
        of mu. Its ``dual`` and ``exact`` are statements about the risk itself.
        """


@runtime_checkable
class HasBestOffsets(Protocol):
    """A risk with a formula for the best offsets."""

    def best_offsets(self, scores: Any) -> tuple[Floats, tuple[float, Any]] | None:
        """Offsets that minimise the risk at these scores, and a balanced dual point: its gain and its pull at scores.

        None where the formula does not apply; a solver then finds the offsets.
        """


@dataclass(frozen=True)
class Pieces:
    """Linear pieces of a risk: ``xi[slack_p] >= constant_p + <by_score_p, scores of row_p> + <by_offset_p, b>``."""

    row: NDArray[np.intp]  # row of the data of each piece
    slack: NDArray[np.intp]  # its slack variable
    constant: Floats
    by_score: Floats  # (P, n_scores)
    by_offset: Any  # sparse, (P, n_offsets)
    weight: Floats  # price of every slack: the weight of its row
    ordered: bool  # whether the offsets must not descend


@runtime_checkable
class HasPieces(Protocol):
    """A risk whose losses are maxima of linear pieces and zero."""

    def n_pieces(self) -> int:
        """Number of pieces, zero apart."""

    def pieces(self) -> Pieces:
        """All of them."""


def require_capabilities(risk: Any, solver: str, *protocols: type[Any]) -> None:
    """Reject a risk that lacks something a solver needs, before any work is done.

    Examples
    --------
    >>> require_capabilities(object(), "minimise_exactly", HasPieces)
    Traceback (most recent call last):
    TypeError: minimise_exactly needs a risk with n_pieces, pieces (HasPieces). object has no n_pieces, pieces.
    """
    for protocol in protocols:
        names = [*protocol.__annotations__, *(name for name in vars(protocol) if not name.startswith("_"))]
        missing = [name for name in dict.fromkeys(names) if not hasattr(risk, name)]
        if missing:
            raise TypeError(
                f"{solver} needs a risk with {', '.join(dict.fromkeys(names))} ({protocol.__name__}). "
                f"{type(risk).__name__} has no {', '.join(missing)}."
            )
