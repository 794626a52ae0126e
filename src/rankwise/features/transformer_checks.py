"""Whether the attributes of a scikit-learn transformer, each of the right kind, fit together.

scikit-learn trusts what its own ``fit`` has set: with the attributes of a forged file a transformer reads past its
arrays, makes matrices whose indices lie outside of their shape, or fills the memory. One function for each such
class says what must hold; :func:`width` says how many columns a transformer makes, so that the steps of a pipeline fit.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn import preprocessing
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import Pipeline

_HIGHEST_DEGREE = 64  # of a polynomial; sizes of higher ones take long to compute


def is_coherent(model: Any) -> bool:
    """Whether parameters and attributes of a transformer can be those of one that was fitted."""
    model._validate_params()
    names = getattr(model, "feature_names_in_", None)
    if names is not None and not (names.shape == (model.n_features_in_,) and all(isinstance(v, str) for v in names)):
        return False
    check = _CHECKS.get(type(model))
    return check is None or bool(check(model))


def width(model: Any) -> int | None:
    """Number of columns that a transformer makes; None if it cannot tell."""
    known = _WIDTHS.get(type(model))
    return None if known is None else known(model)


# -- one function for each class ---------------------------------------------------------------------------------------


def _has(**wanted: str) -> Callable[[Any], bool]:
    """Check for the attributes that parameters ask for: ``_has(with_mean="mean_")``."""
    return lambda model: not any(getattr(model, k) and getattr(model, v) is None for k, v in wanted.items())


def _min_max(model: Any) -> bool:
    ends = model.feature_range
    is_pair = len(ends) == 2 and all(type(end) in (int, float) for end in ends)
    return is_pair and model.min_ is not None and model.scale_ is not None


def _imputer(model: Any) -> bool:
    kinds = [getattr(model, name, np.dtype(float)).kind for name in ("_fit_dtype", "_fill_dtype")]
    return model.statistics_.shape == (model.n_features_in_,) and set(kinds) <= set("biufO")


def _polynomial(model: Any) -> bool:
    low, high = model._min_degree, model._max_degree
    if (tuple(model.degree) if isinstance(model.degree, (tuple, list)) else (0, model.degree)) != (low, high):
        return False
    if not 0 <= low <= high <= _HIGHEST_DEGREE or model.n_features_in_ < 1:
        return False
    counts = {"n_features": model.n_features_in_, "max_degree": high, "interaction_only": model.interaction_only}
    made = model._num_combinations(min_degree=low, include_bias=model.include_bias, **counts)
    full = made if low == 0 else model._num_combinations(min_degree=0, include_bias=model.include_bias, **counts)
    return bool(model.n_output_features_ == made and model._n_out_full == full)


def _splines(model: Any) -> bool:
    made = {spline.c.shape for spline in model.bsplines_}
    if len(made) != 1 or any(spline.k != model.degree for spline in model.bsplines_):
        return False
    (shape,) = made
    return (
        len(shape) == 2
        and all(np.isfinite(spline.c).all() for spline in model.bsplines_)
        and model.n_features_out_ == model.n_features_in_ * (shape[1] - (not model.include_bias))
    )


def _nystroem(model: Any) -> bool:
    n = len(model.components_)
    finite = np.isfinite(model.components_).all() and np.isfinite(model.normalization_).all()
    return bool(model.normalization_.shape == (n, n) and finite and getattr(model, "_n_features_out", n) == n)


def _encoder(model: Any) -> bool:
    """Categories are in order, and groups of rare ones are groups of these."""
    if not all(map(_in_order, model.categories_)):
        return False
    if not model._infrequent_enabled:
        return True
    missing = getattr(model, "_missing_indices", {})
    lists = zip(model.categories_, model._infrequent_indices, model._default_to_infrequent_mappings, strict=True)
    for i, (categories, rare, mapping) in enumerate(lists):
        if (rare is None) != (mapping is None):
            return False
        if rare is None:
            continue
        n = len(categories) - (i in missing)
        if not (_places(rare, n) and len(rare)):
            return False
        expected = np.full(n, n - len(rare))
        expected[np.setdiff1d(np.arange(n), rare)] = np.arange(n - len(rare))
        if not np.array_equal(mapping, expected):
            return False
    return True


def _in_order(categories: Any) -> bool:
    """Whether categories exist, each once, and numbers ascend, because they are looked up by bisection."""
    if not len(categories):
        return False
    if categories.dtype.kind == "O":
        are_plain = all(v is None or isinstance(v, (str, int, float)) for v in categories)
        return are_plain and len(set(categories)) == len(categories)
    known = categories[:-1] if categories.dtype.kind == "f" and np.isnan(categories[-1]) else categories
    return bool((known[:-1] < known[1:]).all() and (known == known).all())


def _places(value: Any, n: int) -> bool:
    """Ascending positions in a list of n."""
    if not (isinstance(value, np.ndarray) and value.dtype.kind in "iu" and value.ndim == 1):
        return False
    return bool(((value >= 0) & (value < n)).all() and (np.diff(value.astype(np.int64)) > 0).all())


def _one_hot(model: Any) -> bool:
    if not _encoder(model):
        return False
    dropped, grouped = model.drop_idx_, getattr(model, "_drop_idx_after_grouping", None)
    counts = outs = [len(categories) for categories in model.categories_]
    if model._infrequent_enabled:
        n_joined = [0 if rare is None else len(rare) - 1 for rare in model._infrequent_indices]
        outs = [n - joined for n, joined in zip(counts, n_joined, strict=True)]
    if not (_drops(dropped, counts) and _drops(grouped, outs) and (grouped is None) == (dropped is None)):
        return False
    if grouped is not None:
        outs = [n - (v is not None) for n, v in zip(outs, grouped.tolist(), strict=True)]
    return bool(model._n_features_outs == outs)


def _drops(dropped: Any, counts: list[int]) -> bool:
    """Whether at most one category of each feature is dropped, or none at all."""
    if dropped is None:
        return True
    if dropped.shape != (len(counts),):
        return False
    pairs = zip(dropped.tolist(), counts, strict=True)
    return all(v is None or (type(v) is int and 0 <= v < n) for v, n in pairs)


def _ordinal(model: Any) -> bool:
    n = model.n_features_in_
    return _encoder(model) and all(
        type(k) is int and type(v) is int and 0 <= k < n and 0 <= v < len(model.categories_[k])
        for k, v in model._missing_indices.items()
    )


def _words(model: Any) -> bool:
    """Inputs are texts, not names of files."""
    span = model.ngram_range
    if not (len(span) == 2 and all(type(n) is int for n in span) and 1 <= span[0] <= span[1] <= _HIGHEST_DEGREE):
        return False
    return bool(model.input == "content")


def _weights(model: Any) -> bool:
    return model.idf_.ndim == 1 and getattr(model, "n_features_in_", len(model.idf_)) == len(model.idf_)


def _columns(model: Any) -> bool:
    """Each transformer is the one that the parameters name, and its columns exist."""
    n, names = model.n_features_in_, list(getattr(model, "feature_names_in_", ()))
    places = getattr(model, "_transformer_to_input_indices", {})
    declared = {name: (step, columns) for name, step, columns in model.transformers}
    declared["remainder"] = (model.remainder, None)
    for name, step, columns in model.transformers_:
        wanted, chosen = declared.pop(name)
        if not (type(step) is type(wanted) or (wanted in ("passthrough", "drop") and _passes(step, wanted))):
            return False
        if chosen is not None and not _same(columns, chosen):
            return False
        if not (isinstance(places[name], list) and all(type(k) is int and 0 <= k < n for k in places[name])):
            return False
        if not _exist(columns, n, names):
            return False
    return declared.keys() <= {"remainder"} and all(
        isinstance(name, str) and isinstance(place, slice) for name, place in model.output_indices_.items()
    )


def _passes(step: Any, wanted: str) -> bool:
    if isinstance(step, str):
        return step == wanted
    return wanted == "passthrough" and isinstance(step, preprocessing.FunctionTransformer)


def _same(columns: Any, chosen: Any) -> bool:
    return type(columns) is type(chosen) and bool(np.all(np.asarray(columns) == np.asarray(chosen)))


def _exist(columns: Any, n: int, names: list[str]) -> bool:
    if isinstance(columns, slice):
        return all(v is None or type(v) in (int, str) for v in (columns.start, columns.stop, columns.step))
    chosen = columns.tolist() if isinstance(columns, np.ndarray) else columns
    chosen = chosen if isinstance(chosen, list) else [chosen]
    if all(type(v) is bool for v in chosen):
        return len(chosen) in (0, n)
    return all(v in names if isinstance(v, str) else type(v) is int and -n <= v < n for v in chosen)


def _steps_fit(model: Any) -> bool:
    """Each step makes as many columns as the next one takes."""
    steps = [step for _, step in model.steps if not isinstance(step, str)]
    for step, following in pairwise(steps):
        made, taken = width(step), getattr(following, "n_features_in_", None)
        if made is not None and taken is not None and made != taken:
            return False
    return True


_CHECKS: dict[type[Any], Callable[[Any], bool]] = {
    preprocessing.StandardScaler: _has(with_mean="mean_", with_std="scale_"),
    preprocessing.RobustScaler: _has(with_centering="center_", with_scaling="scale_"),
    preprocessing.MinMaxScaler: _min_max,
    SimpleImputer: _imputer,
    preprocessing.PolynomialFeatures: _polynomial,
    preprocessing.SplineTransformer: _splines,
    Nystroem: _nystroem,
    preprocessing.OneHotEncoder: _one_hot,
    preprocessing.OrdinalEncoder: _ordinal,
    CountVectorizer: _words,
    TfidfVectorizer: _words,
    TfidfTransformer: _weights,
    ColumnTransformer: _columns,
    Pipeline: _steps_fit,
}


_ONE_EACH = (
    preprocessing.StandardScaler, preprocessing.MinMaxScaler, preprocessing.MaxAbsScaler, preprocessing.RobustScaler,
    preprocessing.OrdinalEncoder,
)  # fmt: skip
_WIDTHS: dict[type[Any], Callable[[Any], Any]] = {
    preprocessing.PolynomialFeatures: lambda model: model.n_output_features_,
    preprocessing.SplineTransformer: lambda model: model.n_features_out_,
    Nystroem: lambda model: len(model.components_),
    preprocessing.OneHotEncoder: lambda model: sum(model._n_features_outs),
    CountVectorizer: lambda model: len(model.vocabulary_),
    TfidfVectorizer: lambda model: len(model.vocabulary_),
    ColumnTransformer: lambda model: max((place.stop for place in model.output_indices_.values()), default=0),
    **dict.fromkeys(_ONE_EACH, lambda model: int(model.n_features_in_)),
    Pipeline: lambda model: width(model.steps[-1][1]),
}
