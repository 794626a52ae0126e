"""A hundred thousand classes: everything works in seconds and little memory, or says in one line how many it takes."""

import re
import time
import tracemalloc
import warnings

import numpy as np
import pytest

import rankwise as rw
from rankwise import evaluation, metrics
from rankwise.evaluation import error_range, interval_confusion
from rankwise.losses import loss_matrix

K = 100_000
CLASSES = range(K)
MEMORY, SECONDS = 700e6, 15.0  # of the processor
FAST = {"n_epochs": 1, "random_state": 0}


def rows(kind, n=60):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    codes = np.clip((X @ [0.1, 0.2, -0.1] + 0.5) * K, 0, K - 1).astype(int)
    if kind == "exact":
        return X, codes
    return X, np.column_stack([np.maximum(codes - K // 10, 0), np.minimum(codes + K // 10, K - 1)])


def within_bounds(function):
    """Result of a function, or None if it says how many classes it takes; fails if it takes long or much memory."""
    started = time.process_time()
    tracemalloc.start()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = function()
    except ValueError as error:
        if not re.fullmatch(r".* takes up to (500|[0-9]{1,2},000) classes\. Got .*", str(error)):
            raise
        result = None
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < MEMORY, f"{peak / 1e6:.0f} MB"
    assert time.process_time() - started < SECONDS
    return result


ESTIMATORS = {
    "PRIL": lambda c: rw.PRIL(classes=c, **FAST),
    "PRank": lambda c: rw.PRank(classes=c, **FAST),
    "MultiplicativePRIL": lambda c: rw.MultiplicativePRIL(classes=c, **FAST),
    "KernelPRIL": lambda c: rw.KernelPRIL(classes=c, **FAST),
    "WidrowHoff": lambda c: rw.WidrowHoff(classes=c, **FAST),
    "CuSumRank": lambda c: rw.CuSumRank(classes=c, **FAST),
    "ImportanceWeightedPerceptron": lambda c: rw.ImportanceWeightedPerceptron(classes=c, **FAST),
    "MulticlassPerceptron": lambda c: rw.MulticlassPerceptron(classes=c, **FAST),
    "OnlineCumulativeLink": lambda c: rw.OnlineCumulativeLink(classes=c),
    "CumulativeLink": lambda c: rw.CumulativeLink(classes=c),
    "CumulativeLink-probit": lambda c: rw.CumulativeLink("probit", alpha=0.1, classes=c),
    "BoostedThresholds": lambda c: rw.BoostedThresholds(classes=c, max_iter=5, n_jobs=1),
    "BoostedThresholds-explicit": lambda c: rw.BoostedThresholds(classes=c, loss="explicit", max_iter=5, n_jobs=1),
    "BoostedThresholds-implicit": lambda c: rw.BoostedThresholds(classes=c, loss="implicit", max_iter=5, n_jobs=1),
    "SVOR": lambda c: rw.SVOR(classes=c),
    "SVOR-explicit": lambda c: rw.SVOR("explicit", classes=c),
    "VILMA": lambda c: rw.VILMA(classes=c),
    "VILMA-zero_one": lambda c: rw.VILMA("zero_one", classes=c),
    "MORD": lambda c: rw.MORD(classes=c),
    "PiecewiseMORD": lambda c: rw.PiecewiseMORD(classes=c),
    "UnifiedClassifier": lambda c: rw.UnifiedClassifier(classes=c),
    "RoundedRegression": lambda c: rw.RoundedRegression(classes=c),
    "CalibratedOrdinal": lambda c: rw.CalibratedOrdinal(rw.PRIL(classes=c, **FAST), cv=2),
    "CalibratedOrdinal-isotonic": lambda c: rw.CalibratedOrdinal(rw.PRIL(classes=c, **FAST), method="isotonic", cv=2),
    "ConformalOrdinal": lambda c: rw.ConformalOrdinal(rw.CumulativeLink(classes=c)),
    "ConformalOrdinal-distance": lambda c: rw.ConformalOrdinal(rw.PRIL(classes=c, **FAST), score="distance"),
    "OnlineConformalOrdinal": lambda c: rw.OnlineConformalOrdinal(rw.PRIL(classes=c, **FAST)),
    "PathCV": lambda c: rw.PathCV(rw.CumulativeLink(classes=c), alphas=[1.0, 0.1], cv=2),
    "BlendedOrdinal": lambda c: rw.BlendedOrdinal([rw.CumulativeLink(classes=c)], cv=2),
    "LabelRanker": lambda c: rw.LabelRanker(classes=c, **FAST),
}
EXACT_ONLY = {"PRank", "WidrowHoff", "LabelRanker"}
WORKS = {"PRIL", "PRank", "CumulativeLink", "BoostedThresholds", "CuSumRank"}


METHODS = ("predict", "predict_proba", "predict_interval", "predict_set", "decision_function")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["exact", "interval"])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_estimators(name, kind):
    if kind == "interval" and name in EXACT_ONLY:
        pytest.skip("learns from exact labels")
    X, y = rows(kind)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        few = ESTIMATORS[name](range(4)).fit(X, y * 4 // K)
    methods = [method for method in METHODS if callable(getattr(few, method, None))]
    for method in methods:  # loads and compiles what it needs
        getattr(few, method)(X[:5])
    model = within_bounds(lambda: ESTIMATORS[name](CLASSES).fit(X, y))
    assert model is not None or name not in WORKS
    for method in methods if model is not None else ():
        within_bounds(lambda method=method: getattr(model, method)(X[:5]))


@pytest.mark.parametrize("link", ["logit", "probit"])
@pytest.mark.parametrize("kind", ["exact", "interval"])
def test_the_likelihood_counts_pairs_of_thresholds_not_of_classes(kind, link):
    X, y = rows(kind)
    model = within_bounds(lambda: rw.CumulativeLink(link, classes=CLASSES).fit(X, y))
    P = model.predict_proba(X[:5])
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    used, places = np.unique(y, return_inverse=True)  # classes that no label begins or ends with say nothing
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        few = rw.CumulativeLink(link, classes=range(used.size)).fit(X, places.reshape(y.shape))
    np.testing.assert_allclose(model.coef_, few.coef_, rtol=1e-4)
    assert model.objective_ == pytest.approx(few.objective_, rel=1e-6)


def test_messages_name_some_classes():
    X, y = rows("exact")
    with pytest.warns(UserWarning, match=r"0, 1, 2.* and [0-9,]+ more") as caught:
        rw.CumulativeLink(classes=CLASSES).fit(X, y)
    assert max(len(str(warning.message)) for warning in caught) < 3_000


@pytest.mark.parametrize("n_classes", [4_001, K])
def test_more_classes_than_newton_can_tell_apart_are_refused(n_classes):
    X = np.zeros((n_classes, 1))
    boosted = rw.BoostedThresholds(max_iter=1, early_stopping=False, n_jobs=1)
    for model in (rw.CumulativeLink(), boosted):
        model.set_params(classes=range(n_classes))
        with pytest.raises(ValueError, match=f"takes up to 4,000 classes. Got {n_classes:,}: join neighbouring"):
            model.fit(X, np.arange(n_classes))


SCALES = {"mean_absolute_error": 3_000, "mean_squared_error": 3_000**2, "macro_mean_absolute_error": 3_000}
FREE = ["zero_one_loss", "quadratic_weighted_kappa", "kendall_tau", "confusion_matrix"]


@pytest.mark.parametrize("metric", [*SCALES, *FREE])
def test_metrics(metric):
    _, codes = rows("exact", 2_500)
    predicted = np.roll(codes, 1)
    function = getattr(metrics, metric)
    value = within_bounds(lambda: function(codes, predicted, classes=CLASSES))
    if metric == "confusion_matrix":
        assert value is None
        return
    rng = np.random.default_rng(0)  # the same numbers as with few classes, for metrics of distances
    codes, predicted = rng.integers(0, 30, size=(2, 200)) * 3_000
    value = function(codes, predicted, classes=CLASSES)
    few = function(codes // 3_000, predicted // 3_000, classes=range(30))
    assert value == pytest.approx(few * SCALES.get(metric, 1), rel=1e-9)


@pytest.mark.parametrize("kind", ["exact", "interval"])
def test_evaluation(kind):
    X, y = rows(kind)
    predicted = rows("exact")[1][::-1]
    assert within_bounds(lambda: error_range(y, predicted, classes=CLASSES)) is not None
    within_bounds(lambda: interval_confusion(y, predicted, classes=CLASSES))
    assert within_bounds(lambda: evaluation.progressive(rw.PRIL(classes=CLASSES), X, y)) is not None


def test_reports_and_loss_matrices_say_how_many_they_take(tmp_path):
    X, y = rows("exact")
    model = rw.PRIL(classes=CLASSES, **FAST).fit(X, y)
    assert within_bounds(lambda: rw.report.write(model, X, y, tmp_path / "page.html")) is None
    assert within_bounds(lambda: loss_matrix("mae", K)) is None
