"""The structured perceptron, for every model that predicts by solving a maximisation problem.

With a model's joint feature map Phi, feasible outputs Y(x) and solver (:class:`rankwise.structured.StructuredModel`),
prediction and update are (Milidiu and Rocha, Figure 3), with c the weight of the example:

    yhat = argmax over y in Y(x) of  w . Phi(x, y),     w += c (Phi(x, y) - Phi(x, yhat))   if yhat is wrong

- **Partial outputs** (ours): no update if the annotation admits yhat; otherwise y is the best admissible output.
- **Margin**: in perceptron steps, ``delta`` (``"constant"``) or ``delta`` times their loss (``"loss"``) is added to the
  scores of wrong outputs, so that y must win by that much.
- **Passive-aggressive** (section 4): on a mistake of the plain prediction, with D = delta or delta * loss(y, yhat),
  ``w += tau (Phi(x, y) - Phi(x, yhat))`` with ``tau = (D - s(y) + s(yhat)) / |Phi(x, y) - Phi(x, yhat)|^2``, capped at
  C ("pa1") or with 1/(2C) added to the denominator ("pa2"). The weight of an example multiplies C.
- **Average** of w over the rounds, by one lagging sum.
- **Kernel form** (Figure 5): Phi is a sum of atoms, w a signed count of every atom so far, and an inner product of
  atoms of the same block is a kernel.

Theorem 1: if some unit vector scores every right output above every other by at least their loss, and no difference of
features is longer than ``R sqrt(loss)``, then the losses without a margin sum to at most R^2, for any stream
(:func:`rankwise.bounds.structured_loss`).
"""

from functools import partial
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.utils import check_random_state

from rankwise._errors import RowError
from rankwise._kernels.sparse import require_sound
from rankwise._sklearn import PASSES, POSITIVE, Interval, StrOptions
from rankwise._types import Floats
from rankwise.base.transaction import AllOrNothing, reader
from rankwise.labels import check_weights
from rankwise.structured._scores import Counts, Pool, Weights
from rankwise.structured.structured_model import Bonus, StructuredModel


class StructuredPerceptron(AllOrNothing, BaseEstimator):
    """Perceptron for outputs of any structure, from exact and partial annotations, online.

    Parameters
    ----------
    model : StructuredModel
        Parameters, feasible outputs, joint feature map and solver.
    step, C
        As in :class:`rankwise.CuSumRank`.
    margin : {"none", "constant", "loss"}, default "loss"
        By how much the annotation must win: not at all, by ``delta``, or by ``delta`` times the loss.
        Passive-aggressive steps need one, unless the parameters start elsewhere than at zero.
    delta : float, default 1.0
        Size of the margin.
    kernel : None, str or callable, default None
        None learns a parameter vector. A kernel of scikit-learn's ``pairwise_kernels``, by name, or a function of two
        matrices learns in the kernel form; the model then needs ``atoms``.
    gamma, degree, coef0 : float
        Parameters of the kernel, as in scikit-learn.
    n_epochs, shuffle, average, random_state
        As in :class:`rankwise.PRIL`.

    Attributes
    ----------
    coef_ : ndarray of shape (p,)
        Parameters, averaged over the rounds if ``average``. Not in the kernel form.
    n_updates_ : int
        Number of rounds in which the model changed.
    loss_ : float
        Sum over the updates of the loss between target and rival; without a margin, the loss that Theorem 1 bounds.
    n_iter_ : int
        Number of passes of ``fit``.

    Notes
    -----
    This is plain Python. For ranks and classes, :class:`rankwise.CuSumRank`, :class:`rankwise.PRank` and
    :class:`rankwise.ImportanceWeightedPerceptron` do the same rounds a thousand times faster.

    Examples
    --------
    CuSum Rank as a structured model, with an interval among the labels:

    >>> import numpy as np
    >>> import rankwise as rw
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, 0.0]])
    >>> model = rw.StructuredPerceptron(rw.structured.CumulativeRanks([1, 2, 3]), n_epochs=50, random_state=0)
    >>> model.fit(X, [1, 2, (2, 3), 3]).predict(X)
    [1, 2, 3, 3]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "model": [object],  # checked in _check, with a better message
        "step": [StrOptions({"perceptron", "pa", "pa1", "pa2"})],
        "margin": [StrOptions({"none", "constant", "loss"})],
        "delta": [POSITIVE],
        "C": [POSITIVE],
        "kernel": [None, str, callable],
        "gamma": [None, POSITIVE],
        "degree": [POSITIVE],
        "coef0": [Interval(Real, None, None, closed="neither")],
        **PASSES,
    }

    def __init__(
        self, model: StructuredModel, step: str = "perceptron", margin: str = "loss", delta: float = 1.0,
        C: float = 1.0, kernel: Any = None, gamma: float | None = None, degree: float = 3, coef0: float = 1,
        n_epochs: int = 10, shuffle: bool = True, average: bool = True, random_state: Any = None,
    ) -> None:  # fmt: skip
        self.model, self.step, self.margin, self.delta, self.C, self.kernel = model, step, margin, delta, C, kernel
        self.gamma, self.degree, self.coef0, self.n_epochs, self.shuffle = gamma, degree, coef0, n_epochs, shuffle
        self.average, self.random_state = average, random_state

    # -- learning -------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from scratch: ``n_epochs`` passes over the examples, each in a new random order if ``shuffle``.

        Parameters
        ----------
        X : sequence
            Inputs of the model, for example the rows of an array.
        y : sequence
            Annotations: outputs, partial annotations of the model, or None.
        sample_weight : array-like of shape (n,), optional
            Importance of each example, >= 0. Weight zero skips an example.
        """
        with self._afresh() as twin:
            weight = twin._check(X, y, sample_weight)
            twin._begin(X[0])
            generator = check_random_state(self.random_state)
            for _ in range(self.n_epochs):
                order = generator.permutation(len(y)).tolist() if self.shuffle else range(len(y))
                for i in order:
                    twin._round(i, X[i], y[i], float(weight[i]))
            twin.n_iter_ = self.n_epochs
        return self

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from more examples, as in :meth:`fit`, in order; if one is invalid, the model does not change."""
        self.progressive_predict(X, y, sample_weight, _predict=False)
        return self

    def progressive_predict(self, X: Any, y: Any, sample_weight: Any = None, *, _predict: bool = True) -> list[Any]:
        """Predict each example, then learn from it, as in :meth:`fit`; return the predictions."""
        predictions = []
        with self._afresh() as twin:
            weight = twin._check(X, y, sample_weight)
            if twin.__sklearn_is_fitted__():
                twin._parameters = twin._parameters.copy()
            else:
                twin._begin(X[0])
            for i in range(len(y)):
                if _predict:
                    predictions.append(twin.predict_one(X[i]))
                twin._round(i, X[i], y[i], float(weight[i]))
        return predictions

    def learn_one(self, x: Any, y: Any, w: float = 1.0) -> Self:
        """Learn from one example, as :meth:`partial_fit` does."""
        return self.partial_fit([x], [y], [w])

    def _round(self, i: int, x: Any, annotation: Any, c: float) -> None:
        """Figure 3, with margin, passive-aggressive step, weight and partial annotation."""
        model = self.model
        if c == 0.0 or model.is_missing(annotation):
            return
        score = self._parameters.score(model, x, 0.0)
        constant = self.delta if self.margin == "constant" else 0.0
        slope = self.delta if self.margin == "loss" else 0.0
        passive = self.step != "perceptron"
        bonus = None if passive or self.margin == "none" else Bonus(model, annotation, constant, slope)
        rivals = list(model.rivals(x, score, bonus=bonus))
        if not rivals or not all(y is not None and np.isfinite(score(y)) for y in rivals):
            other = f"{type(model).__name__} has no feasible output for it"
            raise RowError(f"no output has a finite score: the input or its features are not finite, or {other}.", i)
        pairs = list(model.pairs(x, score, annotation, rivals))
        if pairs:
            moves = []
            for target, rival in pairs:
                if target is None or not model.admits(annotation, target):
                    raise RowError(f"{annotation!r} admits no output of {type(model).__name__}.", i)
                difference = self._parameters.difference(model, x, target, rival)
                a = c
                if passive:
                    wanted = constant + slope * model.loss(target, rival)
                    a = self._passive_step(wanted - (score(target) - score(rival)), difference, c)
                moves.append((difference, a))
                self.loss_ += model.loss(target, rival)
            for difference, a in moves:
                self._parameters.move(difference, a, self._rounds)
            if isinstance(self._parameters, Weights):
                self._parameters.project(model, self._rounds)
            self.n_updates_ += 1
        self._rounds += 1

    def _passive_step(self, loss: float, difference: Any, c: float) -> float:
        """Smallest step along the difference that removes the loss, as far as C allows."""
        square = self._parameters.square(difference)
        if square == 0.0:
            return 0.0
        if self.step == "pa2":
            return loss / (square + 0.5 / (self.C * c))
        return min(self.C * c, loss / square) if self.step == "pa1" else loss / square

    # -- predicting -----------------------------------------------------------------------------------------------

    @reader
    def predict(self, X: Any) -> list[Any]:
        """Output of every input."""
        return [self.model.argmax(X[i], self._score(X[i])) for i in range(_length(X))]

    @reader
    def predict_one(self, x: Any) -> Any:
        """Output of one input."""
        return self.model.argmax(x, self._score(x))

    @reader
    def decision_function(self, X: Any) -> list[dict[Any, float]]:
        """Score of every feasible output of every input, for models whose outputs can be listed."""
        scores = [self._score(X[i]) for i in range(_length(X))]
        return [{y: score(y) for y in self.model.outputs(X[i])} for i, score in enumerate(scores)]

    @reader
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Negative mean loss; examples without annotation do not count. Higher is better."""
        weight = _checked_weights(X, y, sample_weight)
        known = [i for i in range(len(y)) if not self.model.is_missing(y[i])]
        if not weight[known].any():
            raise ValueError("no example has an annotation and a positive weight: there is nothing to score.")
        losses = [self.model.loss(y[i], self.predict_one(X[i])) for i in known]
        return -float(np.average(losses, weights=weight[known]))

    def _score(self, x: Any) -> Any:
        """Score of the outputs of an input, averaged over the rounds if ``average``."""
        return self._parameters.score(self.model, x, self._averaging_rate)

    @property
    @reader
    def coef_(self) -> Floats:
        """Parameters, averaged over the rounds if ``average``."""
        if not isinstance(self._parameters, Weights):
            raise AttributeError("the kernel form has no parameter vector: see support_ and dual_coef_.")
        return self._parameters.w - self._parameters.lag * self._averaging_rate

    @property
    @reader
    def support_(self) -> list[NDArray[Any]]:
        """Kernel form: the stored parts, one array for each length; length 0 is the bias."""
        return [pool.parts.copy() for pool in self._pools()]

    @property
    @reader
    def dual_coef_(self) -> list[dict[Any, NDArray[Any]]]:
        """Kernel form: for each array of ``support_``, the signed count of its rows in every block."""
        rate = self._averaging_rate
        return [{block: counts.copy() for block, counts in pool.counts(rate).items()} for pool in self._pools()]

    def _pools(self) -> list[Pool]:
        if not isinstance(self._parameters, Counts):
            raise AttributeError("without a kernel there is no support: see coef_.")
        return list(self._parameters.pools.values())

    # -- state -----------------------------------------------------------------------------------------------------

    def __sklearn_is_fitted__(self) -> bool:
        return "_parameters" in self.__dict__

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.no_validation = True  # the model defines inputs and outputs
        tags.target_tags.required = True
        return tags

    @property
    def _averaging_rate(self) -> float:
        return 1.0 / self._rounds if self.average and self._rounds else 0.0

    def _begin(self, x: Any) -> None:
        self._rounds, self.n_updates_, self.loss_ = 0, 0, 0.0
        if self.kernel is None:
            self._parameters: Weights | Counts = Weights(np.array(self.model.parameters(x), dtype=np.float64))
        else:
            parameters = {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0}
            known = partial(pairwise_kernels, metric=self.kernel, filter_params=True, **parameters)
            self._parameters = Counts(self.kernel if callable(self.kernel) else known)

    def _check(self, X: Any, y: Any, sample_weight: Any) -> Floats:
        self._validate_params()
        missing = [name for name in _HOT_SPOTS if not callable(getattr(self.model, name, None))]
        if missing:
            lacks = f"{self.model!r} has no {', '.join(missing)}"
            raise TypeError(f"model must be a rankwise.structured.StructuredModel: {lacks}.")
        if self.kernel is not None and getattr(type(self.model), "atoms", None) is StructuredModel.atoms:
            name = type(self.model).__name__
            raise TypeError(f"kernel={self.kernel!r} needs a model with atoms(x, y); {name} has none.")
        if _length(X) == 0:
            raise ValueError("X is empty: there is nothing to learn from.")
        return _checked_weights(X, y, sample_weight)


_HOT_SPOTS = (
    *("parameters", "outputs", "features", "argmax", "rivals", "pairs"),
    *("loss", "admits", "is_missing", "project"),
)


def _checked_weights(X: Any, y: Any, sample_weight: Any) -> Floats:
    """Weight of every example, ones by default; as many as there are inputs and annotations."""
    n = _length(X)
    if len(y) != n:
        raise ValueError(f"X has {n} inputs but y has {len(y)} annotations.")
    return check_weights(1.0 if sample_weight is None else sample_weight, n)


def _length(X: Any) -> int:
    return int(require_sound(X).shape[0]) if hasattr(X, "shape") else len(X)
