"""OnlineCumulativeLink: its recursion, its two forms, its invariances, and the likelihood of the batch model."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import rankwise as rw
from rankwise import CumulativeLink, OnlineCumulativeLink
from rankwise.metrics import log_score
from rankwise.online import online_cumulative_link
from tests.reference import online_link
from tests.streams import make_stream


def noisy(seed=0, n=600, d=4, n_classes=5):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    f = X @ np.linspace(1.5, -1.0, d) + rng.logistic(size=n)
    return X, np.digitize(f, np.linspace(-2, 2, n_classes - 1))


@pytest.mark.parametrize("link", ["logit", "probit", "cloglog", "loglog"])
def test_rows_are_learnt_as_the_reference_does(link):
    stream = make_stream(5, n=25, n_classes=4, exact=0.4)
    X = stream.X[:, :3].copy()
    X[:5, 1] = 0.0
    X[:, 2] = np.where(np.arange(25) < 3, 0.01, X[:, 2])  # a column that does not vary at first, and then grows
    model = OnlineCumulativeLink(link=link, classes=range(4))
    model.partial_fit(X, stream.y, sample_weight=stream.weight)
    w, t = online_link.learn(X, stream.lower, stream.upper, stream.weight, 4, link)
    np.testing.assert_allclose(model.coef_, w, rtol=2e-3, atol=2e-3)
    np.testing.assert_allclose(model.thresholds_, t, rtol=2e-3, atol=2e-3)


def test_it_comes_near_the_batch_model_in_one_pass():
    X, y = noisy(n=4000)
    intervals = np.column_stack([y, np.where(np.arange(4000) % 2, y, np.minimum(y + 1, 4))])
    for labels in (y, intervals):
        stream = OnlineCumulativeLink(classes=range(5)).partial_fit(X[:3000], labels[:3000])
        batch = CumulativeLink(classes=range(5), alpha=1e-6).fit(X[:3000], labels[:3000])
        np.testing.assert_allclose(stream.coef_, batch.coef_, atol=0.05)
        ours, best = (log_score(y[3000:], m.predict_proba(X[3000:]), classes=range(5)) for m in (stream, batch))
        assert ours <= 1.005 * best


def test_the_scale_of_columns_changes_nothing():
    X, y = noisy()
    scales = np.array([1.0, 2.0**40, 2.0**-30, 2.0**-3])
    model = OnlineCumulativeLink(classes=range(5)).partial_fit(X, y)
    scaled = OnlineCumulativeLink(classes=range(5)).partial_fit(X * scales, y)
    np.testing.assert_array_equal(scaled.predict_proba(X * scales), model.predict_proba(X))
    np.testing.assert_allclose(scaled.coef_ * scales, model.coef_, rtol=1e-12)


def test_the_order_of_columns_changes_nothing_but_rounding():
    X, y = noisy(n=300, d=6)
    X[:40] *= [0.01, 1, 30, 1, 0.1, 5]  # scales that become known late, several at once: priors are exchanged
    order = np.random.default_rng(1).permutation(6)
    model = OnlineCumulativeLink(classes=range(5)).partial_fit(X, y)
    shuffled = OnlineCumulativeLink(classes=range(5)).partial_fit(X[:, order], y)
    np.testing.assert_allclose(shuffled.coef_, model.coef_[order], rtol=1e-9)
    np.testing.assert_allclose(shuffled.predict_proba(X[:, order]), model.predict_proba(X), rtol=1e-9)


def test_a_column_that_never_varies_is_left_to_the_thresholds():
    X, y = noisy(d=3)
    model = OnlineCumulativeLink(classes=range(5)).partial_fit(X, y)
    wider = OnlineCumulativeLink(classes=range(5)).partial_fit(np.column_stack([X, np.full(len(X), 1e-3)]), y)
    assert wider.coef_[3] == 0.0
    np.testing.assert_array_equal(wider.coef_[:3], model.coef_)
    # The first row with another value is no surprise: nothing was learnt from the constant.
    np.testing.assert_array_equal(wider.predict_proba([[0, 0, 0, 1e3]]), model.predict_proba([[0, 0, 0]]))


@pytest.mark.parametrize("alpha", [1e-3, 1.0, 1e6])
def test_probabilities_are_those_of_a_distribution_whatever_comes(alpha):
    rng = np.random.default_rng(1)
    X = rng.standard_t(1, (400, 3)) * np.array([1.0, 1e6, 1e-6])
    y = rng.integers(0, 7, (400, 2))
    model = OnlineCumulativeLink(classes=range(7), alpha=alpha)
    model.partial_fit(X, np.sort(y, axis=1), sample_weight=rng.exponential(size=400) ** 3)
    probabilities = model.predict_proba(np.vstack([X, 1e4 * X]))
    assert (probabilities >= 0).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, atol=1e-12)
    assert (np.diff(model.thresholds_) > 0).all()
    covariance = model._state["ww"]
    assert np.linalg.eigvalsh(covariance / np.sqrt(np.outer(*2 * [np.diag(covariance)]))).min() > -1e-8


def test_separable_rows_do_not_run_away():
    X = np.linspace(-1, 1, 400)[np.random.default_rng(0).permutation(400), None]
    y = (X[:, 0] > 0).astype(int)
    model = OnlineCumulativeLink(classes=[0, 1]).fit(X, y)
    assert model.score(X, y) == 0.0 or model.score(X, y) > -0.02
    assert np.abs(model.coef_).max() < 1e3


# -- many features -----------------------------------------------------------------------------------------------------


def wide(n=300, d=400, seed=2):
    rng = np.random.default_rng(seed)
    X = sparse.random(n, d, 0.05, format="csr", random_state=rng, data_rvs=rng.standard_normal)
    f = X @ rng.standard_normal(d) * 2
    return X, np.digitize(f + rng.logistic(size=n), [-1.5, 1.5])


def test_many_features_keep_a_variance_each_and_the_same_contract():
    X, y = wide()
    model = OnlineCumulativeLink(classes=range(3)).partial_fit(X, y)
    assert set(model._state) == {"w", "variance", "t", "tt", "prior", "seen", "square", "first", "counts"}
    assert model.score(X, y) > -0.2
    rows = clone(model)
    for i in range(len(y)):
        rows.partial_fit(X[i : i + 1], y[i : i + 1])
    dense = clone(model).partial_fit(X.toarray(), y)
    for other in (rows, dense):
        np.testing.assert_array_equal(other.coef_, model.coef_)
        np.testing.assert_array_equal(other.thresholds_, model.thresholds_)
    before = model.coef_
    bad = X.toarray()
    bad[200, 3] = np.inf
    with pytest.raises(ValueError, match="infinity: row 200, column 3"):
        model.partial_fit(bad, y)
    np.testing.assert_array_equal(model.coef_, before)


def test_a_stream_that_brings_many_names_goes_on_with_a_variance_each(tmp_path):
    X, y = wide()
    model = OnlineCumulativeLink(classes=range(3))
    for i in range(len(y)):
        row = X[i]
        model.learn_one(dict(zip(map(str, row.indices), row.data, strict=True)), int(y[i]))
        if model.n_features_in_ > online_cumulative_link.MAX_FULL:
            assert "ww" not in model._state
    assert model.n_features_in_ > online_cumulative_link.MAX_FULL
    rw.save(model, tmp_path / "model")
    again = rw.load(tmp_path / "model")
    np.testing.assert_array_equal(again.coef_, model.coef_)
    assert again.predict_proba_one({"3": 1.0}) == model.predict_proba_one({"3": 1.0})


# -- classes that come late --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("late", [0, 2, 4])
def test_a_class_that_comes_late_finds_its_place(late):
    X, y = noisy(n=900)
    model = OnlineCumulativeLink()
    order = np.concatenate([np.flatnonzero(y != late)[:300], np.arange(300, 900)])
    for i in order:
        model.learn_one(dict(enumerate(X[i])), int(y[i]))
    assert model.classes_.tolist() == [0, 1, 2, 3, 4]
    known = OnlineCumulativeLink(classes=range(5)).partial_fit(X[order], y[order])
    ours, best = (log_score(y, m.predict_proba(X), classes=range(5)) for m in (model, known))
    assert ours <= 1.05 * best
    covariance = np.block([[model._state["tt"], model._state["tw"]], [model._state["tw"].T, model._state["ww"]]])
    assert np.linalg.eigvalsh(covariance).min() > -1e-10


# -- predictions -------------------------------------------------------------------------------------------------------


def test_decisions_quantiles_and_intervals_follow_from_the_probabilities():
    X, y = noisy()
    model = OnlineCumulativeLink(classes=range(5)).partial_fit(X, y)
    p = model.predict_proba(X)
    np.testing.assert_array_equal(model.predict(X), (p.cumsum(axis=1)[:, :-1] <= 0.5).sum(axis=1))
    np.testing.assert_array_equal(model.predict_quantile(X, 0.9), (p.cumsum(axis=1)[:, :-1] < 0.9).sum(axis=1))
    low, high = model.predict_interval(X, 0.8).T
    inside = np.array([row[a : b + 1].sum() for row, a, b in zip(p, low, high, strict=True)])
    assert (inside >= 0.8 - 1e-12).all()
    cost = np.abs(np.subtract.outer(np.arange(5), np.arange(5))) ** 1.5
    for decision, expected in (("mode", p.argmax(axis=1)), (cost, (p @ cost).argmin(axis=1))):
        model.set_params(decision=decision)
        np.testing.assert_array_equal(model.predict(X), expected)
    one = model.predict_proba_one(dict(enumerate(X[0])))
    assert list(one) == [0, 1, 2, 3, 4]
    np.testing.assert_array_equal(list(one.values()), p[0])
    assert OnlineCumulativeLink().predict_proba_one({0: 1.0}) == {}


def test_bad_parameters_say_why():
    X, y = noisy(n=20)
    with pytest.raises(ValueError, match="cauchit' is refused: its density is not log-concave"):
        OnlineCumulativeLink(link="cauchit", classes=range(5)).partial_fit(X, y)
    with pytest.raises(ValueError, match=r"a cost matrix for 5 classes must have the shape \(5, 5\)"):
        OnlineCumulativeLink(decision=np.ones((2, 2)), classes=range(5)).partial_fit(X, y)
    model = OnlineCumulativeLink(classes=range(5)).partial_fit(X, y)
    with pytest.raises(ValueError, match="level must be a number between 0 and 1"):
        model.predict_interval(X, 1.0)
