"""Sparse matrices whose indices lie: one clear error from every estimator, no read or write outside of memory."""

import time

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import rankwise as rw
from rankwise._kernels.sparse import require_sound
from rankwise.structured import CumulativeRanks

pytestmark = pytest.mark.filterwarnings("ignore", category=ConvergenceWarning)


def csr(index_type=np.int32, form="csr"):
    """A sound matrix of 6 rows and 4 columns; scipy keeps int64 indices only if it does not notice them."""
    X = sparse.random(6, 4, density=0.6, format=form, random_state=0)
    if form == "coo":
        X.coords = tuple(index.astype(index_type) for index in X.coords)
    else:
        X.indices, X.indptr = X.indices.astype(index_type), X.indptr.astype(index_type)
    return X


def _put(name, place, value):
    def spoil(X):
        getattr(X, name)[place] = value

    return spoil


def _shorten(X):
    X.indptr = X.indptr[:-2]


def _forget(X):
    X.indices = X.indices[:3]


def _as_floats(X):
    X.indices = X.indices.astype(np.float64)


def _pretend(X):
    X.indices[2] = 10**6
    X.has_canonical_format = True


FAULTS = {
    "too large": (_put("indices", 1, 4), r"column index outside 0\.\.3: 4"),
    "far too large": (_put("indices", -1, 2**31 - 1), r"column index outside 0\.\.3: 2147483647"),
    "negative": (_put("indices", 0, -1), r"column index outside 0\.\.3: -1"),
    "said to be canonical": (_pretend, r"column index outside 0\.\.3: 1000000"),
    "no start at 0": (_put("indptr", 0, 1), "it must start at 0"),
    "negative start": (_put("indptr", 0, -7), "it must start at 0"),
    "beyond the entries": (_put("indptr", -1, 10**6), r"for \d+ entries"),
    "falling": (_put("indptr", 2, 9999), "indptr that falls after line 2"),
    "falling below zero": (_put("indptr", 3, -5), "indptr that falls after line 2"),
    "short indptr": (_shorten, r"indptr of shape \(5,\)"),
    "too few indices": (_forget, r"for 3 entries"),
    "indices that are floats": (_as_floats, "of the type float64"),
}
each_fault = pytest.mark.parametrize(("spoil", "message"), FAULTS.values(), ids=FAULTS)
each_type = pytest.mark.parametrize("index_type", [np.int32, np.int64])


@each_type
@pytest.mark.parametrize("form", ["csr", "csc", "bsr", "coo", "lil", "dok", "dia"])
def test_a_sound_matrix_passes(form, index_type):
    X = csr(index_type).asformat(form)
    np.testing.assert_array_equal(require_sound(X).toarray(), X.toarray())
    assert require_sound(sparse.csr_matrix((0, 3))).shape == (0, 3)
    assert require_sound("no matrix") == "no matrix"


@each_fault
@each_type
def test_a_fault_is_named(spoil, message, index_type):
    X = csr(index_type)
    spoil(X)
    with pytest.raises(ValueError, match=f"the CSR matrix X has .*{message}"):
        require_sound(X)


@each_type
@pytest.mark.parametrize("form", ["csc", "bsr", "coo", "lil"])
def test_other_formats_are_checked_before_they_are_converted(form, index_type):
    if form == "lil":
        X = csr().tolil()
        X.rows[1] = [10**6] * len(X.rows[1])
    else:
        X = csr(index_type, form)
        (X.coords[1] if form == "coo" else X.indices)[1] = 10**6
    with pytest.raises(ValueError, match=r"index .*1000000"):
        rw.PRIL().fit(X, [0, 1, 2, 0, 1, 2])


def _estimators():
    brief = {"n_epochs": 1, "random_state": 0}
    for name in (
        "PRank",
        "PRIL",
        "MultiplicativePRIL",
        "CuSumRank",
        "WidrowHoff",
        "MulticlassPerceptron",
        "KernelPRIL",
    ):
        yield getattr(rw, name)(**brief)
    yield rw.KernelCuSumRank(**brief)
    yield rw.ImportanceWeightedPerceptron(**brief)
    yield rw.LabelRanker(**brief)
    yield rw.LabelRanker(complexity="entropic", **brief)
    for name in ("SVOR", "VILMA", "MORD", "PiecewiseMORD", "RoundedRegression"):
        yield getattr(rw, name)(tol=0.1)
    yield rw.MissingLabelClassifier(tol=0.1)
    yield rw.HiddenFeatures(n_hidden=2, max_iter=5, random_state=0)


@pytest.mark.parametrize("model", list(_estimators()), ids=lambda model: type(model).__name__)
def test_every_estimator_refuses_it_whatever_it_is_asked(model):
    y = np.array([[0.0, 1.0], [1.0, 0.0]] * 3) if isinstance(model, rw.MissingLabelClassifier) else [0, 1, 2, 0, 1, 2]
    for index_type in (np.int32, np.int64):
        good = csr(index_type)
        model.fit(good, y)
        methods = [
            ("fit", (y,)),
            ("partial_fit", (y,)),
            ("progressive_predict", (y,)),
            ("predict", ()),
            ("score", (y,)),
        ]
        methods += [("decision_function", ()), ("predict_ranking", ()), ("transform", ())]
        before = model.predict(good) if hasattr(model, "predict") else model.transform(good)
        for spoil, message in FAULTS.values():
            X = csr(index_type)
            spoil(X)
            for name, rest in methods:
                if hasattr(model, name):
                    with pytest.raises(ValueError, match=message):
                        getattr(model, name)(X, *rest)
        after = model.predict(good) if hasattr(model, "predict") else model.transform(good)
        np.testing.assert_array_equal(before, after)


@each_fault
def test_sequences_and_labels_too(spoil, message):
    X = csr()
    spoil(X)
    chain = rw.ChainClassifier(loss="mae", solver="perceptron", n_epochs=1, random_state=0)
    with pytest.raises(ValueError, match=message):
        chain.fit([X, X], [[0, 1, 2, 0, 1, 2]] * 2)
    Y = (csr() != 0).astype(float)
    spoil(Y)
    with pytest.raises(ValueError, match=f"matrix y has .*{message}"):
        rw.LabelRanker().fit(np.ones((6, 2)), Y)
    with pytest.raises(ValueError, match=f"matrix Y has .*{message}"):
        rw.MissingLabelClassifier().fit(np.ones((6, 2)), Y)
    with pytest.raises(ValueError, match=message):
        rw.StructuredPerceptron(CumulativeRanks([0, 1, 2])).fit(X, [0, 1, 2, 0, 1, 2])


def test_sparse_support_vectors_wider_than_their_indices_are_refused():
    X = sparse.csr_matrix(([1.0, 1.0], ([0, 1], [0, 2**32 + 5])), shape=(2, 2**33))
    with pytest.raises(ValueError, match="at most 2147483647 features"):
        rw.KernelPRIL(kernel="linear").fit(X, [0, 1])


@pytest.mark.slow
def test_the_check_is_cheap_beside_a_pass():
    rng = np.random.default_rng(0)
    n, k, d = 300_000, 30, 51_000
    columns = rng.integers(0, d // k, (n, k)) + np.arange(k) * (d // k)
    X = sparse.csr_matrix((rng.normal(size=n * k), columns.ravel(), np.arange(n + 1) * k), shape=(n, d))
    y = rng.integers(0, 5, n)
    model = rw.PRIL(classes=range(5)).partial_fit(X[:9], y[:9])

    def seconds(call):
        taken = []
        for _ in range(3):
            start = time.process_time()
            call()
            taken.append(time.process_time() - start)
        return min(taken)

    assert seconds(lambda: require_sound(X)) < 0.1 * seconds(lambda: model.partial_fit(X, y))
