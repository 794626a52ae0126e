"""What a scikit-learn user expects of every estimator: frames and their names, metadata routing, parameters."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rankwise import (
    MORD,
    PRIL,
    SVOR,
    VILMA,
    AutoOrdinal,
    BlendedOrdinal,
    BoostedThresholds,
    CumulativeLink,
    CuSumRank,
    HiddenFeatures,
    ImportanceWeightedPerceptron,
    KernelCuSumRank,
    KernelPRIL,
    LabelRanker,
    MissingLabelClassifier,
    MulticlassPerceptron,
    MultiplicativePRIL,
    OnlineCumulativeLink,
    OnlineScaler,
    PathCV,
    PiecewiseMORD,
    PRank,
    RoundedRegression,
    UnifiedClassifier,
    WidrowHoff,
)
from rankwise.evaluation import IntervalScorer

NAMES = ["age", "income", "height"]

ESTIMATORS = [
    PRIL(random_state=0),
    PRank(random_state=0),
    MultiplicativePRIL(random_state=0),
    OnlineCumulativeLink(random_state=0),
    KernelPRIL(gamma=0.5, random_state=0),
    CuSumRank(random_state=0),
    KernelCuSumRank(gamma=0.5, random_state=0),
    ImportanceWeightedPerceptron(random_state=0),
    MulticlassPerceptron(random_state=0),
    WidrowHoff(random_state=0),
    LabelRanker(random_state=0),
    CumulativeLink(alpha=0.1),
    SVOR(alpha=0.1),
    VILMA(alpha=0.1),
    MORD(alpha=0.1),
    PiecewiseMORD(alpha=0.1),
    RoundedRegression(alpha=0.1),
    UnifiedClassifier(alpha=0.1),
    MissingLabelClassifier(alpha=0.1, random_state=0),
    BoostedThresholds(max_iter=3, min_samples_leaf=5, early_stopping=False, n_jobs=1, random_state=0),
    BlendedOrdinal([CumulativeLink(), CumulativeLink(alpha=10.0)], cv=2, random_state=0),
    PathCV(SVOR(), alphas=[0.1, 1.0], cv=2),
    AutoOrdinal(estimators=["constant", "CumulativeLink, linear"], n_fits=8, cv=2),
]
TRANSFORMERS = [HiddenFeatures(n_hidden=3, max_iter=3, tol=0.0, random_state=0), OnlineScaler()]
each = pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
#: AutoOrdinal encodes raw tables, whose columns it knows by name, in any order, and those of an array by number.
of_numbers = pytest.mark.parametrize(
    "estimator", [e for e in ESTIMATORS if not isinstance(e, AutoOrdinal)], ids=lambda e: type(e).__name__
)
online = pytest.mark.parametrize(
    "estimator", [e for e in ESTIMATORS if hasattr(e, "partial_fit")], ids=lambda e: type(e).__name__
)

FRAMES = {
    "pandas": lambda X, names: pd.DataFrame(X, columns=names),
    "polars": lambda X, names: pl.DataFrame({name: X[:, j] for j, name in enumerate(names)}),
    "pyarrow": lambda X, names: pa.table({name: X[:, j] for j, name in enumerate(names)}),
}
of_every_kind = pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)


def rows(n=60):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(n, 3))
    return X, np.searchsorted([-0.7, 0.7], X @ [1.0, -1.0, 0.5])


def whole_number(estimator):
    """Name of a parameter that can be 7."""
    names = "alpha", "n_epochs", "n_hidden", "frozen_after", "max_iter", "n_fits", "cv"
    return next(name for name in names if name in estimator.get_params())


def answers(estimator, y):
    """Labels of a form that the estimator takes: a table of yes and no for several labels, classes for the others."""
    return np.column_stack([y > 0, y > 1]).astype(int) if isinstance(estimator, MissingLabelClassifier) else y


@of_every_kind
@of_numbers
def test_frames_give_the_model_of_the_array_and_their_names(estimator, frame):
    X, y = rows()
    table, y = frame(X, NAMES), answers(estimator, y)
    plain, model = clone(estimator).fit(X, y), clone(estimator).fit(table, y)
    assert not hasattr(plain, "feature_names_in_")
    assert model.feature_names_in_.tolist() == NAMES
    assert model.n_features_in_ == 3
    np.testing.assert_array_equal(model.predict(table), plain.predict(X))
    np.testing.assert_array_equal(model.decision_function(table), plain.decision_function(X))
    assert model.score(table, y) == plain.score(X, y)


@of_every_kind
@of_numbers
def test_wrong_names_and_wrong_order_are_errors_and_no_names_a_warning(estimator, frame):
    X, y = rows()
    y = answers(estimator, y)
    model = clone(estimator).fit(frame(X, NAMES), y)
    with pytest.raises(ValueError, match=r"Feature names must be in the same order as they were in fit"):
        model.predict(frame(X, NAMES[::-1]))
    with pytest.raises(ValueError, match=r"Feature names unseen at fit time:\s+- weight"):
        model.predict(frame(X, ["age", "income", "weight"]))
    with pytest.raises(ValueError, match=r"Feature names seen at fit time, yet now missing:\s+- height"):
        model.predict(frame(X[:, :2], NAMES[:2]))
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        model.predict(X)
    with pytest.warns(UserWarning, match="X has feature names, but .* was fitted without feature names"):
        clone(estimator).fit(X, y).predict(frame(X, NAMES))


@of_every_kind
def test_a_model_of_tables_knows_columns_by_name(frame):
    X, y = rows()
    (estimator,) = (clone(e) for e in ESTIMATORS if isinstance(e, AutoOrdinal))
    model = estimator.fit(frame(X, NAMES), y)
    assert model.feature_names_in_.tolist() == NAMES
    np.testing.assert_array_equal(model.predict(frame(X[:, ::-1], NAMES[::-1])), model.predict(frame(X, NAMES)))
    with pytest.raises(ValueError, match="the table has no column 'height'"):
        model.predict(frame(X[:, :2], NAMES[:2]))


@of_every_kind
@online
def test_partial_fit_keeps_the_names_of_the_first_chunk(estimator, frame):
    X, y = rows()
    classes = [0, 1, 2]
    plain, model = clone(estimator), clone(estimator)
    for part in (slice(20), slice(20, 60)):
        plain.partial_fit(X[part], y[part], classes=classes)
        model.partial_fit(frame(X[part], NAMES), y[part], classes=classes)
    assert model.feature_names_in_.tolist() == NAMES
    np.testing.assert_array_equal(model.decision_function(frame(X, NAMES)), plain.decision_function(X))
    before = model.decision_function(frame(X, NAMES))
    with pytest.raises(ValueError, match="Feature names must be in the same order"):
        model.partial_fit(frame(X, NAMES[::-1]), y)
    np.testing.assert_array_equal(model.decision_function(frame(X, NAMES)), before)


@of_every_kind
@pytest.mark.parametrize("transformer", TRANSFORMERS, ids=lambda e: type(e).__name__)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # three epochs are enough for names
def test_transformers_take_frames_too(transformer, frame):
    X, y = rows()
    model = clone(transformer).fit(frame(X, NAMES), y)
    assert model.feature_names_in_.tolist() == NAMES
    with pytest.raises(ValueError, match="Feature names must be in the same order"):
        model.transform(frame(X, NAMES[::-1]))
    table = model.set_output(transform="pandas").transform(frame(X, NAMES))
    assert table.columns.tolist() == model.get_feature_names_out().tolist()
    assert len(table.columns) == 3


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def weights(n):
    return np.random.default_rng(5).integers(0, 4, n).astype(float)


@pytest.mark.usefixtures("routing")
@each
def test_weights_are_routed_through_a_pipeline(estimator):
    X, y = rows()
    y, weight = answers(estimator, y), weights(len(X))
    bare = clone(estimator).fit(X, y, sample_weight=weight)
    asking = clone(estimator).set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
    pipeline = make_pipeline(
        StandardScaler(with_mean=False, with_std=False).set_fit_request(sample_weight=False), asking
    )
    pipeline.fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(pipeline.decision_function(X), bare.decision_function(X))
    assert pipeline.score(X, y, sample_weight=weight) == bare.score(X, y, sample_weight=weight)
    unasked = make_pipeline(clone(estimator))
    with pytest.raises(ValueError, match="but are not explicitly set as requested or not requested"):
        unasked.fit(X, y, sample_weight=weight)


@pytest.mark.usefixtures("routing")
@online
def test_partial_fit_can_ask_for_weights(estimator):
    request = estimator.set_partial_fit_request(sample_weight=True, classes=False).get_metadata_routing()
    assert request.partial_fit.requests == {"sample_weight": True, "classes": False}


@pytest.mark.usefixtures("routing")
@each
def test_weights_are_routed_through_cross_validation_and_searches(estimator):
    X, y = rows()
    y, weight = answers(estimator, y), weights(len(X))
    asking = clone(estimator).set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
    folds = KFold(3)
    found = cross_validate(asking, X, y, cv=folds, params={"sample_weight": weight})["test_score"]
    expected = [
        clone(estimator).fit(X[a], y[a], sample_weight=weight[a]).score(X[b], y[b], sample_weight=weight[b])
        for a, b in folds.split(X)
    ]
    np.testing.assert_array_equal(found, expected)
    name = whole_number(estimator)
    search = GridSearchCV(asking, {name: [estimator.get_params()[name]]}, cv=folds).fit(X, y, sample_weight=weight)
    assert search.best_score_ == pytest.approx(np.mean(expected))


@pytest.mark.usefixtures("routing")
def test_the_interval_scorer_asks_for_weights_as_scikit_learns_scorers_do():
    X, y = rows()
    labels = np.column_stack([y, np.minimum(y + 1, 2)])
    weight, folds = weights(len(X)), KFold(3)
    model = PRIL(classes=[0, 1, 2], random_state=0).set_fit_request(sample_weight=True)
    scoring = {
        "weighted": IntervalScorer(against="farthest").set_score_request(sample_weight=True),
        "plain": IntervalScorer(against="farthest").set_score_request(sample_weight=False),
        "renamed": IntervalScorer(against="farthest").set_score_request(sample_weight="trust"),
    }
    trust = weights(len(X))[::-1] + 1.0
    found = cross_validate(
        model, X, labels, cv=folds, scoring=scoring, params={"sample_weight": weight, "trust": trust}
    )
    for i, (a, b) in enumerate(folds.split(X)):
        fold = clone(model).fit(X[a], labels[a], sample_weight=weight[a])
        score = IntervalScorer(against="farthest")
        assert found["test_weighted"][i] == score(fold, X[b], labels[b], sample_weight=weight[b])
        assert found["test_plain"][i] == score(fold, X[b], labels[b])
        assert found["test_renamed"][i] == score(fold, X[b], labels[b], sample_weight=trust[b])
    search = GridSearchCV(model, {"n_epochs": [1]}, cv=folds, scoring=scoring["weighted"])
    search.fit(X, labels, sample_weight=weight)
    assert search.best_score_ == pytest.approx(
        np.mean(
            [
                IntervalScorer(against="farthest")(
                    clone(model).set_params(n_epochs=1).fit(X[a], labels[a], sample_weight=weight[a]),
                    X[b],
                    labels[b],
                    sample_weight=weight[b],
                )
                for a, b in folds.split(X)
            ]
        )
    )
    with pytest.raises(ValueError, match="sample_weight"):
        cross_validate(model, X, labels, cv=folds, scoring=IntervalScorer(), params={"sample_weight": weight})
    with pytest.raises(ValueError, match=r"alias|request"):
        IntervalScorer().set_score_request(sample_weight="not a name")


def test_the_interval_scorer_says_when_routing_is_off():
    with pytest.raises(RuntimeError, match="enable_metadata_routing=True"):
        IntervalScorer().set_score_request(sample_weight=True)


@pytest.mark.parametrize("estimator", [*ESTIMATORS, *TRANSFORMERS], ids=lambda e: type(e).__name__)
def test_parameters_are_set_nested_cloned_and_shown(estimator):
    step = type(estimator).__name__.lower()
    pipeline = make_pipeline(StandardScaler(), clone(estimator))
    changed = whole_number(estimator)
    pipeline.set_params(**{f"{step}__{changed}": 7})
    assert pipeline.get_params()[f"{step}__{changed}"] == 7
    copy = clone(pipeline)[-1]
    assert getattr(copy, changed) == 7
    assert f"{changed}=7" in repr(copy)
    again = eval(repr(copy), {kind.__name__: kind for kind in (type(copy), CumulativeLink, SVOR)})
    assert repr(again.get_params(deep=False)) == repr(copy.get_params(deep=False))  # estimators within are others
    with pytest.raises(ValueError, match=f"Invalid parameter 'no_such' for estimator {type(copy).__name__}"):
        copy.set_params(no_such=1)
