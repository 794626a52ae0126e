"""What every public estimator promises: failed changes leave it as it was, readers beside a writer see whole models.

The estimators are found in ``rankwise.__all__``: a new one is tested without an edit here, unless its data are special.
"""

import copy
import inspect
import pickle
import sys
import threading
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import rankwise as rw
from rankwise.structured import CumulativeRanks
from rankwise.trees.arrays import Trees

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

BRIEF = {"n_epochs": 2, "random_state": 0, "gamma": 0.5, "n_hidden": 4, "tol": 0.1}
INVALID = {
    "n_epochs": 0,
    "alpha": -1.0,
    "n_hidden": 0,
    "scaling": "odd",
    "encoder": "odd",
    "level": 2.0,
    "cv": 1,
    "max_leaf_nodes": 1,
    "frozen_after": 0,
}
READS = ("predict", "transform", "decision_function", "predict_proba", "predict_set", "to_plain")


# -- data --------------------------------------------------------------------------------------------------------------


def table(seed, n=40, d=3, n_classes=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    score = X @ rng.normal(size=d)
    y = np.searchsorted(np.quantile(score, np.arange(1, n_classes) / n_classes), score)
    y[:n_classes] = np.arange(n_classes)
    return X, y


def of_ranks(seed, **shape):
    return table(seed, **shape)


def of_frames(seed, d=3, **shape):
    X, y = table(seed, d=d, **shape)
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(d)]), y


def of_yes_and_no(seed, n_classes=3, **shape):
    X, y = table(seed, n_classes=n_classes, **shape)
    return X, np.column_stack([y > k for k in range(n_classes - 1)]).astype(float)


def of_sequences(seed, n=40, **shape):
    X, y = table(seed, n=n, **shape)
    parts = np.arange(4, n, 4)
    return np.split(X, parts), [labels.tolist() for labels in np.split(y, parts)]


def of_outputs(seed, n_classes=3, **shape):
    X, y = table(seed, n_classes=3, **shape)  # the classes are a parameter of the model
    return X, y.tolist()


def of_answers(seed, n=40, **shape):
    """Answers of three raters as a long table, and features of the items."""
    X, y = table(seed, n=n, **shape)
    items, raters = np.repeat(np.arange(n), 3), np.tile(["Ann", "Bo", "Cy"], n)
    noise = np.random.default_rng(seed).integers(0, 2, size=3 * n)
    labels = [(int(low), int(low + more)) for low, more in zip(np.repeat(y, 3), noise, strict=True)]
    return pd.DataFrame({"item": items, "rater": raters, "label": labels}), X


def last_answer_is_reversed(answers):
    return answers.assign(label=last_is_reversed(answers["label"]))


def last_is_nan(X):
    """X whose last row has a NaN."""
    if isinstance(X, list):
        return [*X[:-1], last_is_nan(X[-1])]
    changed = X.copy()
    (changed.iloc if hasattr(changed, "iloc") else changed)[-1, 0] = np.nan
    return changed


def last_is_reversed(y):
    """Labels of which the last is an interval upside down, which is no label of any kind."""
    return [*list(y)[:-1], (2, 0)]


@dataclass(frozen=True)
class Case:
    """How to make an estimator and data for it; the defaults are those of ordered classes in a table of numbers."""

    parameters: dict[str, Any] = field(default_factory=dict)
    data: Callable[..., Any] = of_ranks
    spoil: Callable[[Any], Any] | None = last_is_reversed
    spoil_rows: Callable[[Any], Any] | None = last_is_nan  # None: missing values are taken as they are
    stream: dict[str, Any] = field(default_factory=lambda: {"classes": [0, 1, 2]})  # what partial_fit needs at first


LINKS = [rw.CumulativeLink(tol=0.1), rw.CumulativeLink(alpha=1.0, tol=0.1)]
SPECIAL = {
    "RaterModel": Case({}, of_answers, last_is_nan, last_answer_is_reversed),
    "OnlineScaler": Case({}, of_ranks, None, stream={}),
    "BoostedThresholds": Case({"n_jobs": 1, "max_iter": 4, "early_stopping": False}, spoil_rows=None),
    "ChainClassifier": Case({"loss": "mae"}, of_sequences, lambda Y: [*Y[:-1], last_is_reversed(Y[-1])]),
    "StructuredPerceptron": Case({"model": CumulativeRanks([0, 1, 2])}, of_outputs, stream={}),
    "MissingLabelClassifier": Case({}, of_yes_and_no, lambda Y: np.where(np.arange(len(Y))[:, None] == 7, 2.0, Y)),
    "LabelRanker": Case(spoil=lambda y: y[:-1]),
    "PathCV": Case({"estimator": rw.SVOR(tol=0.1), "alphas": [1.0, 0.1], "cv": 2}),
    "BlendedOrdinal": Case({"estimators": LINKS, "cv": 2}),
    "AutoOrdinal": Case(
        {"n_fits": 10, "estimators": ["SVOR"], "cv": 2, "encoder": rw.TableEncoder(missing="refuse")}, of_frames
    ),
    "CalibratedOrdinal": Case({"estimator": rw.SVOR()}),
    "ConformalOrdinal": Case({"estimator": rw.PRIL(n_epochs=2, random_state=0), "level": 0.5, "score": "distance"}),
    "OnlineConformalOrdinal": Case({"estimator": rw.PRIL()}),
    "TableEncoder": Case({"missing": "refuse"}, of_frames, None),
    "TableModel": Case(
        {"estimator": rw.PRIL(n_epochs=2, random_state=0), "encoder": rw.TableEncoder(missing="refuse")}, of_frames
    ),
}


CHOOSING = {"AutoOrdinal", "BlendedOrdinal", "BoostedThresholds", "PathCV"}  # special, with the labels of any other


def is_estimator(name):
    found = getattr(rw, name)
    return isinstance(found, type) and issubclass(found, BaseEstimator)


NAMES = sorted(filter(is_estimator, rw.__all__))
each = pytest.mark.parametrize("name", NAMES)


def case_of(name):
    return SPECIAL.get(name, Case())


def make(name, **parameters):
    estimator = getattr(rw, name)
    known = inspect.signature(estimator).parameters
    brief = {key: value for key, value in BRIEF.items() if key in known}
    return estimator(**{**brief, **case_of(name).parameters, **parameters})


def streaming(name):
    """Estimator that learns from a stream, or None."""
    model = make(name, **({"solver": "perceptron"} if name == "ChainClassifier" else {}))
    return model if hasattr(model, "partial_fit") else None


def test_estimators_are_found():
    assert {"PRIL", "SVOR", *SPECIAL} <= set(NAMES)


# -- what a model is ---------------------------------------------------------------------------------------------------


def bits(value):
    """Anything as nested tuples that are equal if, and only if, every bit is."""
    if isinstance(value, BaseEstimator):
        learnt = None
        with suppress(NotFittedError):  # parameters that are estimators have learnt nothing
            learnt = bits(value.to_plain())
        return type(value).__name__, bits(value.get_params(deep=False)), learnt
    if sparse.issparse(value):
        return bits(value.toarray())
    if hasattr(value, "model_to_string"):  # trees as LightGBM has them
        return value.model_to_string()
    if isinstance(value, Trees):
        return bits(value.to_plain())
    if isinstance(value, np.ndarray) and value.dtype != object:
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, (list, tuple, np.ndarray)):
        return tuple(map(bits, value))
    if isinstance(value, dict):
        timeless = [item for item in value.items() if item[0] != "fit_seconds"]
        return tuple((bits(key), bits(inner)) for key, inner in sorted(timeless, key=repr))
    return type(value).__name__, repr(value)


def attributes(model):
    found = {}
    for name in dir(model):
        if name.endswith("_") and not name.startswith("_"):
            try:
                found[name] = bits(getattr(model, name))
            except AttributeError:  # of another solver, or of a form that this model does not have
                continue
    return found


def seen(model, X):
    """All that a user can see of a fitted model."""
    reads = {name: read(model, name, X) for name in READS if hasattr(model, name)}
    return {**attributes(model), **reads}


def read(model, name, X):
    return bits(getattr(model, name)(*(() if name == "to_plain" else (X,))))


# -- all or nothing ----------------------------------------------------------------------------------------------------


def mistakes(model, case, data):
    """Arguments of a call that must fail, for every mistake that the estimator can notice."""
    X, y = data
    if case.spoil_rows is not None:
        yield "rows", (case.spoil_rows(X), y), {}
    if case.spoil is not None:
        yield "labels", (X, case.spoil(y)), {}
    if "sample_weight" in inspect.signature(model.fit).parameters:
        weight = np.ones(len(X))
        weight[-1] = -1.0
        yield "weights", (X, y), {"sample_weight": weight}


def assert_unchanged(model, X, before, path, what):
    after = seen(model, X)
    assert {name for name in {*before, *after} if before.get(name) != after.get(name)} == set(), what
    if hasattr(model, "to_plain"):
        rw.save(model, path)
        assert read(rw.load(path), "to_plain", X) == before["to_plain"]
    else:
        assert seen(pickle.loads(pickle.dumps(model)), X) == before


@each
def test_a_failed_refit_leaves_it_as_it_was(name, tmp_path):
    case, model = case_of(name), make(name)
    X, y = case.data(0)
    model.fit(X, y)
    before = seen(model, X)
    another = case.data(1, n=48, d=4, n_classes=4)  # other numbers of rows, features and classes
    for what, arguments, options in mistakes(model, case, another):
        with pytest.raises((ValueError, TypeError)):
            model.fit(*arguments, **options)
        assert_unchanged(model, X, before, tmp_path / "model", what)
    parameter = next(parameter for parameter in INVALID if parameter in model.get_params(deep=False))
    good = model.get_params(deep=False)[parameter]
    model.set_params(**{parameter: INVALID[parameter]})
    with pytest.raises(ValueError, match=parameter):
        model.fit(*another)
    assert_unchanged(model.set_params(**{parameter: good}), X, before, tmp_path / "model", parameter)
    assert seen(model.fit(X, y), X) == before


@pytest.mark.parametrize("name", list(filter(streaming, NAMES)))
def test_a_failed_chunk_leaves_it_as_it_was(name, tmp_path):
    case, model = case_of(name), streaming(name)
    X, y = case.data(0)
    model.partial_fit(X, y, **case.stream)
    before = seen(model, X)
    for what, arguments, options in mistakes(model, case, case.data(1)):
        with pytest.raises((ValueError, TypeError)):
            model.partial_fit(*arguments, **options)
        assert_unchanged(model, X, before, tmp_path / "model", what)
    following = case.data(2)
    whole = streaming(name).partial_fit(X, y, **case.stream).partial_fit(*following)
    assert seen(model.partial_fit(*following), X) == seen(whole, X)


# -- readers beside a writer -------------------------------------------------------------------------------------------


def watch(model, X, expected, write, n_readers=2):
    """Run ``write`` while others read; return what they saw that no whole model says."""
    over, odd, counts = threading.Event(), [], dict.fromkeys(expected, 0)

    def look():
        while not over.is_set():
            for name, allowed in expected.items():
                try:
                    found = read(model, name, X)
                    counts[name] += 1
                except Exception as error:  # a model that is half there may fail anyhow
                    odd.append(f"{name}: {error!r}")
                else:
                    if found not in allowed:
                        odd.append(f"{name}: not of a whole model")

    readers = [threading.Thread(target=look) for _ in range(n_readers)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for reader in readers:
            reader.start()
        write()
    finally:
        over.set()
        for reader in readers:
            reader.join()
        sys.setswitchinterval(interval)
    assert all(counts.values())
    return odd


def expectations(models, X):
    return {name: {read(model, name, X) for model in models} for name in READS if hasattr(models[0], name)}


long_too = pytest.mark.parametrize("seconds", [0.1, pytest.param(3.0, marks=pytest.mark.slow)])


@long_too
@each
def test_readers_beside_a_refit_see_the_model_before_or_after(name, seconds):
    case = case_of(name)
    problems = [case.data(0), case.data(1, n=60)]
    X = case.data(2, n=8)[0]
    expected = expectations([make(name).fit(*problem) for problem in problems], X)
    model = make(name).fit(*problems[0])

    def refit():
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for problem in reversed(problems):
                model.fit(*problem)
                time.sleep(1e-3)  # or a reader that waits for the lock may never get it

    assert watch(model, X, expected, refit) == []


SCALED = "TableModel with OnlineScaler"  # two models that learn from every chunk


@long_too
@pytest.mark.parametrize("name", [*filter(streaming, NAMES), SCALED])
def test_readers_beside_a_stream_see_the_model_after_some_chunk(name, seconds):
    case = case_of(name)
    chunks = [case.data(seed, n=8) for seed in range(12)]
    X = case.data(99, n=8)[0]
    empty = rw.TableModel(rw.PRIL(), rw.OnlineScaler()) if name == SCALED else streaming(name)
    prefixes = [empty.partial_fit(*chunks[0], **case.stream)]
    for chunk in chunks[1:]:
        prefixes.append(copy.deepcopy(prefixes[-1]).partial_fit(*chunk))
    expected = expectations(prefixes, X)
    end, odd = time.monotonic() + seconds, []
    while time.monotonic() < end and not odd:
        model = pickle.loads(pickle.dumps(prefixes[0]))  # has met no writer yet

        def learn(model=model):
            for chunk in chunks[1:]:
                model.partial_fit(*chunk)
                time.sleep(1e-3)

        odd = watch(model, X, expected, learn)
        assert seen(model, X) == seen(prefixes[-1], X)
    assert odd == []


@each
def test_copies_are_free_of_the_original(name):
    case, model = case_of(name), make(name)
    X, y = case.data(0)
    model.fit(X, y)
    before = seen(model, X)
    fresh = clone(model)
    copies = [copy.copy(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))]
    locks = (type(threading.Lock()), type(threading.RLock()))
    for twin in (fresh, *copies):
        assert not any(isinstance(inner, locks) for value in vars(twin).values() for inner in (value, *parts(value)))
    model.fit(*case.data(1, n=48, d=4))
    for twin in copies:
        assert seen(twin, X) == before
    assert attributes(fresh) == {}


def parts(value):
    return vars(value).values() if hasattr(value, "__dict__") and not isinstance(value, type) else ()


# -- warnings ----------------------------------------------------------------------------------------------------------


def unconverged(name):
    known = inspect.signature(getattr(rw, name)).parameters
    if not {"max_iter", "tol"} <= set(known) or name == "HiddenFeatures":  # whose warning is scikit-learn's own
        return None
    return make(name, max_iter=1, tol=1e-9)


@pytest.mark.parametrize("name", [name for name in NAMES if unconverged(name) is not None])
def test_warnings_point_to_the_line_of_the_caller(name):
    X, y = case_of(name).data(0)
    models = [unconverged(name)]
    if isinstance(X, np.ndarray):
        models.append(make_pipeline(StandardScaler(), unconverged(name)))
    for model in models:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.fit(X, y)
        assert [(warning.category, warning.filename) for warning in caught] == [(ConvergenceWarning, __file__)]


@pytest.mark.parametrize("name", [name for name in NAMES if name not in SPECIAL or name in CHOOSING])
def test_a_warning_about_the_order_points_to_the_line_of_the_caller(name):
    X, y = table(0)
    words = np.array(["bad", "fair", "good"])[y]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        make(name).fit(X, words)
    ours = [warning for warning in caught if warning.category is not ConvergenceWarning]
    assert all(warning.filename == __file__ for warning in ours), [warning.filename for warning in ours]
    assert bool(ours) == bool(getattr(getattr(rw, name), "ordered", True))
