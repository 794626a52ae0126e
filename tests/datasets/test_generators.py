import numpy as np
import pytest

from rankwise import datasets


class TestGenerators:
    def test_pril_synthetic_follows_the_rule(self):
        X, y = datasets.make_pril_synthetic(2000, noise=0, random_state=0)
        cuts = (-np.inf, -1, -0.1, 0.25, 1)
        score = 10 * (X[:, 0] - 0.5) * (X[:, 1] - 0.5)
        assert y.tolist() == [max(r for r, b in enumerate(cuts, start=1) if s > b) for s in score]
        assert y.dtype == np.int64

    def test_pril_synthetic_distribution(self):
        X, y = datasets.make_pril_synthetic(random_state=1)
        assert X.shape == (10_000, 2)
        assert X.min() >= 0
        assert X.max() <= 1
        np.testing.assert_allclose(X.mean(axis=0), 0.5, atol=0.02)
        assert set(y.tolist()) == {1, 2, 3, 4, 5}
        # The score's density is symmetric, so P(y = 1) = P(y = 5); both are integrals of a known density.
        exact = np.mean(10 * np.outer(np.linspace(-0.5, 0.5, 2001), np.linspace(-0.5, 0.5, 2001)) > 1)
        assert np.mean(y == 5) == pytest.approx(exact, abs=0.02)
        assert np.mean(y == 1) == pytest.approx(exact, abs=0.02)

    def test_pril_synthetic_noise_has_the_given_standard_deviation(self):
        # Near the line x1 = 0.5 the noiseless score is 0, so P(y >= 3) = P(noise > -0.1).
        X, y = datasets.make_pril_synthetic(400_000, noise=0.125, random_state=2)
        near = np.abs(X[:, 0] - 0.5) < 0.002
        assert np.mean(y[near] >= 3) == pytest.approx(0.788, abs=0.03)

    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    def test_ordinal_classes_are_balanced_and_linear(self, dtype):
        X, y = datasets.make_ordinal(5003, 6, 7, noise=0, dtype=dtype, random_state=3)
        assert X.dtype == dtype
        counts = np.bincount(y)[1:]
        assert counts.size == 7
        assert np.ptp(counts) <= 1
        w = np.linalg.lstsq(X.astype(float), y - y.mean(), rcond=None)[0]
        again = datasets.cut_equal_frequency(X @ w, 7)
        assert np.mean(again == y) > 0.95
        assert np.abs(again - y).max() == 1

    def test_ordinal_noise_and_informative_features(self):
        X, y = datasets.make_ordinal(20_000, 8, 5, noise=0.5, informative=3, random_state=4)
        w = np.linalg.lstsq(X, y - y.mean(), rcond=None)[0]
        assert np.abs(w[3:]).max() < 0.1 * np.linalg.norm(w[:3])
        clean = datasets.make_ordinal(20_000, 8, 5, noise=0, informative=3, random_state=4)[1]
        # Score and noisy score correlate at 1 / sqrt(1 + 0.25); cutting both into classes lowers that a little.
        assert np.corrcoef(y, clean)[0, 1] == pytest.approx(1 / np.sqrt(1.25), abs=0.06)

    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    @pytest.mark.parametrize(("n_features", "n_nonzero"), [(1000, 7), (10, 10), (11, 4), (5, 1)])
    def test_sparse_rows_are_sorted_and_unique(self, n_features, n_nonzero, dtype):
        X, y = datasets.make_sparse_ordinal(300, n_features, n_nonzero, 4, dtype=dtype, random_state=5)
        assert X.format == "csr"
        assert X.dtype == dtype
        assert X.shape == (300, n_features)
        assert np.all(np.diff(X.indptr) == n_nonzero)
        assert np.all(np.diff(X.indices.reshape(300, n_nonzero), axis=1) > 0)
        assert X.indices.min() >= 0
        assert X.indices.max() < n_features
        assert np.bincount(y)[1:].tolist() == [75] * 4

    def test_sparse_columns_are_all_used(self):
        X, _ = datasets.make_sparse_ordinal(20_000, 11, 4, 2, random_state=6)
        used = np.bincount(X.indices, minlength=11) / 20_000
        assert used.min() > 0.3  # blocks of 2 or 3 columns
        assert used.max() < 0.53

    @pytest.mark.parametrize(
        "make",
        [
            lambda seed: datasets.make_pril_synthetic(50, random_state=seed),
            lambda seed: datasets.make_ordinal(50, 3, 5, random_state=seed),
            lambda seed: datasets.make_sparse_ordinal(50, 30, 3, 5, random_state=seed),
        ],
    )
    def test_reproducible(self, make):
        def dense(pair):
            return np.column_stack([pair[0].toarray() if hasattr(pair[0], "toarray") else pair[0], pair[1]])

        np.testing.assert_array_equal(dense(make(7)), dense(make(7)))
        np.testing.assert_array_equal(dense(make(7)), dense(make(np.random.default_rng(7))))
        same = [dense(make(np.random.RandomState(7))) for _ in range(2)]
        np.testing.assert_array_equal(*same)
        assert not np.array_equal(dense(make(7)), dense(make(8)))
        rng = np.random.RandomState(7)
        assert not np.array_equal(dense(make(rng)), dense(make(rng)))

    @pytest.mark.parametrize(
        ("call", "message"),
        [
            (
                lambda: datasets.make_pril_synthetic(0),
                "'n_samples' parameter of make_pril_synthetic .* at least 1. Got 0",
            ),
            (lambda: datasets.make_pril_synthetic(5, noise=-1), "'noise' .* finite number >= 0. Got -1"),
            (lambda: datasets.make_pril_synthetic(5, noise=np.nan), "'noise' .* Got nan"),
            (lambda: datasets.make_ordinal(10, 3, 1), "'n_classes' .* at least 2. Got 1"),
            (lambda: datasets.make_ordinal(3, 3, 4), "'n_samples' .* at least 4. Got 3"),
            (lambda: datasets.make_ordinal(10, 3.0, 4), "'n_features' .* Got 3.0"),
            (lambda: datasets.make_ordinal(10, 3, 4, informative=4), "'informative' .* at most 3. Got 4"),
            (lambda: datasets.make_ordinal(10, 3, 4, dtype=int), "'dtype' .* float32 or float64. Got int64"),
            (lambda: datasets.make_sparse_ordinal(10, 3, 4, 2), "'n_nonzero' .* at most 3. Got 4"),
        ],
    )
    def test_bad_parameters(self, call, message):
        with pytest.raises(ValueError, match=message):
            call()
