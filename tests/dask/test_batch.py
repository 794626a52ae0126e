"""Large-margin estimators on partitions: objective and certificate of one machine, whatever the partitions."""

from itertools import pairwise

import numpy as np
import pytest

dask = pytest.importorskip("dask")

import dask.array as da
from dask.delayed import delayed
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import rankwise as rw
import rankwise.dask as rd
from rankwise.dask._batch import BatchOnDask
from rankwise.dask._blocks import added
from rankwise.datasets import make_ordinal
from rankwise.labels import OrderWarning
from rankwise.losses import loss_matrix
from rankwise.risks.maxima_risk import MaximaRisk

N, D, K = 1500, 4, 5


pytestmark = pytest.mark.usefixtures("without_a_cluster")


@pytest.fixture(scope="module")
def data():
    return make_ordinal(N, D, K, random_state=0)


def _pieces(X, y, ends):
    """Delayed blocks of rows, cut at the given places."""
    cuts = [0, *ends, len(y)]
    pairs = list(pairwise(cuts))
    return [delayed(X[a:b]) for a, b in pairs], [delayed(y[a:b]) for a, b in pairs]


MODELS = [
    ("CumulativeLink", {}),
    ("CumulativeLink", {"link": "probit"}),
    ("SVOR", {}),
    ("SVOR", {"constraints": "explicit"}),
    ("SVOR", {"regularize": "all"}),
    ("VILMA", {"loss": "zero_one"}),
    ("MORD", {}),
    ("PiecewiseMORD", {"cuts": 3}),
    ("RoundedRegression", {}),
    ("UnifiedClassifier", {}),
]


@pytest.mark.parametrize(("name", "options"), MODELS, ids=str)
@pytest.mark.parametrize("ends", [(), (1,), (400, 401, 900)], ids=str)
def test_objective_and_certificate_are_those_of_one_machine(data, name, options, ends):
    X, y = data
    plain = getattr(rw, name)(alpha=0.01, **options).fit(X, y)
    found = getattr(rd, name)(alpha=0.01, **options).fit(*_pieces(X, y, ends))
    assert found.objective_ == pytest.approx(plain.objective_, rel=1e-9)
    assert found.lower_bound_ == pytest.approx(plain.lower_bound_, rel=1e-9)
    assert found.gap_ <= found.tol
    np.testing.assert_allclose(found.coef_, plain.coef_, rtol=1e-6, atol=1e-9)
    assert found.n_iter_ == plain.n_iter_
    np.testing.assert_array_equal(found.classes_, plain.classes_)


def test_a_risk_of_somebody_else_is_learnt_whole_without_a_word_about_dask(data):
    """Intercepts are ``basis c + fixed``: a risk on Dask that forgot one of them would have another objective."""

    class Plain(rw.SVOR):
        def _risk(self, order, rows):
            rank = np.arange(1.0, len(order) + 1)[:, None]
            model = {"basis": np.hstack([rank, rank**2]), "fixed": np.sqrt(rank[:, 0])}
            return MaximaRisk(rows, rank, loss_matrix("mae", len(rank)), joint=True, **model)

        def _n_parameters(self, n_features, n_classes):
            return n_features, 2

    class Partitioned(BatchOnDask, Plain):
        pass

    X, y = data
    plain = Plain(alpha=0.01).fit(X, y)
    found = Partitioned(alpha=0.01).fit(*_pieces(X, y, (400, 401)))
    assert found.objective_ == pytest.approx(plain.objective_, rel=1e-9)
    assert type(found.to_local()) is Plain


def test_intervals_weights_and_missing_labels(data):
    X, y = data
    rng = np.random.default_rng(0)
    intervals = np.column_stack([y, np.minimum(y + rng.integers(0, 2, N), K)]).astype(float)
    intervals[rng.random(N) < 0.2] = np.nan
    weight = rng.integers(0, 3, N).astype(float)
    plain = rw.SVOR(alpha=0.01).fit(X, intervals, weight)
    found = rd.SVOR(alpha=0.01).fit(
        da.from_array(X, chunks=(400, 2)), da.from_array(intervals, chunks=(500, 2)), weight
    )
    assert found.objective_ == pytest.approx(plain.objective_, rel=1e-9)
    huge = rd.SVOR(alpha=0.01).fit(da.from_array(X, chunks=(400, 2)), intervals, weight * 2.0**1022)
    assert huge.objective_ == pytest.approx(plain.objective_, rel=1e-9)  # whose sum would be infinite


def test_rows_as_csr_blocks(data):
    X, y = data
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    blocks, labels = _pieces(sparse.csr_matrix(X), y, (700,))
    found = rd.SVOR(alpha=0.01).fit(blocks, labels)
    assert found.objective_ == pytest.approx(rw.SVOR(alpha=0.01).fit(X, y).objective_, rel=1e-9)
    np.testing.assert_array_equal(found.predict(blocks).compute(), found.predict(X))


def test_many_features_take_quasi_newton_steps():
    X, y = make_ordinal(600, 310, 3, random_state=0)
    plain = rw.SVOR(alpha=1.0, tol=1e-2).fit(X, y)
    found = rd.SVOR(alpha=1.0, tol=1e-2).fit(da.from_array(X, chunks=(250, -1)), y)
    assert found.objective_ == pytest.approx(plain.objective_, rel=1e-6)


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_missing_labels_have_the_optimum_of_one_machine(loss, fit_intercept):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 3))
    Y = (X @ rng.standard_normal((3, 4)) + rng.standard_normal((400, 4)) > 0.5).astype(float)
    Y[rng.random(Y.shape) < 0.4] = np.nan
    weight = rng.integers(0, 3, 400).astype(float)
    options = {"loss": loss, "fit_intercept": fit_intercept, "tol": 1e-7, "max_iter": 100_000}
    plain = rw.MissingLabelClassifier(random_state=0, **options).fit(X, Y, weight)
    partitioned = da.from_array(X, chunks=(150, -1))
    found = rd.MissingLabelClassifier(**options).fit(partitioned, Y, weight)
    assert found.objective_ == pytest.approx(plain.objective_, rel=2e-7)
    assert (found.gaps_ <= 1e-7 * found.objectives_).all()
    np.testing.assert_array_equal(found.n_annotated_, plain.n_annotated_)
    np.testing.assert_array_equal(found.predict(partitioned).compute(), found.predict(X))
    assert found.score(partitioned, Y, weight) == pytest.approx(found.score(X, Y, weight))


def test_labels_of_one_class_warn_and_those_without_entries_are_refused():
    X = da.from_array(np.arange(6.0).reshape(-1, 1), chunks=(3, 1))
    Y = np.array([[1, 0], [1, 1], [1, 0], [1, 1], [1, 0], [1, 1.0]])
    with pytest.warns(UserWarning, match="label 0: all annotated entries are of one class"):
        model = rd.MissingLabelClassifier().fit(X, Y)
    assert model.predict(X).compute()[:, 0].tolist() == [1] * 6
    with pytest.raises(ValueError, match="label 1 has no annotated entry"):
        rd.MissingLabelClassifier().fit(X, np.where([[False, True]], np.nan, Y))


def test_missing_labels_refuse_rows_that_are_not_finite_by_partition():
    X = np.array([[0.0], [1.0], [np.nan], [3.0]])
    with pytest.raises(ValueError, match=r"^partition 1: Input X contains NaN"):
        rd.MissingLabelClassifier().fit(da.from_array(X, chunks=(2, 1)), np.array([[0], [1], [0], [1]]))


def test_cutting_planes_agree_to_the_tolerance(data):
    X, y = data
    plain = rw.SVOR(alpha=0.1).fit(X[:300], y[:300])
    found = rd.SVOR(alpha=0.1, solver="cutting-plane", tol=0.01).fit(*_pieces(X[:300], y[:300], (100,)))
    assert plain.lower_bound_ <= found.objective_ <= plain.objective_ * 1.011


def test_without_a_regulariser_a_small_programme_is_solved_exactly(data):
    X, y = data
    plain = rw.SVOR(regularize="none").fit(X[:200], y[:200])
    found = rd.SVOR(regularize="none").fit(*_pieces(X[:200], y[:200], (50,)))
    assert found.objective_ == pytest.approx(plain.objective_, rel=1e-9)
    assert found.gap_ <= 1e-6


def test_a_path_and_a_warning_where_it_does_not_converge(data):
    X, y = data
    parts = da.from_array(X, chunks=(800, -1))
    path = rd.SVOR().path(parts, y, [0.1, 0.01])
    plain = rw.SVOR().path(X, y, [0.1, 0.01])
    assert [m.objective_ for m in path] == pytest.approx([m.objective_ for m in plain], rel=1e-9)
    with pytest.warns(ConvergenceWarning, match="SVOR stopped at a relative gap of"):
        rd.SVOR(tol=1e-9, max_iter=1).fit(parts, y)


def test_lazy_predictions_score_saving_and_the_way_back(data, tmp_path):
    X, y = data
    parts = da.from_array(X, chunks=(400, -1))
    model = clone(rd.SVOR(alpha=0.01)).fit(parts, y)
    for method in ("predict", "decision_function", "project"):
        lazy = getattr(model, method)(parts)
        assert isinstance(lazy, da.Array)
        expected = getattr(model, method)(X)
        assert lazy.shape == expected.shape
        assert lazy.dtype == expected.dtype
        np.testing.assert_array_equal(lazy.compute(), expected)
    assert model.score(parts, y) == pytest.approx(model.score(X, y), rel=1e-12)
    assert type(model.to_local()) is rw.SVOR
    rw.save(model, tmp_path / "model")
    np.testing.assert_array_equal(rw.load(tmp_path / "model").predict(X), model.predict(X))


def test_rows_in_memory_are_learnt_as_on_one_machine(data):
    X, y = data
    assert rd.SVOR().fit(X, y).objective_ == rw.SVOR().fit(X, y).objective_


def test_classes_are_put_together_from_all_partitions():
    X = da.from_array(np.arange(8.0).reshape(-1, 1), chunks=(4, 1))
    assert rd.SVOR().fit(X, np.repeat([7, 3, 5, 9], 2)).classes_.tolist() == [3, 5, 7, 9]
    grades = np.array(["a", "a", "a", "a", "b", "b", "c", "c"])
    with pytest.warns(OrderWarning, match=r"sorted: \['a', 'b', 'c'\]"):
        assert rd.SVOR().fit(X, grades).classes_.tolist() == ["a", "b", "c"]
    assert rd.SVOR(classes=["c", "b", "a"]).fit(X, grades).classes_.tolist() == ["c", "b", "a"]
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        rd.SVOR().fit(X, np.linspace(0.1, 0.9, 8))
    halves = rd.SVOR().fit(da.from_array(np.arange(8.0).reshape(-1, 1), chunks=(8, 1)), np.repeat([0.5, 1.5], 4))
    assert halves.classes_.tolist() == [0.5, 1.5]


def test_an_ordered_categorical_gives_the_order_and_parquet_is_read(tmp_path):
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    X, y = make_ordinal(300, 3, 3, random_state=0)
    frame = pd.DataFrame(X.astype(np.float32), columns=list("abc"))
    frame["grade"] = pd.Categorical.from_codes(y - 1, ["low", "medium", "high"], ordered=True)
    frame["unused"] = 1.0
    for p in range(4):
        frame[75 * p : 75 * (p + 1)].to_parquet(tmp_path / f"{p}.parquet")
    read = dd.read_parquet(tmp_path)
    model = rd.SVOR(alpha=0.01).fit(read[["a", "b", "c"]], read["grade"])
    plain = rw.SVOR(alpha=0.01).fit(frame[["a", "b", "c"]], frame["grade"])
    assert model.objective_ == pytest.approx(plain.objective_, rel=1e-9)
    assert model.classes_.tolist() == ["low", "medium", "high"]
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    np.testing.assert_array_equal(model.predict(read[["a", "b", "c"]]).compute(), plain.predict(frame[["a", "b", "c"]]))
    empty = read[read["a"] > 1e9]
    assert model.predict(empty[["a", "b", "c"]]).compute().size == 0
    with pytest.raises(ValueError, match="every partition is empty"):
        rd.SVOR().fit(empty[["a", "b", "c"]], empty["grade"])


def _bad(message, X, y, weight=None, **options):
    model = rd.SVOR(**options)
    with pytest.raises((ValueError, TypeError), match=message):
        model.fit(X, y, weight)
    assert not hasattr(model, "coef_")
    assert not hasattr(model, "n_features_in_")


def test_bad_partitions_are_named_with_their_rows(data):
    X, y = data
    broken, weight = X.copy(), np.ones(N)
    broken[817, 2], weight[817] = np.nan, -1.0
    parts = da.from_array(X, chunks=(400, -1))
    _bad("^partition 2: Input X contains NaN: row 17, column 2", da.from_array(broken, chunks=(400, -1)), y)
    with pytest.raises(rw.RowError) as caught:
        rd.SVOR().fit(da.from_array(broken, chunks=(400, -1)), y)
    assert (caught.value.row, caught.value.column) == (17, 2)
    _bad("^partition 2: row 17: a weight must be a finite number", parts, y, weight)
    strange = np.where(np.arange(N) == 817, 9, y)
    _bad("^partition 2: row 17: the label 9 is not one of the classes", parts, strange, classes=[1, 2, 3, 4, 5])
    _bad("^X has 4 partitions but y has 3", [delayed(X)] * 4, [delayed(y)] * 3)
    _bad("X has 1500 rows, y has 1499", parts, y[1:])
    _bad("^partition 1 has 3 features, partition 0 has 4", [delayed(X), delayed(X[:, 1:])], [delayed(y)] * 2)
    _bad("^y must be a Dask collection", [delayed(X)], y)
    _bad("^sample_weight is zero for every row", parts, y, np.zeros(N))
    _bad("every label is missing", parts, np.full(N, np.nan), classes=[1, 2])
    _bad("^X must be a Dask array of two dimensions", parts[:, 0], y)


def test_sums_are_added_in_their_order():
    assert added((1, (2.0, np.array([3]))), (10, (20.0, np.array([30])))) == (11, (22.0, np.array([33])))


def test_probabilities_warnings_and_separable_labels_are_those_of_one_machine(data):
    X, y = data
    intervals = np.column_stack([y, y])
    intervals[y >= K - 1] = K - 1, K  # the two highest classes stay together
    blocks = da.from_array(X, chunks=(400, -1))
    with pytest.warns(UserWarning, match=f"cannot tell these classes apart: {K - 1}, {K}"):
        plain = rw.CumulativeLink(alpha=0.01, classes=range(1, K + 1)).fit(X, intervals)
    with pytest.warns(UserWarning, match=f"cannot tell these classes apart: {K - 1}, {K}") as caught:
        found = rd.CumulativeLink(alpha=0.01, classes=range(1, K + 1)).fit(blocks, da.from_array(intervals))
    assert len(caught) == 1
    P = found.predict_proba(blocks)
    assert isinstance(P, da.Array)
    np.testing.assert_allclose(P.compute(), plain.predict_proba(X), atol=1e-7)
    ends = found.predict_interval(blocks, level=0.8).compute()
    assert (ends == plain.predict_interval(X, level=0.8)).mean() > 0.99
    column = np.where(y == K, 1.0, 0.0)[:, None]
    with pytest.warns(ConvergenceWarning, match=f"separable by columns? {D}"):
        rd.CumulativeLink(alpha=0).fit(da.from_array(np.hstack([X, column]), chunks=(400, -1)), y)
    with pytest.raises(ValueError, match="has gaps; CumulativeLink does not learn from candidate sets with gaps"):
        rd.CumulativeLink(classes=[1, 2, 3]).fit([delayed(X[:2])], [delayed([{1, 3}, {1}])])
