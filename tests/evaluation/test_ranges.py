"""Every range that is printed, against all truths that the labels of small samples allow."""

from itertools import product

import numpy as np
import pytest

from rankwise import metrics
from rankwise.base.model import Predictions, Sets
from rankwise.evaluation import IntervalScorer, error_range, interval_confusion
from rankwise.evaluation.quality_sums import QualitySums, describe
from rankwise.labels import encode
from rankwise.report._counts import JudgedRows, RowCounts
from rankwise.report._quality import Bootstrap, claims, measures
from rankwise.serve.progress import ErrorProgress

SEEDS = range(40)


class Sample:
    """Some rows with labels of every kind, and all their possible truths; rows that say nothing are among them."""

    def __init__(self, seed):
        generator = np.random.default_rng(seed)
        self.k = k = int(generator.integers(3, 6))
        n = int(generator.integers(3, 6))
        self.classes = np.arange(10, 10 + k)
        admitted = [generator.random(k) < generator.choice([0.2, 0.4]) for _ in range(n)]
        for row in admitted:
            row[generator.integers(k)] = True
            if generator.random() < 0.3:  # an interval
                row[np.flatnonzero(row)[0] : np.flatnonzero(row)[-1] + 1] = True
        admitted[0] = np.arange(k) == generator.integers(k)  # one label says something
        if generator.random() < 0.5:
            admitted[-1] = np.ones(k, dtype=bool)
        mask = np.array(admitted)
        self.labels = encode(mask, self.classes)
        self.kept = ~mask.all(axis=1)
        self.P = generator.dirichlet(np.full(k, 0.7), n)
        self.predicted = self.classes[generator.integers(k, size=n)]
        self.weight = generator.choice([1.0, 2.0, 0.5], n)
        self.sets = generator.random((n, k)) < 0.5
        codes = [np.flatnonzero(row) for row in mask[self.kept]]
        self.truths = [self.classes[list(truth)] for truth in product(*codes)]

    def values(self, metric, *answers, **options):
        """The metric for every truth of the rows that count."""
        kept = [answer[self.kept] for answer in answers]
        weight = self.weight[self.kept]
        return np.array([metric(y, *kept, classes=self.classes, sample_weight=weight, **options) for y in self.truths])

    def given(self, metric, *answers, **options):
        return metric(self.labels, *answers, classes=self.classes, sample_weight=self.weight, **options)


def ends(values):
    return pytest.approx([values.min(axis=0), values.max(axis=0)])


def test_the_samples_hold_all_that_matters():
    samples = [Sample(seed) for seed in SEEDS]
    assert sum(not sample.kept.all() for sample in samples) > 8
    assert sum(bool(sample.labels.has_gaps.any()) for sample in samples) > 4
    assert sum(len(sample.truths) > 4 for sample in samples) > 8


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("score", [metrics.log_score, metrics.ranked_probability_score, metrics.cumulative_brier_score])
def test_scores_of_probabilities_have_both_ends(score, seed):
    sample = Sample(seed)
    values = sample.values(score, sample.P)
    assert [sample.given(score, sample.P, against=end) for end in ("nearest", "farthest")] == ends(values)
    if score is metrics.log_score:
        assert sample.given(score, sample.P) <= values.min() + 1e-12


@pytest.mark.parametrize("seed", SEEDS)
def test_each_brier_score_has_both_ends(seed):
    sample = Sample(seed)
    values = sample.values(metrics.cumulative_brier_scores, sample.P)
    low, high = (
        sample.given(metrics.cumulative_brier_scores, sample.P, against=end) for end in ("nearest", "farthest")
    )
    np.testing.assert_allclose(low, values.min(axis=0))
    np.testing.assert_allclose(high, values.max(axis=0))


@pytest.mark.parametrize("seed", SEEDS)
def test_the_calibration_error_is_at_least_and_at_most(seed):
    sample = Sample(seed)
    for n_bins in (1, 3):
        values = sample.values(metrics.cumulative_calibration_error, sample.P, n_bins=n_bins)
        low, high = (
            sample.given(metrics.cumulative_calibration_error, sample.P, n_bins=n_bins, against=end)
            for end in ("nearest", "farthest")
        )
        assert low <= values.min() + 1e-12
        assert high >= values.max() - 1e-12


@pytest.mark.parametrize("seed", SEEDS)
def test_coverage_has_both_ends(seed):
    sample = Sample(seed)
    values = sample.values(metrics.set_coverage, sample.sets)
    assert [sample.given(metrics.set_coverage, sample.sets, against=end) for end in ("farthest", "nearest")] == ends(
        values
    )


class _Predicts:
    def __init__(self, sample):
        self.predict, self.classes_ = (lambda X: X), sample.classes


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("loss", ["mae", "zero_one", "squared"])
def test_losses_have_both_ends(loss, seed):
    sample = Sample(seed)
    metric = {
        "mae": metrics.mean_absolute_error,
        "zero_one": metrics.zero_one_loss,
        "squared": metrics.mean_squared_error,
    }[loss]
    values = sample.values(metric, sample.predicted)
    scorers = [IntervalScorer(loss, against=end) for end in ("nearest", "farthest")]
    scores = [-scorer(_Predicts(sample), sample.predicted, sample.labels, sample.weight) for scorer in scorers]
    assert scores == ends(values)
    found = sample.given(error_range, sample.predicted, loss=loss)
    assert [found.lower, found.upper] == ends(values)
    distance = np.abs(np.arange(sample.k)[:, None] - np.arange(sample.k))
    if loss == "mae":
        tables = [sample.given(interval_confusion, sample.predicted, counting=end) for end in ("nearest", "farthest")]
        assert [(table * distance).sum() / table.sum() for table in tables] == ends(values)


@pytest.mark.parametrize("seed", SEEDS)
def test_rows_that_say_nothing_can_be_counted(seed):
    sample = Sample(seed)
    codes = [np.flatnonzero(row) for row in sample.labels.admissible()]
    values = np.array(
        [
            metrics.mean_absolute_error(
                sample.classes[list(y)], sample.predicted, classes=sample.classes, sample_weight=sample.weight
            )
            for y in product(*codes)
        ]
    )
    found = sample.given(error_range, sample.predicted, missing="counted")
    assert [found.lower, found.upper] == ends(values)


@pytest.mark.parametrize("seed", SEEDS)
def test_what_evaluate_prints_is_true_of_the_rows_that_count(seed):
    sample = Sample(seed)
    sums = QualitySums(sample.labels.order)
    half = len(sample.labels) // 2
    for rows in (slice(0, half), slice(half, None)):  # batches add up
        said = Predictions(sample.predicted[rows], sample.P[rows], Sets(sample.sets[rows], 0.9))
        sums.add(sample.labels[rows], said, sample.weight[rows])
    results = sums.results()
    assert results["rows"] == sample.kept.sum()
    assert results["unlabelled_rows"] == (~sample.kept).sum()
    errors = sample.values(metrics.mean_absolute_error, sample.predicted)
    assert [results["mae"], results["mae_at_worst"]] == ends(errors)
    assert results["zero_one"] == pytest.approx(sample.values(metrics.zero_one_loss, sample.predicted).min())
    assert results["within_one"] == pytest.approx(sample.values(metrics.accuracy_within, sample.predicted).max())
    ranked = sample.values(metrics.ranked_probability_score, sample.P)
    assert [results["ranked_probability_score"], results["ranked_probability_score_at_worst"]] == ends(ranked)
    brier = sample.values(metrics.cumulative_brier_scores, sample.P)
    np.testing.assert_allclose(results["brier_scores"], brier.min(axis=0))
    np.testing.assert_allclose(results["brier_scores_at_worst"], brier.max(axis=0))
    calibration = sample.values(metrics.cumulative_calibration_error, sample.P)
    assert results["calibration_error"] <= calibration.min() + 1e-12
    assert results["calibration_error_at_worst"] >= calibration.max() - 1e-12
    covered = sample.values(metrics.set_coverage, sample.sets)
    assert [results["sets"]["coverage_at_worst"], results["sets"]["coverage"]] == ends(covered)
    log = sample.values(metrics.log_score, sample.P)
    assert results["log_score"] <= log.min() + 1e-12

    facts = describe(results)
    inexact = int((sample.kept & ~sample.labels.is_exact).sum())
    assert ("left out" in facts["rows"]) == (not sample.kept.all())
    for name in ("mean absolute error", "wrong", "log score", "ranked probability score", "calibration error"):
        assert facts[name].startswith("at least ") == (inexact > 0)
    assert facts["at most one rank off"].startswith("at most ") == (inexact > 0)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_service_and_the_report_print_the_same_ranges(seed):
    sample = Sample(seed)
    errors = sample.values(metrics.mean_absolute_error, sample.predicted)
    progress = ErrorProgress(sample.labels.order)
    progress.add(1, sample.labels, sample.predicted, sample.weight, None)
    facts = progress.facts()
    assert [facts["error"], facts["error_at_worst"]] == ends(errors)

    counts = RowCounts(sample.k, 10, 0)
    codes = sample.labels.order.codes(sample.predicted)
    counts.add(JudgedRows(sample.labels, codes, sample.weight, Predictions(sample.predicted)), ordered=True)
    bootstrap = Bootstrap(0.95, 5, 0)
    claim = claims(counts, bootstrap, ordered=True)[0]
    assert [claim.range.lower, claim.range.upper] == ends(errors)
    metric = {
        "mean absolute error": metrics.mean_absolute_error,
        "exactly right": lambda y, p, **options: 1.0 - metrics.zero_one_loss(y, p, **options),
        "within one rank": metrics.accuracy_within,
        "mean squared error": metrics.mean_squared_error,
    }
    for measure in measures(counts, bootstrap, ordered=True):
        if measure.name in metric:
            worst = measure.best if measure.worst is None else measure.worst
            values = sample.values(metric[measure.name], sample.predicted)
            assert sorted([measure.best.value, worst.value]) == ends(values)


@pytest.mark.parametrize("seed", SEEDS)
def test_rivers_metric_counts_the_same_rows(seed):
    river = pytest.importorskip("rankwise.river")
    sample = Sample(seed)
    metric = river.OrdinalMAE(sample.classes)
    for said, predicted, weight in zip(
        sample.labels.tolist(), sample.predicted.tolist(), sample.weight.tolist(), strict=True
    ):
        as_written = tuple(sample.classes[[0, -1]].tolist()) if said is None else said  # an interval of all classes
        metric.update(as_written, predicted, weight)
    expected = sample.values(metrics.mean_absolute_error, sample.predicted).min()
    assert metric.get() == pytest.approx(expected)
    before = metric.get()
    for nothing in (None, set(sample.classes.tolist()), (None, None)):
        metric.update(nothing, sample.classes[0])
        metric.revert(nothing, sample.classes[0])
        assert metric.get() == before
