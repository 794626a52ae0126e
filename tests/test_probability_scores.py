"""Scores of probabilities: their formulas, the range that imprecise labels allow, and scorers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import config_context
from sklearn.metrics import log_loss
from sklearn.model_selection import cross_val_score, cross_validate

from rankwise import SVOR, CumulativeLink, metrics
from rankwise.evaluation import ProbabilityScorer
from tests.streams import make_stream

K = 4
each_score = pytest.mark.parametrize("score", [metrics.log_score, metrics.ranked_probability_score])


def _some(seed, n=20):
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.ones(K), n)
    y = rng.integers(0, K, n)
    lower, upper = np.maximum(y - rng.integers(0, 2, n), 0), np.minimum(y + rng.integers(0, 3, n), K - 1)
    upper[0], lower[0] = 1, 0  # at least one label that says something
    return P, y, lower, upper, rng.random(n) + 0.1


def test_of_exact_labels_they_are_the_formulas():
    P, y, *_, weight = _some(0)
    assert metrics.log_score(y, P, classes=range(K), sample_weight=weight) == pytest.approx(
        log_loss(y, P, labels=range(K), sample_weight=weight)
    )
    errors = P.cumsum(axis=1) - (y[:, None] <= np.arange(K))
    found = metrics.ranked_probability_score(y, P, classes=range(K), sample_weight=weight)
    assert found == pytest.approx(np.average((errors**2).sum(axis=1), weights=weight))


@each_score
@given(seed=st.integers(0, 1000))
def test_the_true_score_lies_in_the_range_that_labels_allow(score, seed):
    P, _, lower, upper, weight = _some(seed)
    told = upper - lower < K - 1
    rng = np.random.default_rng(seed)
    intervals = np.column_stack([lower, upper])[told]
    ends = [
        score(intervals, P[told], classes=range(K), against=against, sample_weight=weight[told])
        for against in ("label", "nearest", "farthest")
    ]
    truth = rng.integers(lower, upper + 1)[told]
    exact = score(truth, P[told], classes=range(K), sample_weight=weight[told])
    assert ends[0] - 1e-12 <= ends[1] <= exact + 1e-12
    assert exact <= ends[2] + 1e-12
    codes = [range(a, b + 1) for a, b in intervals]
    by_row = [[score([k], P[told][[i]], classes=range(K)) for k in admitted] for i, admitted in enumerate(codes)]
    assert ends[1] == pytest.approx(np.average([min(row) for row in by_row], weights=weight[told]))
    assert ends[2] == pytest.approx(np.average([max(row) for row in by_row], weights=weight[told]))


@each_score
def test_missing_labels_are_left_out_and_sets_may_have_gaps(score):
    P = _some(1, 3)[0]
    one = score([{0, 2}], P[:1], classes=range(K))
    assert score([{0, 2}, None, (0, K - 1)], P, classes=range(K)) == one
    worst = score([{0, 2}], P[:1], classes=range(K), against="farthest")
    assert worst == max(score([k], P[:1], classes=range(K)) for k in (0, 2))


def test_a_probability_of_zero_has_an_infinite_log_score():
    assert metrics.log_score([1], [[0.0, 1.0]], classes=[1, 2]) == np.inf


@each_score
def test_what_is_no_distribution_is_refused_by_row(score):
    with pytest.raises(ValueError, match=r"row 1: probabilities must not be negative .* Got \[0.5, 0.4"):
        score([1, 2], [[0.5, 0.5], [0.5, 0.4]], classes=[1, 2])
    with pytest.raises(ValueError, match=r"a column for each of 3 classes. Got the shape \(2, 2\)"):
        score([1, 2], [[0.5, 0.5], [0.5, 0.5]], classes=[1, 2, 3])
    with pytest.raises(ValueError, match="none of them labelled"):
        score([None], [[0.5, 0.5]], classes=[1, 2])
    with pytest.raises(ValueError, match="against must be 'label', 'nearest' or 'farthest'"):
        score([1], [[0.5, 0.5]], classes=[1, 2], against="truth")


@pytest.mark.parametrize("name", ["ranked", "log"])
def test_scorers_know_the_classes_of_the_model(name):
    stream = make_stream(0, n=120, n_classes=K)
    model = CumulativeLink(classes=range(K)).fit(stream.X, stream.y)
    score = {"ranked": metrics.ranked_probability_score, "log": metrics.log_score}[name]
    few = np.flatnonzero(stream.upper <= 1)[:9]  # two classes do not occur
    expected = score(stream.y[few], model.predict_proba(stream.X[few]), classes=range(K))
    assert ProbabilityScorer(name)(model, stream.X[few], stream.y[few]) == -expected
    assert cross_validate(model, stream.X, stream.y, scoring=ProbabilityScorer(name), cv=3)["test_score"].max() < 0
    with config_context(enable_metadata_routing=True):
        scorer = ProbabilityScorer(name).set_score_request(sample_weight=True)
        weighted = scorer(model, stream.X, stream.y, sample_weight=stream.weight)
    assert weighted != ProbabilityScorer(name)(model, stream.X, stream.y)
    with pytest.raises(ValueError, match="score must be 'ranked' or 'log'"):
        ProbabilityScorer("brier")


@pytest.mark.parametrize("n_classes", [2, K])
def test_plain_scorers_of_exact_labels(n_classes):
    stream = make_stream(0, n=120, n_classes=n_classes, exact=1.0)
    for scorer, score in (
        (metrics.neg_log_score_scorer, metrics.log_score),
        (metrics.neg_ranked_probability_score_scorer, metrics.ranked_probability_score),
    ):
        model = CumulativeLink().fit(stream.X, stream.lower)
        assert scorer(model, stream.X, stream.lower) == pytest.approx(
            -score(stream.lower, model.predict_proba(stream.X))
        )
        assert np.isfinite(cross_val_score(model, stream.X, stream.lower, scoring=scorer, cv=2)).all()


def test_models_without_probabilities_say_who_has_them():
    model = SVOR().fit([[0.0], [1.0]], [1, 2])
    for method in ("predict_proba", "predict_quantile", "predict_interval"):
        assert not hasattr(model, method)
        expected = f"SVOR has no {method}.*These have them: .*CalibratedOrdinal, CumulativeLink"
        with pytest.raises(AttributeError, match=expected):
            getattr(model, method)
