"""Scores of probabilities: their formulas, the range that imprecise labels allow, and scorers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import config_context
from sklearn.metrics import log_loss
from sklearn.model_selection import cross_val_score, cross_validate

from rankwise import SVOR, ConformalOrdinal, CumulativeLink, metrics
from rankwise.evaluation import ProbabilityScorer
from tests.streams import make_stream

K = 4
each_score = pytest.mark.parametrize("score", [metrics.log_score, metrics.ranked_probability_score])
SCORES = {
    "ranked": metrics.ranked_probability_score,
    "log": metrics.log_score,
    "brier": metrics.cumulative_brier_score,
    "calibration": metrics.cumulative_calibration_error,
}


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


@pytest.mark.parametrize("name", ["brier", "calibration"])
def test_labels_that_decide_no_event_have_no_score(name):
    assert np.isnan(SCORES[name]([{0, K - 1}], [[0.25] * K], classes=range(K)))


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


@pytest.mark.parametrize("name", list(SCORES))
def test_scorers_know_the_classes_of_the_model(name):
    stream = make_stream(0, n=120, n_classes=K)
    model = CumulativeLink(classes=range(K)).fit(stream.X, stream.y)
    score = SCORES[name]
    few = np.flatnonzero(stream.upper <= 1)[:9]  # two classes do not occur
    expected = score(stream.y[few], model.predict_proba(stream.X[few]), classes=range(K))
    assert ProbabilityScorer(name)(model, stream.X[few], stream.y[few]) == -expected
    assert cross_validate(model, stream.X, stream.y, scoring=ProbabilityScorer(name), cv=3)["test_score"].max() < 0
    with config_context(enable_metadata_routing=True):
        scorer = ProbabilityScorer(name).set_score_request(sample_weight=True)
        weighted = scorer(model, stream.X, stream.y, sample_weight=stream.weight)
    assert weighted != ProbabilityScorer(name)(model, stream.X, stream.y)
    with pytest.raises(ValueError, match="score must be one of 'ranked', 'log', 'brier', 'calibration'"):
        ProbabilityScorer("accuracy")


@pytest.mark.parametrize("n_classes", [2, K])
def test_plain_scorers_of_exact_labels(n_classes):
    stream = make_stream(0, n=120, n_classes=n_classes, exact=1.0)
    for scorer, score in (
        (metrics.neg_log_score_scorer, metrics.log_score),
        (metrics.neg_ranked_probability_score_scorer, metrics.ranked_probability_score),
        (metrics.neg_cumulative_brier_score_scorer, metrics.cumulative_brier_score),
        (metrics.neg_cumulative_calibration_error_scorer, metrics.cumulative_calibration_error),
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
        expected = f"SVOR has no {method}.*These have them: .*CalibratedOrdinal.*, CumulativeLink"
        with pytest.raises(AttributeError, match=expected):
            getattr(model, method)


# -- calibration of events, and sets -----------------------------------------------------------------------------------


def test_brier_scores_of_events_add_up_to_the_ranked_probability_score():
    P, y, *_, weight = _some(2)
    scores = metrics.cumulative_brier_scores(y, P, classes=range(K), sample_weight=weight)
    assert scores.sum() == pytest.approx(metrics.ranked_probability_score(y, P, classes=range(K), sample_weight=weight))
    for k in range(K - 1):
        squares = (P[:, : k + 1].sum(axis=1) - (y <= k)) ** 2
        assert scores[k] == pytest.approx(np.average(squares, weights=weight))


def test_calibration_error_is_the_formula():
    P, y, *_, weight = _some(3, 400)
    expected = []
    for k in range(K - 1):
        p, happened = P[:, : k + 1].sum(axis=1), y <= k
        bins = np.minimum((p * 5).astype(int), 4)
        gaps = [
            weight[bins == b].sum() * abs(np.average((p - happened)[bins == b], weights=weight[bins == b]))
            for b in np.unique(bins)
        ]
        expected.append(sum(gaps) / weight.sum())
    found = metrics.cumulative_calibration_error(y, P, n_bins=5, classes=range(K), sample_weight=weight)
    assert found == pytest.approx(np.mean(expected))


@pytest.mark.parametrize("score", [metrics.cumulative_brier_score, metrics.cumulative_calibration_error])
@given(seed=st.integers(0, 1000))
def test_the_true_calibration_lies_in_the_range_that_labels_allow(score, seed):
    P, _, lower, upper, weight = _some(seed)
    told = upper - lower < K - 1
    truth = np.random.default_rng(seed).integers(lower, upper + 1)[told]
    options = {"classes": range(K), "sample_weight": weight[told]}
    intervals = np.column_stack([lower, upper])[told]
    low, high = (score(intervals, P[told], against=end, **options) for end in ("nearest", "farthest"))
    assert low - 1e-12 <= score(truth, P[told], **options) <= high + 1e-12
    exact = [score(truth, P[told], against=end, **options) for end in ("label", "nearest", "farthest")]
    assert exact == pytest.approx([exact[0]] * 3)


def test_batches_of_rows_add_up_to_one_reliability():
    P, _, lower, upper, weight = _some(4)
    y = np.column_stack([lower, upper])
    whole = metrics.reliability(y, P, classes=range(K), sample_weight=weight)
    parts = [
        metrics.reliability(y[r], P[r], classes=range(K), sample_weight=weight[r]) for r in np.arange(20).reshape(4, 5)
    ]
    added = parts[0] + parts[1] + parts[2] + parts[3]
    for name in ("weight", "predicted", "sure", "impossible"):
        np.testing.assert_allclose(getattr(added, name), getattr(whole, name), atol=1e-12)
    predicted, least, most = whole.frequencies()
    used = whole.weight > 0
    assert (least <= most + 1e-12)[used].all()
    assert np.isnan(predicted[~used]).all()


@given(seed=st.integers(0, 1000))
def test_coverage_and_width_of_sets(seed):
    rng = np.random.default_rng(seed)
    _, _, lower, upper, weight = _some(seed)
    a, b = np.sort(rng.integers(0, K, (20, 2)), axis=1).T
    sets = (np.arange(K) >= a[:, None]) & (np.arange(K) <= b[:, None])
    told = upper - lower < K - 1
    truth = rng.integers(lower, upper + 1)[told]
    options = {"classes": range(K), "sample_weight": weight[told]}
    intervals = np.column_stack([lower, upper])[told]
    low, high = (metrics.set_coverage(intervals, sets[told], against=end, **options) for end in ("farthest", "nearest"))
    assert low <= metrics.set_coverage(truth, sets[told], **options) <= high
    ends = np.column_stack([a, b])
    assert metrics.set_coverage(truth, ends[told], **options) == metrics.set_coverage(truth, sets[told], **options)
    assert metrics.set_width(sets) == metrics.set_width(ends, classes=range(K)) == (b - a + 1).mean()


def test_bad_bins_and_sets_are_refused():
    with pytest.raises(ValueError, match=r"n_bins must be a whole number >= 1\. Got 0"):
        metrics.reliability([1, 2], [[0.5, 0.5]] * 2, n_bins=0)
    with pytest.raises(ValueError, match="against must be 'label', 'nearest' or 'farthest'"):
        metrics.cumulative_calibration_error([1, 2], [[0.5, 0.5]] * 2, against="truth")
    with pytest.raises(ValueError, match=r"sets must be a mask of shape \(2, 2\), or intervals"):
        metrics.set_coverage([1, 2], [[True], [False]])
    with pytest.raises(ValueError, match="against must be 'nearest' or 'farthest'"):
        metrics.set_coverage([1, 2], [[True, True]] * 2, against="label")


def test_scorers_of_sets():
    stream = make_stream(0, n=200, n_classes=K)
    model = ConformalOrdinal(CumulativeLink(classes=range(K)), level=0.8).fit(stream.X, stream.y)
    sets = model.predict_set(stream.X)
    assert metrics.set_coverage_scorer(model, stream.X, stream.y) == metrics.set_coverage(
        stream.y, sets, classes=range(K)
    )
    assert metrics.neg_set_width_scorer(model, stream.X) == -sets.sum(axis=1).mean()
