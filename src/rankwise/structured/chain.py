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

from rankwise._sklearn import COUNT, NOT_NEGATIVE, PASSES, POSITIVE, StrOptions
from rankwise._types import Floats
from rankwise.base.state import require_number
from rankwise.base.transaction import reader
from rankwise.labels import declared_order
from rankwise.structured import _chain_perceptron as perceptron
from rankwise.structured._chain_by_bundle import CERTIFICATE, PARAMETERS, BundleChain
from rankwise.structured._chain_by_perceptron import PerceptronChain
from rankwise.structured._chain_risk import SPACES
from rankwise.structured._sequences import Annotation, Sequences

_LEARNT = (*CERTIFICATE, "n_iter_", "n_updates_", "_state")  # by one solver only


class ChainClassifier(PerceptronChain, BundleChain):
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
        state = self._passes(sequences, annotation, weight)
        if self.solver == "perceptron":
            self.n_iter_ = self.n_epochs
            self._take_state(state)
        else:
            self._minimise(sequences, annotation, weight, perceptron.parameters(state, self.average))

    # -- files -----------------------------------------------------------------------------------------------------

    @reader
    def to_plain(self) -> dict[str, Any]:
        """Everything the model has learnt, as arrays and plain values: what a model file holds."""
        streaming = "_state" in self.__dict__
        arrays = self._state if streaming else {name: getattr(self, name) for name in PARAMETERS}
        return {
            "state": {name: array.copy() for name, array in arrays.items()},
            "classes": self.classes_,
            "features": self._plain_features(),
            "n_iter": getattr(self, "n_iter_", None),
            "certificate": None if streaming else [getattr(self, name) for name in CERTIFICATE],
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
            self._take_plain_state(plain["state"], n_features, n_decisions)
        else:
            self._take_certified(plain, n_features, n_decisions)

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
