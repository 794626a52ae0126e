"""scikit-learn's folds and searches on columns of labels with blanks."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.model_selection import (
    GridSearchCV,
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
    learning_curve,
    permutation_test_score,
    train_test_split,
    validation_curve,
)
from sklearn.pipeline import make_pipeline

import rankwise as rw
from rankwise.labels import as_labels

X = np.random.default_rng(0).normal(size=(60, 2))
CODES = np.digitize(X[:, 0], [-0.5, 0.5])
BLANK = np.arange(60) % 10 == 5
TEXTS = np.array(["low", "mid", "top"], dtype=object)[CODES]


def blanked(values, blank):
    found = np.array(values, dtype=object)
    found[BLANK] = blank
    return found


COLUMNS = {
    "pandas NaN": pd.Series(blanked(TEXTS, np.nan)),
    "pandas object": pd.Series(blanked(TEXTS, np.nan), dtype=object),
    "pandas None": pd.Series(blanked(TEXTS, None), dtype=object),
    "pandas string": pd.Series(blanked(TEXTS, pd.NA), dtype="string"),
    "pandas category": pd.Series(pd.Categorical(blanked(TEXTS, np.nan), ["low", "mid", "top"], ordered=True)),
    "blank texts": pd.Series(blanked(TEXTS, "")),
    "NaN first": pd.Series([np.nan, *blanked(TEXTS, np.nan)[1:]], dtype=object),
    "list": blanked(TEXTS, None).tolist(),
    "polars": pl.Series(blanked(TEXTS, None).tolist()),
    "floats": np.where(BLANK, np.nan, CODES),
    "Int64": pd.Series(CODES, dtype="Int64").mask(BLANK),
    "numbers and texts": pd.Series([code if i % 2 else str(code) for i, code in enumerate(CODES.tolist())]),
}


def model(y):
    return rw.SVOR(tol=0.1, classes=["low", "mid", "top"] if "low" in list(map(str, y)) else [0, 1, 2])


WAYS = {
    "cross_val_score": lambda m, y: cross_val_score(m, X, y, cv=3),
    "of a table model": lambda m, y: cross_val_score(rw.TableModel(m), pd.DataFrame(X, columns=["a", "b"]), y, cv=3),
    "of a pipeline": lambda m, y: cross_val_score(make_pipeline(m), X, y, cv=3),
    "of a calibrated model": lambda m, y: cross_val_score(rw.CalibratedOrdinal(m, cv=2), X, y, cv=3),
    "cross_val_predict": lambda m, y: cross_val_predict(m, X, y, cv=3),
    "GridSearchCV": lambda m, y: GridSearchCV(m, {"alpha": [0.1, 1.0]}, cv=3).fit(X, y).best_score_,
    "learning_curve": lambda m, y: learning_curve(m, X, y, cv=3)[2],
    "validation_curve": lambda m, y: validation_curve(m, X, y, param_name="alpha", param_range=[0.1, 1.0], cv=3)[1],
    "permutation_test_score": lambda m, y: permutation_test_score(m, X, y, cv=3, n_permutations=2)[0],
}


@pytest.mark.filterwarnings("ignore:scikit-learn cannot stratify")
@pytest.mark.filterwarnings("ignore:The least populated class")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("column", COLUMNS)
def test_columns_with_blanks_work(column, way):
    y = COLUMNS[column]
    found = WAYS[way](model(y), y)
    labelled = as_labels(y, model(y).classes)
    assert np.shape(found) == np.shape(WAYS[way](model(y), labelled))
    if np.asarray(found).dtype.kind == "f":
        assert np.isfinite(found).all()
        assert np.mean(found) > -0.3  # the classes are as they were, and not shifted by one for the blanks


@pytest.mark.parametrize("column", [column for column in COLUMNS if column != "blank texts"])
def test_it_is_said_that_folds_are_not_stratified(column):
    y = COLUMNS[column]
    with pytest.warns(UserWarning, match=r"the folds are blocks of rows \(KFold\).*as_labels\(y\)"):
        cross_val_score(model(y), X, y, cv=3)
    labels = as_labels(y, model(y).classes)
    cross_val_score(model(y), X, labels, cv=3)  # without a warning
    cross_val_score(model(y), X, labels, cv=StratifiedKFold(3))
    train_test_split(X, labels, stratify=labels)


@pytest.mark.parametrize("column", [column for column in COLUMNS if column != "blank texts"])
def test_probabilities_of_folds_are_refused_where_blanks_became_a_class(column):
    y = COLUMNS[column]
    link = rw.CumulativeLink(classes=model(y).classes)
    for estimator in (link, make_pipeline(link)):
        with pytest.raises(RuntimeError, match=r"takes missing labels for a class\. Use rankwise\.evaluation"):
            cross_val_predict(estimator, X, y, cv=3, method="predict_proba")
    assert rw.evaluation.cross_val_predict(link, X, y, cv=3, method="predict_proba").shape == (60, 3)
