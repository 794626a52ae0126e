"""Fitted transformers and pipelines of scikit-learn as plain values, which a model file may hold.

Each class that is known to be safe is declared here with the attributes that its ``fit`` sets and what each must be. A
file names a class of this list, its parameters and these attributes; nothing else is set, nothing is imported by a name
in a file, and nothing is executed. Parameters must be plain: a function, such as the tokenizer of a vectoriser, is
refused when saving, and a file cannot hold one.
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy.interpolate import BSpline
from sklearn import preprocessing
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from rankwise._threads import at_most_cores
from rankwise.features._patterns import is_linear
from rankwise.features.transformer_checks import is_coherent

Check = Callable[[Any, Any], bool]  # of a value, and of the model whose other attributes are set

_TYPES: dict[str, Any] = {
    kind.__name__: kind for kind in (np.float64, np.float32, np.int64, np.int32, float, int, object)
}


# -- values that JSON and arrays do not have ---------------------------------------------------------------------------


def plainly(value: Any) -> Any:
    """The value in a form that a model file holds: types, slices, splines and dicts of any keys as marked dicts."""
    if isinstance(value, type):
        name = getattr(value, "__name__", "")
        return {"type": name} if _TYPES.get(name) is value else value
    if isinstance(value, np.dtype):
        return {"dtype": value.str}
    if isinstance(value, slice):
        return {"slice": [value.start, value.stop, value.step]}
    if isinstance(value, BSpline):
        return {"spline": [value.t, value.c, int(value.k), value.extrapolate]}
    if isinstance(value, dict):
        return {"pairs": [[plainly(k), plainly(v)] for k, v in value.items()]}
    if isinstance(value, (list, tuple)):
        return type(value)(map(plainly, value)) if type(value) in (list, tuple) else [plainly(v) for v in value]
    return value


def revived(value: Any) -> Any:
    """The value that :func:`plainly` wrote."""
    if isinstance(value, (list, tuple)):
        return type(value)(map(revived, value))
    if not isinstance(value, dict):
        return value
    (kind, inner), *more = value.items()
    if more or kind not in ("type", "dtype", "slice", "spline", "pairs"):
        raise ValueError(f"a value of no kind: {sorted(value)!r}")
    if kind == "type":
        return _TYPES[inner]
    if kind == "dtype":
        return np.dtype(str(inner))
    if kind == "slice":
        start, stop, step = inner
        return slice(start, stop, step)
    if kind == "spline":
        t, c, k, extrapolate = inner
        return _spline(t, c, int(k), extrapolate)
    return {revived(k): revived(v) for k, v in inner}


def _spline(t: Any, c: Any, k: int, extrapolate: Any) -> BSpline:
    """A spline of any knots in order: those of a constant column, which scikit-learn makes, ``BSpline`` refuses."""
    n = len(t) - k - 1
    if not (
        0 <= k < 64 and t.ndim == 1 and c.ndim == 2 and k < n <= len(c) and extrapolate in (True, False, "periodic")
    ):
        raise ValueError("a spline needs as many knots as coefficients, and its degree and one more")
    if not (np.isfinite(t).all() and (np.diff(t) >= 0).all()):
        raise ValueError("the knots of a spline must be finite and in order")
    if extrapolate not in (True, False, "periodic"):
        raise ValueError(f"a spline has no extrapolation {extrapolate!r}")
    return BSpline.construct_fast(t.astype(np.float64), c.astype(np.float64), k, extrapolate=extrapolate)


# -- what attributes must be -------------------------------------------------------------------------------------------


def _is(*kinds: type[Any]) -> Check:
    return lambda value, model: type(value) in kinds


def _each(value: Any, model: Any) -> bool:
    """A finite number for each feature, or None."""
    shape = (model.n_features_in_,)
    return value is None or (_numbers(value, model) and value.shape == shape and bool(np.isfinite(value).all()))


def _numbers(value: Any, model: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind in "iufb"


def _steps(value: Any, model: Any) -> bool:
    """The steps that the parameters name."""
    named = [(name, type(step)) for name, step in model.steps]
    return isinstance(value, list) and [(name, type(step)) for name, step in value] == named


def _seen(value: Any, model: Any) -> bool:
    return isinstance(value, (int, float)) or _numbers(value, model)


def _one_each(value: Any, model: Any) -> bool:
    return isinstance(value, list) and len(value) == model.n_features_in_


def _categories(value: Any, model: Any) -> bool:
    return _one_each(value, model) and all(isinstance(known, np.ndarray) and known.ndim == 1 for known in value)


def _vocabulary(value: Any, model: Any) -> bool:
    return (
        isinstance(value, dict)
        and all(isinstance(word, str) and type(place) is int for word, place in value.items())
        and sorted(value.values()) == list(range(len(value)))
    )


def _weights(value: Any, model: Any) -> bool:
    return isinstance(value, TfidfTransformer) and value.idf_.shape == (len(model.vocabulary_),)


def _square(value: Any, model: Any) -> bool:
    return _numbers(value, model) and value.ndim == 2 and value.shape[0] == value.shape[1]


def _components(value: Any, model: Any) -> bool:
    return _numbers(value, model) and value.ndim == 2 and value.shape[1] == model.n_features_in_


def _splines(value: Any, model: Any) -> bool:
    return _one_each(value, model) and all(isinstance(spline, BSpline) for spline in value)


_COUNT, _FLAG, _LIST, _DICT = _is(int), _is(bool), _is(list), _is(dict)
_ARRAY, _MAYBE_ARRAY = _is(np.ndarray), _is(np.ndarray, type(None))
_COMMON: dict[str, Check] = {"n_features_in_": _COUNT, "feature_names_in_": _ARRAY}
_SCALER: dict[str, Check] = {**_COMMON, "n_samples_seen_": _seen, "scale_": _each}

#: Attributes of every class, in the order in which they are checked.
ATTRIBUTES: dict[type[Any], dict[str, Check]] = {
    preprocessing.StandardScaler: {**_SCALER, "mean_": _each, "var_": _each},
    preprocessing.MinMaxScaler: {
        **_SCALER, "min_": _each, "data_min_": _each, "data_max_": _each, "data_range_": _each
    },
    preprocessing.MaxAbsScaler: {**_SCALER, "max_abs_": _each},
    preprocessing.RobustScaler: {**_COMMON, "center_": _each, "scale_": _each},
    preprocessing.OneHotEncoder: {
        **_COMMON, "categories_": _categories, "drop_idx_": _MAYBE_ARRAY, "_drop_idx_after_grouping": _MAYBE_ARRAY,
        "_infrequent_enabled": _FLAG, "_infrequent_indices": _one_each, "_default_to_infrequent_mappings": _one_each,
        "_n_features_outs": _one_each,
    },
    preprocessing.OrdinalEncoder: {
        **_COMMON, "categories_": _categories, "_missing_indices": _DICT, "_infrequent_enabled": _FLAG,
        "_infrequent_indices": _one_each, "_default_to_infrequent_mappings": _one_each,
    },
    SimpleImputer: {
        **_COMMON, "statistics_": _ARRAY, "indicator_": _is(type(None)),
        "_fit_dtype": lambda value, model: isinstance(value, np.dtype),
        "_fill_dtype": lambda value, model: isinstance(value, np.dtype),
    },
    preprocessing.PolynomialFeatures: {
        **_COMMON, "n_output_features_": _COUNT, "_n_out_full": _COUNT, "_min_degree": _COUNT, "_max_degree": _COUNT,
    },
    preprocessing.SplineTransformer: {**_COMMON, "bsplines_": _splines, "n_features_out_": _COUNT},
    Nystroem: {
        **_COMMON, "components_": _components, "component_indices_": _numbers, "normalization_": _square,
        "_n_features_out": _COUNT,
    },
    preprocessing.FunctionTransformer: dict(_COMMON),
    TfidfTransformer: {**_COMMON, "idf_": _numbers},
    CountVectorizer: {"vocabulary_": _vocabulary, "fixed_vocabulary_": _FLAG},
    TfidfVectorizer: {"vocabulary_": _vocabulary, "fixed_vocabulary_": _FLAG, "_tfidf": _weights},
    ColumnTransformer: {
        **_COMMON, "transformers_": _LIST, "_columns": _LIST, "_remainder": _is(tuple), "sparse_output_": _FLAG,
        "output_indices_": _DICT, "_transformer_to_input_indices": _DICT, "_name_to_fitted_passthrough": _DICT,
    },
    Pipeline: {"steps": _steps},
}  # fmt: skip
KNOWN = {kind.__name__: kind for kind in ATTRIBUTES}

_NOT_KEPT = {
    "_stop_words_id",
    "_n_features",
    "_feature_names_out",
    "_transformers_feature_names_out",
}  # of this process, or computed from others
_OPTIONAL = {
    "feature_names_in_", "n_features_in_", "n_samples_seen_", "_infrequent_indices", "_default_to_infrequent_mappings",
    "_n_features_outs", "_drop_idx_after_grouping", "_fit_dtype", "_fill_dtype", "_n_features_out",
    "_name_to_fitted_passthrough", "_transformer_to_input_indices", "_min_degree", "_max_degree", "_n_out_full",
}  # fmt: skip

_A_PATTERN = r"(?u)\b\w\w+\b|[!?]"


def is_fitted(model: Any) -> bool:
    """Whether this is a fitted estimator, ours or scikit-learn's."""
    try:
        check_is_fitted(model)
    except (NotFittedError, TypeError):  # TypeError: not an estimator
        return False
    return True


def to_plain(model: Any) -> dict[str, Any]:
    """What a transformer has learnt, as plain values."""
    _require_fast_words(model)
    if isinstance(model, Pipeline):
        learnt = {"steps": model.steps}
    else:
        passed_over = model.get_params(deep=False).keys() | _NOT_KEPT
        learnt = {
            name: value
            for name, value in vars(model).items()
            if name not in passed_over and not name.startswith("_sklearn_")
        }
    if "_remainder" in learnt:  # holds the parameter, which is not fitted
        learnt["_remainder"] = _with_remainder(learnt["_remainder"], None)
    for name in learnt.keys() - ATTRIBUTES[type(model)].keys():
        raise ValueError(f"cannot save this {type(model).__name__}: its attribute {name!r} is not known to be safe.")
    return {name: plainly(value) for name, value in learnt.items()}


def _with_remainder(value: tuple[Any, ...], remainder: Any) -> tuple[Any, ...]:
    """A ColumnTransformer's remainder: name, transformer and columns; as it was where its transformer is a string."""
    name, step, columns = value
    return value if isinstance(step, str) else (name, remainder, columns)


def from_plain(model: Any, plain: Mapping[str, Any]) -> None:
    """Make the transformer what :func:`to_plain` described, after checking that it can be."""
    known = ATTRIBUTES[type(model)]
    if not plain.keys() <= known.keys():
        raise ValueError(f"a {type(model).__name__} has no {sorted(plain.keys() - known.keys())}")
    absent = known.keys() - plain.keys() - _OPTIONAL
    if absent:
        raise ValueError(f"a {type(model).__name__} needs {sorted(absent)}")
    _require_fast_words(model)
    if isinstance(model, Pipeline) and model.memory is not None:  # a cache is pickles, which a later fit would load
        raise ValueError("a Pipeline in a file has no cache")
    if isinstance(model, preprocessing.FunctionTransformer) and (
        model.func is not None or model.inverse_func is not None
    ):
        raise ValueError("a FunctionTransformer may only pass its columns on")
    if hasattr(model, "n_jobs"):  # processes, in some
        model.n_jobs = at_most_cores(model.n_jobs)
    for name, is_right in known.items():
        if name in plain:
            value = revived(plain[name])
            if not is_right(value, model):
                raise ValueError(f"{name} of a {type(model).__name__} cannot be this {type(value).__name__}")
            setattr(model, name, _with_remainder(value, model.remainder) if name == "_remainder" else value)
    if isinstance(model, Pipeline):
        model._validate_steps()
    if not is_coherent(model):
        raise ValueError(f"parameters and attributes of a {type(model).__name__} that do not fit together")


def _require_fast_words(model: Any) -> None:
    """Refuse a pattern of words on which a text could keep a reader busy for hours."""
    pattern = model.token_pattern if getattr(model, "analyzer", "") == "word" else "."
    if not isinstance(pattern, str) or not is_linear(pattern):
        raise ValueError(
            f"a model file cannot hold the token_pattern {reprlib.repr(pattern)} of a {type(model).__name__}: a text "
            f"may take it hours. It holds patterns of single words, such as {_A_PATTERN!r}"
        )


def parameters(model: Any) -> dict[str, Any]:
    """Parameters as plain values. The cache of a pipeline belongs to the machine, not to the model."""
    plain = {name: plainly(value) for name, value in model.get_params(deep=False).items()}
    return {**plain, "memory": None} if isinstance(model, Pipeline) else plain
