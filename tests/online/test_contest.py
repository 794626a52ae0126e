"""average="auto": the better one of averaged and last weights, decided on the way."""

import copy

import numpy as np
import pytest

import rankwise as rw
from rankwise import (
    PRIL,
    CuSumRank,
    ImportanceWeightedPerceptron,
    KernelPRIL,
    LabelRanker,
    MulticlassPerceptron,
    MultiplicativePRIL,
    WidrowHoff,
)
from rankwise.datasets import make_ordinal
from tests.reference.pril import PlainPRIL
from tests.streams import make_stream

ALL = [
    PRIL(), PRIL(step="pa1"), MultiplicativePRIL(), KernelPRIL(budget=30), CuSumRank(), ImportanceWeightedPerceptron(),
    MulticlassPerceptron(), WidrowHoff(),
]  # fmt: skip
each = pytest.mark.parametrize("estimator", ALL, ids=str)


def turning(n=3000, seed=0):
    """A stream whose direction changes all the time."""
    rng = np.random.default_rng(seed)
    X, angle = rng.normal(size=(n, 2)), np.arange(n) / 80.0
    return X, np.digitize(X[:, 0] * np.cos(angle) + X[:, 1] * np.sin(angle), [-1.0, 0.0, 1.0])


def plain_contest(X, y, weight, n_classes):
    """Predictions of a plain twin, by the formulas of the contest."""
    twin, lead, spread, predictions = PlainPRIL(X.shape[1], n_classes), 0.0, 0.0, []
    for x, (lo, hi), c in zip(X, y, weight, strict=True):
        last, mean = twin.predict(x), twin.predict_averaged(x)
        predictions.append(last if lead > 0 and lead**2 > spread else mean)
        informs = c > 0 and (lo > 0 or hi < n_classes - 1)
        if informs and twin.rounds > 0 and (twin.rounds < 1000 or twin.rounds % 8 == 0):
            d = c * (max(lo - mean, mean - hi, 0) - max(lo - last, last - hi, 0))
            lead, spread = 0.99 * lead + d, 0.99 * spread + d**2
        twin.learn(x, lo, hi, c)
    return predictions, [lead, spread]


@pytest.mark.parametrize("drift", [False, True])
def test_rounds_are_those_of_a_plain_contest(drift):
    stream = make_stream(3, n=1500, d=2)
    X, y = stream.X, np.array(stream.y)
    if drift:
        X, turned = turning(1500)
        y = np.column_stack([turned, np.minimum(turned + (np.arange(1500) % 3 == 0), 3)])
    predictions, standing = plain_contest(X, y, stream.weight, 4)
    model = PRIL(classes=range(4))
    np.testing.assert_array_equal(model.progressive_predict(X, y, sample_weight=stream.weight), predictions)
    np.testing.assert_allclose(model._state["contest"], standing, rtol=1e-9, atol=1e-9)
    assert model._averages is not drift


def test_a_huge_weight_leaves_the_standing_finite():
    """Its square would overflow, and the last weights could not lead any more."""
    X, y = turning(800)
    model = PRIL(classes=range(4)).partial_fit(X, y)
    last, mean = (model.set_params(average=average).predict(X) for average in (False, True))
    row = np.flatnonzero(last != mean)[:1]  # the last weights are right: nothing moves
    model.set_params(average="auto").partial_fit(X[row], last[row], sample_weight=[1e200])
    assert np.isfinite(model._state["contest"]).all()


@each
def test_the_better_weights_predict_and_show(estimator):
    X, y = turning()
    shuffled, z = make_ordinal(3000, 5, 4, noise=0.5, random_state=0)
    for rows, labels, better in ((X, y, False), (shuffled, z - 1, True)):
        auto = copy.deepcopy(estimator).set_params(classes=range(4)).partial_fit(rows, labels)
        if better and isinstance(estimator, (WidrowHoff, ImportanceWeightedPerceptron)):
            continue  # there neither is much better
        chosen = copy.deepcopy(auto).set_params(average=better)
        np.testing.assert_array_equal(auto.predict(rows), chosen.predict(rows))
        for name in ("coef_", "thresholds_", "intercept_", "dual_coef_"):
            if hasattr(auto, name):
                np.testing.assert_array_equal(getattr(auto, name), getattr(chosen, name))
        one = dict(enumerate(rows[0]))
        assert auto.predict_one(one) == chosen.predict_one(one)


@each
def test_chunks_of_any_size_end_in_the_same_model(estimator):
    X, y = turning(1200)
    whole, chunks, rows = (copy.deepcopy(estimator).set_params(classes=range(4)) for _ in range(3))
    predicted = whole.progressive_predict(X, y)
    chunk_predictions = [chunks.progressive_predict(X[a : a + 77], y[a : a + 77]) for a in range(0, 1200, 77)]
    np.testing.assert_array_equal(np.concatenate(chunk_predictions), predicted)
    for x, label in zip(X, y, strict=True):
        rows.learn_one(dict(enumerate(x)), int(label))
    for model in (chunks, rows):
        np.testing.assert_array_equal(model._state["contest"], whole._state["contest"])
        np.testing.assert_array_equal(model.predict(X[:50]), whole.predict(X[:50]))


@each
def test_a_shuffled_fit_takes_the_mean(estimator):
    X, y = turning(400)
    auto = copy.deepcopy(estimator).set_params(random_state=0).fit(X, y)
    mean = copy.deepcopy(estimator).set_params(random_state=0, average=True).fit(X, y)
    np.testing.assert_array_equal(auto.predict(X), mean.predict(X))
    assert not auto._state["contest"].any()


def test_a_fit_in_the_order_given_is_judged_in_its_first_epoch():
    X, y = turning(600)
    one = PRIL(shuffle=False, n_epochs=1).fit(X, y)
    three = PRIL(shuffle=False, n_epochs=3).fit(X, y)
    np.testing.assert_array_equal(three._state["contest"], one._state["contest"])
    assert one._state["contest"].any()


def test_what_was_chosen_is_not_judged():
    X, y = turning(600)
    for average in (True, False):
        model = PRIL(average=average, classes=range(4)).partial_fit(X, y)
        assert not model._state["contest"].any()
        assert model._averages is average


def test_files_of_earlier_versions_have_no_contest(tmp_path):
    X, y = turning(600)
    model = PRIL(average=True, classes=range(4)).partial_fit(X, y)
    plain = model.to_plain()
    del plain["state"]["contest"]
    old = PRIL(average=True, classes=range(4))
    old.from_plain(plain)
    np.testing.assert_array_equal(old.predict(X), model.predict(X))
    rw.save(PRIL(classes=range(4)).partial_fit(X, y), tmp_path / "m")
    assert rw.load(tmp_path / "m")._averages is False


def test_a_ranker_of_labels_has_no_contest():
    with pytest.raises(ValueError, match="'average' parameter of LabelRanker must be"):
        LabelRanker(average="auto").fit([[1.0]], [{"a"}])
