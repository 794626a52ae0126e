"""Conformal sets: the scores equal plain ones, sets are contiguous, and promises are kept."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score

import rankwise as rw
from rankwise.annotation import partial_labels
from rankwise.calibration import _nonconformity
from rankwise.calibration.conformal import _bound, _worst_bound
from rankwise.datasets import make_ordinal

masses = arrays(np.float64, st.integers(1, 7), elements=st.floats(0.015625, 1.0, width=16))


@given(masses)
def test_the_shortest_windows_are_those_of_a_plain_search(mass):
    p = mass / mass.sum()
    K = p.size
    scores = _nonconformity.shortest(p[None])[0]
    best = {}
    for length in range(1, K + 1):
        best[length] = max(
            range(K - length + 1), key=lambda first: (round(p[first : first + length].sum(), 12), -first)
        )
    for q in [0.0, 0.3, 0.5, 0.8, 0.95]:
        holding = [n for n in best if p[best[n] : best[n] + n].sum() > q + 1e-9]
        near = [n for n in best if abs(p[best[n] : best[n] + n].sum() - q) <= 1e-9]
        if near or any(_tied(p, n) for n in holding):
            continue  # rounding decides
        expected = set(range(K)).intersection(*(range(best[n], best[n] + n) for n in holding))
        assert set(np.flatnonzero(scores <= q)) == expected


def _tied(p, length):
    sums = sorted((p[first : first + length].sum() for first in range(p.size - length + 1)), reverse=True)
    return len(sums) > 1 and sums[0] - sums[1] < 1e-9


@given(masses, st.floats(0.0, 1.0))
def test_sets_are_contiguous_grow_with_their_bound_and_hold_its_probability(mass, q):
    p = mass / mass.sum()
    for make in (_nonconformity.shortest, _nonconformity.from_the_median):
        scores = make(p[None])[0]
        inside = np.flatnonzero(scores <= q)
        assert inside.size == 0 or inside[-1] - inside[0] == inside.size - 1
        if make is _nonconformity.from_the_median:
            assert p[inside].sum() > q - 1e-9
        elif (np.diff(np.sign(np.diff(p))) <= 0).all():  # one peak: windows lie in each other
            assert p[inside].sum() > q - 1e-9 or inside.size == p.size


def slow_bound(scores, weight, level):
    for value in sorted(scores):
        if weight[scores <= value].sum() >= level * (weight.sum() + weight.max()) - 1e-9:
            return value
    return math.inf


@given(st.integers(1, 12), st.integers(0, 2**32 - 1), st.sampled_from([0.5, 0.7, 0.9]))
def test_the_bound_is_the_weighted_quantile(n, seed, level):
    rng = np.random.default_rng(seed)
    scores, weight = rng.integers(0, 5, n) / 4.0, rng.choice([0.5, 1.0, 2.0], n)
    assert _bound(scores, weight, level) == slow_bound(scores, weight, level)
    alike = np.ones(n)
    k = math.ceil((n + 1) * level - 1e-9)
    assert _bound(scores, alike, level) == (np.sort(scores)[k - 1] if k <= n else math.inf)


@given(st.integers(1, 6), st.integers(0, 5), st.integers(0, 2**32 - 1), st.sampled_from([0.5, 0.7]))
def test_the_worst_bound_is_the_largest_over_all_memberships(n_certain, n_possible, seed, level):
    rng = np.random.default_rng(seed)
    n = n_certain + n_possible
    scores = rng.integers(0, 6, n) / 5.0
    certain = np.arange(n) < n_certain
    worst = max(
        slow_bound(scores[list(members)], np.ones(len(members)), level)
        for size in range(n_possible + 1)
        for added in itertools.combinations(range(n_certain, n), size)
        for members in [(*range(n_certain), *added)]
    )
    assert _worst_bound(scores, certain, ~certain, np.ones(n), level) == worst


def coverage(make, truth_of, n_splits=60, n=400):
    """Mean and standard error of the share of new rows whose truth their set holds."""
    found = []
    for seed in range(n_splits):
        X, y = make_ordinal(n + 300, 3, 5, noise=0.8, random_state=seed)
        sets = make(seed).fit(X[:n], truth_of(y[:n], seed)).predict_set(X[n:])
        assert (np.diff(sets.astype(int), axis=1) != 0).sum(axis=1).max() <= 2
        found.append(sets[np.arange(300), y[n:] - 1].mean())
    return np.mean(found), np.std(found) / math.sqrt(n_splits)


@pytest.mark.parametrize("share", [0.0, 0.5, 0.9])
@pytest.mark.parametrize("score", ["shortest", "median", "distance"])
def test_coverage_is_promised_whatever_share_of_the_labels_is_imprecise(score, share):
    def labels(y, seed):
        return partial_labels(y, share, kind=2, random_state=seed) if share else y

    mean, error = coverage(
        lambda seed: rw.ConformalOrdinal(
            rw.CumulativeLink(classes=[1, 2, 3, 4, 5]), level=0.8, score=score, random_state=seed
        ),
        labels,
        n_splits=20,
    )
    assert mean >= 0.8 - 3 * error


def test_weak_sets_are_shorter_and_hold_an_admitted_class():
    X, y = make_ordinal(1200, 3, 5, noise=0.8, random_state=0)
    labels = partial_labels(y, 0.9, kind=2, random_state=0)
    width = {}
    for kind in ("guaranteed", "weak"):
        model = rw.ConformalOrdinal(rw.CumulativeLink(), level=0.9, labels=kind, random_state=0)
        sets = model.fit(X[:800], labels[:800]).predict_set(X[800:])
        width[kind] = sets.sum(axis=1).mean()
        admitted = (np.arange(1, 6) >= labels[800:, :1]) & (np.arange(1, 6) <= labels[800:, 1:])
        assert (sets & admitted).any(axis=1).mean() > 0.85
    assert width["weak"] < width["guaranteed"]


def test_cross_uses_all_rows_and_covers():
    mean, error = coverage(
        lambda seed: rw.ConformalOrdinal(rw.CumulativeLink(), level=0.8, cv="cross", random_state=seed),
        lambda y, seed: y,
        n_splits=8,
        n=150,
    )
    assert mean >= 0.8 - 4 * error - 0.01


def test_per_class_covers_within_each_class():
    X, y = make_ordinal(6000, 3, 4, noise=1.0, random_state=0)
    model = rw.ConformalOrdinal(rw.CumulativeLink(), level=0.8, per_class=True, random_state=0).fit(X[:3000], y[:3000])
    sets = model.predict_set(X[3000:])
    for k in range(4):
        of_class = y[3000:] == k + 1
        assert sets[of_class, k].mean() > 0.74


def test_bounds_per_class_hold_for_every_truth_that_the_labels_admit():
    X, y = make_ordinal(400, 3, 4, noise=1.0, random_state=0)
    inner = rw.CumulativeLink().fit(X[:100], y[:100])
    rng = np.random.default_rng(0)
    lower, upper = np.maximum(1, y[100:] - rng.integers(0, 2, 300)), np.minimum(4, y[100:] + rng.integers(0, 2, 300))

    def bounds(labels):
        return rw.ConformalOrdinal(inner, level=0.7, cv="prefit", per_class=True).fit(X[100:], labels).bounds_

    guaranteed = bounds(np.column_stack([lower, upper]))
    assert np.isfinite(guaranteed).all()
    scores = _nonconformity.class_scores("shortest", inner, X[100:], inner.classes_)
    for k in range(4):  # the truth that asks most of a class: imprecise rows are of it where they fit it badly
        admits = (lower <= k + 1) & (k + 1 <= upper)
        truth = np.where(admits & (scores[:, k] > guaranteed[k]), k + 1, np.where(lower == k + 1, upper, lower))
        assert bounds(truth)[k] <= guaranteed[k]
    assert (bounds(y[100:]) <= guaranteed).all()


def test_a_prefit_estimator_is_not_fitted_again():
    X, y = make_ordinal(300, 3, 4, noise=0.5, random_state=0)
    inner = rw.PRIL(random_state=0).fit(X[:100], y[:100])
    before = inner.coef_.copy()
    model = rw.ConformalOrdinal(inner, score="distance", cv="prefit").fit(X[100:], y[100:])
    np.testing.assert_array_equal(inner.coef_, before)
    assert model.estimator_ is inner
    assert model.n_calibration_ == 200


def test_tables_pipelines_and_scikit_learns_classifiers_go_in():
    X, y = make_ordinal(400, 3, 4, noise=0.5, random_state=0)
    frame = pd.DataFrame(X, columns=list("abc"))
    model = rw.ConformalOrdinal(rw.TableModel(rw.SVOR()), score="distance", random_state=0).fit(frame, y)
    assert model.predict_interval(frame).shape == (400, 2)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    theirs = rw.ConformalOrdinal(LogisticRegression(), random_state=0).fit(X, y)
    assert theirs.predict_set(X).any(axis=1).all()
    assert cross_val_score(model, frame, y, cv=3).shape == (3,)


def test_score_is_a_parameter_and_a_method():
    model = rw.ConformalOrdinal(rw.PRIL(random_state=0), score="distance", random_state=0)
    assert model.get_params()["score"] == "distance"
    assert clone(model).set_params(score="median").get_params()["score"] == "median"
    X, y = make_ordinal(200, 3, 4, random_state=0)
    assert model.fit(X, y).score(X, y) <= 0.0


@pytest.mark.parametrize("cv", ["split", "cross"])
def test_saved_sets_are_the_same(tmp_path, cv):
    X, y = make_ordinal(200, 3, 4, noise=0.5, random_state=0)
    model = rw.ConformalOrdinal(rw.CumulativeLink(), cv=cv, random_state=0).fit(X, y, sample_weight=np.arange(200) % 3)
    rw.save(model, tmp_path / "model.rankwise")
    loaded = rw.load(tmp_path / "model.rankwise")
    np.testing.assert_array_equal(loaded.predict_set(X), model.predict_set(X))


def test_a_model_fitted_again_without_folds_can_be_saved(tmp_path):
    X, y = make_ordinal(200, 3, 4, noise=0.5, random_state=0)
    model = rw.ConformalOrdinal(rw.CumulativeLink(), cv="cross", random_state=0).fit(X, y)
    model.set_params(cv="split").fit(X, y)
    rw.save(model, tmp_path / "model.rankwise")
    loaded = rw.load(tmp_path / "model.rankwise")
    np.testing.assert_array_equal(loaded.predict_set(X), model.predict_set(X))


@pytest.mark.parametrize("spoil", [np.float32, lambda bounds: bounds[1:]], ids=["type", "shape"])
def test_bounds_of_a_file_are_checked(spoil):
    X, y = make_ordinal(200, 3, 4, noise=0.5, random_state=0)
    model = rw.ConformalOrdinal(rw.CumulativeLink(), random_state=0).fit(X, y)
    plain = model.to_plain()
    with pytest.raises(ValueError, match="bounds"):
        clone(model).from_plain({**plain, "bounds": spoil(plain["bounds"])})


def test_mistakes_are_named():
    X, y = make_ordinal(30, 3, 4, random_state=0)
    with pytest.raises(ValueError, match=r"takes at least 19 labelled calibration rows. Got 7"):
        rw.ConformalOrdinal(rw.CumulativeLink(), level=0.95).fit(X, y)
    with pytest.raises(ValueError, match=r"needs the probabilities of the classes, and PRIL has none"):
        rw.ConformalOrdinal(rw.PRIL(), level=0.5).fit(X, y)
    with pytest.raises(ValueError, match="'level' parameter of ConformalOrdinal"):
        rw.ConformalOrdinal(rw.PRIL(), level=1.0).fit(X, y)
    with pytest.raises(ValueError, match="per_class needs cv='split' or 'prefit'"):
        rw.ConformalOrdinal(rw.PRIL(), cv="cross", per_class=True).fit(X, y)
    with pytest.raises(NotFittedError):
        rw.ConformalOrdinal(rw.PRIL(), cv="prefit").fit(X, y)


def test_a_class_with_too_few_rows_is_in_every_set_and_is_named():
    X, y = make_ordinal(200, 3, 4, noise=0.5, random_state=0)
    y = np.where(y == 4, 3, y)
    with pytest.warns(UserWarning, match=r"classes \[4\] for a level of 0.9"):
        model = rw.ConformalOrdinal(
            rw.PRIL(classes=[1, 2, 3, 4]), score="distance", per_class=True, calibration_fraction=0.5, random_state=0
        ).fit(X, y)
    assert model.predict_set(X)[:, 3].all()
