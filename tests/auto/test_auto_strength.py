"""``alpha="auto"``."""

import numpy as np
import pytest
from scipy import sparse

import rankwise as rw
from rankwise import MORD, SVOR, VILMA, CumulativeLink, PiecewiseMORD, TableModel
from rankwise.annotation import partial_labels
from rankwise.datasets import make_ordinal
from tests.streams import make_stream

ESTIMATORS = [SVOR, VILMA, MORD, PiecewiseMORD, CumulativeLink]
each = pytest.mark.parametrize("estimator", ESTIMATORS)


@each
def test_it_is_an_estimator_with_the_strength_that_it_chose(estimator, tmp_path):
    stream = make_stream(5, n=80, n_classes=3, exact=0.5)
    model = estimator(alpha="auto", classes=[0, 1, 2]).fit(stream.X, stream.y, sample_weight=stream.weight)
    same = estimator(alpha=model.alpha_, classes=[0, 1, 2]).fit(stream.X, stream.y, sample_weight=stream.weight)
    np.testing.assert_array_equal(model.coef_, same.coef_)
    rw.save(model, tmp_path / "m")
    assert rw.load(tmp_path / "m").alpha_ == model.alpha_


def test_few_rows_and_many_columns_want_more_of_it():
    X, y = make_ordinal(1000, 37, 5, noise=1.0, random_state=0)
    y_few = partial_labels(y[:40], 0.5, kind=2, random_state=0)
    few = SVOR(alpha="auto", classes=range(1, 6)).fit(X[:40], y_few)
    many = SVOR(alpha="auto").fit(X[:800], y[:800])
    assert few.alpha_ > many.alpha_
    plain = SVOR(classes=range(1, 6)).fit(X[:40], y_few)
    assert few.score(X[800:], y[800:]) > plain.score(X[800:], y[800:])


def test_units_change_the_strength_and_not_the_model():
    X, y = make_ordinal(200, 4, 4, noise=0.5, random_state=0)
    model, other = SVOR(alpha="auto").fit(X, y), SVOR(alpha="auto").fit(sparse.csr_matrix(1024.0 * X), y)
    assert other.alpha_ == pytest.approx(2.0**20 * model.alpha_)
    np.testing.assert_array_equal(other.predict(1024.0 * X), model.predict(X))


def test_missing_labels_and_weights_of_zero_have_no_say():
    X, y = make_ordinal(150, 4, 4, noise=0.5, random_state=0)
    more = np.vstack([X, 9.0 * X[:30]])
    missing = np.concatenate([y.astype(float), np.full(30, np.nan)])
    weight = np.concatenate([np.ones(150), np.zeros(30)])
    alphas = [
        SVOR(alpha="auto").fit(more, missing).alpha_,
        SVOR(alpha="auto").fit(more, np.concatenate([y, y[:30]]), sample_weight=weight).alpha_,
    ]
    assert alphas[0] == pytest.approx(alphas[1])


def test_candidate_sets_with_gaps_and_single_rows():
    X, y = make_ordinal(100, 3, 3, noise=0.3, random_state=0)
    sets = [{1, 3} if i % 5 == 0 and k != 2 else int(k) for i, k in enumerate(y)]
    assert CumulativeLink(alpha="auto", classes=[1, 2, 3]).fit(X, sets).alpha_ > 0
    assert SVOR(alpha="auto", classes=[1, 2, 3]).fit(X[:1], y[:1]).alpha_ > 0
    assert SVOR(alpha="auto", classes=[1, 2, 3]).fit(X[:3], y[:3]).alpha_ > 0


def test_it_is_what_a_table_model_takes():
    X, y = make_ordinal(100, 3, 3, noise=0.3, random_state=0)
    model = TableModel().fit(X, y)
    assert isinstance(model.estimator_, CumulativeLink)
    assert model.estimator_.alpha == "auto"
    assert hasattr(model, "project")
    assert hasattr(model, "predict_proba")
