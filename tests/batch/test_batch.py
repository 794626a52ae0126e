"""What every large-margin estimator must do, whatever its method."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import rankwise as rw
from rankwise import MORD, SVOR, VILMA, PiecewiseMORD, RoundedRegression, UnifiedClassifier
from rankwise.batch.batch_estimator import BatchEstimator
from rankwise.solvers.design import sampled_rows
from rankwise.solvers.smoothing import sampling_step
from tests.streams import best_constant_score, make_stream

ESTIMATORS = [
    SVOR(),
    SVOR(constraints="explicit", regularize="all"),
    SVOR(solver="cutting-plane"),
    VILMA(loss="squared"),
    MORD(),
    PiecewiseMORD(loss="zero_one"),
    RoundedRegression(),
    UnifiedClassifier(),
]
FIRST_OF_EACH = list({type(e): e for e in reversed(ESTIMATORS)}.values())
each = pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)


PLANES_STOP_ANYWHERE = (
    "weights and repeated rows are the same problem, but the planes differ in their last bits, and with them the point "
    "within the gap at which the solver stops"
)


def _expected_failures(estimator):
    if estimator.solver != "cutting-plane":
        return {}
    return {
        "check_sample_weight_equivalence_on_dense_data": PLANES_STOP_ANYWHERE,
        "check_sample_weight_equivalence_on_sparse_data": PLANES_STOP_ANYWHERE,
    }


@pytest.mark.filterwarnings("ignore::rankwise.labels.OrderWarning")  # some checks use strings without an order
@parametrize_with_checks(FIRST_OF_EACH, expected_failed_checks=_expected_failures)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::rankwise.labels.OrderWarning")
@parametrize_with_checks([e for e in ESTIMATORS if e not in FIRST_OF_EACH], expected_failed_checks=_expected_failures)
def test_scikit_learn_checks_with_other_parameters(estimator, check):
    check(estimator)


def prepared(estimator, n=150, tol=1e-4):
    stream = make_stream(11, n=n, n_classes=4, exact=0.5)
    return clone(estimator).set_params(classes=[0, 1, 2, 3], alpha=0.01, tol=tol), stream


@each
def test_sparse_and_single_precision_rows_give_the_model_of_dense_ones(estimator):
    model, stream = prepared(estimator)
    model.fit(stream.X, stream.y, sample_weight=stream.weight)
    X = stream.X
    for other in (sparse.csr_matrix(X), sparse.csc_matrix(X), sparse.csr_array(X)):
        same = clone(model).fit(other, stream.y, sample_weight=stream.weight)
        assert same.objective_ == pytest.approx(model.objective_, rel=1e-9)
        np.testing.assert_allclose(same.decision_function(other), model.decision_function(X), rtol=1e-6, atol=1e-6)
    single = clone(model).fit(X.astype(np.float32), stream.y, sample_weight=stream.weight)
    assert single.objective_ == pytest.approx(model.objective_, rel=2e-4)


@each
def test_exact_labels_are_intervals_of_width_zero_and_missing_ones_change_nothing(estimator, rng):
    model, stream = prepared(estimator)
    model.fit(stream.X, stream.lower)
    pairs = clone(model).fit(stream.X, np.column_stack([stream.lower, stream.lower]))
    np.testing.assert_array_equal(pairs.coef_, model.coef_)
    X = np.vstack([stream.X, rng.standard_normal((30, stream.X.shape[1]))])
    y = np.concatenate([stream.lower, np.full(30, np.nan)])
    more = clone(model).fit(X, y)
    assert more.objective_ == pytest.approx(model.objective_, rel=1e-9)


@each
@pytest.mark.parametrize("factor", [2.0**1021, 2.0**-1000], ids=["large", "small"])
def test_weights_whose_sum_is_no_number_count_by_their_shares(estimator, factor):
    model, stream = prepared(estimator)
    model.fit(stream.X, stream.y, sample_weight=stream.weight)
    same = clone(model).fit(stream.X, stream.y, sample_weight=stream.weight * factor)
    np.testing.assert_array_equal(same.coef_, model.coef_)
    assert (same.objective_, same.lower_bound_) == (model.objective_, model.lower_bound_)


@each
@pytest.mark.parametrize(("factor", "shift"), [(1e3, 0.0), (1.0, 1e3), (1e3, 1e3)], ids=str)
def test_features_that_nobody_scaled_need_few_iterations_to_be_certified(estimator, factor, shift):
    stream = make_stream(11, n=150, n_classes=4, exact=0.5)
    model = clone(estimator).set_params(classes=[0, 1, 2, 3]).fit(factor * stream.X + shift, stream.y)
    assert model.gap_ <= 1e-3
    assert model.n_iter_ <= 60


@each
def test_columns_without_entries_cost_nothing(estimator, monkeypatch):
    """Three rows with indices up to 5 million took minutes."""
    model, stream = prepared(estimator, n=60)
    n_rows, width, n_solved = len(stream.X), 50_000, []
    rows, place = sparse.csr_matrix(stream.X), np.array([7, 300, 41_000, 49_999, 1])[: stream.X.shape[1]]
    wide = sparse.csr_matrix((n_rows, width))
    wide.data, wide.indices, wide.indptr = rows.data, np.sort(place)[rows.indices].astype(np.int32), rows.indptr
    solve = BatchEstimator._solve

    def watched(self, design, *arguments):
        n_solved.append(design.n_features)
        return solve(self, design, *arguments)

    monkeypatch.setattr(BatchEstimator, "_solve", watched)
    model.fit(wide, stream.y)
    assert max(n_solved) <= place.size + 1
    narrow = clone(model).fit(stream.X, stream.y)
    assert model.objective_ == pytest.approx(narrow.objective_, rel=2e-4)
    assert model.coef_.shape[-1] == width
    assert not np.delete(model.coef_, place, axis=-1).any()
    path = clone(model).path(wide, stream.y, [0.1, 0.01])
    assert path[1].objective_ == pytest.approx(narrow.objective_, rel=2e-4)


@each
def test_a_path_ends_where_single_fits_end(estimator):
    model, stream = prepared(estimator)
    alphas = [0.1, 0.01, 0.001]
    for alpha, fitted in zip(alphas, model.path(stream.X, stream.y, alphas, stream.weight), strict=True):
        alone = clone(model).set_params(alpha=alpha).fit(stream.X, stream.y, sample_weight=stream.weight)
        assert fitted.alpha == alpha
        assert fitted.gap_ <= 1e-4
        assert fitted.objective_ == pytest.approx(alone.objective_, rel=2e-4)
    assert not hasattr(model, "coef_")


@pytest.mark.parametrize("alphas", [[], [0.1, 0.2], [0.1, 0.1], 0.1, [0.2, np.nan, 0.1]])
def test_alphas_that_do_not_descend_are_refused(alphas):
    with pytest.raises(ValueError, match="alphas must be numbers in descending order"):
        SVOR().path([[0.0], [1.0]], [1, 2], alphas)


@each
def test_saving_keeps_the_model_and_its_certificate(estimator, tmp_path):
    model, stream = prepared(estimator)
    model.set_params(classes=["a", "b", "c", "d"]).fit(stream.X, np.array(list("abcd"))[stream.lower])
    rw.save(model, tmp_path / "m")
    copy = rw.load(tmp_path / "m")
    for other in (copy, pickle.loads(pickle.dumps(model))):
        assert other.get_params() == model.get_params()
        np.testing.assert_array_equal(other.coef_, model.coef_)
        np.testing.assert_array_equal(other.predict(stream.X), model.predict(stream.X))
        assert (other.objective_, other.lower_bound_, other.gap_, other.n_iter_) == (
            model.objective_,
            model.lower_bound_,
            model.gap_,
            model.n_iter_,
        )


def test_a_file_that_describes_no_model_is_refused():
    model = SVOR().fit([[0.0], [1.0], [2.0]], [1, 2, 3])
    plain = model.to_plain()
    with pytest.raises(ValueError, match=r"array 'offsets' must be float64 of shape \(2,\), not float64 \(3,\)"):
        SVOR().from_plain({**plain, "offsets": np.zeros(3)})
    with pytest.raises(ValueError, match="features=0"):
        SVOR().from_plain({**plain, "features": 0})


@each
def test_pipelines_and_grid_search(estimator):
    model, stream = prepared(estimator)
    alpha, pipeline = f"{type(model).__name__.lower()}__alpha", make_pipeline(StandardScaler(), model)
    search = GridSearchCV(pipeline, {alpha: [100.0, 0.01]}, cv=KFold(2)).fit(stream.X, stream.y)
    assert search.best_params_ == {alpha: 0.01}
    by_hand = [
        clone(pipeline).fit(stream.X[train], stream.y[train]).score(stream.X[test], stream.y[test])
        for train, test in KFold(2).split(stream.X)
    ]
    assert search.best_score_ == pytest.approx(np.mean(by_hand))
    assert search.best_score_ > best_constant_score(stream.y, stream.classes)


@each
def test_candidate_sets_with_gaps_are_refused_by_row(estimator):
    with pytest.raises(ValueError, match=r"row 1: the candidate set .* has gaps; .* These can: .*CuSumRank"):
        clone(estimator).set_params(classes=[1, 2, 3]).fit([[0.0], [1.0]], [{1, 2}, {1, 3}])


@pytest.mark.parametrize("estimator", [SVOR(), SVOR(solver="cutting-plane"), rw.CumulativeLink()])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
@pytest.mark.filterwarnings("error")
def test_features_whose_squares_overflow_are_refused(estimator, container, rng):
    X = rng.normal(size=(60, 2))
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    X[7, 1] = -1e200
    with pytest.raises(ValueError, match=r"row 7: .*too large for this model, up to -1e\+200 in row 7, column 1"):
        clone(estimator).fit(container(X), y)


def test_bad_rows_are_named_and_leave_the_estimator_as_it_was():
    model = SVOR().fit([[0.0], [1.0]], [1, 2])
    before = dict(vars(model))
    with pytest.raises(ValueError, match=r"Input X contains NaN: row 1, column 0\. SVOR needs finite numbers"):
        model.fit([[0.0, 1.0], [np.nan, 1.0], [1.0, 1.0]], [1, 2, 3])  # with more columns than before
    with pytest.raises(ValueError, match="every label is missing"):
        model.fit([[0.0, 1.0], [1.0, 1.0]], [None, None])
    assert vars(model) == before


def test_too_few_iterations_warn_and_say_what_to_do():
    stream = make_stream(0, n=200)
    with pytest.warns(ConvergenceWarning, match=r"stopped at a relative gap of .* raise max_iter \(now 1\) or tol"):
        SVOR(max_iter=1, tol=1e-6).fit(stream.X, stream.lower)


def test_cutting_planes_that_are_stopped_early_have_a_bound():
    stream = make_stream(0, n=200)
    best = SVOR(tol=1e-6).fit(stream.X, stream.lower)
    with pytest.warns(ConvergenceWarning, match="stopped at a relative gap"):
        model = SVOR(solver="cutting-plane", max_iter=5, tol=1e-6).fit(stream.X, stream.lower)
    assert 0 < model.lower_bound_ <= best.objective_ <= model.objective_ + 1e-9
    assert model.n_iter_ == 5


def test_cutting_planes_do_not_mind_the_scales_of_the_features():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1000, 10))
    y = np.digitize(X.sum(axis=1) + rng.standard_normal(1000), [-3.0, 0.0, 3.0])
    plain, scaled = (
        SVOR(solver="cutting-plane", alpha=1e-4).fit(X * scale, y).n_iter_ for scale in (1.0, np.logspace(-2, 2, 10))
    )
    assert scaled <= 2 * plain + 10


def test_cutting_planes_go_on_where_they_promise_less_than_the_inner_loop_knows():
    rng = np.random.default_rng(0)
    share = rng.uniform(0.02, 0.5, 20)
    X = (rng.random((300, 20)) < share) / np.sqrt(share * (1 - share))
    y = np.clip(15 + 6 * X @ rng.standard_normal(20) / np.sqrt(20) + 6 * rng.standard_normal(300), 0, 29).astype(int)
    model = VILMA("zero_one", alpha=0.1, solver="cutting-plane", max_iter=30, classes=range(30)).fit(X, y)
    assert model.gap_ <= model.tol


@pytest.mark.filterwarnings("error::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("solver", ["smoothing", "cutting-plane"])
def test_the_unit_in_which_losses_are_given_does_not_matter(solver):
    stream = make_stream(0, n=400, n_classes=6, noise=0.5)
    loss = np.abs(np.subtract.outer(np.arange(6), np.arange(6))) ** 1.5
    objectives = [
        VILMA(loss * unit, alpha=0.01 / unit, tol=1e-4, solver=solver).fit(stream.X, stream.lower).objective_ / unit
        for unit in (1e-3, 1.0, 1e3)
    ]
    assert objectives == pytest.approx([objectives[1]] * 3, rel=2e-4)


@pytest.mark.filterwarnings("error::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("estimator", [VILMA("squared"), MORD("squared"), MORD()], ids=str)
def test_losses_of_thousands_are_certified_in_few_iterations(estimator):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1500, 5))
    y = np.clip(30 + 8 * X.sum(axis=1) + 10 * rng.standard_normal(1500), 0, 69).astype(int)
    for model in clone(estimator).set_params(classes=range(70)).path(X, y, [10.0, 1.0, 0.1, 0.001]):
        assert model.gap_ <= model.tol
        assert model.n_iter_ < 120


def test_a_linear_programme_that_is_too_large_says_that_it_has_no_bound(monkeypatch):
    stream = make_stream(0, n=200)
    exact = SVOR(regularize="none").fit(stream.X, stream.lower)
    monkeypatch.setattr("rankwise.solvers.linear_program._MOST_ENTRIES", 0)
    with pytest.warns(ConvergenceWarning, match="a linear programme, too large here .* lower_bound_ is -inf"):
        model = SVOR(regularize="none").fit(stream.X, stream.lower)
    assert model.lower_bound_ == -np.inf
    assert model.gap_ == np.inf
    assert exact.objective_ <= model.objective_ <= 1.01 * exact.objective_


def test_cut_labels_that_are_no_classes_are_refused():
    with pytest.raises(ValueError, match=r"cuts must be classes\. Got 9"):
        PiecewiseMORD(cuts=[1, 9]).fit([[0.0], [1.0]], [1, 2])


@pytest.mark.parametrize("solver", ["auto", "cutting-plane"])
def test_the_sample_that_is_solved_first_may_have_no_weight(solver):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 3))
    y = np.digitize(X[:, 0], [-1.0, 1.0])
    weight = np.ones(2000)
    weight[sampled_rows(sampling_step(2000, 5), 0, 2000)] = 0.0
    counts = weight > 0.0
    assert not counts.all()
    model = SVOR(solver=solver, tol=1e-4).fit(X, y, sample_weight=weight)
    assert model.objective_ == pytest.approx(SVOR(tol=1e-4).fit(X[counts], y[counts]).objective_, rel=2e-4)


@each
def test_a_fit_or_path_that_fails_on_the_way_leaves_the_estimator_as_it_was(estimator, monkeypatch):
    model, stream = prepared(estimator)
    model.fit(stream.X, stream.y)
    before = dict(vars(model))

    def failing(self, solution, n_weights):
        set_attributes(self, solution, n_weights)
        raise KeyboardInterrupt

    set_attributes = BatchEstimator._accept
    monkeypatch.setattr(BatchEstimator, "_accept", failing)
    for learn in (model.fit, lambda X, y: model.path(X, y, [0.1, 0.01])):
        with pytest.raises(KeyboardInterrupt):
            learn(2.0 * stream.X[:, :3], stream.y)
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is value for name, value in before.items())
