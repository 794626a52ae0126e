"""Strengths by cross-validation."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import rankwise as rw
from rankwise import MORD, SVOR, VILMA, CumulativeLink, PathCV, PiecewiseMORD
from rankwise.batch.strength import strengths
from rankwise.evaluation import IntervalScorer, ProbabilityScorer, StratifiedIntervalKFold
from rankwise.labels import as_labels
from rankwise.solvers.design import Design
from tests.streams import make_stream

ESTIMATORS = [SVOR(), VILMA(loss="squared"), MORD(), PiecewiseMORD(), CumulativeLink()]
each = pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
ALPHAS = [1.0, 0.1, 0.01]


def rows(n=120):
    stream = make_stream(5, n=n, n_classes=4, exact=0.5)
    y = stream.y.astype(float)
    y[::10] = np.nan
    return stream.X, as_labels(y, classes=range(4)), stream.weight


@each
def test_it_finds_what_a_grid_search_finds(estimator):
    X, y, _ = rows()
    folds = StratifiedIntervalKFold(3)
    tight = clone(estimator).set_params(tol=1e-4)
    scorer = IntervalScorer(getattr(estimator, "loss", "mae"))
    grid = GridSearchCV(tight, {"alpha": ALPHAS}, cv=folds, scoring=scorer).fit(X, y)
    model = PathCV(estimator, ALPHAS, cv=folds).fit(X, y)
    there = dict(zip(ALPHAS, grid.cv_results_["mean_test_score"], strict=True))
    assert there[model.alpha_] >= grid.best_score_ - 0.01
    np.testing.assert_allclose(model.cv_results_["mean_test_score"], list(there.values()), atol=0.03)
    assert model.best_estimator_.alpha == model.alpha_
    np.testing.assert_array_equal(
        model.predict(X), clone(estimator).set_params(alpha=model.alpha_).fit(X, y).predict(X)
    )


def test_the_scorer_of_its_own_is_the_interval_scorer():
    X, y, weight = rows()
    found = [
        PathCV(SVOR(), ALPHAS, cv=3, scoring=scoring).fit(X, y, sample_weight=weight).cv_results_
        for scoring in (None, IntervalScorer())
    ]
    np.testing.assert_allclose(found[0]["mean_test_score"], found[1]["mean_test_score"])


def test_one_standard_error_takes_the_strongest_that_is_good_enough():
    X, y, _ = rows()
    model = PathCV(SVOR(), rule="one-se").fit(X, y)
    found = model.cv_results_
    best = int(np.argmax(found["mean_test_score"]))
    enough = found["mean_test_score"] >= found["mean_test_score"][best] - found["standard_error"][best]
    assert model.alpha_ == found["alpha"][enough].max()
    assert model.alpha_ >= PathCV(SVOR()).fit(X, y).alpha_
    assert found["rank_test_score"][best] == 1


def test_probabilities_can_be_what_it_chooses_by():
    X, y, _ = rows()
    model = PathCV(CumulativeLink(), [100.0, 0.01], scoring=ProbabilityScorer("log")).fit(X, y)
    assert model.alpha_ == 0.01
    assert model.predict_proba(X).shape == (120, 4)
    assert not hasattr(PathCV(SVOR()), "predict_proba")


def test_threads_units_and_sparse_rows_change_nothing():
    X, y, _ = rows()
    model = PathCV(SVOR()).fit(X, y)
    assert PathCV(SVOR(), n_jobs=2).fit(X, y).alpha_ == model.alpha_
    other = PathCV(SVOR()).fit(sparse.csr_matrix(1024.0 * X), y)
    assert other.alpha_ == pytest.approx(2.0**20 * model.alpha_)


def test_strengths_follow_the_variance_of_the_columns():
    X = np.array([[0.0, 3.0, 5.0], [2.0, 3.0, 5.0]])  # variances 1, 0, 0
    assert strengths(Design(X, 3), 3).tolist() == pytest.approx([10.0, 1e-2, 1e-5])
    assert strengths(Design(np.ones((2, 2)), 2), 3)[0] == pytest.approx(10.0)


def test_it_is_drawn():
    pytest.importorskip("matplotlib").use("Agg")
    X, y, _ = rows()
    model = PathCV(SVOR(), ALPHAS).fit(X, y)
    ax = model.plot()
    assert ax.get_xscale() == "log"
    assert ax.lines[0].get_xdata().tolist() == ALPHAS


def test_it_is_saved_and_stands_in_pipelines(tmp_path):
    X, y, _ = rows()
    model = PathCV(SVOR(), ALPHAS).fit(X, y)
    rw.save(model, tmp_path / "m")
    copy = rw.load(tmp_path / "m")
    assert copy.alpha_ == model.alpha_
    assert copy.cv_results_.keys() == model.cv_results_.keys()
    np.testing.assert_array_equal(copy.predict(X), model.predict(X))
    assert make_pipeline(StandardScaler(), PathCV(SVOR(), ALPHAS)).fit(X, y).score(X, y) > -1.0


@pytest.mark.parametrize(
    ("parameters", "what"),
    [
        ({"alphas": [0.1, -1.0]}, "alphas must be numbers above zero"),
        ({"alphas": []}, "alphas must be numbers above zero"),
        ({"rule": "two-se"}, "rule"),
        ({"estimator": rw.PRIL()}, "estimator"),
    ],
)
def test_what_makes_no_sense_is_refused(parameters, what):
    X, y, _ = rows()
    with pytest.raises(ValueError, match=what):
        PathCV(**{"estimator": SVOR(), **parameters}).fit(X, y)


def test_a_number_of_folds_may_be_numpys():
    X, y, _ = rows()
    chosen = [PathCV(SVOR(), alphas=[0.1, 1.0], cv=cv).fit(X, y).cv_results_ for cv in (3, np.int64(3))]
    np.testing.assert_array_equal(chosen[0]["mean_test_score"], chosen[1]["mean_test_score"])
