"""Classes declared only on the estimators inside: their order is the order of the whole."""

import warnings

import numpy as np
import pytest

from rankwise import (
    SVOR,
    AutoOrdinal,
    BlendedOrdinal,
    CalibratedOrdinal,
    CumulativeLink,
    TableModel,
)
from rankwise.evaluation import compare
from rankwise.labels import encode

COLOURS = ["red", "amber", "green"]


@pytest.fixture
def lights():
    r = np.random.default_rng(0)
    X = r.normal(size=(200, 2))
    return X, np.array(COLOURS)[np.digitize(X[:, 0] * 3 + r.normal(size=200), [-1, 1])]


@pytest.mark.parametrize(
    "model",
    [
        BlendedOrdinal([CumulativeLink(classes=COLOURS)], cv=2),
        BlendedOrdinal([CumulativeLink(), CumulativeLink(classes=COLOURS)], cv=2),
        BlendedOrdinal([TableModel(CumulativeLink(classes=COLOURS)), CumulativeLink(classes=tuple(COLOURS))], cv=2),
        TableModel(BlendedOrdinal([CumulativeLink(classes=COLOURS)], cv=2)),
        CalibratedOrdinal(BlendedOrdinal([CumulativeLink(classes=COLOURS)], cv=2), cv=2),
    ],
)
def test_a_mixture_takes_the_classes_of_its_estimators(model, lights):
    X, y = lights
    model.fit(X, y)
    assert model.classes_.tolist() == COLOURS
    assert (model.predict(X) == y).mean() > 0.75


def test_a_mixture_of_a_known_scale_and_of_classes_without_rows():
    r = np.random.default_rng(1)
    X = r.normal(size=(90, 1))
    y = np.where(X[:, 0] > 0, "never", "often")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        scale = BlendedOrdinal([CumulativeLink(classes=["often", "never"])], cv=2).fit(X, y)
        whole = BlendedOrdinal([CumulativeLink(classes=[0, 1, 2, 3])], cv=2).fit(X, np.digitize(X[:, 0], [-0.5, 0.5]))
    assert scale.classes_.tolist() == ["often", "never"]
    assert (scale.predict(X) == y).mean() > 0.9
    assert whole.classes_.tolist() == [0, 1, 2, 3]
    assert whole.predict_proba(X).shape == (90, 4)


def test_two_orders_of_the_classes_are_refused(lights):
    X, y = lights
    other = COLOURS[::-1]
    models = [CumulativeLink(classes=COLOURS), TableModel(CumulativeLink(classes=other))]
    with pytest.raises(ValueError, match=r"declare different classes.*'red'.*'green'") as caught:
        BlendedOrdinal(models).fit(X, y)
    assert "\n" not in str(caught.value)
    with pytest.raises(ValueError, match="other classes"):
        BlendedOrdinal([CumulativeLink(classes=other)], cv=2, classes=COLOURS).fit(X, y)
    with pytest.raises(ValueError, match="other classes"), pytest.warns(UserWarning, match="blue"):
        BlendedOrdinal([CumulativeLink(classes=[*COLOURS, "blue"])], cv=2, classes=COLOURS).fit(X, y)


class Alphabetical(SVOR):
    """An estimator that ignores the order of the labels it is given."""

    def fit(self, X, y, sample_weight=None):
        return super().fit(X, encode(y.classes[y.lower], np.sort(y.classes)))

    def predict_proba(self, X):
        return np.full((len(X), len(self.classes_)), 1.0 / len(self.classes_))


def test_a_model_with_another_order_does_not_enter_a_mixture(lights):
    X, y = lights
    with pytest.raises(ValueError, match=r"Alphabetical.*other classes"):
        BlendedOrdinal([Alphabetical()], cv=2, classes=COLOURS).fit(X, y)


@pytest.mark.parametrize("held_out", [False, True])
def test_a_comparison_takes_the_one_declaration_of_all(held_out, lights):
    X, y = lights
    test = (X, y) if held_out else ()
    models = {"declared": CumulativeLink(classes=COLOURS), "not": CumulativeLink()}
    first, second = compare(models, X, y, *test)
    assert first["mae"] == second["mae"] < 0.3
    models["not"] = CumulativeLink(classes=COLOURS[::-1])
    with pytest.raises(ValueError, match="declare different classes"):
        compare(models, X, y, *test)


def test_a_search_judges_candidates_in_the_order_they_declare(lights):
    X, y = lights
    declared = {"one": CumulativeLink(classes=COLOURS), "two": CumulativeLink(alpha=1e3, classes=COLOURS)}
    inside = AutoOrdinal(estimators=declared, n_fits=4, cv=2, encoder="none").fit(X, y)
    plain = {"one": CumulativeLink(), "two": CumulativeLink(alpha=1e3)}
    outside = AutoOrdinal(estimators=plain, n_fits=4, cv=2, encoder="none", classes=COLOURS).fit(X, y)
    assert [(entry["model"], entry["error"]) for entry in inside.leaderboard_] == [
        (entry["model"], entry["error"]) for entry in outside.leaderboard_
    ]
    assert inside.best_name_ == "one"
    assert inside.classes_.tolist() == COLOURS
    declared["two"] = CumulativeLink(classes=COLOURS[::-1])
    with pytest.raises(ValueError, match="declare different classes"):
        AutoOrdinal(estimators=declared, n_fits=4, cv=2).fit(X, y)
