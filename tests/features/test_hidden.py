"""Hidden features: scikit-learn's contract, the forward pass, labels of every kind, errors."""

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import sparse
from scipy.special import expit
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.fixes import parse_version

from rankwise import CuSumRank, HiddenFeatures
from rankwise.datasets import make_ordinal

WEIGHTS = parse_version(sklearn.__version__) >= parse_version("1.7")
needs_weights = pytest.mark.skipif(not WEIGHTS, reason="the network takes weights from scikit-learn 1.7 on")

NOT_REPETITION = "rows held out and batches are drawn by place: a row that occurs twice is not a row of weight two"
ACTIVATIONS = {
    "relu": lambda z: np.where(z > 0, z, 0),
    "tanh": np.tanh,
    "logistic": expit,
    "identity": lambda z: z,
}


def small(**parameters):
    return HiddenFeatures(
        **{"n_hidden": 8, "learning_rate_init": 0.02, "n_iter_no_change": 5, "random_state": 0} | parameters
    )


@pytest.fixture(scope="module")
def data():
    return make_ordinal(120, 4, 5, noise=0.1, random_state=0)


def assert_same(a, b):
    for left, right in zip([*a.coefs_, *a.intercepts_], [*b.coefs_, *b.intercepts_], strict=True):
        np.testing.assert_array_equal(left, right)


def _expected_failures(estimator):
    failures = {
        "check_sample_weight_equivalence_on_dense_data": NOT_REPETITION,
        "check_sample_weight_equivalence_on_sparse_data": NOT_REPETITION,
    }
    if not WEIGHTS:
        old = ("check_sample_weights_list", "check_sample_weights_not_overwritten")
        failures |= dict.fromkeys(old, "the network takes weights from scikit-learn 1.7 on")
    return failures


@pytest.mark.filterwarnings("ignore::rankwise.labels.OrderWarning")  # some checks use strings without an order
@parametrize_with_checks([small()], expected_failed_checks=_expected_failures)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_features_are_the_hidden_layer(data, activation, dtype):
    X, y = data[0].astype(dtype), data[1]
    model = small(activation=activation).fit(X, y)
    assert [c.shape for c in model.coefs_] == [(4, 8), (8, 1)]
    features = model.transform(X)
    assert features.dtype == dtype
    by_hand = ACTIVATIONS[activation](X @ model.coefs_[0] + model.intercepts_[0])
    np.testing.assert_allclose(features, by_hand, rtol=1e-5 if dtype == np.float32 else 1e-12, atol=1e-12)


def test_the_network_is_scikit_learns(data):
    X, y = data
    model = small(validation_fraction=0.25).fit(X, y)
    network = MLPRegressor(
        hidden_layer_sizes=(8,),
        batch_size=90,
        learning_rate_init=0.02,
        max_iter=2000,
        early_stopping=True,
        validation_fraction=0.25,
        n_iter_no_change=5,
        random_state=0,
    ).fit(X, np.searchsorted(np.unique(y), y))
    for ours, theirs in zip(model.coefs_ + model.intercepts_, network.coefs_ + network.intercepts_, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert model.n_iter_ == network.n_iter_
    assert model.validation_scores_ == network.validation_scores_
    output = model.transform(X) @ model.coefs_[1] + model.intercepts_[1]
    np.testing.assert_allclose(output.ravel(), network.predict(X), rtol=1e-12)


def test_csr_rows_give_the_same_features(data):
    X, y = data
    rows = sparse.csr_array(X)
    model = small().fit(rows, y)
    assert max(model.validation_scores_) > 0.5
    np.testing.assert_allclose(model.transform(rows), model.transform(X), rtol=1e-12, atol=1e-12)
    assert isinstance(model.transform(rows), np.ndarray)


def test_clone_pickle_and_seed(data):
    X, y = data
    model = small().fit(X, y)
    assert_same(model, clone(model).fit(X, y))
    assert_same(model, pickle.loads(pickle.dumps(model)))
    other = clone(model).set_params(random_state=1).fit(X, y)
    assert not np.array_equal(model.coefs_[0], other.coefs_[0])


def test_frames_and_names(data):
    X, y = pd.DataFrame(data[0], columns=list("abcd")), data[1]
    model = small().set_output(transform="pandas").fit(X, y)
    frame = model.transform(X)
    assert isinstance(frame, pd.DataFrame)
    assert frame.columns.tolist() == model.get_feature_names_out().tolist() == [f"hiddenfeatures{i}" for i in range(8)]
    assert model.feature_names_in_.tolist() == list("abcd")


def test_the_papers_model_in_a_grid_search(data):
    X, y = data
    pipeline = make_pipeline(StandardScaler(), small(n_hidden=30), CuSumRank(random_state=0))
    search = GridSearchCV(pipeline, {"cusumrank__delta": [1, 100]}, cv=2).fit(X, y)
    guess = -np.abs(y - np.median(y)).mean()
    assert guess / 2 < search.score(X, y) <= 0


class TestLabels:
    def ranks(self, monkeypatch, y, **parameters):
        """What the network is told to predict, and for how many rows."""
        seen = {}

        def fit(network, X, ranks, **weights):
            seen.update(ranks=ranks.tolist(), rows=X[:, 0].tolist(), **weights)
            network.coefs_, network.intercepts_ = [np.ones((1, 8))], [np.zeros(8)]
            network.n_iter_, network.validation_scores_ = 1, [0.0]

        monkeypatch.setattr(MLPRegressor, "fit", fit)
        model = small(**parameters).fit(np.arange(len(y), dtype=float).reshape(-1, 1), y)
        return seen, model

    def test_every_kind(self, monkeypatch):
        y = [3, (1, 2), {1, 4}, None, (2, 5), (None, 2), {1, 2, 5}]
        seen, model = self.ranks(monkeypatch, y, classes=[1, 2, 3, 4, 5])
        assert seen["ranks"] == [2, 0.5, 1.5, 2.5, 0.5, 5 / 3]
        assert seen["rows"] == [0, 1, 2, 4, 5, 6]
        assert model.classes_.tolist() == [1, 2, 3, 4, 5]

    def test_intervals_in_a_table(self, monkeypatch):
        seen, _ = self.ranks(monkeypatch, np.array([[1, 1], [1, 3], [2, 3], [np.nan, np.nan], [4, 4]]))
        assert seen["ranks"] == [0, 1, 1.5, 3]

    def test_the_order_of_strings_is_declared(self, monkeypatch):
        seen, _ = self.ranks(monkeypatch, ["low", "high", "medium", "low"], classes=["low", "medium", "high"])
        assert seen["ranks"] == [0, 2, 1, 0]

    def test_equal_intervals_and_labels_are_equal(self, data):
        X, y = data
        assert_same(small().fit(X, y), small().fit(X, np.column_stack([y, y])))

    def test_rows_without_label_or_weight_take_no_part(self, data):
        X, y = data
        some = np.arange(len(y)) % 3 > 0
        only = small(classes=np.unique(y)).fit(X[some], y[some])
        assert_same(only, clone(only).fit(X, np.where(some, y, np.nan)))
        assert_same(only, clone(only).fit(X, y, sample_weight=some.astype(float)))

    @needs_weights
    def test_weights_reach_the_network(self, data):
        X, y = data
        weight = np.where(y > y.mean(), 5.0, 0.1)
        plain, weighted = small().fit(X, y), small().fit(X, y, sample_weight=weight)
        assert not np.array_equal(plain.coefs_[0], weighted.coefs_[0])

    def test_weights_need_a_network_that_takes_them(self, data, monkeypatch):
        monkeypatch.setattr("rankwise.features.hidden.has_fit_parameter", lambda *a: False)
        X, y = data
        assert_same(small().fit(X, y), small().fit(X, y, sample_weight=np.ones(len(y))))
        with pytest.raises(ValueError, match=r"sample_weight needs the network of scikit-learn 1\.7 or newer"):
            small().fit(X, y, sample_weight=np.full(len(y), 2.0))


class TestSmallSets:
    @pytest.mark.parametrize("n", [4, 5, 7, 11])
    def test_two_rows_are_held_out_at_least(self, n):
        X = np.linspace(-1, 1, n).reshape(-1, 1)
        assert small(validation_fraction=0.01).fit(X, np.arange(n) % 3).transform(X).shape == (n, 8)

    def test_batches_larger_than_the_rows(self, data):
        X, y = data
        assert_same(small().fit(X, y), small(batch_size=96).fit(X, y))
        assert_same(small(batch_size=10_000).fit(X, y), small(batch_size=96).fit(X, y))

    def test_one_class(self):
        X = np.linspace(-1, 1, 8).reshape(-1, 1)
        assert small().fit(X, np.ones(8, dtype=int)).classes_.tolist() == [1]


class TestErrors:
    def test_too_few_rows(self):
        with pytest.raises(ValueError, match=r"at least 4 rows with a label and a weight above zero\. Got 2"):
            small().fit(np.ones((5, 1)), [1, 2, None, None, None])

    @pytest.mark.parametrize(
        "bad",
        [
            {"n_hidden": 0},
            {"activation": "softmax"},
            {"alpha": -1},
            {"batch_size": 0},
            {"learning_rate_init": 0},
            {"max_iter": 0},
            {"tol": -1.0},
            {"validation_fraction": 0},
            {"validation_fraction": 1.0},
            {"n_iter_no_change": 0},
        ],
    )
    def test_parameters(self, data, bad):
        with pytest.raises(ValueError, match=f"The '{next(iter(bad))}' parameter of HiddenFeatures must be"):
            small(**bad).fit(*data)

    def test_a_bad_row_leaves_the_features_as_they_were(self, data):
        X, y = data
        model = small().fit(X, y)
        before = model.transform(X)
        with pytest.raises(ValueError, match="row 1: the label 9 is not one of the classes"):
            model.set_params(classes=[1, 2, 3, 4, 5]).fit(np.ones((4, 2)), [1, 9, 2, 3])
        np.testing.assert_array_equal(model.transform(X), before)
        with pytest.raises(ValueError, match="Input X contains NaN"):
            small().fit([[np.nan]] * 5, [1, 2, 3, 4, 5])

    def test_not_fitted(self):
        with pytest.raises(NotFittedError):
            small().transform([[1.0]])

    def test_no_convergence_warns(self, data):
        with pytest.warns(ConvergenceWarning, match=r"Maximum iterations \(2\) reached"):
            small(max_iter=2).fit(*data)

    def test_an_interrupt_is_no_result(self, data, monkeypatch):
        def interrupted(*args):
            raise KeyboardInterrupt

        monkeypatch.setattr(MLPRegressor, "_backprop", interrupted)
        model = small()
        with pytest.raises(KeyboardInterrupt):
            model.fit(*data)
        assert not hasattr(model, "coefs_")
