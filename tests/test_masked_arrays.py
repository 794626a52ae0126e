"""Masked entries are missing values wherever an array is read: kept where these are allowed, refused elsewhere."""

import warnings

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

import rankwise as rw
from rankwise import metrics
from rankwise.features import polynomial_features
from tests.test_contract import NAMES, case_of, make
from tests.test_row_containers import METHODS, OF_OTHER_DATA, answers

HIDDEN = 999.0  # behind the mask
ALLOWS_MISSING = {"BoostedThresholds"}
TABLES = {"AutoOrdinal", "TableEncoder", "TableModel"}
each = pytest.mark.parametrize("name", [name for name in NAMES if name not in OF_OTHER_DATA])


def data(name):
    X, y = case_of(name).data(0)
    return ([part.copy() for part in X] if name == "ChainClassifier" else np.array(X)), y


def masked(X, row=-1):
    """X with one entry masked, behind which there is a number that no row has."""
    X = np.ma.array(X, copy=True)
    X[row, 0] = HIDDEN
    X[row, 0] = np.ma.masked
    assert X.data[row, 0] == HIDDEN
    return X


def missing(X, row=-1):
    X = X.copy()
    X[row, 0] = np.nan
    return X


def in_last(change, X):
    return [*X[:-1], change(X[-1])] if isinstance(X, list) else change(X)


@each
def test_rows_to_learn_from(name):
    X, y = data(name)
    parameters = {"encoder": rw.TableEncoder()} if name in ("AutoOrdinal", "TableModel") else {}
    if name in ALLOWS_MISSING | TABLES:
        parameters |= {"missing": "keep"} if name == "TableEncoder" else {}
        found, expected = (answers(name, change, X, y, **parameters) for change in (masked, missing))
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other)
        return
    with pytest.raises(ValueError, match=r"(?i)nan") as caught:
        make(name).fit(in_last(masked, X), y)
    assert "999" not in str(caught.value)


@each
def test_rows_to_ask_about(name):
    X, y = data(name)
    parameters = {"encoder": rw.TableEncoder()} if name in ("AutoOrdinal", "TableModel") else {}
    parameters |= {"missing": "mean"} if name == "TableEncoder" else {}
    model = make(name).set_params(**parameters).fit(X, y)
    methods = [getattr(model, method) for method in METHODS if hasattr(model, method)]
    assert methods
    for method in methods:
        if name in ALLOWS_MISSING | TABLES:
            np.testing.assert_allclose(*(np.asarray(method(change(X))) for change in (masked, missing)))
            continue
        with pytest.raises(ValueError, match=r"(?i)nan"):
            method(in_last(masked, X))


@pytest.mark.parametrize(
    "model",
    [
        rw.CalibratedOrdinal(LogisticRegression()),
        rw.ConformalOrdinal(LogisticRegression(), level=0.5),
        rw.BlendedOrdinal([LogisticRegression(), LogisticRegression(C=0.1)]),
        rw.TableModel(LogisticRegression(), "none"),
        rw.TableModel(LogisticRegression(), StandardScaler()),
    ],
    ids=str,
)
def test_estimators_of_others_inside_do_not_see_what_a_mask_hides(model):
    X, y = data("PRIL")
    with pytest.raises(ValueError, match="NaN"):
        model.fit(masked(X), y)
    model.fit(X, y)
    with pytest.raises(ValueError, match="NaN"):
        model.predict(masked(X))


def test_streams():
    X, y = data("PRIL")
    model = rw.PRIL(classes=[0, 1, 2]).partial_fit(X, y)
    for learn in (model.partial_fit, model.progressive_predict):
        with pytest.raises(ValueError, match=r"NaN: row 4, column 0"):
            learn(masked(X, 4), y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy's, of a masked element that becomes NaN
        with pytest.raises(ValueError, match="finite"):
            model.learn_one({"a": np.ma.masked, "b": 1.0}, 2)


def test_integers_and_lists_of_masked_rows():
    X = np.ma.array([[1, 2], [3, 999], [5, 6], [7, 8]], mask=[[0, 0], [0, 1], [0, 0], [0, 0]])
    for rows in (X, list(X), X.astype(object)):
        with pytest.raises(ValueError, match="row 1, column 1"):
            rw.SVOR().fit(rows, [1, 1, 2, 2])
    table = rw.TableEncoder(missing="keep", scaling="none").fit_transform(X)
    np.testing.assert_array_equal(table, [[1, 2], [3, np.nan], [5, 6], [7, 8]])


def test_texts_among_masked_objects():
    X = np.ma.array([["a", 1.0], ["b", 2.0], ["hidden", 3.0], ["a", 4.0]], dtype=object, mask=False)
    X[2, 0] = np.ma.masked
    encoder = rw.TableEncoder(scaling="none").fit(X)
    assert encoder.get_feature_names_out().tolist() == ["x1", "x0=a", "x0=b"]


def test_metrics():
    y, probabilities = [1, 2, 3], np.ma.array(np.full((3, 3), 1 / 3))
    with pytest.raises(ValueError, match="row 1: y_pred must hold one class"):
        metrics.mean_absolute_error(y, np.ma.array([1, 999, 3], mask=[0, 1, 0]), classes=[1, 2, 3])
    probabilities[1, 2] = np.ma.masked
    with pytest.raises(ValueError, match="row 1"):
        metrics.log_score(y, probabilities, classes=[1, 2, 3])
    with pytest.raises(ValueError, match="row 1"):
        metrics.mean_absolute_error(y, y, sample_weight=np.ma.array([1.0, 2.0, 3.0], mask=[0, 1, 0]))
    sets = np.ma.array(np.ones((3, 3), dtype=bool))
    sets[1, 2] = np.ma.masked
    with pytest.raises(ValueError, match="sets"):
        metrics.set_coverage(y, sets, classes=[1, 2, 3])


def test_weights():
    X, y = data("PRIL")
    weight = np.ma.array(np.ones(len(y)))
    weight[3] = np.ma.masked
    for model in (rw.PRIL(), rw.SVOR(), rw.CalibratedOrdinal(rw.SVOR()), rw.TableModel()):
        with pytest.raises(ValueError, match="row 3: a weight must be a finite number"):
            model.fit(X, y, sample_weight=weight)


def test_explanations_and_features():
    X, y = data("PRIL")
    model = rw.SVOR().fit(X, y)
    with pytest.raises(ValueError, match="NaN"):
        rw.explain(model, masked(X))
    assert np.isnan(polynomial_features(masked(X[:2]), 2)[1]).any()
    trees = rw.BoostedThresholds(max_iter=3, early_stopping=False).fit(masked(X), y)
    found, expected = (rw.explain(trees, change(X)) for change in (masked, missing))
    np.testing.assert_array_equal(found.values, expected.values)


def test_bounds_and_scores_are_unknown_where_an_entry_is():
    X, _ = data("PRIL")
    assert np.isnan(rw.bounds.data_radius(masked(X)))
    beta = rw.decisions.beta_matrix(2, n_classes=3)
    scores = rw.decisions.unified_scores(masked(X), np.zeros((2, 3)), [0.0, 0.5, 0.0], beta)
    assert np.isnan(scores[-1]).all()
    assert np.isfinite(scores[:-1]).all()
