"""What a model of structured outputs says, and what a learner asks of it.

A model fills the four hot spots of the structured perceptron (Milidiu and Rocha, section 4): its parameters, the
feasible outputs of an input, the joint feature map, and the solver of the prediction problem

    yhat = argmax over y in Y(x) of  w . Phi(x, y)

Inputs, outputs and annotations are whatever the model makes of them: a learner hands them through. An annotation is an
output, or says less: an interval, a set, a sequence with gaps. ``None`` says nothing at all.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable
from typing import Any, NamedTuple

import numpy as np

from rankwise._types import Floats


class Score(ABC):
    """Score of the outputs of one input, under the parameters of the moment."""

    #: Parameter vector w; None in the kernel form, where only :meth:`atom` looks inside.
    weights: Floats | None = None

    @abstractmethod
    def __call__(self, y: Any) -> float:
        """``w . Phi(x, y)``."""

    @abstractmethod
    def atom(self, block: Hashable, part: Floats | None) -> float:
        """Score of one atom, for solvers that put an output together from atoms (kernel form)."""


class Atom(NamedTuple):
    """Smallest piece of a joint feature map: ``times`` times ``part``, at the place ``block`` of the parameters.

    Two atoms have something in common only in the same block: there, the kernel of their parts. A part of None is the
    number 1, whatever the kernel: a bias.
    """

    block: Hashable
    part: Floats | None
    times: float = 1.0


class Bonus(NamedTuple):
    """What an output gains on the others while learning, so that the annotation must win by that much.

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

    The solver :meth:`argmax` then tries all outputs; override it where there are many and a better way is known.
    Override :meth:`loss` and :meth:`admits` for losses other than 0/1 and annotations other than outputs, and give
    :meth:`atoms` for the kernel form.

    Examples
    --------
    Two classes, told by the side of the line on which x lies:

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
        """Parameters before the first round, one-dimensional; ``x`` is the first input, for its size."""

    @abstractmethod
    def outputs(self, x: Any) -> Iterable[Any]:
        """Feasible outputs of an input; of equally good ones, the first is predicted."""

    @abstractmethod
    def features(self, x: Any, y: Any) -> Any:
        """Phi(x, y): a vector as long as the parameters, or a sparse matrix with that as its only row."""

    def argmax(self, x: Any, score: Score, *, among: Any = None, bonus: Bonus | None = None) -> Any:
        """Output of the input ``x`` with the largest score.

        ``score(y)`` is the score of an output, ``score.weights`` are the parameters. With an annotation ``among`` only
        outputs that it admits count. With a ``bonus`` the score of y is ``score(y) + bonus(y)``.
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
        """Outputs that a round moves away from where they are wrong: the prediction, unless overridden."""
        return (self.argmax(x, score, bonus=bonus),)

    def pairs(self, x: Any, score: Score, annotation: Any, rivals: Iterable[Any]) -> Iterable[tuple[Any, Any]]:
        """Target and rival of each move of a round: the best-scored admissible output, and every wrong rival."""
        wrong = [y for y in rivals if not self.admits(annotation, y)]
        target = self.argmax(x, score, among=annotation) if wrong else None
        return [(target, rival) for rival in wrong]

    # -- what the annotator said -----------------------------------------------------------------------------------

    def loss(self, annotation: Any, y: Any) -> float:
        """Loss of an output, zero if the annotation admits it; 0/1 unless overridden."""
        return 0.0 if self.admits(annotation, y) else 1.0

    def admits(self, annotation: Any, y: Any) -> bool:
        """Return whether an output agrees with an annotation: is it the same, unless overridden."""
        return bool(annotation == y)

    def is_missing(self, annotation: Any) -> bool:
        """Return whether an annotation says nothing; such a round changes nothing, not even an average."""
        return annotation is None

    def project(self, weights: Floats) -> Floats:
        """Nearest allowed parameters, after an update; all are allowed unless overridden."""
        return weights

    # -- kernel form ------------------------------------------------------------------------------------------------

    def atoms(self, x: Any, y: Any) -> Iterable[Atom]:
        """Phi(x, y) as a sum of atoms; needed by the kernel form only."""
        raise NotImplementedError  # not abstract: models without a kernel form do not need it
