"""Nested parameters of parts that are None, as ``GridSearchCV`` sets them."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import rankwise as rw


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"size": rng.normal(size=120), "colour": rng.choice(["red", "green"], 120)})
    return frame, np.digitize(frame["size"] + (frame["colour"] == "red"), [0, 1])


def test_a_search_sets_parameters_of_the_default_parts(data):
    X, y = data
    grid = {"estimator__alpha": [1e-3, 1.0], "encoder__numbers": ["linear", "spline"]}
    search = GridSearchCV(rw.TableModel(), grid, cv=3).fit(X, y)
    assert isinstance(search.best_estimator_.estimator_, rw.CumulativeLink)
    assert search.best_estimator_.estimator_.alpha == search.best_params_["estimator__alpha"]
    assert search.best_estimator_.encoder_.numbers_ == search.best_params_["encoder__numbers"]


@pytest.mark.parametrize(
    "outer", [lambda m: rw.CalibratedOrdinal(m), lambda m: rw.ConformalOrdinal(m, level=0.8)], ids=["prob", "sets"]
)
def test_a_search_reaches_them_inside_other_estimators(outer, data):
    X, y = data
    search = GridSearchCV(
        outer(rw.TableModel()), {"estimator__encoder__scaling": ["minmax"]}, cv=2, error_score="raise"
    )
    assert search.fit(X, y).best_estimator_.estimator_.encoder_.scaling == "minmax"


def test_parameters_of_the_constructor_stay_none_until_a_nested_one_is_set():
    model = rw.TableModel()
    assert model.get_params(deep=False) == {"estimator": None, "encoder": None}
    deep = model.get_params()
    assert deep["estimator"] is None
    assert deep["estimator__alpha"] == "auto"
    assert deep["encoder__scaling"] == "standard"
    assert clone(model).estimator is None
    model.set_params(encoder__scaling="robust")
    assert model.estimator is None
    assert model.encoder.scaling == "robust"
    assert clone(model).encoder.scaling == "robust"


def test_the_default_encoder_is_that_of_the_new_estimator():
    model = rw.TableModel().set_params(encoder__indicate_missing=True, estimator=rw.BoostedThresholds())
    assert model.encoder.categories == "codes"
    assert model.encoder.indicate_missing


def test_none_given_beside_nested_parameters_is_the_default():
    model = rw.TableModel(rw.SVOR(alpha=5)).set_params(estimator=None, estimator__alpha=0.5, estimator__link="probit")
    assert isinstance(model.estimator, rw.CumulativeLink)
    assert (model.estimator.alpha, model.estimator.link) == (0.5, "probit")


def test_a_wrong_name_leaves_the_model_as_it_was():
    model = rw.TableModel()
    with pytest.raises(ValueError, match="Invalid parameter 'strength' for estimator CumulativeLink"):
        model.set_params(estimator__strength=1)
    assert model.estimator is None


def test_auto_takes_parameters_of_its_encoder():
    model = rw.AutoOrdinal().set_params(encoder__indicate_missing=True)
    assert model.encoder.indicate_missing
    assert clone(model).encoder.indicate_missing


def test_the_page_of_a_notebook_shows_it():
    assert "TableModel" in rw.TableModel()._repr_html_()
