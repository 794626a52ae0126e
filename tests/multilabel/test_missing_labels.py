"""MissingLabelClassifier: the right optimum, an honest certificate, and tables of annotations in every form."""

import pickle
import threading
import tracemalloc
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks
from typer.testing import CliRunner

import rankwise as rw
from rankwise import MissingLabelClassifier
from rankwise.cli._app import app
from rankwise.multilabel import missing_labels
from tests.reference.binary_problem import objective, optimum

LOSSES = ("hinge", "logistic")


@pytest.fixture
def table(rng):
    """Features, three labels and where they are annotated."""
    X = rng.standard_normal((120, 6))
    X[rng.random(X.shape) < 0.3] = 0.0
    Y = (X @ rng.standard_normal((6, 3)) + rng.standard_normal((120, 3)) + [0.0, 1.0, -1.5] > 0).astype(float)
    Y[rng.random(Y.shape) < 0.4] = np.nan
    return X, Y


def _known(X, Y, label, weight=None):
    known = ~np.isnan(Y[:, label])
    cost = np.ones(len(X)) if weight is None else weight
    return X[known], np.where(Y[known, label] == 1, 1.0, -1.0), cost[known]


# -- the optimum -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("alpha", [0.3, 0.01])
@pytest.mark.parametrize("loss", LOSSES)
def test_optimum_of_a_general_solver(table, rng, loss, alpha, fit_intercept, weighted):
    X, Y = table
    weight = rng.uniform(0.2, 3.0, len(X)) if weighted else None
    model = MissingLabelClassifier(loss, alpha, fit_intercept, tol=1e-7, max_iter=100_000, random_state=0)
    model.fit(X, Y, sample_weight=weight)
    for label in range(3):
        some, sign, cost = _known(X, Y, label, weight)
        best = optimum(some, sign, cost, loss, alpha, fit_intercept)
        reached = objective(model.coef_[label], model.intercept_[label], some, sign, cost, loss, alpha)
        assert reached == pytest.approx(best, rel=1e-6)
        assert model.objectives_[label] == pytest.approx(reached, rel=1e-12)
        assert model.lower_bounds_[label] <= best * (1 + 1e-8)
    assert model.gap_ == pytest.approx(model.objective_ - model.lower_bound_)
    assert np.all(model.gaps_ <= 1e-7 * model.objectives_)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("passes", [1, 3, 20])
def test_the_gap_is_honest_before_convergence(table, loss, passes):
    X, Y = table
    model = MissingLabelClassifier(loss, alpha=0.003, tol=1e-9, max_iter=passes, random_state=1)
    with pytest.warns(ConvergenceWarning, match="3 of 3 labels did not converge in max_iter"):
        model.fit(X, Y)
    for label in range(3):
        best = optimum(*_known(X, Y, label), loss, 0.003, True)
        assert model.lower_bounds_[label] <= best <= model.objectives_[label]
        assert model.gaps_[label] > 1e-9 * best


def test_a_complete_table_is_one_binary_problem_for_each_label(table):
    X, Y = table
    Y = np.nan_to_num(Y)
    alpha, n = 0.02, len(X)
    ours = {loss: MissingLabelClassifier(loss, alpha, tol=1e-8, max_iter=100_000).fit(X, Y) for loss in LOSSES}
    for label in range(3):
        sign = 2 * Y[:, label] - 1
        theirs = LogisticRegression(C=1 / (alpha * n), tol=1e-9, max_iter=10_000).fit(X, sign)
        np.testing.assert_allclose(ours["logistic"].coef_[label], theirs.coef_[0], atol=1e-3)
        machine = SVC(kernel="linear", C=1 / (alpha * n), tol=1e-8).fit(X, sign)  # its intercept is not penalised, too
        np.testing.assert_allclose(ours["hinge"].coef_[label], machine.coef_[0], atol=1e-3)
        for loss, other in (("logistic", theirs), ("hinge", machine)):
            best = objective(other.coef_[0], other.intercept_[0], X, sign, np.ones(n), loss, alpha)
            assert ours[loss].objectives_[label] == pytest.approx(best, rel=1e-6)


def test_what_is_missing_is_not_looked_at(table):
    X, Y = table
    model = MissingLabelClassifier(random_state=0).fit(X, Y)
    known = ~np.isnan(Y[:, 1])
    alone = MissingLabelClassifier(random_state=np.random.RandomState(0), tol=1e-8).fit(X[known], Y[known, 1:2])
    np.testing.assert_allclose(model.coef_[1], alone.coef_[0], atol=0.05)
    assert model.n_annotated_.tolist() == np.count_nonzero(~np.isnan(Y), axis=0).tolist()


@pytest.mark.parametrize("loss", LOSSES)
def test_weights_count_as_copies_and_zero_leaves_out(table, loss):
    X, Y = table
    count = np.arange(len(X)) % 4
    exact = dict(loss=loss, alpha=0.05, tol=1e-9, max_iter=100_000)
    weighted = MissingLabelClassifier(**exact).fit(X, Y, sample_weight=count)
    copied = MissingLabelClassifier(**exact).fit(np.repeat(X, count, axis=0), np.repeat(Y, count, axis=0))
    np.testing.assert_allclose(weighted.objectives_, copied.objectives_, rtol=1e-8)
    np.testing.assert_allclose(weighted.coef_, copied.coef_, atol=1e-3)
    assert weighted.n_annotated_.tolist() == np.count_nonzero(~np.isnan(Y[count > 0]), axis=0).tolist()
    huge = MissingLabelClassifier(**exact).fit(X, Y, sample_weight=count * 2.0**1021)  # whose sum would be infinite
    np.testing.assert_allclose(huge.objectives_, weighted.objectives_, rtol=1e-8)


# -- storage and cores -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
def test_dense_and_sparse_give_the_same_bits(table, loss):
    X, Y = table
    dense = MissingLabelClassifier(loss, alpha=0.1, random_state=0).fit(X, Y)
    stored = MissingLabelClassifier(loss, alpha=0.1, random_state=0).fit(sparse.csr_array(X), Y)
    np.testing.assert_array_equal(dense.coef_, stored.coef_)
    np.testing.assert_array_equal(dense.intercept_, stored.intercept_)
    np.testing.assert_allclose(dense.decision_function(X), stored.decision_function(sparse.csr_array(X)), atol=1e-12)


def test_single_precision(table):
    X, Y = table
    single = MissingLabelClassifier(random_state=0).fit(X.astype(np.float32), Y)
    double = MissingLabelClassifier(random_state=0).fit(X.astype(np.float32).astype(np.float64), Y)
    np.testing.assert_allclose(single.coef_, double.coef_, rtol=1e-9)


def test_threads_share_the_labels_and_change_nothing(table, monkeypatch):
    X, Y = table
    at_once = threading.Barrier(2)  # breaks, and so fails the test, unless two labels are under way at the same time

    one = MissingLabelClassifier(n_jobs=1, random_state=3).fit(X, Y[:, :2])
    solve_binary = missing_labels.solve_binary

    def solve(*args, **kwargs):
        at_once.wait(timeout=20)
        return solve_binary(*args, **kwargs)

    monkeypatch.setattr(missing_labels, "solve_binary", solve)
    two = MissingLabelClassifier(n_jobs=2, random_state=3).fit(X, Y[:, :2])
    np.testing.assert_array_equal(one.coef_, two.coef_)


# -- tables of annotations ---------------------------------------------------------------------------------------------


def _forms(Y):
    missing = np.isnan(Y)
    objects = np.where(missing, None, Y.astype(object))
    frame = pd.DataFrame(Y, columns=["a", "b", "c"])
    return {
        "objects": objects,
        "lists": objects.tolist(),
        "masked": np.ma.array(np.nan_to_num(Y), mask=missing),
        "frame": frame,
        "nullable": frame.astype("Int8"),
        "booleans": frame.astype("boolean"),
        "words": np.where(missing, None, np.where(Y == 1, "yes", "no")),
        "minus one": np.where(Y == 0, -1.0, Y),
    }


@pytest.mark.parametrize("form", list(_forms(np.zeros((1, 3)))))
def test_every_form_of_table(table, form):
    X, Y = table
    expected = MissingLabelClassifier(random_state=0).fit(X, Y)
    model = MissingLabelClassifier(random_state=0).fit(X, _forms(Y)[form])
    np.testing.assert_array_equal(model.coef_, expected.coef_)
    classes = {"words": ["no", "yes"], "minus one": [-1, 1]}.get(form, [0, 1])
    assert model.classes_.tolist() == classes
    np.testing.assert_array_equal(model.predict(X), np.array(classes)[expected.predict(X)])
    assert model.score(X, _forms(Y)[form]) == expected.score(X, Y)


def test_polars_pyarrow_and_sparse_tables(table):
    polars, pyarrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    X, Y = table
    expected = MissingLabelClassifier(random_state=0).fit(X, Y)
    columns = {name: [None if np.isnan(v) else int(v) for v in Y[:, j]] for j, name in enumerate("abc")}
    for form in (polars.DataFrame(columns), pyarrow.table(columns)):
        np.testing.assert_array_equal(MissingLabelClassifier(random_state=0).fit(X, form).coef_, expected.coef_)
    complete = np.nan_to_num(Y)
    stored = MissingLabelClassifier(random_state=0).fit(X, sparse.csr_array(complete))
    np.testing.assert_array_equal(stored.coef_, MissingLabelClassifier(random_state=0).fit(X, complete).coef_)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda Y: Y[:, 0], r"2d array of shape \(n_samples, n_labels\).* Got an array of shape \(120,\)"),
        (lambda Y: Y[:100], "X has 120 rows but y has 100"),
        (lambda Y: np.where(np.arange(3) == 1, np.nan, Y), "label 1 has no annotated entry"),
        (lambda Y: pd.DataFrame(Y, columns=list("abc")).assign(b=np.nan), r"label 1 \('b'\) has no annotated entry"),
        (lambda Y: np.full_like(Y, np.nan), "y has no annotated entry"),
        (lambda Y: np.where(np.arange(120)[:, None] == 7, 2.0, Y), r"it holds the 3 values \[0.0, 1.0, 2.0\]"),
        (lambda Y: np.full_like(Y, 5.0), r"the only value \[5.0\]"),
        (lambda Y: Y[:, :0], "y has no label"),
        (lambda Y: [[1, 0], [1]] * 60, "its rows have different lengths"),
        (lambda Y: None, "requires y"),
        (lambda Y: [[{1}, 0, 1], [0, 1, 0]] * 60, r"a label must be a number, a string or the like. Got \{1\}"),
    ],
)
def test_bad_tables(table, change, message):
    X, Y = table
    model = MissingLabelClassifier()
    with pytest.raises(ValueError, match=message):
        model.fit(X, change(Y))
    assert not hasattr(model, "coef_")


def test_an_odd_value_at_scoring_names_its_place(table):
    X, Y = table
    model = MissingLabelClassifier().fit(X, Y)
    odd = Y.copy()
    odd[4, 2] = 3
    with pytest.raises(ValueError, match=r"row 4, label 2: an entry must be 0, 1 or missing \(NaN\). Got 3.0"):
        model.score(X, odd)
    with pytest.raises(ValueError, match="y must have 3 labels, as in fit"):
        model.score(X, Y[:, :2])


def test_weights_that_leave_a_label_without_rows(table):
    X, Y = table
    with pytest.raises(ValueError, match="label 0 has no annotated entry with a weight above zero"):
        MissingLabelClassifier().fit(X, Y, sample_weight=np.isnan(Y[:, 0]))


def test_features_too_large(table):
    X, Y = table
    with pytest.raises(ValueError, match="features are too large for this model"):
        MissingLabelClassifier().fit(X * 1e200, Y)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("only", [0, 1])
def test_a_label_of_one_class_is_constant(table, loss, only):
    X, Y = table
    Y = Y.copy()
    Y[~np.isnan(Y[:, 2]), 2] = only
    with pytest.warns(UserWarning, match="label 2: all annotated entries are of one class"):
        model = MissingLabelClassifier(loss).fit(X, Y)
    assert np.all(model.coef_[2] == 0.0)
    assert np.all(model.predict(X)[:, 2] == only)
    some, sign, cost = _known(X, Y, 2)
    assert model.objectives_[2] == pytest.approx(
        objective(model.coef_[2], model.intercept_[2], some, sign, cost, loss, 0.01)
    )
    assert 0.0 <= model.gaps_[2] <= model.tol
    # Without an intercept it is a problem like any other.
    through_zero = MissingLabelClassifier(loss, alpha=0.1, fit_intercept=False).fit(X, Y)
    assert np.any(through_zero.coef_[2] != 0.0)


# -- a good citizen ----------------------------------------------------------------------------------------------------


def test_score_counts_annotated_entries(table):
    X, Y = table
    model = MissingLabelClassifier(random_state=0).fit(X, Y)
    known = ~np.isnan(Y)
    weight = np.linspace(0, 1, len(X))
    right = (model.predict(X) == Y)[known]
    assert model.score(X, Y) == pytest.approx(right.mean())
    by_weight = np.average(right, weights=np.broadcast_to(weight[:, None], Y.shape)[known])
    assert model.score(X, Y, sample_weight=weight) == pytest.approx(by_weight)
    assert np.isnan(model.score(X, np.full_like(Y, np.nan)))


def test_probabilities_only_of_the_logistic_loss(table):
    X, Y = table
    model = MissingLabelClassifier(random_state=0).fit(X, Y)
    np.testing.assert_array_equal(model.predict_proba(X) > 0.5, model.predict(X) == 1)
    assert not hasattr(MissingLabelClassifier("hinge"), "predict_proba")


@pytest.mark.parametrize("words", [False, True])
def test_saved_and_pickled_models_predict_the_same(table, tmp_path, words):
    X, Y = table
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(6)])
    model = MissingLabelClassifier("hinge", alpha=0.1, random_state=0).fit(frame, _forms(Y)["words"] if words else Y)
    rw.save(model, tmp_path / "model.rankwise")
    for copy in (rw.load(tmp_path / "model.rankwise"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(copy.predict(frame), model.predict(frame))
        assert copy.predict(frame).dtype == model.predict(frame).dtype
        assert copy.gap_ == model.gap_
        assert copy.feature_names_in_.tolist() == list(frame.columns)


def test_a_file_that_cannot_be_such_a_model(table, tmp_path):
    model = MissingLabelClassifier(random_state=0).fit(*table)
    model.coef_ = model.coef_[:, :-1]
    rw.save(model, tmp_path / "model.rankwise")
    with pytest.raises(rw.persistence.ModelFileError, match=r"'coef_' must be float64 of shape \(3, 6\)"):
        rw.load(tmp_path / "model.rankwise")


def test_pipelines_and_searches(table):
    X, Y = table
    search = GridSearchCV(
        make_pipeline(StandardScaler(), MissingLabelClassifier(random_state=0)),
        {"missinglabelclassifier__alpha": [0.001, 0.1, 10.0]},
        cv=KFold(3),  # scikit-learn would look into y to stratify, and refuse NaN
    ).fit(X, Y)
    assert search.best_params_["missinglabelclassifier__alpha"] < 10.0
    assert clone(search.best_estimator_[-1]).get_params() == search.best_estimator_[-1].get_params()


ONE_DIMENSIONAL = "learns from a table, one column for each label; the check gives a 1-D y or wants one back"


def _expected_failures(estimator):
    return {
        **dict.fromkeys(
            (
                "check_classifiers_one_label",
                "check_classifiers_one_label_sample_weights",
                "check_classifiers_classes",
                "check_classifiers_train",
                "check_classifiers_regression_target",
                "check_decision_proba_consistency",
                "check_classifier_not_supporting_multiclass",
            ),
            ONE_DIMENSIONAL,
        ),
        **dict.fromkeys(
            ("check_estimator_sparse_array", "check_estimator_sparse_matrix"),
            "wants predict_proba of shape (n, 2); a table has one probability for each label, as OneVsRestClassifier",
        ),
        **dict.fromkeys(
            (
                "check_sample_weight_equivalence_on_dense_data",
                "check_sample_weight_equivalence_on_sparse_data",
            ),
            "equal to seven digits, where both fits are within tol of the optimum",
        ),
    }


@parametrize_with_checks([MissingLabelClassifier(random_state=0)], expected_failed_checks=_expected_failures)
def test_scikit_learn_checks(estimator, check):
    with warnings.catch_warnings():
        # Some checks give features far from zero mean, on which a thousand passes are not enough.
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", message=".*all annotated entries are of one class")
        check(estimator)


def test_no_label_copies_the_rows(rng):
    X = rng.standard_normal((20_000, 60))
    Y = np.where(rng.random((20_000, 6)) < 0.2, np.nan, X[:, :6] > 0)
    model = MissingLabelClassifier(alpha=0.1, tol=0.1, n_jobs=2, random_state=0).fit(X[:100], Y[:100])  # compiled
    tracemalloc.start()
    try:
        model.fit(X, Y)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < X.nbytes


def test_the_command_tells_what_a_file_holds(table, tmp_path):
    rw.save(MissingLabelClassifier(random_state=0).fit(*table), tmp_path / "model.rankwise")
    told = CliRunner().invoke(app, ["info", str(tmp_path / "model.rankwise")])
    assert told.exit_code == 0
    assert "MissingLabelClassifier" in told.output
    assert "of the optimum" in told.output


def test_threads_leave_the_filters_of_warnings_alone(table, monkeypatch):
    """These belong to the process: of two threads that change them, the last may put back what the first had set."""
    enter, threads = warnings.catch_warnings.__enter__, set()

    def noted(self):
        threads.add(threading.current_thread())
        return enter(self)

    monkeypatch.setattr(warnings.catch_warnings, "__enter__", noted)
    MissingLabelClassifier(n_jobs=2, random_state=0).fit(*table)
    assert threads <= {threading.main_thread()}


def test_predictions_do_not_wait_for_a_refit(table, monkeypatch):
    X, Y = table
    model = MissingLabelClassifier(n_jobs=1, random_state=0).fit(X, Y)
    before, seen = model.decision_function(X), []
    solve_binary = missing_labels.solve_binary

    def solve(*args, **kwargs):
        reader = threading.Thread(target=lambda: seen.append(model.decision_function(X)), daemon=True)
        reader.start()
        reader.join(timeout=20)
        return solve_binary(*args, **kwargs)

    monkeypatch.setattr(missing_labels, "solve_binary", solve)
    model.fit(-X, Y)
    assert len(seen) == 3
    for scores in seen:
        np.testing.assert_array_equal(scores, before)
    assert not np.array_equal(model.decision_function(X), before)
