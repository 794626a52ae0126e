"""Synthetic ordinal data."""

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

from rankwise.datasets._check import at_least, float_dtype, not_negative
from rankwise.datasets._cuts import cut_equal_frequency

RandomState = int | np.random.Generator | np.random.RandomState | None

_PRIL_CUTS = np.array([-1.0, -0.1, 0.25, 1.0])


def make_pril_synthetic(
    n_samples: int = 10_000, *, noise: float = 0.125, random_state: RandomState = None
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Make the synthetic set of the PRIL paper: five ordered classes on the unit square.

    ``x`` is uniform in [0, 1]², and ``y = max{ r : 10 (x1 - 0.5)(x2 - 0.5) + ξ > b_r }`` with
    ``b = (-∞, -1, -0.1, 0.25, 1)`` and normal ξ of standard deviation ``noise``. The classes are not linear in x; they
    are with the kernel ``(<x, z> + 1)²``.

    Parameters
    ----------
    n_samples : int, default=10_000
        Number of examples.
    noise : float, default=0.125
        Standard deviation of ξ.
    random_state : int, Generator, RandomState or None, default=None
        Seed or source of the random numbers.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
    y : ndarray of shape (n_samples,), int64
        Classes 1..5.

    Examples
    --------
    >>> from rankwise.datasets import make_pril_synthetic
    >>> X, y = make_pril_synthetic(1000, random_state=0)
    >>> X.shape, sorted(set(y.tolist()))
    ((1000, 2), [1, 2, 3, 4, 5])
    """
    owner = "make_pril_synthetic"
    n_samples = at_least(owner, "n_samples", n_samples, 1)
    noise = not_negative(owner, "noise", noise)
    rng = _generator(random_state)
    X = rng.random((n_samples, 2))
    score = 10 * (X[:, 0] - 0.5) * (X[:, 1] - 0.5) + noise * rng.standard_normal(n_samples)
    y = np.searchsorted(_PRIL_CUTS, score, side="left") + 1  # one plus the number of cuts below the score
    return X, y.astype(np.int64)


def make_ordinal(
    n_samples: int,
    n_features: int,
    n_classes: int,
    *,
    noise: float = 0.5,
    informative: int | None = None,
    dtype: DTypeLike = np.float64,
    random_state: RandomState = None,
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Make dense ordinal data: a noisy linear score cut into equally frequent classes.

    ``x`` is standard normal, the score is ``<w, x> + ξ`` with ``|w| = 1`` (so that the noiseless score has variance 1)
    and normal ξ of standard deviation ``noise``.

    Parameters
    ----------
    n_samples, n_features, n_classes : int
        Size of the problem; at least as many examples as classes, at least 2 classes.
    noise : float, default=0.5
        Standard deviation of ξ; 0 makes the classes separable by thresholds on ``<w, x>``.
    informative : int or None, default=None
        Only the first ``informative`` features enter the score; None means all.
    dtype : float64 or float32, default=float64
        Type of X.
    random_state : int, Generator, RandomState or None, default=None
        Seed or source of the random numbers.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,), int64
        Classes 1..n_classes.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise.datasets import make_ordinal
    >>> X, y = make_ordinal(1000, 20, 4, noise=0.1, random_state=0)
    >>> X.shape, np.bincount(y)[1:].tolist()
    ((1000, 20), [250, 250, 250, 250])
    """
    owner = "make_ordinal"
    n_samples, n_features, n_classes = _sizes(owner, n_samples, n_features, n_classes)
    used = n_features if informative is None else at_least(owner, "informative", informative, 1, n_features)
    noise = not_negative(owner, "noise", noise)
    kind = float_dtype(owner, dtype)

    rng = _generator(random_state)
    X = rng.standard_normal((n_samples, n_features), dtype=kind)
    w = np.zeros(n_features)
    w[:used] = rng.standard_normal(used)
    w /= np.linalg.norm(w)
    score = X @ w.astype(kind) + noise * rng.standard_normal(n_samples)
    return X, cut_equal_frequency(score, n_classes)


def make_sparse_ordinal(
    n_samples: int,
    n_features: int,
    n_nonzero: int,
    n_classes: int,
    *,
    noise: float = 0.5,
    dtype: DTypeLike = np.float64,
    random_state: RandomState = None,
) -> tuple[Any, NDArray[np.int64]]:
    """Make sparse ordinal data: a noisy linear score of few non-zero features, cut into equally frequent classes.

    The columns are divided into ``n_nonzero`` blocks of equal size (to one column), and every row has one entry at a
    random place of each block: indices are sorted and unique by construction. Values are standard normal, weights too,
    scaled so that the noiseless score has variance near 1.

    Parameters
    ----------
    n_samples, n_features, n_nonzero, n_classes : int
        Size of the problem; ``n_nonzero`` is the number of entries in every row.
    noise, dtype, random_state
        As in :func:`make_ordinal`.

    Returns
    -------
    X : scipy.sparse.csr_matrix of shape (n_samples, n_features)
        Sorted indices, no duplicates.
    y : ndarray of shape (n_samples,), int64
        Classes 1..n_classes.

    Examples
    --------
    >>> from rankwise.datasets import make_sparse_ordinal
    >>> X, y = make_sparse_ordinal(100, 1000, 5, 4, random_state=0)
    >>> X.shape, X.nnz, X.has_canonical_format
    ((100, 1000), 500, True)
    """
    owner = "make_sparse_ordinal"
    n_samples, n_features, n_classes = _sizes(owner, n_samples, n_features, n_classes)
    n_nonzero = at_least(owner, "n_nonzero", n_nonzero, 1, n_features)
    noise = not_negative(owner, "noise", noise)
    kind = float_dtype(owner, dtype)

    rng = _generator(random_state)
    block = np.arange(n_nonzero + 1) * n_features // n_nonzero
    n_stored = n_samples * n_nonzero
    index = np.int32 if max(n_stored, n_features) <= np.iinfo(np.int32).max else np.int64
    indices = rng.integers(block[:-1], block[1:], size=(n_samples, n_nonzero), dtype=index)
    values = rng.standard_normal(n_stored, dtype=kind)
    starts = np.arange(0, n_stored + 1, n_nonzero, dtype=index)
    X = sparse.csr_matrix((values, indices.ravel(), starts), shape=(n_samples, n_features))
    w = rng.standard_normal(n_features) / np.sqrt(n_nonzero)
    score = X @ w.astype(kind) + noise * rng.standard_normal(n_samples)
    return X, cut_equal_frequency(score, n_classes)


def _sizes(owner: str, n_samples: int, n_features: int, n_classes: int) -> tuple[int, int, int]:
    n_classes = at_least(owner, "n_classes", n_classes, 2)
    return at_least(owner, "n_samples", n_samples, n_classes), at_least(owner, "n_features", n_features, 1), n_classes


def _generator(random_state: RandomState) -> np.random.Generator:
    """Return the generator that ``random_state`` stands for; a RandomState seeds one, and is advanced by that."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31 - 1, size=4))
    return np.random.default_rng(random_state)
