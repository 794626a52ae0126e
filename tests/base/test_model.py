"""What a fitted model says of itself, whatever encloses the estimator that decides."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from rankwise import (
    PRIL,
    BlendedOrdinal,
    CalibratedOrdinal,
    ConformalOrdinal,
    CumulativeLink,
    LabelRanker,
    PathCV,
    TableModel,
)
from rankwise.base.model import LEVEL, Model
from rankwise.datasets import make_ordinal

X, Y = make_ordinal(120, 3, 4, noise=0.5, random_state=0)
FRAME = pd.DataFrame(X, columns=["age", "income", "height"])


def nested(depth):
    """A table model of a search of a pipeline."""
    inside = make_pipeline(PolynomialFeatures(depth, include_bias=False), StandardScaler(), CumulativeLink())
    return TableModel(GridSearchCV(inside, {"cumulativelink__alpha": [0.1, 1.0]}, cv=2))


MODELS = {  # the model, its path, what chose
    "alone": (PRIL(random_state=0), ["PRIL"], []),
    "pipeline": (make_pipeline(StandardScaler(), PRIL(random_state=0)), ["StandardScaler", "PRIL"], []),
    "search": (GridSearchCV(CumulativeLink(), {"alpha": [0.1, 1.0]}, cv=2), ["CumulativeLink"], ["GridSearchCV"]),
    "path": (TableModel(PathCV(CumulativeLink(), cv=2)), ["TableEncoder", "CumulativeLink"], ["PathCV"]),
    "calibrated": (TableModel(CalibratedOrdinal(CumulativeLink(), cv=2)), ["TableEncoder", "CalibratedOrdinal"], []),
    "conformal": (ConformalOrdinal(TableModel(), level=0.8), ["ConformalOrdinal"], []),
    "blended": (BlendedOrdinal([CumulativeLink(alpha=1.0), CumulativeLink()], cv=2), ["BlendedOrdinal"], []),
    "nested": (
        nested(2), ["TableEncoder", "PolynomialFeatures", "StandardScaler", "CumulativeLink"], ["GridSearchCV"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", MODELS)
def test_an_opened_model_answers_as_the_model_itself(kind):
    fitted, path, choosers = MODELS[kind]
    fitted = fitted.fit(FRAME, Y)
    model = Model.of(fitted)
    assert (model.path, model.choosers) == (path, choosers)
    said = model.predict(FRAME)
    np.testing.assert_array_equal(said.classes, fitted.predict(FRAME))
    np.testing.assert_array_equal(model.classes, np.unique(Y))
    if said.probabilities is not None:
        np.testing.assert_array_equal(said.probabilities, fitted.predict_proba(FRAME))
    if said.scores is not None and hasattr(fitted, "project"):
        np.testing.assert_array_equal(said.scores, fitted.project(FRAME))
    assert model.columns == list(FRAME.columns)


def test_sets_are_those_of_the_model_or_intervals_of_its_probabilities():
    conformal = ConformalOrdinal(CumulativeLink(), level=0.8).fit(X, Y)
    sets = Model.of(conformal).predict(X).sets
    assert sets.level == 0.8
    np.testing.assert_array_equal(sets.holds, conformal.predict_set(X))
    link = CumulativeLink().fit(X, Y)
    sets = Model.of(link).predict(X).sets
    assert sets.level == LEVEL
    ends = link.predict_interval(X, LEVEL)
    np.testing.assert_array_equal(link.classes_[sets.holds.argmax(axis=1)], ends[:, 0])
    np.testing.assert_array_equal(sets.holds.sum(axis=1), ends[:, 1] - ends[:, 0] + 1)
    assert Model.of(PRIL(random_state=0).fit(X, Y)).predict(X).sets is None


def test_rows_pass_all_transformers():
    model = Model.of(nested(2).fit(FRAME, Y))
    assert model.rows(FRAME).shape[1] == len(model.feature_names()) == model.final.coef_.size
    np.testing.assert_array_equal(model.final.project(model.rows(FRAME)), model.predict(FRAME).scores)


def test_within_is_what_a_calibrated_model_adjusts():
    model = Model.of(TableModel(CalibratedOrdinal(PRIL(random_state=0), cv=2)).fit(FRAME, Y))
    assert model.within.path == ["TableEncoder", "PRIL"]
    assert [type(layer).__name__ for layer in model.layers] == ["TableModel", "CalibratedOrdinal", "PRIL"]
    alone = Model.of(PRIL(random_state=0).fit(X, Y))
    assert alone.within is alone


def test_models_that_are_not_fitted_or_chose_nothing_are_opened_as_far_as_they_go():
    for unfitted in (TableModel(), PathCV(PRIL()), ConformalOrdinal(PRIL())):
        assert Model.of(unfitted).final is unfitted
    scored = GridSearchCV(PRIL(random_state=0), {"n_epochs": [1, 2]}, cv=2, refit=False).fit(X, Y)
    assert Model.of(scored).final is scored


def test_orders_and_names():
    words = np.array(["bad", "fair", "good", "great"])[np.searchsorted(np.unique(Y), Y)]
    foreign = Model.of(LogisticRegression().fit(X, words))
    assert not foreign.ordered
    assert foreign.label_kinds == frozenset()
    assert foreign.weights.shape == (4, 3)
    assert Model.of(LogisticRegression().fit(X, Y)).ordered
    ours = Model.of(PRIL(classes=["bad", "fair", "good", "great"], random_state=0).fit(X, words))
    assert ours.ordered
    assert "interval" in ours.label_kinds
    assert ours.feature_names() == ["x0", "x1", "x2"]
    assert ours.feature_names(X=FRAME) == list(FRAME.columns)


def test_an_error_names_what_is_missing():
    ranker = Model.of(LabelRanker(random_state=0).fit(X, [[int(y)] for y in Y]))
    with pytest.raises(
        TypeError, match=r"A display needs a fitted classifier. LabelRanker has no thresholds_ and no a."
    ):
        ranker.require("A display", "classifier", "classes_", "thresholds_", "a")
