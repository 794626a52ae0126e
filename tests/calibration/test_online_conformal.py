"""Conformal sets on streams: the promise holds whatever the stream does, for rows and chunks alike."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankwise as rw
from rankwise.annotation import partial_labels
from rankwise.datasets import make_ordinal

CLASSES = [1, 2, 3, 4]


@settings(max_examples=15)
@given(
    seed=st.integers(0, 2**32 - 1),
    level=st.sampled_from([0.5, 0.8, 0.95]),
    rate=st.sampled_from([0.01, 0.1]),
    labels=st.sampled_from(["guaranteed", "weak"]),
)
def test_misses_stay_within_the_bound_on_any_stream(seed, level, rate, labels):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(150, 2)) * np.linspace(1, 5, 150)[:, None]
    y = np.digitize(X[:, 0] * np.where(np.arange(150) < 80, 1, -1), [-1, 0, 1]) + 1  # turns round
    intervals = partial_labels(y, 0.5, kind=2, random_state=seed % 1000)
    model = rw.OnlineConformalOrdinal(rw.PRIL(), level=level, rate=rate, labels=labels, classes=CLASSES)
    sets = model.progressive_predict_set(X, intervals)
    admitted = (np.arange(1, 5) >= intervals[:, :1]) & (np.arange(1, 5) <= intervals[:, 1:])
    hit = (sets | ~admitted).all(axis=1) if labels == "guaranteed" else (sets & admitted).any(axis=1)
    assert model.n_missed_ == (~hit).sum()
    assert model.n_missed_ / 150 - (1 - level) <= (level + rate) / (rate * 150) + 1e-9
    assert ((np.diff(sets.astype(int), axis=1) != 0).sum(axis=1) <= 2).all()
    assert sets.any(axis=1).all()


def test_sets_follow_a_stream_that_changes():
    X, y = make_ordinal(1500, 3, 4, noise=0.2, random_state=0)
    y = np.where(np.arange(1500) < 1000, y, np.random.default_rng(0).integers(1, 5, 1500))  # nothing to learn any more
    model = rw.OnlineConformalOrdinal(rw.PRIL(), level=0.8, rate=0.05, window=200, classes=CLASSES)
    sets = model.progressive_predict_set(X, y)
    width, hit = sets.sum(axis=1), sets[np.arange(1500), y - 1]
    assert width[500:1000].mean() + 0.5 < width[1200:].mean()
    for part in (slice(500, 1000), slice(1100, 1500)):
        assert hit[part].mean() >= 0.75


def test_rows_chunks_and_a_saved_model_agree(tmp_path):
    X, y = make_ordinal(120, 3, 4, noise=0.5, random_state=0)
    y = y.astype(float)
    y[::7] = np.nan
    whole = rw.OnlineConformalOrdinal(rw.PRIL(), classes=CLASSES)
    expected = whole.progressive_predict_set(X, y)
    parts = rw.OnlineConformalOrdinal(rw.PRIL(), classes=CLASSES)
    found = [parts.progressive_predict_set(X[:50], y[:50])]
    rw.save(parts, tmp_path / "model.rankwise")
    parts = rw.load(tmp_path / "model.rankwise")
    found += [parts.progressive_predict_set(X[i : i + 1], y[i : i + 1]) for i in range(50, 120)]
    np.testing.assert_array_equal(np.concatenate(found), expected)
    assert parts.miss_rate_ == whole.miss_rate_
    assert parts.n_labelled_ == np.isfinite(y).sum()


def test_a_chunk_with_a_bad_row_changes_nothing():
    X, y = make_ordinal(60, 3, 4, noise=0.5, random_state=0)
    model = rw.OnlineConformalOrdinal(rw.PRIL(), classes=CLASSES).partial_fit(X[:30], y[:30])
    before = model.predict_set(X), model.miss_rate_, model.estimator_.coef_.copy()
    bad = X[30:].copy()
    bad[-1, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(bad, y[30:])
    np.testing.assert_array_equal(model.predict_set(X), before[0])
    assert model.miss_rate_ == before[1]
    np.testing.assert_array_equal(model.estimator_.coef_, before[2])
