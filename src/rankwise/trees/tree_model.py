"""A model of trees and thresholds in use: reading rows, scores, stages, importances, files; but not fitting."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from rankwise._threads import n_threads
from rankwise._types import Floats
from rankwise.base.probabilities import ProbabilityModel
from rankwise.base.row_data import Rows, first_row, length
from rankwise.base.state import require_array
from rankwise.base.threshold_model import LinkModel
from rankwise.base.transaction import reader
from rankwise.features.arrow_columns import as_table
from rankwise.labels import decode
from rankwise.trees._lightgbm_text import text_of_trees, trees_of_text
from rankwise.trees.arrays import Trees
from rankwise.trees.growth import load_lightgbm
from rankwise.trees.label_reading import places_of
from rankwise.trees.tree_columns import RawColumn, RawColumns, coded, holds_only_numbers, is_frame

_MOST_CATEGORIES = 1 << 20
_MUCH = 200_000  # trees times rows from which on threads are worth waking


def _categories_of(rows: Rows, j: int) -> Floats:
    """Numbers that stand for categories in a column; in a CSR matrix all codes from 0 to the largest."""
    if not isinstance(rows, tuple):
        return np.unique(rows[:, j][~np.isnan(rows[:, j])]).astype(np.float64)
    codes = rows[0][rows[1] == j]
    codes = codes[~np.isnan(codes)]
    if not ((codes >= 0) & (codes == np.floor(codes)) & (codes < _MOST_CATEGORIES)).all():
        raise ValueError(f"column {j} of a sparse X must hold its categories as whole numbers >= 0.")
    return np.arange(codes.max(initial=0.0) + 1.0)


class WithLikelihood:
    """A method that exists only if ``loss="likelihood"``."""

    def __init__(self, method: Callable[..., Any]) -> None:
        self.method, self.__doc__ = method, method.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is not None and instance.loss != "likelihood":
            raise AttributeError(
                f"{owner.__name__}(loss={instance.loss!r}) has no {self.name}: hinges know no probabilities. Use "
                f"loss='likelihood', or put it into CalibratedOrdinal."
            )
        return self.method.__get__(instance, owner)


class TreeModel(LinkModel):
    """Base of :class:`rankwise.BoostedThresholds`: prediction, files, and how it reads rows."""

    loss: str
    categorical_features: Any
    importance_type: str
    n_jobs: int | None
    thresholds_: Floats
    stage_thresholds_: Floats
    bends = True
    _learnt = "trees_"

    validation_loss_: Floats
    n_iter_: int
    trees_: Trees
    _raw: RawColumns | None
    _values: dict[str, Floats]

    # -- reading -----------------------------------------------------------------------------------------------------

    def _rows(self, X: Any, *, reset: bool) -> Rows:
        if reset:
            self._raw, self._values = None, {}
            chosen = self.categorical_features
            named = chosen is not None and not isinstance(chosen, str)
            if is_frame(X) and (named or (chosen is not None and not holds_only_numbers(X))):
                return self._raw_rows(X, chosen if named else ())
        elif self._raw is not None:
            return self._raw.matrix(X)
        rows = super()._rows(X, reset=reset)
        infinite = first_row(rows, np.isinf(rows[0] if isinstance(rows, tuple) else rows))
        if infinite >= 0:
            self._refuse_row(rows, infinite, advice="Missing values are NaN.")
        if reset and named:
            for j in places_of("categorical_features", chosen, None, self.n_features_in_):
                self._values[str(j)] = _categories_of(rows, j)
        if self._values and not isinstance(rows, tuple):
            rows = rows.copy()
            for key, values in self._values.items():
                rows[:, int(key)] = coded(rows[:, int(key)], values)
        return rows

    def _raw_rows(self, X: Any, chosen: Any) -> Floats:
        table = as_table(X)
        names = table.column_names
        if not names or table.num_rows == 0:
            raise ValueError(f"X must have rows and columns. Got the shape ({table.num_rows}, {len(names)}).")
        declared = places_of("categorical_features", chosen, names, len(names))
        self._raw = RawColumns.fitted(table, [names[j] for j in declared])
        self.feature_names_in_ = np.array(names, dtype=object)
        self.n_features_in_ = len(names)
        return self._raw.matrix(table)

    def _categorical(self) -> list[int]:
        return self._raw.categorical if self._raw is not None else sorted(map(int, self._values))

    def _matrix(self, rows: Rows) -> Any:
        """Rows as LightGBM and the trees take them."""
        if not isinstance(rows, tuple):
            return rows
        return sparse.csr_matrix(rows, shape=(length(rows), self.n_features_in_))

    # -- using -----------------------------------------------------------------------------------------------------

    predict_proba: Any = WithLikelihood(ProbabilityModel.predict_proba)
    predict_quantile: Any = WithLikelihood(ProbabilityModel.predict_quantile)
    predict_interval: Any = WithLikelihood(ProbabilityModel.predict_interval)

    @property
    def _median_shift(self) -> float:
        return super()._median_shift if self.loss == "likelihood" else 0.0

    def _project(self, rows: Rows) -> Floats:
        matrix = self._matrix(rows)
        # Threads that are woken for a moment's work cost more than it.
        threads = n_threads(self.n_jobs) if matrix.shape[0] * self.n_iter_ > _MUCH else 1
        return self.trees_.scores(matrix, n_threads=threads)

    def staged_project(self, X: Any) -> Iterator[Floats]:
        """Score of every row after each round, on the axis of the same row of ``stage_thresholds_``."""
        check_is_fitted(self)
        matrix = self._matrix(self._rows(X, reset=False))
        scores = np.zeros(matrix.shape[0])
        for k in range(self.n_iter_):
            scores = scores + self.trees_.part(k, 1).scores(matrix)
            yield scores

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """Class of every row after each round."""
        for model, rows in self._staged(X):
            yield decode(model._codes(rows), self.classes_)

    def _staged_predict_proba(self, X: Any) -> Iterator[Floats]:
        """Probability of every class after each round, (n, K)."""
        for model, rows in self._staged(X):
            yield model._probabilities(rows)

    staged_predict_proba: Any = WithLikelihood(_staged_predict_proba)

    def _staged(self, X: Any) -> Iterator[tuple[TreeModel, Floats]]:
        """The model of each round, which takes scores for rows, and the scores."""
        check_is_fitted(self)
        stage = self._twin()
        stage._project = lambda scores: scores  # type: ignore[assignment, method-assign]
        for scores, thresholds in zip(self.staged_project(X), self.stage_thresholds_, strict=True):
            stage.thresholds_ = thresholds
            yield stage, scores

    @property
    def feature_importances_(self) -> Floats:
        """Importance of each column, see ``importance_type``; they add up to 1, if there is any split."""
        check_is_fitted(self)
        importances = self.trees_.importances(self.n_features_in_, self.importance_type)
        return np.asarray(importances / (importances.sum() or 1.0))

    @property
    def booster_(self) -> Any:
        """The trees as an object of LightGBM's, made anew."""
        return load_lightgbm().Booster(model_str=text_of_trees(self.trees_, self.n_features_in_))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    # -- files -----------------------------------------------------------------------------------------------------

    @reader
    def to_plain(self) -> dict[str, Any]:
        """Everything the model has learnt, as arrays and plain values: what a model file holds."""
        return {
            "trees": self.trees_.to_plain(),
            "stages": self.stage_thresholds_,
            "losses": self.validation_loss_,
            "classes": self.classes_,
            "features": self._plain_features(),
            "columns": None if self._raw is None else self._raw.to_plain(),
            "values": dict(self._values),
        }

    def from_plain(self, plain: Mapping[str, Any]) -> None:
        """Become the model that :meth:`to_plain` described, after checking that it can be one."""
        self._validate_params()
        self._take_features(plain["features"])
        self._take_classes(plain["classes"])
        self._check_decision(len(self.classes_))
        stages = plain["stages"]
        rounds = stages.shape[0] if isinstance(stages, np.ndarray) and stages.ndim == 2 else 0
        require_array("stages", stages, np.float64, (rounds, len(self.classes_) - 1), finite=False)
        if rounds < 1 or (stages[:, 1:] < stages[:, :-1]).any():
            raise ValueError("thresholds must not descend, and there must be some")
        require_array("losses", plain["losses"], np.float64, (len(plain["losses"]),), finite=False)
        columns, values = plain["columns"], plain["values"]
        self._raw = None if columns is None else RawColumns([RawColumn.from_plain(column) for column in columns])
        if self._raw is not None and self._raw.names != plain["features"]:
            raise ValueError("the columns are not the features")
        for key, known in values.items():
            places_of("values", [int(key)], None, self.n_features_in_)
            require_array(key, known, np.float64, (len(known),))
            if (np.diff(known) <= 0.0).any():
                raise ValueError("the values of a column of categories must ascend")
        self._values = dict(values)
        self.stage_thresholds_, self.thresholds_ = stages, stages[-1].copy()
        self.n_iter_, self.validation_loss_ = rounds, plain["losses"]
        arrays = plain["trees"]
        if isinstance(arrays, np.ndarray):  # 0.1 kept LightGBM's text; 0.3 need not read it
            arrays = trees_of_text(arrays.tobytes().decode("ascii"), self.n_features_in_).to_plain()
        self.trees_ = Trees.from_plain(arrays, self.n_features_in_)
        if len(self.trees_) != rounds:
            raise ValueError(f"there are {len(self.trees_)} trees for {rounds} rounds")
