"""A model of raw tables: an encoder of columns and an estimator, learnt, saved and used as one.

:func:`rankwise.save` writes both into one file, so that ``predict`` on raw rows works wherever the file goes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from copy import copy, deepcopy
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from rankwise import metrics
from rankwise._masks import unmasked
from rankwise._sklearn import Classifier
from rankwise.base.default_parts import DefaultParts
from rankwise.base.model import Enclosing, Layer, Model
from rankwise.base.transaction import AllOrNothing, reader
from rankwise.batch import CumulativeLink
from rankwise.batch.batch_estimator import BatchEstimator
from rankwise.batch.table_inference import InfersByColumn, TableInference
from rankwise.features import TableEncoder
from rankwise.features.foreign import is_fitted
from rankwise.features.leakage import warn_of_leakage
from rankwise.features.transformer_checks import width
from rankwise.labels import encode


def if_offered(method: str) -> Any:
    """Decorator of a method that exists if the estimator inside has it."""
    return available_if(lambda self: self._offers(method))


class InnerAnswers(Classifier):
    """Methods that a model passes on to the estimator inside it."""

    def _ask(self, method: str, X: Any, *more: Any) -> Any:
        """Result of a method of the estimator inside for rows."""
        raise NotImplementedError  # each model has its own

    def _offers(self, method: str) -> bool:
        """Whether the estimator inside has a method, or will have it."""
        raise NotImplementedError  # each model has its own

    def predict(self, X: Any) -> NDArray[Any]:
        """Class of every row."""
        return np.asarray(self._ask("predict", X))

    @if_offered("decision_function")
    def decision_function(self, X: Any) -> NDArray[Any]:
        """Scores of the estimator for every row."""
        return np.asarray(self._ask("decision_function", X))

    @if_offered("project")
    def project(self, X: Any) -> NDArray[Any]:
        """Score of every row on the axis of the thresholds."""
        return np.asarray(self._ask("project", X))

    @if_offered("predict_proba")
    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Probability of every class, (n, K)."""
        return np.asarray(self._ask("predict_proba", X))

    @if_offered("predict_quantile")
    def predict_quantile(self, X: Any, q: float) -> NDArray[Any]:
        """Lowest class that is not exceeded with a probability of at least ``q``, for every row."""
        return np.asarray(self._ask("predict_quantile", X, q))

    @if_offered("predict_interval")
    def predict_interval(self, X: Any, level: float | None = None) -> NDArray[Any]:
        """Lowest and highest class of an interval with a probability of at least ``level``, (n, 2).

        By default the estimator's own level: that of a conformal model, otherwise 0.9.
        """
        return np.asarray(self._ask("predict_interval", X, *([] if level is None else [level])))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Score of the estimator: negative mean absolute error in ranks. Higher is better."""
        return float(self._ask("score", X, y, sample_weight))


def table_encoder(encoder: Any) -> TableEncoder | None:
    """The encoder, or the first step of a pipeline, if it is a TableEncoder."""
    first = encoder.steps[0][1] if isinstance(encoder, Pipeline) else encoder
    return first if isinstance(first, TableEncoder) else None


def _takes_categories(estimator: Any) -> bool:
    """Whether the estimator handles categories and missing values itself, and no columns were named."""
    chosen = getattr(estimator, "categorical_features", None)
    return isinstance(chosen, str) and chosen == "from_dtype"


def _is_penalised(estimator: Any) -> bool:
    """Whether all estimators inside, such as those that are calibrated, chosen from or mixed, have a penalty."""
    if isinstance(estimator, Pipeline):
        return _is_penalised(estimator[-1])
    several = getattr(estimator, "estimators", ())
    several = (
        several.values() if isinstance(several, Mapping) else several if isinstance(several, (list, tuple)) else ()
    )
    parts = [one for one in (getattr(estimator, "estimator", None), *several) if not isinstance(one, str | None)]
    return all(map(_is_penalised, parts)) if parts else bool(getattr(estimator, "is_penalised", True))


@contextmanager
def _named(estimator: Any, encoder: Any) -> Iterator[None]:
    """Messages of the estimator name its columns as the encoder does."""
    tells = isinstance(estimator, BatchEstimator) and isinstance(encoder, TableEncoder)
    if tells:
        estimator._name_columns = encoder.get_feature_names_out
    try:
        yield
    finally:
        if tells:
            vars(estimator).pop("_name_columns", None)


def name_categories(estimator: Any, encoder: Any) -> None:
    """Tell an estimator that takes categories which of the encoder's columns hold them."""
    if isinstance(encoder, TableEncoder) and encoder.categorical_ and _takes_categories(estimator):
        estimator.set_params(categorical_features=encoder.categorical_)


class TableModel(Enclosing, InnerAnswers, InfersByColumn, AllOrNothing, DefaultParts):
    """An encoder of raw columns and an estimator of ordered classes.

    Parameters
    ----------
    estimator : estimator, optional
        What learns from the encoded rows: any estimator of rankwise that takes a matrix and labels, or one of
        scikit-learn, which takes exact labels. By default ``CumulativeLink(alpha="auto")``.
    encoder : TableEncoder, another transformer, "none" or None, default=None
        How columns become features; None takes ``TableEncoder()``, with ``numbers="linear"`` for estimators that follow
        curves by themselves, such as kernels, and ``TableEncoder.for_trees()`` for :class:`BoostedThresholds`, which
        gets numbers, missing values and categories as they are. For estimators without a penalty, such as
        ``CumulativeLink(alpha=0)``, a TableEncoder leaves out reference levels (its ``drop_first``). Any transformer of
        scikit-learn or skrub can take its place. The string "none" hands rows to the estimator as they are, for
        matrices of numbers and CSR matrices.

    Attributes
    ----------
    encoder_, estimator_
        The fitted parts; ``encoder_`` is None if ``encoder="none"``.
    classes_ : ndarray
        The classes, lowest first.
    feature_names_in_, n_features_in_
        Columns that are used, as in scikit-learn.

    Examples
    --------
    >>> import pandas as pd
    >>> from rankwise import SVOR, TableModel
    >>> wines = pd.DataFrame({"alcohol": [9.0, 11.0, None, 14.0], "colour": ["red", "red", "white", "white"]})
    >>> grades = [1, (1, 2), 3, 3]
    >>> model = TableModel(SVOR()).fit(wines, grades)
    >>> model.predict(wines)
    array([1, 1, 3, 3])
    >>> model.evaluate(wines, grades)["mae"]
    0.0
    """

    def __init__(self, estimator: Any = None, encoder: Any = None) -> None:
        self.estimator = estimator
        self.encoder = encoder

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the encoder, then the estimator to the encoded rows.

        Parameters
        ----------
        X : pandas, polars or pyarrow table, or 2-D array
            Raw columns, without the labels.
        y : array-like
            Labels of any form that :func:`rankwise.labels.encode` reads and the estimator supports.
        sample_weight : array-like of shape (n,), optional
            Importance of each row, >= 0.
        """
        with self._afresh() as model:
            encoder, X = self._new_encoder(), unmasked(X)
            rows = X if encoder is None else encoder.fit(X, y).transform(X)
            estimator = clone(self._template())
            name_categories(estimator, encoder)
            weights = {} if sample_weight is None else {"sample_weight": sample_weight}
            with _named(estimator, encoder):
                estimator.fit(rows, y, **weights)
            model.encoder_, model.estimator_ = encoder, estimator
        self._warn_of_leakage(X, y)
        return self

    def fit_encoder(self, X: Any) -> Self:
        """Fit the encoder to these rows and reset the estimator; for streams, whose rows come later.

        Parameters
        ----------
        X : table
            As in :meth:`fit`; enough rows to stand for the stream.
        """
        with self._afresh() as model:
            model._begin(X)
        return self

    def _begin(self, X: Any) -> None:
        encoder = self._new_encoder()
        if isinstance(encoder, TableEncoder):
            encoder.set_params(stream=True)
        self.encoder_ = encoder if encoder is None else encoder.fit(unmasked(X))
        self.estimator_ = clone(self._template())

    @if_offered("partial_fit")
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from some more rows, one pass in the order given. A chunk with a bad row leaves the model as it was.

        The first call fits the encoder to its rows, unless :meth:`fit_encoder` did so on others.

        Parameters
        ----------
        X, y, sample_weight
            As in :meth:`fit`.
        classes : array-like, optional
            All classes, lowest first. The first call needs them, here or as a parameter of the estimator.
        """
        is_new = not self.__sklearn_is_fitted__()
        with self._ready_for(X) as (estimator, rows):
            estimator.partial_fit(rows, y, classes=classes, sample_weight=sample_weight)
        if is_new:
            self._warn_of_leakage(X, y)
        return self

    @if_offered("progressive_predict")
    def progressive_predict(self, X: Any, y: Any, sample_weight: Any = None, classes: Any = None) -> NDArray[Any]:
        """Predict each row, then learn from it; return the predictions made before learning.

        Parameters
        ----------
        X, y, sample_weight, classes
            As in :meth:`partial_fit`.
        """
        is_new = not self.__sklearn_is_fitted__()
        with self._ready_for(X) as (estimator, rows):
            predicted = np.asarray(estimator.progressive_predict(rows, y, classes=classes, sample_weight=sample_weight))
        if is_new:
            self._warn_of_leakage(X, y)
        return predicted

    def _warn_of_leakage(self, X: Any, y: Any) -> None:
        used = self.encoder_.feature_names_in_ if isinstance(self.encoder_, TableEncoder) else None
        warn_of_leakage(X, encode(y, self.classes_), used)

    @reader
    def _ask(self, method: str, X: Any, *more: Any) -> Any:
        return getattr(self.estimator_, method)(self._encoded(X), *more)

    def _offers(self, method: str) -> bool:
        getattr(self._template(), method)  # its own error says which estimators have the method
        return True

    @reader
    def _inferred(self, X: Any, y: Any, sample_weight: Any) -> TableInference:
        check_is_fitted(self)
        return TableInference(Model.of(self), X, y, sample_weight)

    def evaluate(self, X: Any, y: Any, sample_weight: Any = None) -> dict[str, float]:
        """Mean absolute error, share of wrong answers and of answers at most one rank off, on rows with labels.

        Distances are those to the nearest class that the label admits.

        Parameters
        ----------
        X, y, sample_weight
            As in :meth:`fit`.
        """
        predicted = self.predict(X)
        labels, options = encode(y, self.classes_), dict(sample_weight=sample_weight)
        return {
            "mae": metrics.mean_absolute_error(labels, predicted, **options),
            "zero_one": metrics.zero_one_loss(labels, predicted, **options),
            "within_one": metrics.accuracy_within(labels, predicted, tolerance=1, **options),
        }

    # -- the model ---------------------------------------------------------------------------------------------------

    @reader
    def _layer(self) -> Layer:
        return Layer(self.estimator_, self.encoder_)

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes, lowest first."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.classes_)

    @property
    def n_features_in_(self) -> int:
        """Number of columns that are used."""
        check_is_fitted(self)
        return int((self.encoder_ or self.estimator_).n_features_in_)

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Names of the columns that are used."""
        check_is_fitted(self)
        return np.asarray((self.encoder_ or self.estimator_).feature_names_in_)

    def __sklearn_is_fitted__(self) -> bool:
        return is_fitted(self.__dict__.get("estimator_"))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.classifier_tags.poor_score = True
        return tags

    @reader
    def to_plain(self) -> dict[str, Any]:
        """Both fitted parts: what a model file holds."""
        # Where both go on learning, the estimator is copied in the state that belongs to the encoder.
        return {"encoder": self.encoder_, "estimator": deepcopy(self.estimator_) if self._moves else self.estimator_}

    def from_plain(self, plain: Mapping[str, Any]) -> None:
        """Become the model that :meth:`to_plain` described, after checking that it can be one."""
        encoder, estimator = plain["encoder"], plain["estimator"]
        if (
            estimator is None
            or type(estimator) is not type(self._template())
            or (encoder is None) != (self.encoder == "none")
        ):
            raise ValueError("the parts are not those that the parameters name")
        wanted = TableEncoder if self.encoder is None else type(self.encoder)
        if encoder is not None and (type(encoder) is not wanted or not hasattr(encoder, "transform")):
            raise ValueError(f"the encoder must be a {wanted.__name__}, not a {type(encoder).__name__}")
        made = encoder.n_features_out_ if isinstance(encoder, TableEncoder) else width(encoder)
        if made is not None and made != getattr(estimator, "n_features_in_", made):
            raise ValueError("the encoder makes another number of features than the estimator knows")
        self.encoder_, self.estimator_ = encoder, estimator

    def _template(self) -> Any:
        return self._defaults()["estimator"]() if self.estimator is None else self.estimator

    def _defaults(self) -> dict[str, Callable[[], Any]]:
        return {"estimator": lambda: CumulativeLink(alpha="auto"), "encoder": self._default_encoder}

    def _default_encoder(self) -> TableEncoder:
        if _takes_categories(self.estimator):
            return TableEncoder.for_trees()
        return TableEncoder(numbers="linear" if getattr(self.estimator, "bends", False) else "auto")

    def _new_encoder(self) -> Any:
        encoder = self._untold_encoder()
        first = table_encoder(encoder)
        if first is not None and first.drop_first == "auto" and not _is_penalised(self._template()):
            first.set_params(drop_first=True)
        return encoder

    def _untold_encoder(self) -> Any:
        """A new encoder that does not know yet whether the estimator has a penalty."""
        if self.encoder is None:
            return self._default_encoder()
        if isinstance(self.encoder, str) and self.encoder == "none":
            return None
        if isinstance(self.encoder, type) or not (hasattr(self.encoder, "fit") and hasattr(self.encoder, "transform")):
            raise ValueError(
                f"encoder must be a TableEncoder, None or 'none', or another transformer. Got {self.encoder!r} instead."
            )
        return clone(self.encoder)

    @property
    def _moves(self) -> bool:
        """Whether the encoder goes on learning with the estimator, as OnlineScaler does."""
        return hasattr(self.encoder, "partial_fit_transform")

    def _encoded(self, X: Any) -> Any:
        X = unmasked(X)  # other transformers read what a mask hides
        return X if self.encoder_ is None else self.encoder_.transform(X)

    @contextmanager
    def _ready_for(self, X: Any) -> Iterator[tuple[Any, Any]]:
        """The estimator that learns, and the encoded rows; an error inside leaves the model as it was."""
        gate, moves = self._gate, self._moves
        with gate.lock:
            gate.count |= moves  # two models change one after the other: readers wait until both have
            try:
                with self._afresh() as model:
                    if "estimator_" not in vars(model):
                        if moves:
                            model.encoder_, model.estimator_ = clone(self.encoder), clone(self.estimator)
                        else:
                            model._begin(X)
                    if moves:
                        model.encoder_ = copy(model.encoder_)  # the one before stays, should the rows be refused
                    encoder: Any = model.encoder_
                    yield model.estimator_, encoder.partial_fit_transform(X) if moves else model._encoded(X)
            finally:
                gate.count += moves
