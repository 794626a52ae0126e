"""Probabilities for estimators without any: they are probabilities, and as good as those of the likelihood."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.isotonic import IsotonicRegression
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold, TimeSeriesSplit
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import rankwise as rw
from rankwise.annotation import partial_labels
from rankwise.calibration.calibrated import _monotone_curves
from rankwise.datasets import make_ordinal
from rankwise.labels import encode

X, Y = make_ordinal(1500, 3, 5, noise=0.8, random_state=0)
NEW, TRUTH = X[700:], Y[700:]
BOTH = pytest.mark.parametrize("method", ["link", "isotonic"])


def ranked_probability_score(probabilities, y):
    return ((np.cumsum(probabilities, axis=1)[:, :-1] - (y[:, None] <= np.arange(1, 5))) ** 2).sum(axis=1).mean()


@BOTH
@pytest.mark.parametrize(
    "estimator", [rw.SVOR(), rw.PRIL(random_state=0), rw.CuSumRank(random_state=0), rw.MORD()], ids=repr
)
def test_probabilities_are_nearly_as_good_as_those_of_the_likelihood(estimator, method):
    ours = rw.CalibratedOrdinal(estimator, method=method, random_state=0).fit(X[:700], Y[:700]).predict_proba(NEW)
    np.testing.assert_allclose(ours.sum(axis=1), 1.0, atol=1e-12)
    assert ours.min() >= 0.0
    best = rw.CumulativeLink().fit(X[:700], Y[:700]).predict_proba(NEW)
    constant = np.tile(np.bincount(Y[:700], minlength=6)[1:] / 700, (800, 1))
    found, least, most = (ranked_probability_score(p, TRUTH) for p in (ours, best, constant))
    assert found < 1.05 * least < 0.8 * most


@BOTH
def test_imprecise_labels_calibrate(method):
    labels = partial_labels(Y[:700], 0.8, kind=2, random_state=0)
    vague = rw.CalibratedOrdinal(rw.SVOR(), method=method, random_state=0).fit(X[:700], labels).predict_proba(NEW)
    precise = rw.CalibratedOrdinal(rw.SVOR(), method=method, random_state=0).fit(X[:700], Y[:700]).predict_proba(NEW)
    assert ranked_probability_score(vague, TRUTH) < 1.12 * ranked_probability_score(precise, TRUTH)


def test_curves_of_exact_labels_are_scikit_learns_isotonic_regressions():
    rng = np.random.default_rng(0)
    scores, weight = rng.normal(size=200), rng.choice([1.0, 3.0], 200)
    y = np.digitize(scores + rng.normal(size=200), [-1.0, 0.0, 1.0])
    knots, curves = _monotone_curves(scores, encode(y, [0, 1, 2, 3]), weight)
    for k, curve in enumerate(curves):
        theirs = IsotonicRegression(increasing=False).fit(scores, y <= k, sample_weight=weight)
        np.testing.assert_allclose(curve, theirs.predict(knots), atol=1e-12)
    assert (np.diff(curves, axis=0) >= 0).all()


def test_decisions_follow_from_the_probabilities():
    model = rw.CalibratedOrdinal(rw.PRIL(random_state=0), decision="mode", random_state=0).fit(X[:700], Y[:700])
    probabilities = model.predict_proba(NEW)
    np.testing.assert_array_equal(model.predict(NEW), probabilities.argmax(axis=1) + 1)
    lower, upper = model.predict_interval(NEW, level=0.8).T
    inside = (np.arange(1, 6) >= lower[:, None]) & (np.arange(1, 6) <= upper[:, None])
    assert ((probabilities * inside).sum(axis=1) >= 0.8 - 1e-9).all()
    assert (model.predict_quantile(NEW, 0.1) <= model.predict_quantile(NEW, 0.9)).all()


@BOTH
def test_saved_probabilities_are_the_same(tmp_path, method):
    frame = pd.DataFrame(X, columns=list("abc"))
    model = rw.CalibratedOrdinal(rw.TableModel(rw.SVOR()), method=method, random_state=0).fit(frame, Y)
    rw.save(model, tmp_path / "model.rankwise")
    np.testing.assert_array_equal(rw.load(tmp_path / "model.rankwise").predict_proba(frame), model.predict_proba(frame))


def test_pipelines_and_fitted_estimators_are_calibrated():
    pipeline = make_pipeline(StandardScaler(), rw.SVOR())
    found = rw.CalibratedOrdinal(pipeline, random_state=0).fit(X[:700], Y[:700]).predict_proba(NEW)
    fitted = rw.SVOR().fit(X[:300], Y[:300])
    prefit = rw.CalibratedOrdinal(fitted, cv="prefit").fit(X[300:700], Y[300:700])
    assert prefit.estimator_ is fitted
    for probabilities in (found, prefit.predict_proba(NEW)):
        assert ranked_probability_score(probabilities, TRUTH) < 0.55


def test_mistakes_are_named():
    with pytest.raises(ValueError, match="has neither project nor decision_function"):
        rw.CalibratedOrdinal(KNeighborsClassifier()).fit(X, Y)
    with pytest.raises(NotFittedError):
        rw.CalibratedOrdinal(rw.SVOR(), cv="prefit").fit(X, Y)
    with pytest.raises(ValueError, match="5 folds need as many labelled rows"):
        rw.CalibratedOrdinal(rw.SVOR()).fit(X[:3], Y[:3])
    with pytest.raises(ValueError, match="cost matrix for 5 classes"):
        rw.CalibratedOrdinal(rw.SVOR(), decision=[[0, 1], [1, 0]]).fit(X, Y)


@pytest.mark.parametrize("n_rows", [50, 150])
@pytest.mark.parametrize(
    "model",
    [
        rw.CalibratedOrdinal(rw.SVOR(), random_state=0),
        rw.ConformalOrdinal(rw.CumulativeLink(), random_state=0),
        rw.OnlineConformalOrdinal(rw.PRIL(), classes=[1, 2, 3, 4, 5]),
    ],
    ids=lambda model: type(model).__name__,
)
def test_as_many_labels_as_rows(model, n_rows):
    with pytest.raises(ValueError, match=f"X has {n_rows} rows, y has 100 labels"):
        model.fit(X[:n_rows], Y[:100])


def test_curves_of_a_single_class():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that there is one class only
        model = rw.CalibratedOrdinal(rw.CumulativeLink(), method="isotonic", random_state=0).fit(X[:60], np.ones(60))
    np.testing.assert_array_equal(model.predict_proba(X[:2]), [[1.0], [1.0]])


def test_folds_may_come_from_a_splitter_an_iterable_or_a_number():
    rows, labels = X[:200], Y[:200]
    splitter = KFold(4, shuffle=True, random_state=0)
    pairs = list(splitter.split(rows))
    expected = rw.CalibratedOrdinal(rw.SVOR(), cv=splitter).fit(rows, labels).predict_proba(NEW)
    for cv in (pairs, iter(pairs), tuple(pairs), rw.evaluation.StratifiedIntervalKFold(4)):
        found = rw.CalibratedOrdinal(rw.SVOR(), cv=cv).fit(rows, labels).predict_proba(NEW)
        np.testing.assert_allclose(found, expected, atol=0 if not hasattr(cv, "split") else 0.1)
    as_masks = [tuple(np.isin(np.arange(200), part) for part in pair) for pair in pairs]
    found = rw.CalibratedOrdinal(rw.SVOR(), cv=as_masks).fit(rows, labels).predict_proba(NEW)
    np.testing.assert_array_equal(found, expected)


def test_splitters_know_imprecise_and_missing_labels_and_may_test_some_rows_only():
    labels = [None if i % 5 == 0 else (k, min(k + 1, 5)) if i % 2 else k for i, k in enumerate(Y[:200].tolist())]
    for cv in (StratifiedKFold(3), ShuffleSplit(3, random_state=0), TimeSeriesSplit(3)):
        model = rw.CalibratedOrdinal(rw.SVOR(classes=[1, 2, 3, 4, 5]), cv=cv).fit(X[:200], labels)
        np.testing.assert_allclose(model.predict_proba(NEW).sum(axis=1), 1.0)


@pytest.mark.parametrize(
    ("cv", "message"),
    [
        ("odd", "cv must be a number of folds, a splitter or pairs of row numbers"),
        ([], "cv must hold at least one pair"),
        ([([0, 1], [1, 2])], "split 0 of cv learns from rows that it tests on, such as 1"),
        ([([0, 1], [200])], "split 0 of cv must be a pair of row numbers"),
        ([[0, 1, 2]], "split 0 of cv must be a pair of row numbers"),
        (1, "'cv' parameter"),
    ],
    ids=str,
)
def test_folds_that_are_none_are_refused(cv, message):
    with pytest.raises(ValueError, match=message):
        rw.CalibratedOrdinal(rw.SVOR(), cv=cv).fit(X[:200], Y[:200])
