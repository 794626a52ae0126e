"""Files of a ChainClassifier: the whole model, and streams that go on from them."""

import numpy as np
import pytest

from rankwise import ChainClassifier, load, save
from tests.structured.test_chain import words


def learnt(model):
    return {name: value for name, value in vars(model).items() if name.endswith("_") and not name.startswith("_")}


def assert_same_model(left, right):
    assert learnt(left).keys() == learnt(right).keys()
    for name, value in learnt(left).items():
        np.testing.assert_array_equal(value, getattr(right, name))


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"solver": "perceptron"},
        {"solver": "perceptron", "average": False},
        {"surrogate": "ramp", "reject_cost": 0.2},
        {"surrogate": "additive", "reject_cost": 0.2},
        {"loss": [[0, 1, 2], [1, 0, 1], [2, 1, 0]]},
    ],
)
def test_files_hold_the_whole_model(tmp_path, how):
    X, Y, full = words(m=15)
    model = ChainClassifier(**how, classes=range(3), random_state=0).fit(X, Y)
    save(model, tmp_path / "chain.rankwise")
    again = load(tmp_path / "chain.rankwise")
    assert again.get_params() == {**model.get_params(), "classes": [0, 1, 2]}
    assert_same_model(again, model)
    assert again.score(X, full) == model.score(X, full)
    for left, right in zip(model.decision_function(X), again.decision_function(X), strict=True):
        np.testing.assert_array_equal(left, right)


def test_a_stream_goes_on_from_a_file_to_the_bit(tmp_path):
    X, Y, _ = words()
    letters = [["abc"[label] if label >= 0 else None for label in y] for y in Y]
    whole = ChainClassifier(solver="perceptron").partial_fit(X, letters, classes=list("abc"))
    half = ChainClassifier(solver="perceptron").partial_fit(X[:17], letters[:17], classes=list("abc"))
    save(half, tmp_path / "chain.rankwise")
    again = load(tmp_path / "chain.rankwise").partial_fit(X[17:], letters[17:])
    assert_same_model(again, whole)
    assert again.to_plain()["state"].keys() == whole.to_plain()["state"].keys()
    for name, array in whole.to_plain()["state"].items():
        np.testing.assert_array_equal(again.to_plain()["state"][name], array)


def test_a_stream_does_not_go_on_from_a_file_of_the_bundle(tmp_path):
    X, Y, _ = words(m=5)
    save(ChainClassifier(classes=range(3), random_state=0).fit(X, Y), tmp_path / "chain.rankwise")
    again = load(tmp_path / "chain.rankwise").set_params(solver="perceptron")
    with pytest.raises(ValueError, match="was fitted with solver='bundle'"):
        again.partial_fit(X, Y)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda plain: plain["state"].pop("P"), "expected the arrays"),
        (lambda plain: plain["state"].update(b=np.zeros(4)), "array 'b' must be float64 of shape"),
        (lambda plain: plain["state"].update(b=np.full(3, np.nan)), "array 'b' holds a number that is not finite"),
        (lambda plain: plain["state"].update(W=np.zeros((99, 4)), W_lag=np.zeros((99, 4))), "array 'W' must"),
        (lambda plain: plain.update(features=0), "features=0"),
        (lambda plain: plain.update(classes=np.array([0, 0, 1])), "distinct"),
    ],
)
def test_impossible_models_are_refused(change, message):
    X, Y, _ = words(m=5)
    plain = ChainClassifier(solver="perceptron", classes=range(3)).fit(X, Y).to_plain()
    change(plain)
    with pytest.raises(ValueError, match=message):
        ChainClassifier(solver="perceptron", classes=range(3)).from_plain(plain)
