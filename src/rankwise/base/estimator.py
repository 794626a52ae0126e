"""What every estimator shares: reading X, y and weights, all-or-nothing changes, predictions, model files.

:class:`SavedEstimator` can be saved; :class:`TableEstimator` reads a table of numbers; :class:`OrdinalEstimator` learns
classes from it and is scored by their ranks. An algorithm's own file adds how it learns and how it decides a row.

**Threads.** One thread may change an estimator (``fit``, ``partial_fit``, ``learn_one`` ...) while any number of others
read it (``predict``, ``decision_function``, ``score`` ...): a reader sees the model before or after a change, never in
between. A second writer waits for the first.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NoReturn

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from rankwise import metrics
from rankwise._errors import RowError
from rankwise._kernels.sparse import require_sound
from rankwise._masks import unmasked
from rankwise._sklearn import Classifier
from rankwise._warn import warn_user
from rankwise.base.row_data import (
    Rows,
    far_scales,
    first_non_finite,
    first_text_column,
    kernel_rows,
    length,
    refuse_lazy,
    row_entries,
)
from rankwise.base.state import require_classes, require_features
from rankwise.base.transaction import AllOrNothing, reader
from rankwise.labels import (
    ClassOrder,
    Labels,
    check_weights,
    decode,
    encode,
    estimators_with,
    require_support,
    warn_of_classes,
)

_FAR = 1e3  # ratio of the scales of two columns that deserves a warning


class SavedEstimator(AllOrNothing, BaseEstimator, ABC):
    """Estimator that changes as a whole or not at all, and that can be saved in a model file."""

    #: Attribute that exists once the model is fitted.
    _learnt: ClassVar[str]

    n_features_in_: int
    classes_: NDArray[Any]

    def _store_parameters(self, arguments: Mapping[str, Any]) -> None:
        """Store the arguments of a constructor, ``locals()`` there, under their names."""
        for name, value in arguments.items():
            if name != "self":
                setattr(self, name, value)

    def __sklearn_is_fitted__(self) -> bool:
        return self._learnt in self.__dict__

    @abstractmethod
    def to_plain(self) -> dict[str, Any]:
        """Everything the model has learnt, as arrays and plain values: what a model file holds."""

    @abstractmethod
    def from_plain(self, plain: Mapping[str, Any]) -> None:
        """Become the model that :meth:`to_plain` described, after checking that it can be one."""

    def _plain_features(self) -> int | list[Any]:
        """Names of the features, or how many there are."""
        names = getattr(self, "feature_names_in_", None)
        return self.n_features_in_ if names is None else list(names)

    def _take_features(self, features: Any) -> None:
        """Set names and number of the features of a model file, after a check."""
        self.n_features_in_ = require_features(features, 1)
        if isinstance(features, list):
            if not all(isinstance(name, str) for name in features):
                raise ValueError("names of features must be strings")
            self.feature_names_in_ = np.array(features, dtype=object)

    def _take_classes(self, classes: Any) -> ClassOrder:
        """Set the classes of a model file, after a check."""
        order = require_classes(classes)
        self.classes_ = order.values
        return order


class TableEstimator(SavedEstimator):
    """Estimator that reads a table of numbers; see the module's docstring."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # -- reading ---------------------------------------------------------------------------------------------------

    def _rows(self, X: Any, *, reset: bool) -> Rows:
        """Rows of X as kernels read them; their numbers may be NaN or infinite."""
        if not reset and self._takes_as_is(X):
            return kernel_rows(X)
        refuse_lazy(X)
        X = require_sound(unmasked(X))
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

    def _takes_as_is(self, X: Any) -> bool:
        """Whether ``validate_data``, which is slow for one row, would return X unchanged and without a warning."""
        return (
            type(X) is np.ndarray
            and X.dtype in (np.float64, np.float32)
            and X.ndim == 2
            and X.shape[0] > 0
            and X.shape[1] == getattr(self, "n_features_in_", None)
            and getattr(self, "feature_names_in_", None) is None
        )

    def _finite(self, rows: Rows) -> Rows:
        """Return the rows; refuse those with NaN or infinity."""
        bad = first_non_finite(rows)
        if bad >= 0:
            self._refuse_row(rows, bad)
        return rows

    def _filled(self, out: NDArray[Any], kernel: Callable[..., int], rows: Rows, *arguments: Any) -> NDArray[Any]:
        """Let a kernel fill ``out``; it returns the first row whose score is not finite, which is refused, or -1."""
        bad = kernel(rows, *arguments, out)
        if bad >= 0:
            self._refuse_row(rows, bad)
        return out

    def _weights(self, sample_weight: Any, rows: Rows) -> NDArray[np.float64]:
        return check_weights(sample_weight, length(rows))

    def _refuse_row(self, rows: Rows, i: int, what: str = "the score is", advice: str = "Scale them.") -> NoReturn:
        """Raise an error about a row whose score is not finite, or that would make the model so."""
        columns, values = row_entries(rows, i)
        bad = np.flatnonzero(~np.isfinite(values))
        if bad.size == 0:
            place = np.abs(values).argmax() if values.size else 0
            largest = f", up to {values[place]:.3g} in row {i}, column {columns[place]}" if values.size else ""
            raise RowError(
                f"{what} not finite although its features are: these are too large for this model{largest}. {advice}",
                i,
            )
        column = int(columns[bad[0]])
        known = self._feature_name(column)
        name = "" if known is None or known == column else f" ({known!r})"
        what = "NaN" if np.isnan(values[bad[0]]) else "infinity"
        reason = f"{type(self).__name__} needs finite numbers: impute or drop them first."
        raise RowError(
            f"X contains {what}. {reason}",
            i,
            column if known is None else known,
            message=f"Input X contains {what}: row {i}, column {column}{name}. {reason}",
        )

    def _warn_of_scales(self, rows: Rows) -> None:
        """Warn if a linear model will hardly use some columns, because others have much larger numbers."""
        scales = far_scales(rows, _FAR)
        if scales is not None:
            large, high, small, low = scales
            encoded = getattr(self, "_name_columns", None)  # of the encoder of a table model
            names = encoded() if encoded else vars(self).get("feature_names_in_", range(self.n_features_in_))
            cure = (
                "let the encoder scale, TableEncoder(scaling='standard')."
                if encoded
                else "put a scaler before it, make_pipeline(StandardScaler(), ...) or OnlineScaler for streams, or use "
                "TableModel, which scales."
            )
            warn_user(
                f"X has columns whose scales differ by a factor of {high / low:.2g}: about {high:.2g} in column "
                f"{names[large]!r}, {low:.2g} in {names[small]!r}. {type(self).__name__} depends on the scales of its "
                f"features: {cure}"
            )

    def _feature_name(self, column: int) -> Any:
        """Name of a column, if it has one."""
        names = getattr(self, "feature_names_in_", None)
        return names[column] if names is not None and column < len(names) else None


class _NoProbabilitiesError(AttributeError):
    """Names all estimators with the method; the text is built when it is read, which ``hasattr`` does not do."""

    def __str__(self) -> str:
        estimator, method = self.args
        able = ", ".join(estimators_with(method))
        return f"{estimator} has no {method}: it knows no probabilities. These have them: {able}."


class _NeedsProbabilities:
    """Missing method: ``hasattr`` is false, and access raises an error that names the estimators that have it."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type) -> NoReturn:
        raise _NoProbabilitiesError(owner.__name__, self.name)


class OrdinalEstimator(Classifier, TableEstimator):
    """Classifier that is scored by the ranks of its classes; it declares which kinds of labels it learns from."""

    #: Kinds of label it learns from, see :data:`rankwise.labels.KINDS`.
    label_kinds: ClassVar[frozenset[str]] = frozenset({"exact", "interval"})
    #: Whether the order of the classes matters to it.
    ordered: ClassVar[bool] = True
    #: Whether it fits curves by itself, so that its features need no splines.
    bends: ClassVar[bool] = False

    classes: Any

    @property
    def is_penalised(self) -> bool:
        """Whether collinear features have one best solution, because a penalty prefers small weights."""
        return True

    predict_proba: Any = _NeedsProbabilities()
    predict_quantile: Any = _NeedsProbabilities()
    predict_interval: Any = _NeedsProbabilities()

    @abstractmethod
    def _codes(self, rows: Rows) -> NDArray[Any]:
        """Predicted code of every row."""

    @reader
    def predict(self, X: Any) -> NDArray[Any]:
        """Class of every row."""
        return decode(self._codes(self._rows(X, reset=False)), self.classes_)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Negative mean absolute error in ranks; to the nearest end where ``y`` is an interval. Higher is better."""
        return -metrics.mean_absolute_error(y, self.predict(X), classes=self.classes_, sample_weight=sample_weight)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # One direction cannot separate classes that are not in order along a line, as in some of scikit-learn's checks.
        tags.classifier_tags.poor_score = True
        return tags

    def _labels(self, y: Any, classes: Any, rows: Rows) -> Labels:
        """Labels of the rows, of a kind that this estimator learns from."""
        labels = encode(y, classes, n_rows=length(rows), ordered=self.ordered)
        if classes is None and not isinstance(y, Labels):
            warn_of_classes(labels.order, len(labels))
        require_support(labels, type(self).__name__, self.label_kinds)
        return labels
