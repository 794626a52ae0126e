"""The interface between a model of structured outputs and a learner.

A model fills the four hot spots of the structured perceptron (Milidiu and Rocha, section 4): its parameters, the
feasible outputs of an input, the joint feature map, and the solver of the prediction problem

    yhat = argmax over y in Y(x) of  w . Phi(x, y)

The model defines inputs, outputs and annotations; a learner only passes them on. An annotation is an output or less
precise: an interval, a set, a sequence with gaps. ``None`` is a missing annotation.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable
from typing import Any, NamedTuple

import numpy as np

from rankwise._types import Floats


class Score(ABC):
    """Score of the outputs of one input, under the current parameters."""

    #: Parameter vector w; None in the kernel form, which has only :meth:`atom`.
    weights: Floats | None = None

    @abstractmethod
    def __call__(self, y: Any) -> float:
        """``w . Phi(x, y)``."""

    @abstractmethod
    def atom(self, block: Hashable, part: Floats | None) -> float:
        """Score of one atom, for solvers that build an output from atoms (kernel form)."""


class Atom(NamedTuple):
    """Term of a joint feature map: ``times`` times ``part``, in the block ``block`` of the parameters.

    The inner product of two atoms in the same block is the kernel of their parts, otherwise it is zero. A part of None
    is a bias, the number 1 whatever the kernel.
    """

    block: Hashable
    part: Floats | None
    times: float = 1.0


class Bonus(NamedTuple):
    """Margin added to the scores of wrong outputs while learning.

    Called with an output, it gives ``constant`` (for outputs that the annotation does not admit) plus ``slope`` times
    the loss.
    """

    model: StructuredModel
    annotation: Any
    constant: float
    slope: float

    def __call__(self, y: Any) -> float:
        """Return the bonus of an output."""
        if self.model.admits(self.annotation, y):
            return 0.0
        return self.constant + self.slope * self.model.loss(self.annotation, y)


class StructuredModel(ABC):
    """Base of the models; a subclass supplies :meth:`parameters`, :meth:`outputs` and :meth:`features`.

    The solver :meth:`argmax` then tries all outputs; override it if there are many and a better way is known.
    Override :meth:`loss` and :meth:`admits` for losses other than 0/1 and annotations other than outputs, and implement
    :meth:`atoms` for the kernel form.

    Examples
    --------
    Two classes, separated by a line:

    >>> import numpy as np
    >>> import rankwise as rw
    >>> class Sides(rw.structured.StructuredModel):
    ...     def parameters(self, x):
    ...         return np.zeros(x.size)
    ...     def outputs(self, x):
    ...         return ("left", "right")
    ...     def features(self, x, y):
    ...         return x if y == "right" else -x
    >>> X = np.array([[2.0, 1.0], [-1.0, 0.5], [3.0, -1.0], [-2.0, -2.0]])
    >>> rw.StructuredPerceptron(Sides(), random_state=0).fit(X, ["right", "left", "right", "left"]).predict(X)
    ['right', 'left', 'right', 'left']
    """

    # -- the four hot spots ---------------------------------------------------------------------------------------

    @abstractmethod
    def parameters(self, x: Any) -> Floats:
        """Parameters before the first round, one-dimensional; ``x`` is the first input and shows the size."""

    @abstractmethod
    def outputs(self, x: Any) -> Iterable[Any]:
        """Feasible outputs of an input; ties go to the first."""

    @abstractmethod
    def features(self, x: Any, y: Any) -> Any:
        """Phi(x, y): a vector as long as the parameters, or a sparse matrix with that as its only row."""

    def argmax(self, x: Any, score: Score, *, among: Any = None, bonus: Bonus | None = None) -> Any:
        """Output of the input ``x`` with the largest score.

        ``score(y)`` is the score of an output, ``score.weights`` are the parameters. With an annotation ``among``, only
        outputs that it admits are allowed. With a ``bonus``, the score of y is ``score(y) + bonus(y)``.
        """
        best, top = None, -np.inf
        for y in self.outputs(x):
            if among is not None and not self.admits(among, y):
                continue
            value = score(y) if bonus is None else score(y) + bonus(y)
            if value > top:
                best, top = y, value
        return best

    def rivals(self, x: Any, score: Score, *, bonus: Bonus | None = None) -> Iterable[Any]:
        """Outputs that a round moves away from if they are wrong; by default the prediction."""
        return (self.argmax(x, score, bonus=bonus),)

    def pairs(self, x: Any, score: Score, annotation: Any, rivals: Iterable[Any]) -> Iterable[tuple[Any, Any]]:
        """Target and rival of each move of a round; by default the best admissible output and every wrong rival."""
        wrong = [y for y in rivals if not self.admits(annotation, y)]
        target = self.argmax(x, score, among=annotation) if wrong else None
        return [(target, rival) for rival in wrong]

    # -- annotations -----------------------------------------------------------------------------------------------

    def loss(self, annotation: Any, y: Any) -> float:
        """Loss of an output, zero if the annotation admits it; by default 0/1."""
        return 0.0 if self.admits(annotation, y) else 1.0

    def admits(self, annotation: Any, y: Any) -> bool:
        """Return whether an output agrees with an annotation; by default, whether they are equal."""
        return bool(annotation == y)

    def is_missing(self, annotation: Any) -> bool:
        """Return whether an annotation is uninformative; such a round changes nothing, not even an average."""
        return annotation is None

    def project(self, weights: Floats) -> Floats:
        """Nearest feasible parameters, after an update; by default all are feasible."""
        return weights

    # -- kernel form ------------------------------------------------------------------------------------------------

    def atoms(self, x: Any, y: Any) -> Iterable[Atom]:
        """Phi(x, y) as a sum of atoms; needed by the kernel form only."""
        raise NotImplementedError  # not abstract: models without a kernel form do not need it
