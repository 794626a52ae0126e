"""Folds hold the same mixture of labels, whatever form these have."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_predict, cross_val_score

from rankwise import PRIL, SVOR, PathCV, evaluation
from rankwise.datasets import make_ordinal
from rankwise.evaluation import IntervalScorer, StratifiedIntervalKFold
from rankwise.labels import encode
from tests.strategies import annotated
from tests.streams import make_stream


def folds_of(splitter, y, n=None):
    """Fold of every row, checked on the way: test sets divide the rows, train sets are what is left."""
    n = len(y) if n is None else n
    folds = np.full(n, -1)
    for fold, (train, test) in enumerate(splitter.split(np.zeros((n, 1)), y)):
        assert np.all(folds[test] == -1)
        folds[test] = fold
        np.testing.assert_array_equal(np.sort(np.concatenate([train, test])), np.arange(n))
    assert np.all(folds >= 0)
    return folds


def assert_even(folds, chosen, n_splits):
    counts = np.bincount(folds[np.asarray(chosen, dtype=bool)], minlength=n_splits)
    assert counts.max() - counts.min() <= 1


@given(annotated(max_rows=40), st.integers(2, 5), st.booleans())
def test_every_label_and_every_kind_is_spread_evenly(rows, n_splits, shuffle):
    splitter = StratifiedIntervalKFold(n_splits, shuffle=shuffle, classes=rows.classes)
    if n_splits > len(rows.y):
        with pytest.raises(ValueError, match=rf"at most the number of rows, {len(rows.y)}\. Got {n_splits}"):
            folds_of(splitter, rows.y)
        return
    folds = folds_of(splitter, rows.y)
    assert_even(folds, np.ones(len(rows.y)), n_splits)
    exact = [len(admitted) == 1 for admitted in rows.codes]
    missing = [len(admitted) == len(rows.classes) for admitted in rows.codes]
    partial = [not e and not m for e, m in zip(exact, missing, strict=True)]
    for kind in (exact, partial, missing):
        assert_even(folds, kind, n_splits)
    for admitted in rows.codes:
        assert_even(folds, [other == admitted for other in rows.codes], n_splits)
        same_start = [p and a[0] == admitted[0] for a, p in zip(rows.codes, partial, strict=True)]
        assert_even(folds, same_start, n_splits)


@given(st.lists(st.integers(0, 3), min_size=8, max_size=40), st.integers(2, 4))
def test_exact_labels_are_as_balanced_as_by_scikit_learn(y, n_splits):
    y = np.array([0, 1, 2, 3] * n_splits + y)
    ours = folds_of(StratifiedIntervalKFold(n_splits), y)
    theirs = folds_of(StratifiedKFold(n_splits), y)
    for label in range(4):
        counts = [np.sort(np.bincount(folds[y == label], minlength=n_splits)) for folds in (ours, theirs)]
        np.testing.assert_array_equal(*counts)


def test_without_shuffling_a_fold_gets_a_block_of_every_label():
    y = np.array([1, 2] * 6)
    folds = folds_of(StratifiedIntervalKFold(3), y)
    assert folds[y == 1].tolist() == folds[y == 2].tolist() == [0, 0, 1, 1, 2, 2]


def test_candidate_sets_with_the_same_ends_are_told_apart():
    y = [{1, 4}] * 3 + [{1, 2, 4}] * 3
    folds = folds_of(StratifiedIntervalKFold(3, classes=[1, 2, 3, 4]), y)
    assert_even(folds, [True] * 3 + [False] * 3, 3)


def test_shuffling_repeats_with_its_random_state():
    y = np.arange(60) % 3
    first, again, other = (folds_of(StratifiedIntervalKFold(3, shuffle=True, random_state=s), y) for s in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_every_row_is_equally_likely_in_every_fold():
    generator = np.random.RandomState(0)
    y = np.arange(12) % 2
    splitter = StratifiedIntervalKFold(3, shuffle=True, random_state=generator)
    in_first = sum(folds_of(splitter, y) == 0 for _ in range(600))
    assert np.all(np.abs(in_first - 200) < 5 * np.sqrt(600 * 2 / 9))


def test_repeats_are_different_splits_of_all_rows():
    y = np.arange(30) % 3
    splitter = StratifiedIntervalKFold(3, n_repeats=4, shuffle=True, random_state=0)
    tests = [test for _, test in splitter.split(y, y)]
    assert len(tests) == splitter.get_n_splits() == 12
    repeats = [np.concatenate(tests[i : i + 3]) for i in range(0, 12, 3)]
    for rows in repeats:
        np.testing.assert_array_equal(np.sort(rows), np.arange(30))
    assert len({rows.tobytes() for rows in repeats}) == 4


ENDS = np.array([[1, 2], [2, 3], [np.nan, np.nan], [4, 4], [1, 1], [np.nan, 2]] * 3)


CONTAINERS = pytest.mark.parametrize(
    "y",
    [
        ENDS,
        list(map(tuple, ENDS.tolist())),
        pd.DataFrame(ENDS, columns=["low", "high"]),
        pl.DataFrame({"low": ENDS[:, 0], "high": ENDS[:, 1]}),
        [(1, 2), (2, 3), None, 4, 1, {1, 2}] * 3,
        encode(ENDS, [1, 2, 3, 4]).admissible(),
        pd.arrays.IntervalArray.from_tuples([(1, 2), (2, 3), (1, 4), (4, 4), (1, 1), (1, 2)] * 3, closed="both"),
    ],
    ids=["array", "tuples", "pandas", "polars", "mixed", "mask", "intervals"],
)


@CONTAINERS
def test_all_containers_give_the_same_folds(y):
    folds = folds_of(StratifiedIntervalKFold(3, classes=[1, 2, 3, 4]), y, n=18)
    np.testing.assert_array_equal(folds, folds_of(StratifiedIntervalKFold(3), ENDS))


@CONTAINERS
def test_all_containers_give_the_same_scores(y):
    X = np.sin(np.arange(36)).reshape(18, 2)
    model, splitter = PRIL(classes=[1, 2, 3, 4], random_state=0), StratifiedIntervalKFold(3, classes=[1, 2, 3, 4])
    found, expected = (cross_val_score(model, X, labels, cv=splitter, error_score="raise") for labels in (y, ENDS))
    np.testing.assert_array_equal(found, expected)


def test_strings_need_no_order_to_be_split_but_intervals_do():
    y = np.array(["low", "mid", "high"] * 4)
    assert_even(folds_of(StratifiedIntervalKFold(2), y), y == "mid", 2)
    ends = [("low", "mid"), ("mid", "high")] * 4
    folds = folds_of(StratifiedIntervalKFold(2, classes=["low", "mid", "high"]), ends)
    assert_even(folds, [True, False] * 4, 2)


@pytest.fixture(scope="module")
def partly_labelled():
    stream = make_stream(0, n=120)
    y = stream.y.astype(float)
    y[::5] = np.nan
    return stream.X, y


def test_cross_validation_takes_intervals_and_missing_labels(partly_labelled):
    X, y = partly_labelled
    model = PRIL(classes=range(4), random_state=0)
    splitter = StratifiedIntervalKFold(4)
    scores = cross_val_score(model, X, y, cv=splitter, error_score="raise")
    expected = [model.fit(X[train], y[train]).score(X[test], y[test]) for train, test in splitter.split(X, y)]
    np.testing.assert_allclose(scores, expected)
    predicted = cross_val_predict(model, X, y, cv=splitter)
    assert predicted.shape == (120,)


def test_exact_labels_with_gaps_are_not_stratified_by_the_default_splitter_but_by_ours(partly_labelled):
    X, ends = partly_labelled
    y = ends[:, 0]
    model = PRIL(classes=range(4), random_state=0)
    with pytest.warns(UserWarning, match="cannot stratify folds by labels with missing values"):
        assert np.isfinite(cross_val_score(model, X, y, cv=4, error_score="raise")).all()
    scores = cross_val_score(model, X, y, cv=StratifiedIntervalKFold(4), error_score="raise")
    assert np.isfinite(scores).all()


def test_grid_search_takes_intervals_and_missing_labels(partly_labelled):
    X, y = partly_labelled
    search = GridSearchCV(
        PRIL(classes=range(4), random_state=0),
        {"n_epochs": [1, 4]},
        cv=StratifiedIntervalKFold(3, n_repeats=2, shuffle=True, random_state=0),
        scoring=IntervalScorer("zero_one"),
        error_score="raise",
    ).fit(X, y)
    assert search.n_splits_ == 6
    assert search.cv_results_["mean_test_score"].shape == (2,)
    assert search.best_score_ > -1


def test_groups_are_ignored_with_a_warning():
    splitter, y = StratifiedIntervalKFold(2), np.arange(6) % 2
    with pytest.warns(UserWarning, match="groups parameter is ignored by StratifiedIntervalKFold"):
        list(splitter.split(y, y, groups=y))


def test_it_shows_its_parameters():
    assert repr(StratifiedIntervalKFold(3)).startswith("StratifiedIntervalKFold(classes=None, n_repeats=1, n_splits=3")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (dict(n_splits=1), r"n_splits must be an integer >= 2\. Got 1"),
        (dict(n_splits=2.0), r"n_splits must be an integer >= 2\. Got 2\.0"),
        (dict(n_repeats=0), r"n_repeats must be an integer >= 1\. Got 0"),
        (dict(n_repeats=2), r"n_repeats needs shuffle=True: .* Got 2"),
        (dict(random_state=0), r"random_state needs shuffle=True: .* Got 0"),
        (dict(shuffle="yes"), r"shuffle must be True or False\. Got 'yes'"),
    ],
)
def test_bad_parameters_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        StratifiedIntervalKFold(**arguments)


def test_bad_labels_are_named():
    with pytest.raises(ValueError, match="y must be given"):
        list(StratifiedIntervalKFold(2).split(np.zeros((4, 1)), None))
    with pytest.raises(ValueError, match="row 1: the lower end of an interval"):
        list(StratifiedIntervalKFold(2).split(np.zeros((2, 1)), [(1, 2), (2, 1)]))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        list(StratifiedIntervalKFold(2).split(np.zeros((3, 1)), [1, 2]))


def test_as_many_labels_as_rows_whatever_the_splits():
    X, y = make_ordinal(40, 3, 4, noise=0.1, random_state=0)
    halves = [(np.arange(15), np.arange(15, 30)), (np.arange(15, 30), np.arange(15))]
    for judge in (
        lambda: evaluation.cross_val_predict(SVOR(), X, y[:30], cv=halves),
        lambda: evaluation.compare({"SVOR": SVOR()}, X, y[:30], cv=halves),
        lambda: PathCV(SVOR(), alphas=[0.1], cv=halves).fit(X, y[:30]),
    ):
        with pytest.raises(ValueError, match="X has 40 rows, y has 30 labels"):
            judge()
