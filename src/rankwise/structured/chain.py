"""Chains and trees of labels from partial annotations: a linear model with unary and pairwise scores.

The score of labelling t of the parts of x is

    s(t) = sum_v <w_{t_v}, x_v> + b_{t_v} + sum over neighbours (u, v) of P[t_u, t_v]

and the prediction is its maximum, found exactly by message passing (:mod:`rankwise.structured.max_sum`). Learning
minimises a surrogate of the partial loss (:mod:`rankwise.structured._chain_risk`; Antoniuk, thesis, chapter 4),
regularised by ``alpha/2 |(w, b / intercept_scaling, P / pairwise_scaling)|^2``, by the concave-convex procedure
(:mod:`rankwise.structured._chain_bundle`), or runs a perceptron over a stream
(:mod:`rankwise.structured._chain_perceptron`).
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from rankwise._sklearn import COUNT, NOT_NEGATIVE, PASSES, POSITIVE, StrOptions
from rankwise._types import Floats, Ints
from rankwise._warn import warn_user
from rankwise.base.estimator import SavedEstimator
from rankwise.base.state import GIVEN_ORDER, UPDATES, State, require_arrays, require_number
from rankwise.base.transaction import reader
from rankwise.labels import ClassOrder, declared_order
from rankwise.structured import _chain_perceptron as perceptron
from rankwise.structured._chain_bundle import minimise
from rankwise.structured._chain_risk import SPACES, ChainRisk
from rankwise.structured._sequences import (
    Annotation,
    Sequences,
    annotate,
    decision_losses,
    read_positions,
    read_sequences,
    sequence_weights,
    stream_order,
)
from rankwise.structured.max_sum import best_labellings, max_marginals

_CERTIFICATE = ("objective_", "objectives_", "convex_lower_bound_", "convex_gap_")  # of solver "bundle"
_PARAMETERS = ("unary_coef_", "intercept_", "pairwise_coef_")
_LEARNT = (*_CERTIFICATE, "n_iter_", "n_updates_", "_state")  # by one solver only


class ChainClassifier(SavedEstimator):
    """Labels of the positions of sequences, or of the parts of trees, from partly labelled ones.

    Parameters
    ----------
    surrogate : {"hinge", "ramp", "max", "bridge", "additive"}, default "hinge"
        What is minimised in place of the partial loss. "bridge" equals "hinge" and "max" equals "ramp" unless the loss
        charges for right answers. "ramp", "max" and "additive" are calibrated: with enough data and a rich enough model
        they lead to the best decisions for any distribution. "additive" is the cross-entropy of the max-marginals.
    loss : {"hamming", "mae"} or array-like of shape (K, K), default "hamming"
        Loss of a part, ``loss[y, t]`` for label y and decision t; "mae" is the distance in ordered labels. The loss of
        a labelling is the sum over its annotated parts.
    alpha : float, default 0.01
        Strength of the regulariser, relative to the mean surrogate of the sequences; solver "bundle" only.
    solver : {"bundle", "perceptron"}, default "bundle"
        Concave-convex procedure with a bundle of cutting planes, or the averaged loss-augmented perceptron, which
        takes steps along subgradients of the hinge (and the bridge) and can learn from a stream.
    reject_cost : float, optional
        Loss of the decision "don't know" at an annotated part. With it, predictions may be None. It needs a calibrated
        surrogate: hinge and bridge reward labels only and would never choose it. Ramp and max then start from several
        points, which takes longer.
    tol : float, default 0.01
        Relative gap of every convex problem, and relative progress at which the concave-convex procedure stops.
    max_iter : int, default 2000
        Maximum number of evaluations of the surrogate by the bundle solver.
    max_steps : int, default 20
        Maximum number of convex problems of the concave-convex procedure.
    n_epochs : int, default 10
        Passes of the perceptron over the sequences; with "bundle" it provides the start.
    margin : float, default 1.0
        Multiple of the loss that is added to the scores in a round of the perceptron; 0 is the plain perceptron.
    shuffle, average : bool, default True
        Whether every pass has a new random order, and whether the perceptron's parameters are averaged over the rounds.
    random_state : int, RandomState or None, default None
        Seed of the order.
    classes : array-like, optional
        The labels; in ascending order where "mae" or intervals need one.
    intercept_scaling : float, default 3.0
        Value of the constant feature for the intercepts. The larger it is, the less they are regularised, and the
        longer the solver takes; solver "bundle" only.
    pairwise_scaling : float, default 1.0
        Value of the features for the pairwise scores: below 1 these are regularised more than the rest; solver "bundle"
        only.

    Attributes
    ----------
    unary_coef_ : ndarray of shape (K, d)
        Vector of every label; with a reject cost, the additional last row is for "don't know" (not with "additive").
    intercept_ : ndarray of shape (K,)
        Intercept of every label.
    pairwise_coef_ : ndarray of shape (K, K)
        Score of a label (row) followed by another (column); in a tree, of a parent's with a child's.
    classes_ : ndarray of shape (K,)
        The labels.
    objective_ : float
        Regularised mean surrogate at the end; solver "bundle" only, as the next four.
    convex_lower_bound_ : float
        Proven lower bound on the last convex problem, which lies above the objective and touches it at its start. It is
        a lower bound on ``objective_`` only if the objective is convex itself: hinge or bridge, with all labels given
        and exact.
    convex_gap_ : float
        Relative gap between the last convex problem's objective and ``convex_lower_bound_``: it proves that the last
        step was solved, not that no other parameters are better. Starts are chosen carefully, several with a
        ``reject_cost``, but there may be a better minimum elsewhere.
    lower_bound_, gap_ : float
        The same two, under the names that they have in estimators whose whole problem is convex.
    objectives_ : list of float
        The objective at the start and after every convex problem: it never rises.
    n_iter_ : int
        Evaluations of the surrogate by the bundle solver, or passes of the perceptron.
    n_updates_ : int
        Rounds of the perceptron that changed it; solver "perceptron" only.

    Notes
    -----
    X is a list with a (T, d) array, a CSR matrix or a :class:`rankwise.structured.Tree` for each sequence. Y has the
    labels of each sequence: a label, None, NaN or -1 where it is missing (-1 unless it is one of ``classes``), a tuple
    (lower, upper) for an interval, a set or list of candidates; or None for a sequence without labels. Sequences
    without information change nothing.

    Examples
    --------
    Letters of words, half of them unlabelled. Each letter is seen as one noisy number, 0 for "a" and 1 for "b":

    >>> import numpy as np
    >>> from rankwise import ChainClassifier
    >>> X = [[[0.1], [0.9], [0.2]], [[0.8], [0.0], [1.1]], [[0.3], [0.7]]]
    >>> Y = [["a", None, "a"], [None, "a", "b"], ["a", "b"]]
    >>> model = ChainClassifier(random_state=0).fit(X, Y)
    >>> [labels.tolist() for labels in model.predict([[[0.0], [1.0], [0.1], [0.9]]])]
    [['a', 'b', 'a', 'b']]
    """

    convex_lower_bound_: float
    convex_gap_: float
    _learnt = "unary_coef_"
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "surrogate": [StrOptions({*SPACES, "additive"})],
        "loss": [StrOptions({"hamming", "mae"}), "array-like"],
        "alpha": [POSITIVE],
        "intercept_scaling": [POSITIVE],
        "pairwise_scaling": [POSITIVE],
        "solver": [StrOptions({"bundle", "perceptron"})],
        "reject_cost": [None, NOT_NEGATIVE],
        "tol": [POSITIVE],
        "max_iter": [COUNT],
        "max_steps": [COUNT],
        "margin": [NOT_NEGATIVE],
        **PASSES,
        "classes": ["array-like", None],
    }

    def __init__(
        self, surrogate: str = "hinge", loss: Any = "hamming", alpha: float = 0.01, solver: str = "bundle",
        reject_cost: float | None = None, tol: float = 0.01, max_iter: int = 2000, max_steps: int = 20,
        n_epochs: int = 10, margin: float = 1.0, shuffle: bool = True, average: bool = True, random_state: Any = None,
        classes: Any = None, intercept_scaling: float = 3.0, pairwise_scaling: float = 1.0,
    ) -> None:  # fmt: skip
        self._store_parameters(locals())

    # -- learning --------------------------------------------------------------------------------------------------

    def fit(self, X: Any, Y: Any, sample_weight: Any = None) -> Self:
        """Learn from scratch.

        Parameters
        ----------
        X : list of (T, d) arrays, CSR matrices or trees
            Sequences.
        Y : list
            Labels of each sequence; see the notes of the class.
        sample_weight : array-like of shape (m,), optional
            Importance of each sequence, >= 0.
        """
        with self._afresh() as model:
            model._check_params()
            order = None if self.classes is None else declared_order(self.classes)
            model._learn(*model._read(X, Y, sample_weight, order, None))
        return self

    def _learn(self, sequences: Sequences, annotation: Annotation, weight: Floats) -> None:
        if not (annotation.informative & (weight > 0)).any():
            raise ValueError("no sequence has a label and a positive weight: there is nothing to learn from.")
        for name in _LEARNT:
            self.__dict__.pop(name, None)
        state = perceptron.LAYOUT.fresh(self.n_features_in_, annotation.losses.shape[1])
        generator = check_random_state(self.random_state)
        for _ in range(self.n_epochs):
            order = generator.permutation(len(sequences)).astype(np.int64) if self.shuffle else GIVEN_ORDER
            perceptron.learn(
                state, sequences, annotation, weight, margin=self.margin, average=self.average, order=order
            )
        if self.solver == "perceptron":
            self.n_iter_ = self.n_epochs
            self._take_state(state)
        else:
            self._minimise(sequences, annotation, weight, perceptron.parameters(state, self.average))

    def partial_fit(self, X: Any, Y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from more sequences, in order, or from none if one is invalid; solver "perceptron" only.

        Parameters
        ----------
        X, Y, sample_weight, classes
            As in :meth:`fit`; the first call needs all classes, here or as the parameter.
        """
        self._learn_chunk(X, Y, classes, sample_weight, predict=False)
        return self

    def progressive_predict(self, X: Any, Y: Any, sample_weight: Any = None, classes: Any = None) -> list[NDArray[Any]]:
        """Predict each sequence, then learn from it; return the predictions made before learning.

        Parameters
        ----------
        X, Y, sample_weight, classes
            As in :meth:`partial_fit`.
        """
        return self._learn_chunk(X, Y, classes, sample_weight, predict=True)

    def _learn_chunk(self, X: Any, Y: Any, classes: Any, sample_weight: Any, *, predict: bool) -> list[NDArray[Any]]:
        with self._afresh() as model:
            model._check_params()
            if model.solver != "perceptron":
                raise ValueError(
                    f"only solver='perceptron' learns from a stream. Got solver={self.solver!r}: call fit instead."
                )
            first = not model.__sklearn_is_fitted__()
            if not first and "_state" not in model.__dict__:
                raise ValueError("the model was fitted with solver='bundle': partial_fit cannot continue it.")
            order = stream_order([classes, model.classes], None if first else model._order)
            known = None if first else model.n_features_in_
            sequences, annotation, weight = model._read(X, Y, sample_weight, order, known)
            if first:
                state = perceptron.LAYOUT.fresh(model.n_features_in_, annotation.losses.shape[1])
            else:
                state = {name: array.copy() for name, array in model._state.items()}
            predictions = np.zeros(sequences.starts[-1] if predict else 0, dtype=np.int64)
            perceptron.learn(
                state, sequences, annotation, weight, margin=model.margin, average=model.average,
                predictions=predictions,
            )  # fmt: skip
            model._take_state(state)
        return sequences.split(model._decode(predictions)) if predict else []

    def _minimise(
        self, sequences: Sequences, annotation: Annotation, weight: Floats, start: tuple[Floats, Floats, Floats]
    ) -> None:
        """Concave-convex procedure from the perceptron's parameters."""
        counted = np.where(annotation.informative, weight, 0.0)
        scalings = float(self.intercept_scaling), float(self.pairwise_scaling)
        risk = ChainRisk(sequences, annotation, counted / counted.sum(), self.surrogate, *scalings)
        descent = minimise(
            risk, risk.pack(*start), self.alpha, rejecting=self.reject_cost is not None, tol=self.tol,
            max_iter=self.max_iter, max_steps=self.max_steps,
        )  # fmt: skip
        if not descent.converged:
            warn_user(
                f"ChainClassifier did not converge: the gap of the last convex problem is {descent.last.gap:.2g} after "
                f"{descent.n_iter} evaluations and {len(descent.history) - 1} convex problems (tol={self.tol:g}). "
                f"Raise max_iter or max_steps, or alpha or tol.",
                ConvergenceWarning,
            )
        self.objective_, self.objectives_ = descent.objective, descent.history
        self.convex_lower_bound_, self.convex_gap_ = descent.last.lower_bound, descent.last.gap
        self.n_iter_ = descent.n_iter
        self._set_parameters(*risk.unpack(descent.theta))

    # -- predicting ------------------------------------------------------------------------------------------------

    @reader
    def predict(self, X: Any) -> list[NDArray[Any]]:
        """Label of every position of every sequence; None where the decision is "don't know"."""
        sequences, unary = self._scores(X)
        return sequences.split(self._decode(self._decide(sequences, unary)))

    @reader
    def decision_function(self, X: Any) -> list[Floats]:
        """Max-marginals, a (T, K) array for each sequence: the best score of a labelling with a given label there.

        With a reject cost the last of K + 1 columns is for "don't know" (not with "additive").
        """
        sequences, unary = self._scores(X)
        return sequences.split(max_marginals(unary, self.pairwise_coef_, sequences.starts, sequences.parents))

    @reader
    def score(self, X: Any, Y: Any, sample_weight: Any = None) -> float:
        """Negative mean loss of the annotated positions, with the weight of their sequence. Higher is better."""
        sequences, unary = self._scores(X)
        labels = read_positions(Y, sequences, self._order, ordered=self._ordered)
        annotation = annotate(labels, self._decision_losses(rejecting=True), sequences.starts)
        weight = np.repeat(sequence_weights(sample_weight, sequences), np.diff(sequences.starts))
        counted = np.where(annotation.known, weight, 0.0)
        if not counted.any():
            raise ValueError("no position has a label and a positive weight: there is nothing to score.")
        decisions = self._decide(sequences, unary)
        return -float(np.average(annotation.losses[np.arange(decisions.size), decisions], weights=counted))

    def _decide(self, sequences: Sequences, unary: Floats) -> Ints:
        graph = self.pairwise_coef_, sequences.starts, sequences.parents
        if self.surrogate != "additive":
            return best_labellings(unary, *graph)[0]
        expected = softmax(max_marginals(unary, *graph), axis=1) @ self._decision_losses(rejecting=True)
        return np.asarray(expected.argmin(axis=1))

    def _scores(self, X: Any) -> tuple[Sequences, Floats]:
        sequences = read_sequences(X, self.n_features_in_)
        return sequences, np.ascontiguousarray(sequences.X @ self.unary_coef_.T + self.intercept_)

    def _decode(self, decisions: Ints) -> NDArray[Any]:
        if self.reject_cost is None:
            return np.asarray(self.classes_[decisions])
        return np.array([*self.classes_.tolist(), None], dtype=object)[decisions]

    @property
    def lower_bound_(self) -> float:
        """``convex_lower_bound_``, under the usual name."""
        return self.convex_lower_bound_

    @property
    def gap_(self) -> float:
        """``convex_gap_``, under the usual name."""
        return self.convex_gap_

    # -- files -----------------------------------------------------------------------------------------------------

    @reader
    def to_plain(self) -> dict[str, Any]:
        """Everything the model has learnt, as arrays and plain values: what a model file holds."""
        streaming = "_state" in self.__dict__
        arrays = self._state if streaming else {name: getattr(self, name) for name in _PARAMETERS}
        return {
            "state": {name: array.copy() for name, array in arrays.items()},
            "classes": self.classes_,
            "features": self._plain_features(),
            "n_iter": getattr(self, "n_iter_", None),
            "certificate": None if streaming else [getattr(self, name) for name in _CERTIFICATE],
        }

    def from_plain(self, plain: Mapping[str, Any]) -> None:
        """Become the model that :meth:`to_plain` described, after checking that it can be one."""
        self._check_params()
        self._take_features(plain["features"])
        self._order = self._take_classes(plain["classes"])
        n_features = self.n_features_in_
        n_decisions = len(self._order) + (self.reject_cost is not None and self.surrogate != "additive")
        self._decision_losses(rejecting=True)  # raises if the loss is invalid
        if plain["n_iter"] is not None:
            self.n_iter_ = require_number("n_iter", plain["n_iter"])
        if plain["certificate"] is None:
            perceptron.LAYOUT.check(plain["state"], n_features, n_decisions)
            if len(plain["state"]["W"]) != n_features:  # the check allows spare rows, which this learner never has
                raise ValueError(f"array 'W' must have {n_features} rows, not {len(plain['state']['W'])}")
            self._take_state(dict(plain["state"]))
            return
        shapes = (n_decisions, n_features), (n_decisions,), (n_decisions, n_decisions)
        require_arrays(plain["state"], {n: (np.float64, shape) for n, shape in zip(_PARAMETERS, shapes, strict=True)})
        for name, array in plain["state"].items():
            setattr(self, name, array)
        objective, objectives, *bounds = plain["certificate"]
        for value in (objective, *list(objectives), *bounds):
            require_number("a value of the certificate", value, float)
        for name, value in zip(_CERTIFICATE, plain["certificate"], strict=True):
            setattr(self, name, value)

    # -- reading and state -----------------------------------------------------------------------------------------

    def _read(
        self, X: Any, Y: Any, sample_weight: Any, order: ClassOrder | None, n_features: int | None
    ) -> tuple[Sequences, Annotation, Floats]:
        """Check everything; set the classes and the number of features."""
        sequences = read_sequences(X, n_features)
        labels = read_positions(Y, sequences, order, ordered=self._ordered)
        weight = sequence_weights(sample_weight, sequences)
        self._order, self.classes_ = labels.order, labels.classes
        self.n_features_in_ = sequences.X.shape[1]
        losses = self._decision_losses(rejecting=self.surrogate != "additive")
        return sequences, annotate(labels, losses, sequences.starts), weight

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.sparse = True
        tags.no_validation = True  # scikit-learn's checks do not make lists of sequences
        tags.target_tags.required = True
        return tags

    @property
    def _ordered(self) -> bool:
        return isinstance(self.loss, str) and self.loss == "mae"

    def _decision_losses(self, *, rejecting: bool) -> Floats:
        return decision_losses(self.loss, len(self.classes_), self.reject_cost if rejecting else None)

    def _take_state(self, state: State) -> None:
        """Set the parameters from the perceptron's state."""
        self._state = state
        self._set_parameters(*perceptron.parameters(state, self.average))
        self.n_updates_ = int(state["counts"][UPDATES])

    def _set_parameters(self, W: Floats, b: Floats, P: Floats) -> None:
        self.unary_coef_, self.intercept_, self.pairwise_coef_ = np.ascontiguousarray(W.T), b, np.ascontiguousarray(P)

    def _check_params(self) -> None:
        self._validate_params()
        if self.solver == "perceptron" and self.surrogate not in ("hinge", "bridge"):
            raise ValueError(
                f"solver='perceptron' of ChainClassifier takes subgradient steps of surrogate='hinge' (or 'bridge'). "
                f"Got surrogate={self.surrogate!r} instead."
            )
        if self.reject_cost is not None and self.surrogate in ("hinge", "bridge"):
            raise ValueError(
                f"surrogate={self.surrogate!r} of ChainClassifier rewards labels only and never learns to say \"don't "
                f"know\": a reject_cost needs 'ramp', 'max' or 'additive'. Got reject_cost={self.reject_cost!r}."
            )
