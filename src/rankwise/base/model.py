"""One way to ask a fitted model: what is inside it, what it can say, and its answers.

A model may enclose others: a pipeline, a search, a table model, a calibrated or conformal estimator.
:class:`Model` opens these layers once. What works on fitted models (plots, explanations, reports, the service, the
command) asks a :class:`Model`, and a new kind of enclosing estimator states its layer in one place,
:meth:`Enclosing._layer`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from inspect import signature
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import MetaEstimatorMixin
from sklearn.pipeline import Pipeline, make_pipeline

from rankwise._types import Floats
from rankwise.labels import encode

LEVEL = 0.9  # of intervals from probabilities, which have no level of their own


class Layer(NamedTuple):
    """What an estimator encloses."""

    inside: Any  #: the estimator inside
    before: Any = None  #: transformer from the rows of the outer estimator to those of the inner one
    adjusts: bool = False  #: whether it answers otherwise than the estimator inside, as calibration does
    chosen: bool = False  #: whether the estimator inside was chosen among several


class Enclosing(MetaEstimatorMixin):
    """Base of the estimators that enclose another one, and have its columns."""

    @abstractmethod
    def _layer(self) -> Layer:
        """What the estimator encloses; an AttributeError if it is not fitted."""

    @property
    def n_features_in_(self) -> int:
        """Number of columns, as the estimator inside has it."""
        return int(self._layer().inside.n_features_in_)

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Names of the columns, as the estimator inside has them."""
        return np.asarray(self._layer().inside.feature_names_in_)


def layer_of(model: Any) -> Layer | None:
    """What an estimator of this library or of scikit-learn encloses; None if it encloses nothing, or is not fitted."""
    if isinstance(model, Enclosing):
        with suppress(AttributeError):
            return model._layer()
        return None
    if isinstance(model, Pipeline):
        return Layer(model[-1], model[:-1] if len(model) > 1 else None)
    best = getattr(model, "best_estimator_", None)  # scikit-learn's searches
    return None if best is None else Layer(best, chosen=True)


class Sets(NamedTuple):
    """Sets of classes that a model predicts."""

    holds: NDArray[np.bool_]  #: which classes the set of each row holds, (n, K)
    level: float


class Predictions(NamedTuple):
    """What a model says of some rows; None for what it cannot say."""

    classes: NDArray[Any]
    probabilities: Floats | None = None
    sets: Sets | None = None
    scores: Floats | None = None  #: on the axis of the thresholds


@dataclass(frozen=True, eq=False)
class Model:
    """A fitted model of any kind, opened.

    Attributes
    ----------
    given : estimator
        The model as it was given.
    final : estimator
        The estimator inside that decides: what searches chose, at the end of pipelines, after the encoder of a table
        model. Calibrated and conformal estimators decide themselves.
    before : transformer or None
        From the rows of the model to those of ``final``; None if they are the same.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from rankwise import PRIL
    >>> from rankwise.datasets import make_ordinal
    >>> X, y = make_ordinal(100, 3, 4, random_state=0)
    >>> model = Model.of(make_pipeline(StandardScaler(), PRIL(random_state=0)).fit(X, y))
    >>> model.name, model.path, model.classes.tolist(), model.can("predict_proba")
    ('PRIL', ['StandardScaler', 'PRIL'], [1, 2, 3, 4], False)
    """

    given: Any
    final: Any
    before: Any = None

    @classmethod
    def of(cls, model: Any) -> Model:
        """Open a model."""
        final, before = model, None
        while (layer := layer_of(final)) is not None and not layer.adjusts:
            final, before = layer.inside, _joined(before, layer.before)
        return cls(model, final, before)

    @property
    def within(self) -> Model:
        """The same model, opened also where the estimator that decides adjusts the answers of another one."""
        layer = layer_of(self.final)
        if layer is None:
            return self
        inside = Model.of(layer.inside)
        return Model(self.given, inside.final, _joined(self.before, inside.before))

    # -- what it is --------------------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """Name of the class of the estimator that decides."""
        return type(self.final).__name__

    @property
    def path(self) -> list[str]:
        """Names of the classes of the transformers and the estimator that decides, in the order rows pass them."""
        return [type(step).__name__ for step in [*_steps(self.before), self.final]]

    @property
    def choosers(self) -> list[str]:
        """Names of the classes of the searches that chose the estimator that decides, the outermost first."""
        opened = [(outer, layer_of(outer)) for outer in self.layers]
        return [type(outer).__name__ for outer, layer in opened if layer is not None and layer.chosen]

    @property
    def layers(self) -> Iterator[Any]:
        """The model and all estimators inside it, also those whose answers are adjusted, from the outermost one."""
        inside = self.given
        while inside is not None:
            yield inside
            layer = layer_of(inside)
            inside = None if layer is None else layer.inside

    def can(self, *methods: str) -> bool:
        """Whether the estimator that decides has all these methods or attributes."""
        return all(hasattr(self.final, name) for name in methods)

    def learnt(self, name: str, default: Any = None) -> Any:
        """An attribute that the estimator that decides may have learnt."""
        return getattr(self.final, name, default)

    def require(self, purpose: str, kind: str, *attributes: str) -> Model:
        """Return the model; an error names the attributes that its estimator lacks for a purpose."""
        missing = [name for name in attributes if not self.can(name)]
        if missing:
            raise TypeError(f"{purpose} needs a fitted {kind}. {self.name} has no {' and no '.join(missing)}.")
        return self

    # -- columns and classes -----------------------------------------------------------------------------------------

    def rows(self, X: Any) -> Any:
        """Rows of the model as the estimator that decides takes them."""
        return X if self.before is None else self.before.transform(X)

    @property
    def n_features(self) -> int:
        """Number of features of the estimator that decides; 0 if unknown."""
        return int(self.learnt("n_features_in_", 0))

    def feature_names(self, n_features: int | None = None, X: Any = None) -> list[str]:
        """Names of the features of the estimator that decides, x0, x1 ... where they have none.

        They come from the transformer before it, from itself, or from a table ``X``.
        """
        names = self.learnt("feature_names_in_")
        if self.before is not None:
            try:
                names = self.before.get_feature_names_out()
            except (AttributeError, ValueError):  # a transformer that does not know them
                names = None
        elif names is None and hasattr(X, "iloc"):
            names = X.columns
        if names is None:
            names = [f"x{j}" for j in range(self.n_features if n_features is None else n_features)]
        return [str(name) for name in names]

    @property
    def columns(self) -> list[str] | None:
        """Names of the columns that the model itself takes, if it knows them."""
        names = getattr(self.given, "feature_names_in_", None)
        return None if names is None else [str(name) for name in names]

    @property
    def has_classes(self) -> bool:
        """Whether the estimator that decides has one list of classes."""
        return np.ndim(self.learnt("classes_", 0)) == 1

    @property
    def classes(self) -> NDArray[Any]:
        """The classes, lowest first if they have an order."""
        return np.asarray(self.final.classes_)

    @property
    def ordered(self) -> bool:
        """Whether the order of the classes means something.

        Other libraries sort their classes, which is a meaningful order for numbers only.
        """
        ours = type(self.final).__module__.startswith("rankwise.")
        return bool(self.learnt("ordered", ours or self.classes.dtype.kind in "iuf"))

    @property
    def label_kinds(self) -> frozenset[str]:
        """Kinds of labels that the estimator learns from; empty for estimators of other libraries."""
        return frozenset(self.learnt("label_kinds", ()))

    # -- parameters --------------------------------------------------------------------------------------------------

    @property
    def has_score(self) -> bool:
        """Whether one score and thresholds decide."""
        return self.can("project", "thresholds_")

    @property
    def thresholds(self) -> Floats | None:
        """Thresholds on the axis of the score; None without one."""
        return np.asarray(self.final.thresholds_, dtype=np.float64) if self.has_score else None

    @property
    def weights(self) -> Floats | None:
        """Weights of the features, (d,) or (m, d); None for an estimator without them, or whose features grew."""
        weights = np.asarray(self.learnt("coef_", 0.0), dtype=np.float64)
        return weights if weights.ndim in (1, 2) and weights.shape[-1] == len(self.feature_names()) else None

    # -- answers -----------------------------------------------------------------------------------------------------

    def predict(self, X: Any) -> Predictions:
        """All that the model says of rows; these are transformed once."""
        rows = self.rows(X)
        return Predictions(
            classes=np.asarray(self.final.predict(rows)),
            probabilities=np.asarray(self.final.predict_proba(rows)) if self.can("predict_proba") else None,
            sets=self.sets(rows) if self.has_classes and self.ordered else None,
            scores=np.asarray(self.final.project(rows), dtype=np.float64) if self.has_score else None,
        )

    def sets(self, rows: Any) -> Sets | None:
        """Sets of classes of transformed rows: conformal ones, or intervals from the probabilities; None without."""
        if self.can("predict_set"):
            return Sets(np.asarray(self.final.predict_set(rows)), float(self.final.level))
        if self.can("predict_interval", "predict_proba"):
            return Sets(encode(self.intervals(rows), self.classes).admissible(), LEVEL)
        return None

    def intervals(self, rows: Any, level: float = LEVEL) -> NDArray[Any]:
        """Lowest and highest class for transformed rows, (n, 2); sets have a level of their own, whatever ``level``."""
        return np.asarray(self.final.predict_interval(rows, *([level] if self._takes_level else [])))

    @cached_property
    def _takes_level(self) -> bool:
        return "level" in signature(self.final.predict_interval).parameters


def _joined(first: Any, second: Any) -> Any:
    """Two transformers, one after the other; each may be None."""
    return second if first is None else first if second is None else make_pipeline(first, second)


def _steps(transformer: Any) -> Iterator[Any]:
    """The transformers of a pipeline, also of pipelines inside it."""
    if isinstance(transformer, Pipeline):
        for _, step in transformer.steps:
            yield from _steps(step)
    elif transformer is not None:
        yield transformer
