"""What every online estimator shares: the doors in (arrays, streams, dicts), safety, and the counting of rounds.

An algorithm's own file supplies its state (a dict of arrays), one compiled pass over rows, and how a state predicts;
:class:`OnlineEstimator` turns that into ``fit``, ``partial_fit``, ``progressive_predict``, ``learn_one`` and
``predict_one``, which all run the same pass and so end in the same model, to the bit.

A row without information, one whose label is missing or whose weight is zero, is no round: it changes nothing, not
even an average.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from rankwise._errors import RowError
from rankwise._sklearn import Interval
from rankwise.base._classifier import OrdinalClassifier
from rankwise.base.rows import (
    FeatureIndex,
    Rows,
    first_text_column,
    kernel_rows,
    largest_entry,
    length,
    row_entries,
)
from rankwise.base.state import GIVEN_ORDER, NO_MASK, NO_PREDICTIONS, ROUNDS, UPDATES, VIOLATIONS, State
from rankwise.labels import (
    ClassOrder,
    Labels,
    check_weights,
    declared_order,
    decode,
    encode,
    require_support,
)
from rankwise.online._examples import DictStream


class OnlineEstimator(DictStream, OrdinalClassifier, abstract=True):
    """Base of the online estimators; see the module's docstring."""

    #: Whether the order of the classes matters to it.
    ordered: ClassVar[bool] = True
    #: Arrays of the state whose first axis runs over the features.
    feature_arrays: ClassVar[tuple[str, ...]] = ()

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_epochs": [Interval(Integral, 1, None, closed="left")],
        "shuffle": ["boolean"],
        "average": ["boolean"],
        "random_state": ["random_state"],
        "classes": ["array-like", None],
    }

    n_epochs: int
    shuffle: bool
    average: bool
    random_state: Any
    classes: Any
    _state: State

    # -- what an algorithm supplies -------------------------------------------------------------------------------

    @abstractmethod
    def _new_state(self, n_features: int, n_classes: int) -> State:
        """State before the first round."""

    def _pass(
        self,
        state: State,
        rows: Rows,
        lower: NDArray[np.int32],
        upper: NDArray[np.int32],
        mask: NDArray[np.bool_],
        weight: NDArray[np.float64],
        order: NDArray[np.int64],
        predictions: NDArray[np.int32],
    ) -> int:
        """Learn from the rows in order, in place; return -1, or the row whose score is not finite.

        When ``predictions`` has room for every row it is filled with the codes predicted before learning.
        """
        raise NotImplementedError  # not abstract: a ranker of labels has its own rounds, which do not call this

    @abstractmethod
    def _codes(self, rows: Rows) -> NDArray[Any]:
        """Predicted code of every row."""

    def _insert_class(self, state: State, place: int) -> State:
        """State with a class more at ``place``, which predicts as before until it learns."""
        raise NotImplementedError  # not abstract: a ranker of labels has its own rounds, which do not call this

    # -- batches -----------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from scratch: ``n_epochs`` passes over the rows, each in a new random order if ``shuffle``.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d)
            Features.
        y : array-like
            Labels of any form that :func:`rankwise.labels.encode` reads and this estimator supports.
        sample_weight : array-like of shape (n,), optional
            Importance of each row, >= 0. A zero makes its row a no-op.
        """
        with self._all_or_nothing():
            self._validate_params()
            rows = self._rows(X, reset=True)
            labels = self._labels(y, self.classes, rows)
            weight = self._weights(sample_weight, rows)
            if weight.size and not weight.any():
                raise ValueError("sample_weight is zero for every row: there is nothing to learn from.")
            self._begin(self.n_features_in_, labels.order)
            generator = check_random_state(self.random_state)
            for _ in range(self.n_epochs):
                order = generator.permutation(len(labels)) if self.shuffle else GIVEN_ORDER
                self._learn(rows, labels, weight, order.astype(np.int64), NO_PREDICTIONS)
            self.n_iter_ = self.n_epochs
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from some more rows, one pass in the order given. A chunk with a bad row leaves the model as it was.

        Parameters
        ----------
        X, y, sample_weight
            As in :meth:`fit`.
        classes : array-like, optional
            All classes, lowest first. The first call needs them, here or as the parameter ``classes``.
        """
        self._learn_chunk(X, y, classes, sample_weight, predict=False)
        return self

    def progressive_predict(self, X: Any, y: Any, sample_weight: Any = None, classes: Any = None) -> NDArray[Any]:
        """Predict each row, then learn from it, in one pass; return the predictions made before learning.

        Parameters
        ----------
        X, y, sample_weight, classes
            As in :meth:`partial_fit`.
        """
        codes = self._learn_chunk(X, y, classes, sample_weight, predict=True)
        return decode(codes, self.classes_)

    def _learn_chunk(self, X: Any, y: Any, classes: Any, sample_weight: Any, *, predict: bool) -> NDArray[np.int32]:
        with self._all_or_nothing():
            first = not self.__sklearn_is_fitted__()
            if first:
                self._validate_params()
            rows = self._rows(X, reset=first)
            order = self._declared_order(classes, y, first)
            labels = self._labels(y, order, rows)
            weight = self._weights(sample_weight, rows)
            if first:
                self._begin(self.n_features_in_, labels.order)
            predictions = np.empty(len(labels), dtype=np.int32) if predict else NO_PREDICTIONS
            self._learn(rows, labels, weight, GIVEN_ORDER, predictions)
        return predictions

    def predict(self, X: Any) -> NDArray[Any]:
        """Class of every row."""
        check_is_fitted(self)
        return decode(self._codes(self._rows(X, reset=False)), self.classes_)

    # -- the model ------------------------------------------------------------------------------------------------

    def __sklearn_is_fitted__(self) -> bool:
        return "_state" in self.__dict__

    def __getattr__(self, name: str) -> Any:
        # Names learnt from a stream become an array only when somebody looks.
        if name == "feature_names_in_" and "_features" in self.__dict__:
            names = self.__dict__["_features"].names()
            if names and all(isinstance(n, str) for n in names):
                return np.array(names, dtype=object)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @property
    def n_updates_(self) -> int:
        """Number of rounds in which the model changed."""
        check_is_fitted(self)
        return int(self._state["counts"][UPDATES])

    @property
    def n_violations_(self) -> int:
        """Number of violated constraints over all rounds: what the papers' bounds count."""
        check_is_fitted(self)
        return int(self._state["counts"][VIOLATIONS])

    @property
    def _averaging_rate(self) -> float:
        """``w - rate * lag`` is the average of w over the rounds; a rate of zero takes the last w."""
        rounds = int(self._state["counts"][ROUNDS])
        return 1.0 / rounds if self.average and rounds else 0.0

    def _averaged(self, name: str) -> NDArray[np.float64]:
        """Array of the state, averaged over the rounds if ``average``."""
        check_is_fitted(self)
        return np.asarray(self._state[name] - self._state[f"{name}_lag"] * self._averaging_rate)

    def _begin(self, n_features: int, order: ClassOrder, *, growing: bool = False) -> None:
        self._set_order(order)
        self._growing = growing  # a stream without declared classes meets them as it goes
        self.n_features_in_ = n_features
        names = self.__dict__.get("feature_names_in_", range(n_features))
        self._features = FeatureIndex(names)
        self._state = self._new_state(n_features, len(order))
        self._prepare_single_row()

    def _prepare_single_row(self) -> None:
        self._one_label = np.zeros(1, dtype=np.int32), np.zeros(1, dtype=np.int32), NO_MASK
        self._one_weight = np.ones(1)

    def to_plain(self) -> dict[str, Any]:
        """Everything the model has learnt, as arrays and plain values: what a model file holds."""
        check_is_fitted(self)
        names = [name.item() if isinstance(name, np.generic) else name for name in self._features.names()]
        return {
            "state": {name: array.copy() for name, array in self._state.items()},
            "classes": self.classes_,
            "features": names if names != list(range(len(names))) else len(names),
            "growing": self._growing,
            "n_iter": getattr(self, "n_iter_", None),
        }

    def from_plain(self, plain: Mapping[str, Any]) -> None:
        """Become the model that :meth:`to_plain` described, after checking that it can be one."""
        self._validate_params()
        named = not isinstance(plain["features"], int)
        names = list(plain["features"]) if named else list(range(plain["features"]))
        self._begin(len(names), ClassOrder(plain["classes"]), growing=bool(plain["growing"]))
        self._features = FeatureIndex(names)
        if len(self._features) != len(names) or (not named and plain["features"] < 0):
            raise ValueError(f"features={plain['features']!r}: distinct names, or how many there are")
        self._check_state(plain["state"])
        self._state = dict(plain["state"])
        if plain["n_iter"] is not None:
            self.n_iter_ = plain["n_iter"]

    def _check_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Kernels trust the shapes of a state: refuse one that is not like a fresh one, spare capacity apart."""
        fresh = self._state
        if set(state) != set(fresh):
            raise ValueError(f"expected the arrays {sorted(fresh)}, found {sorted(state)}")
        for name, like in fresh.items():
            found = state[name]
            spare = name in self.feature_arrays and found.ndim and found.shape[0] >= like.shape[0]
            shape = (found.shape[0], *like.shape[1:]) if spare else like.shape
            if found.dtype != like.dtype or found.shape != shape:
                raise ValueError(
                    f"array {name!r} must be {like.dtype} of shape {shape}, not {found.dtype} {found.shape}"
                )

    def _set_order(self, order: ClassOrder) -> None:
        self._order = order
        self._plain_classes = order.values.tolist()
        self.classes_ = order.values

    def _with_features(self, state: State, n_features: int) -> State:
        """State with room for more features, whose weights start at zero; capacity doubles so that growing is cheap."""
        self.n_features_in_ = n_features
        self.__dict__.pop("feature_names_in_", None)  # see __getattr__
        grown = dict(state)
        for name in self.feature_arrays:
            if name not in state:
                continue
            old = state[name]
            if old.shape[0] < n_features:
                new = np.zeros((max(8, 2 * n_features), *old.shape[1:]), dtype=old.dtype)
                new[: old.shape[0]] = old
                grown[name] = new
        return grown

    def _rows(self, X: Any, *, reset: bool) -> Rows:
        # Non-finite values are found by the kernels: they show as a non-finite score, without another pass over X.
        try:
            checked = validate_data(
                self,
                X,
                reset=reset,
                accept_sparse="csr",
                dtype=(np.float64, np.float32),
                order="C",
                ensure_all_finite=False,
            )
        except ValueError as error:
            text = first_text_column(X) if "could not convert" in str(error) else None
            if text is None:
                raise
            raise ValueError(
                f"column {text[0]!r} of X holds text, {text[1]!r}: encode it as numbers first, for example with "
                f"scikit-learn's OneHotEncoder."
            ) from None
        return kernel_rows(checked)

    def _labels(self, y: Any, classes: Any, rows: Rows) -> Labels:
        labels = encode(y, classes, n_rows=length(rows), ordered=self.ordered)
        require_support(labels, type(self).__name__, self.label_kinds)
        return labels

    def _weights(self, sample_weight: Any, rows: Rows) -> NDArray[np.float64]:
        return check_weights(sample_weight, length(rows))

    def _declared_order(self, classes: Any, y: Any, first: bool) -> ClassOrder:
        declared = [declared_order(c) for c in (classes, self.classes) if c is not None]
        if first and not declared:
            order = encode(y, None).order if getattr(getattr(y, "dtype", None), "ordered", False) else None
            if order is None:
                raise ValueError(
                    f"the first call of {type(self).__name__} on a stream needs all classes, lowest first: "
                    f"partial_fit(X, y, classes=[...]) or {type(self).__name__}(classes=[...])."
                )
            return order
        known = declared[0] if first else self._order
        for other in declared:
            if other != known:
                raise ValueError(f"classes={other.values.tolist()} is not the same as before: {known.values.tolist()}.")
        return known

    def _learn(
        self,
        rows: Rows,
        labels: Labels,
        weight: NDArray[np.float64],
        order: NDArray[np.int64],
        predictions: NDArray[np.int32],
    ) -> None:
        """One pass; if a row turns out bad, put the state back as it was and say which row and why."""
        before = {name: array.copy() for name, array in self._state.items()} if len(labels) > 1 else {}
        mask = NO_MASK if labels.mask is None else labels.mask
        if labels.mask is not None:  # a candidate set of all classes says nothing, as a missing label does
            weight = np.where(labels.is_missing, 0.0, weight if weight.size else 1.0)
        try:
            bad = self._pass(self._state, rows, labels.lower, labels.upper, mask, weight, order, predictions)
        except BaseException:  # an interrupt, or a kernel function of the user's that fails half-way
            self._state.update(before)
            raise
        if bad >= 0:
            self._state.update(before)
            self._refuse_row(rows, bad)

    def _refuse_row(self, rows: Rows, i: int) -> None:
        columns, values = row_entries(rows, i)
        bad = np.flatnonzero(~np.isfinite(values))
        if bad.size == 0:
            row, column, largest = largest_entry(rows)
            raise RowError(
                f"the score is not finite although its features are: the features are too large for this "
                f"model, up to {largest:.3g} in row {row}, column {column}. Scale them.",
                i,
            )
        column = int(columns[bad[0]])
        names = self._features.names() if "_features" in self.__dict__ else []
        name = f" ({names[column]!r})" if column < len(names) and names[column] != column else ""
        what = "NaN" if np.isnan(values[bad[0]]) else "infinity"
        rule = f"{type(self).__name__} needs finite numbers: impute or drop them first."
        reason = f"X contains {what} in column {column}{name}. {rule}"
        raise RowError(reason, i, message=f"Input X contains {what}: row {i}, column {column}{name}. {rule}")

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Whatever goes wrong inside, the estimator's attributes are what they were."""
        before = self.__dict__.copy()
        try:
            yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
