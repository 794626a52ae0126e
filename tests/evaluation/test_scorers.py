import pickle

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.dummy import DummyRegressor
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.model_selection import KFold, cross_val_score, cross_validate

from rankwise import PRIL, CumulativeLink, metrics
from rankwise.evaluation import IntervalScorer, StratifiedIntervalKFold, compare, cross_val_predict
from rankwise.labels import encode
from rankwise.losses import interval_insensitive, interval_pessimistic
from tests.streams import make_stream


@pytest.fixture(scope="module")
def fitted():
    stream = make_stream(0, n=150)
    return PRIL(classes=range(4), random_state=0).fit(stream.X, stream.y), stream


@pytest.mark.parametrize("loss", ["mae", "zero_one", "squared", 2.0 * (1 - np.eye(4))])
def test_scores_are_minus_the_mean_loss(fitted, loss):
    model, stream = fitted
    codes = model.predict(stream.X)
    counted = (stream.upper - stream.lower < 3) * stream.weight
    labels = encode(stream.y, range(4))
    for against, cost in (("nearest", interval_insensitive), ("farthest", interval_pessimistic)):
        score = IntervalScorer(loss, against=against)(model, stream.X, stream.y, sample_weight=stream.weight)
        assert score == pytest.approx(-np.average(cost(labels, codes, loss), weights=counted))


def test_the_default_is_the_models_own_score(fitted):
    model, stream = fitted
    assert IntervalScorer()(model, stream.X, stream.y) == model.score(stream.X, stream.y)


def test_distances_are_those_of_the_models_classes_also_where_a_class_is_absent():
    model = PRIL(classes=[1, 2, 3, 4], random_state=0).fit([[0.0], [1.0], [2.0], [3.0]], [1, 2, 3, 4])
    X, y = np.array([[-100.0]]), [4]
    assert model.predict(X).tolist() == [1]
    assert IntervalScorer()(model, X, y) == -3
    assert metrics.neg_mean_absolute_error_scorer(model, X, y) == -1  # of the classes 1 and 4 alone
    assert IntervalScorer(classes=range(0, 9))(model, X, y) == -3
    assert IntervalScorer(classes=[1, 4])(model, X, y) == -1


def test_models_without_classes_are_judged_by_the_labels_that_occur():
    model = DummyRegressor(strategy="constant", constant=2).fit([[0.0]], [2])
    assert IntervalScorer()(model, [[0.0], [0.0]], [(3, 4), 2]) == -0.5


def test_several_scorers_at_once(fitted):
    model, stream = fitted
    scoring = {"best": IntervalScorer(), "worst": IntervalScorer(against="farthest")}
    found = cross_validate(model, stream.X, stream.y, cv=StratifiedIntervalKFold(3), scoring=scoring)
    assert np.all(found["test_worst"] < found["test_best"])


def test_scorers_travel(fitted):
    model, stream = fitted
    scorer = IntervalScorer("zero_one", against="farthest", classes=range(4))
    again = pickle.loads(pickle.dumps(scorer))
    assert again(model, stream.X, stream.y) == scorer(model, stream.X, stream.y)
    assert repr(again) == "IntervalScorer(loss='zero_one', against='farthest', classes=range(0, 4))"


def test_bad_parameters_are_named(fitted):
    model, stream = fitted
    with pytest.raises(ValueError, match=r"against must be 'nearest' or 'farthest'\. Got 'all'"):
        IntervalScorer(against="all")
    with pytest.raises(ValueError, match=r"loss must be .* Got 'rmse'"):
        IntervalScorer("rmse")(model, stream.X, stream.y)


def test_metadata_routing_passes_weights_where_they_are_asked_for():
    stream = make_stream(0, n=150)
    model = PRIL(classes=range(4), random_state=0)
    cv = StratifiedIntervalKFold(3)

    def scores(scorer):
        with config_context(enable_metadata_routing=True):
            routed = clone(model).set_fit_request(sample_weight=False)
            found = cross_validate(
                routed, stream.X, stream.y, cv=cv, scoring=scorer, params={"sample_weight": stream.weight}
            )
        return found["test_score"]

    expected = [
        IntervalScorer()(
            clone(model).fit(stream.X[train], stream.y[train]), stream.X[test], stream.y[test], stream.weight[test]
        )
        for train, test in cv.split(stream.X, stream.y)
    ]
    with config_context(enable_metadata_routing=True):
        weighted = IntervalScorer().set_score_request(sample_weight=True)
    np.testing.assert_allclose(scores(weighted), expected)
    plain = cross_validate(model, stream.X, stream.y, cv=cv, scoring=IntervalScorer())["test_score"]
    assert np.abs(plain - expected).max() > 1e-3
    with pytest.raises(UnsetMetadataPassedError) as caught:
        scores(IntervalScorer())
    assert "IntervalScorer" in f"{caught.value} {caught.value.__context__}"  # old versions raise another one over it


def test_words_have_the_order_of_the_estimator():
    """Neither scorers nor tables guess an order that the estimator was given."""
    names = np.array(["low", "medium", "high"])
    X = np.random.default_rng(0).normal(size=(150, 2))
    codes = np.digitize(X[:, 0], [-0.5, 0.5])
    of_words, of_codes = CumulativeLink(classes=names), CumulativeLink()
    scorers = [getattr(metrics, name) for name in metrics.__all__ if name.startswith("neg_") and "set" not in name]
    scorers += [metrics.quadratic_weighted_kappa_scorer, metrics.kendall_tau_scorer, metrics.accuracy_within_one_scorer]
    assert len(scorers) == 10
    for scorer in scorers:
        by_words = cross_val_score(of_words, X, names[codes], scoring=scorer, cv=KFold(3))
        np.testing.assert_allclose(by_words, cross_val_score(of_codes, X, codes, scoring=scorer, cv=KFold(3)))
    (words,), (numbers,) = compare({"": of_words}, X, names[codes], cv=3), compare({"": of_codes}, X, codes, cv=3)
    assert words["mae"] == numbers["mae"]
    predicted = cross_val_predict(of_words, X, names[codes], cv=3)
    np.testing.assert_array_equal(predicted, names[cross_val_predict(of_codes, X, codes, cv=3)])
