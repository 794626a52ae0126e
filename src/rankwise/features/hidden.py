"""Features from the hidden layer of a network that was trained to predict the rank by least squares.

The first step of Milidiu and Rocha, "Cumulative Sum Ranking", section 8: a network with one hidden layer is trained to
predict the rank as a number,

    minimise  mean_i (r_i - v . a(W x_i + b) - c)^2 / 2 + alpha / (2 m) (|W|^2 + |v|^2)   (m rows in a step),

until its error on rows held out has not fallen for 100 epochs, and each row is then represented by the hidden layer's
activations ``a(W x + b)``. An ordinal model, the paper's is CuSum Rank, learns from these in the second step.

The rank r_i of an exact label is its place among the classes. An imprecise label counts as the mean of the ranks it
admits, for an interval its mid-point (ours); a row without a label takes no part.
"""

from __future__ import annotations

import warnings
from math import ceil
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
import sklearn
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.neural_network import MLPRegressor
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import has_fit_parameter, validate_data

from rankwise._kernels.sparse import require_sound
from rankwise._masks import unmasked
from rankwise._sklearn import COUNT, NOT_NEGATIVE, POSITIVE, Interval, StrOptions
from rankwise.base.transaction import AllOrNothing, reader
from rankwise.labels import Labels, check_weights, encode

_ACTIVATIONS = {"identity": lambda z: z, "logistic": expit, "relu": lambda z: np.maximum(z, 0), "tanh": np.tanh}
_PASSED_ON = ("activation", "alpha", "learning_rate_init", "max_iter", "tol", "n_iter_no_change", "random_state")
_FEWEST_ROWS = 4  # two to learn from and two to hold out for the validation score


class HiddenFeatures(AllOrNothing, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Activations of the hidden layer of a least-squares network, from labels of every kind.

    The network is scikit-learn's :class:`~sklearn.neural_network.MLPRegressor` with the Adam solver and early stopping.
    Scale the inputs first.

    Parameters
    ----------
    n_hidden : int, default 1000
        Units of the hidden layer, and so the number of features.
    activation : {"relu", "tanh", "logistic", "identity"}, default "relu"
        Activation of the hidden layer.
    alpha : float, default 1e-4
        Strength of the penalty on the squared weights.
    batch_size : int or "auto", default "auto"
        Rows of a step; "auto" takes 200, or all if there are fewer.
    learning_rate_init : float, default 0.001
        Adam's step size.
    max_iter : int, default 2000
        Maximum number of epochs. A network that has not converged by then warns.
    tol : float, default 1e-4
        Smallest increase of the validation score (R squared) that counts as an improvement.
    validation_fraction : float, default 0.2
        Share of the labelled rows that are held out to stop early; two rows at least.
    n_iter_no_change : int, default 100
        Epochs without an improvement after which the best network is kept.
    random_state : int, RandomState or None, default None
        Seed of the first weights, the rows held out and the order of the rows.
    classes : array-like, optional
        The classes, lowest first; those of ``y`` by default, see :func:`rankwise.labels.encode`.

    Attributes
    ----------
    coefs_, intercepts_ : lists of two ndarrays
        Weights and intercepts of the hidden layer, (d, n_hidden) and (n_hidden,), and of the output.
    classes_ : ndarray
        The classes, lowest first; the network predicts their places 0..K-1.
    n_iter_ : int
        Epochs made.
    validation_scores_ : list of float
        R squared on the rows held out, after every epoch.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    Sample weights other than one need scikit-learn 1.7 or newer, whose network takes them. Files of
    :func:`rankwise.save` hold online estimators only; this one pickles.

    Examples
    --------
    The paper's model:

    >>> import rankwise as rw
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> data = rw.datasets.load_diabetes_grades(n_classes=5)
    >>> features = rw.HiddenFeatures(n_hidden=100, random_state=0)
    >>> model = make_pipeline(StandardScaler(), features, rw.CuSumRank(delta=10, random_state=0))
    >>> model.fit(data.X[:300], data.y[:300]).score(data.X[300:], data.y[300:]) > -0.9
    True
    >>> model[:-1].transform(data.X).shape
    (442, 100)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_hidden": [COUNT],
        "activation": [StrOptions(set(_ACTIVATIONS))],
        "alpha": [NOT_NEGATIVE],
        "batch_size": [StrOptions({"auto"}), COUNT],
        "learning_rate_init": [POSITIVE],
        "max_iter": [COUNT],
        "tol": [NOT_NEGATIVE],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_iter_no_change": [COUNT],
        "random_state": ["random_state"],
        "classes": ["array-like", None],
    }

    def __init__(
        self, n_hidden: int = 1000, activation: str = "relu", alpha: float = 1e-4, batch_size: int | str = "auto",
        learning_rate_init: float = 0.001, max_iter: int = 2000, tol: float = 1e-4, validation_fraction: float = 0.2,
        n_iter_no_change: int = 100, random_state: Any = None, classes: Any = None,
    ) -> None:  # fmt: skip
        self.n_hidden = n_hidden
        self.activation = activation
        self.alpha = alpha
        self.batch_size = batch_size
        self.learning_rate_init = learning_rate_init
        self.max_iter = max_iter
        self.tol = tol
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.random_state = random_state
        self.classes = classes

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train the network.

        Parameters
        ----------
        X, y, sample_weight
            As in :meth:`rankwise.SVOR.fit`, with labels of any kind. A row of weight zero takes no part.
        """
        with self._afresh() as model:
            model._fit(X, y, sample_weight)
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        self._validate_params()
        X = self._checked(X, reset=True)
        labels = encode(y, self.classes, n_rows=X.shape[0])
        weight = check_weights(sample_weight, len(labels))
        used = ~labels.is_missing & (weight != 0 if weight.size else True)
        n = int(used.sum())
        if n < _FEWEST_ROWS:
            raise ValueError(
                f"{type(self).__name__} needs at least {_FEWEST_ROWS} rows with a label and a weight above zero. "
                f"Got {n} of n_samples={len(labels)}."
            )
        ranks = _mean_ranks(labels)[used].astype(X.dtype)
        network = self._network(n)
        _train(network, X if n == len(labels) else X[used], ranks, weight[used] if weight.size else weight)
        self.classes_ = labels.classes
        self.coefs_, self.intercepts_ = network.coefs_, network.intercepts_
        self.n_iter_, self.validation_scores_ = network.n_iter_, network.validation_scores_

    def _network(self, n: int) -> MLPRegressor:
        """Untrained network for n rows."""
        held_out = max(self.validation_fraction, 2 / n)
        learnt_from = max(1, n - ceil(held_out * n))
        return MLPRegressor(
            hidden_layer_sizes=(self.n_hidden,),
            solver="adam",
            batch_size=min(200 if self.batch_size == "auto" else self.batch_size, learnt_from),
            early_stopping=True,
            validation_fraction=held_out,
            **{name: getattr(self, name) for name in _PASSED_ON},
        )

    @reader
    def transform(self, X: Any) -> NDArray[Any]:
        """Activations of the hidden layer, (n, n_hidden), in the precision of the network."""
        X = self._checked(X, reset=False)
        return np.asarray(_ACTIVATIONS[self.activation](safe_sparse_dot(X, self.coefs_[0]) + self.intercepts_[0]))

    def _checked(self, X: Any, *, reset: bool) -> Any:
        return validate_data(
            self, require_sound(unmasked(X)), reset=reset, accept_sparse="csr", dtype=(np.float64, np.float32)
        )

    @property
    def _n_features_out(self) -> int:
        """Number of features, for scikit-learn's names of them."""
        return int(self.intercepts_[0].size)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _mean_ranks(labels: Labels) -> NDArray[np.float64]:
    """Mean of the ranks 0..K-1 that each label admits."""
    if labels.mask is None:
        return np.asarray((labels.lower + labels.upper) / 2)
    return np.asarray(labels.mask @ np.arange(len(labels.order)) / labels.mask.sum(axis=1))


def _train(network: MLPRegressor, X: Any, ranks: NDArray[Any], weight: NDArray[np.float64]) -> None:
    weights = {}
    if weight.size and has_fit_parameter(network, "sample_weight"):
        weights["sample_weight"] = weight
    elif np.any(weight != 1):
        raise ValueError(
            f"sample_weight needs the network of scikit-learn 1.7 or newer. This is {sklearn.__version__}."
        )
    interrupted = "Training interrupted by user"
    with warnings.catch_warnings():
        # scikit-learn turns an interrupt into this warning and keeps a half-trained network.
        warnings.filterwarnings("error", interrupted)
        try:
            network.fit(X, ranks, **weights)
        except UserWarning as warning:
            if interrupted not in str(warning):
                raise
            raise KeyboardInterrupt from None
