import json
from itertools import pairwise
from operator import itemgetter

import numpy as np
import pytest
from scipy.stats import binomtest

import rankwise as rw
from rankwise import metrics
from rankwise.annotation import precision, summary
from rankwise.bounds import interval_mae_risk, interval_zero_one_risk
from rankwise.evaluation import error_range, interval_confusion
from rankwise.report._counts import Curve, Sample
from tests.report.conftest import NAMES


def by_name(facts):
    return {measure["name"]: measure for measure in facts["quality"]}


@pytest.fixture(scope="module", params=[False, True], ids=["plain", "weighted"])
def weight(request, data):
    if not request.param:
        return None
    weight = np.random.default_rng(1).exponential(size=600)
    weight[:5] = 0.0
    return weight


def test_exact_labels_have_the_values_of_the_metrics(data, model, weight):
    X, y, _ = data
    facts = rw.report.write(model, X[300:], y[300:], sample_weight=weight).facts
    options = {"classes": NAMES, "sample_weight": weight}
    predicted = model.predict(X[300:])
    expected = {
        "mean absolute error": metrics.mean_absolute_error,
        "exactly right": metrics.interval_coverage,
        "within one rank": metrics.accuracy_within,
        "mean squared error": metrics.mean_squared_error,
        "macro mean absolute error": metrics.macro_mean_absolute_error,
        "quadratic weighted kappa": metrics.quadratic_weighted_kappa,
        "Kendall's tau": metrics.kendall_tau,
    }
    found = by_name(facts)
    assert list(found) == list(expected)
    for name, metric in expected.items():
        best = found[name]["best"]
        assert best["value"] == pytest.approx(metric(y[300:], predicted, **options), rel=1e-9)
        assert best["low"] < best["value"] < best["high"]
        assert found[name]["worst"] is None
    table = np.array(facts["confusion"]["nearest"])
    np.testing.assert_allclose(table, metrics.confusion_matrix(y[300:], predicted, **options))
    assert facts["partial"] is False


def test_partial_labels_have_the_range_that_they_allow(data, model, weight):
    X, _, said = data
    facts = rw.report.write(model, X[300:], said[300:], sample_weight=weight).facts
    predicted = model.predict(X[300:])
    options = {"classes": NAMES, "sample_weight": weight}
    assert [claim["loss"] for claim in facts["claims"]] == ["mean absolute error", "share of mistakes"]
    for claim, loss in zip(facts["claims"], ("mae", "zero_one"), strict=True):
        expected = error_range(said[300:], predicted, loss=loss, **options)
        for end in ("lower", "upper", "lower_limit", "upper_limit", "n_rows"):
            assert claim["range"][end] == pytest.approx(getattr(expected, end), rel=1e-9)
    error = by_name(facts)["mean absolute error"]
    assert error["best"]["value"] == pytest.approx(facts["claims"][0]["range"]["lower"])
    assert error["worst"]["value"] == pytest.approx(facts["claims"][0]["range"]["upper"])
    right = by_name(facts)["exactly right"]
    assert right["best"]["value"] == pytest.approx(metrics.interval_coverage(said[300:], predicted, **options))
    assert right["worst"]["value"] < right["best"]["value"]
    for counting in ("nearest", "shared", "farthest"):
        expected = interval_confusion(said[300:], predicted, counting=counting, **options)
        np.testing.assert_allclose(facts["confusion"][counting], expected)


def test_labels_are_counted_by_kind_and_width(data, model):
    X, _, said = data
    facts = rw.report.write(model, X, said).facts
    expected = summary(said, classes=NAMES)
    assert list(facts["labels"].values()) == [
        expected.n_exact,
        expected.n_interval,
        expected.n_candidates,
        expected.n_missing,
    ]
    assert facts["labels"]["candidates"] == 10
    widths = list(expected.widths)
    widths[-1] -= expected.n_missing  # the report's widths are those of rows that say something
    assert facts["widths"] == widths
    assert facts["rows"] == {"all": 900, "judged": 900 - expected.n_missing, "weightless": 0}


def test_bounds_are_those_of_the_theorems(data, model):
    X, _, said = data
    facts = rw.report.write(model, X, said).facts
    found = precision(said, classes=NAMES)
    (alpha_beta, by_width), (ambiguity,) = ([bound[2] for bound in claim["bounds"]] for claim in facts["claims"])
    risk, mistakes = (claim["range"]["lower"] for claim in facts["claims"])
    assert alpha_beta == pytest.approx(interval_mae_risk(risk, found.alpha, found.beta))
    assert by_width == pytest.approx(interval_mae_risk(risk, 0.0, found.mean_width))
    assert ambiguity == pytest.approx(interval_zero_one_risk(mistakes, 1 - found.alpha))
    assert facts["claims"][0]["range"]["upper"] <= by_width <= alpha_beta


def test_limits_are_those_of_the_bootstrap_of_rows(data, model):
    X, _, said = data
    facts = rw.report.write(model, X, said, n_resamples=4000).facts
    expected = error_range(said, model.predict(X), classes=NAMES, limits="bootstrap", n_resamples=4000, random_state=1)
    error = by_name(facts)["mean absolute error"]
    width = expected.upper_limit - expected.lower_limit
    assert error["best"]["low"] == pytest.approx(expected.lower_limit, abs=0.02 * width)
    assert error["worst"]["high"] == pytest.approx(expected.upper_limit, abs=0.02 * width)


def test_limits_of_weighted_rows_are_those_of_the_bootstrap_of_rows(data, model):
    X, y, _ = data
    weight = np.random.default_rng(2).exponential(size=900)
    facts = rw.report.write(model, X, y, sample_weight=weight, n_resamples=4000).facts
    expected = error_range(
        y, model.predict(X), classes=NAMES, sample_weight=weight, limits="bootstrap", n_resamples=4000, random_state=1
    )
    found = by_name(facts)["mean absolute error"]["best"]
    width = expected.upper_limit - expected.lower_limit
    assert found["low"] == pytest.approx(expected.lower_limit, abs=0.04 * width)
    assert found["high"] == pytest.approx(expected.upper_limit, abs=0.04 * width)


def test_classes_one_by_one(data, model):
    X, y, said = data
    predicted = model.predict(X)
    lines = rw.report.write(model, X, y).facts["classes"]
    assert [line["class"] for line in lines] == NAMES.tolist()
    for code, (name, line) in enumerate(zip(NAMES, lines, strict=True)):
        of_class, called = y == name, predicted == name
        assert (line["exact"], line["admits"], line["predicted"]) == (of_class.sum(), of_class.sum(), called.sum())
        hits = int((of_class & called).sum())
        limits = binomtest(hits, int(of_class.sum())).proportion_ci(0.95, "wilson")
        assert itemgetter("value", "low", "high")(line["recall"]) == pytest.approx((hits / of_class.sum(), *limits))
        assert line["precision"]["value"] == pytest.approx(hits / called.sum())
        ranks = np.array([NAMES.tolist().index(p) for p in predicted[of_class]])
        assert line["mae"] == pytest.approx(np.abs(ranks - code).mean())
    partial = rw.report.write(model, X, said).facts["classes"]
    labels = rw.labels.encode(said, NAMES)
    labels = labels.take(~labels.is_missing)
    assert [line["admits"] for line in partial] == labels.admissible().sum(axis=0).tolist()


def test_a_class_without_rows_has_no_numbers(data, model):
    X, y, _ = data
    chosen = y != "fair"
    facts = rw.report.write(model, X[chosen], y[chosen]).facts
    assert facts["classes"][2]["recall"] == {"value": None, "low": None, "high": None}
    assert json.loads(json.dumps(facts, allow_nan=False)) == facts


@pytest.mark.parametrize("cuts", [[1], [100, 101, 777], range(50, 900, 50)])
def test_batches_give_the_same_page(data, model, cuts):
    X, _, said = data
    whole = rw.report.write(model, X, said, sample_size=200)
    edges = [0, *cuts, 900]
    batches = ((X[a:b], said[a:b]) for a, b in pairwise(edges))
    again = rw.report.write(model, batches, sample_size=200, command=whole.facts["command"])
    assert again.page == whole.page


def test_batches_may_have_weights_and_may_be_empty(data, model):
    X, y, _ = data
    weight = np.random.default_rng(1).integers(0, 3, size=900).astype(float)
    whole = rw.report.write(model, X, y, sample_weight=weight).facts
    batches = [(X[:500], y[:500], weight[:500]), (X[:0], y[:0], weight[:0]), (X[500:], y[500:], weight[500:])]
    assert rw.report.write(model, batches, command=whole["command"]).facts == whole


def test_memory_does_not_grow_with_the_rows(rng):
    sample, curve = Sample(50, random_state=0), Curve(n_blocks=8)
    everything = rng.normal(size=20_000)
    for start in range(0, 20_000, 1000):
        part = everything[start : start + 1000]
        sample.add(part.size, lambda rows, part=part: {"value": part[rows]})
        curve.add(part, np.ones(part.size))
    assert len(sample) == 50
    assert set(sample["value"]) < set(everything)
    ends, means, running = curve.points(8)
    assert curve.lost.size == 16
    assert ends[-1] == 20_000
    np.testing.assert_allclose(means, [everything[a:b].mean() for a, b in zip([0, *ends[:-1]], ends, strict=True)])
    np.testing.assert_allclose(running, [everything[:b].mean() for b in ends])


def test_every_row_is_as_likely_to_be_in_the_sample():
    hits = np.zeros(30)
    for seed in range(600):
        sample = Sample(10, random_state=seed)
        for start in (0, 7, 19):
            end = {0: 7, 7: 19, 19: 30}[start]
            sample.add(end - start, lambda rows, start=start: {"row": start + rows})
        hits[sample["row"]] += 1
    assert hits.sum() == 6000
    assert np.abs(hits - 200).max() < 5 * np.sqrt(600 * (1 / 3) * (2 / 3))
