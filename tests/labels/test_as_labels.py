"""Labels of every form in scikit-learn's cross-validation."""

import numpy as np
import pandas as pd
import pytest
from sklearn import metrics
from sklearn.model_selection import (
    GridSearchCV,
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
    learning_curve,
    train_test_split,
)

from rankwise import PRIL, SVOR, CumulativeLink, evaluation
from rankwise.annotation import partial_labels
from rankwise.datasets import make_ordinal
from rankwise.labels import Labels, as_labels, encode

X, Y = make_ordinal(120, 3, 6, noise=0.3, random_state=0)
CLASSES = range(1, 7)


def forms():
    table = partial_labels(Y, 0.8, kind=2, random_state=0).astype(float)
    table[::9] = np.nan
    table[3, 1] = np.nan
    return {
        "table with NaN": table,
        "list that begins with a tuple": [(1, 2), {1, 3}, None, *Y[3:].tolist()],
        "series of strings": pd.Series([f"{k}-{min(k + 1, 6)}" if i % 3 else str(k) for i, k in enumerate(Y)]),
        "exact": Y,
    }


each = pytest.mark.parametrize("form", forms().values(), ids=forms())


@each
def test_they_are_the_labels_that_encode_reads(form):
    labels = as_labels(form, CLASSES)
    assert isinstance(labels, Labels)
    assert labels == encode(form, CLASSES)
    assert labels[:7] == encode(form, CLASSES)[:7]


@pytest.mark.filterwarnings("ignore:CumulativeLink. no label needs these classes")  # in a fold, of a rare class
@each
def test_every_search_and_splitter_takes_them(form):
    y = as_labels(form, CLASSES)
    model = CumulativeLink(alpha=0.1)  # learns from candidate sets too
    assert np.isfinite(cross_val_score(model, X, y, cv=5)).all()
    assert cross_val_predict(model, X, y, cv=5).shape == (120,)
    assert GridSearchCV(model, {"alpha": [0.1, 1.0]}, cv=5).fit(X, y).best_score_ <= 0
    assert np.isfinite(learning_curve(model, X, y, cv=5, train_sizes=[0.5, 1.0])[2]).all()
    train, test = train_test_split(y, stratify=y, random_state=0)
    assert len(train) + len(test) == 120


def test_folds_of_scikit_learn_have_the_mixture_of_all_labels():
    y = as_labels(forms()["table with NaN"], CLASSES)
    missing = [y[test].is_missing.sum() for _, test in StratifiedKFold(4).split(X, y)]
    assert max(missing) - min(missing) <= 1
    strata, counts = np.unique(np.asarray(y), return_counts=True)
    assert counts.min() >= 10
    assert any(" ... " in name for name in strata)  # rare neighbours share a stratum


@pytest.mark.filterwarnings("ignore:CumulativeLink. no label needs these classes")
def test_scikit_learn_would_lose_imprecise_labels_on_the_way_to_probabilities():
    y = as_labels(forms()["table with NaN"], CLASSES)
    with pytest.raises(ValueError, match=r"Use rankwise\.evaluation\.cross_val_predict"):
        cross_val_predict(CumulativeLink(), X, y, method="predict_proba")
    ours = evaluation.cross_val_predict(CumulativeLink(), X, y, method="predict_proba", cv=3)
    assert ours.shape == (120, 6)
    exact = cross_val_predict(CumulativeLink(), X, as_labels(Y), method="predict_proba", cv=3)
    np.testing.assert_allclose(exact.sum(axis=1), 1.0)


def test_words_whose_order_is_not_the_alphabets_are_not_sorted_by_others():
    X = np.linspace(-5.0, 5.0, 90)[:, None]
    words = np.repeat(["low", "medium", "high"], 30)
    y = as_labels(words, classes=["low", "medium", "high"])
    with pytest.raises(ValueError, match="which the order of the classes does not survive"):
        cross_val_predict(CumulativeLink(), X, y, method="predict_proba")
    ours = evaluation.cross_val_predict(CumulativeLink(alpha=1e-3), X, y, method="predict_proba")
    assert (y.classes[ours.argmax(axis=1)] == words).mean() > 0.8
    assert (cross_val_predict(CumulativeLink(alpha=1e-3), X, y) == words).mean() > 0.8


def test_predictions_in_folds_are_those_of_models_that_have_not_seen_the_row():
    folds = evaluation.StratifiedIntervalKFold(3)
    found = evaluation.cross_val_predict(SVOR(), X, Y, cv=folds)
    for train, test in folds.split(X, Y):
        np.testing.assert_array_equal(found[test], SVOR().fit(X[train], as_labels(Y)[train]).predict(X[test]))
    with pytest.raises(ValueError, match="test parts hold every row once"):
        evaluation.cross_val_predict(SVOR(), X, Y, cv=list(folds.split(X, Y))[:2])


def test_models_are_compared_in_folds():
    y = as_labels(forms()["table with NaN"], CLASSES)
    models = {"SVOR": SVOR(alpha=0.01), "PRIL": PRIL(random_state=0)}
    rows = evaluation.compare(models, X, y, cv=3, sample_weight=np.ones(120))
    assert [row["mae"] for row in rows] == sorted(row["mae"] for row in rows)
    for row in rows:
        assert row["mae"] <= row["mae_at_worst"]
        assert row["mae_se"] > 0
    with pytest.raises(ValueError, match="together"):
        evaluation.compare(models, X, y, X)


WORDS = ["low", "medium", "high"]
SCORES = {
    "accuracy": metrics.accuracy_score,
    "balanced accuracy": metrics.balanced_accuracy_score,
    "kappa": metrics.cohen_kappa_score,
    "confusion matrix": metrics.confusion_matrix,
    "report": metrics.classification_report,
}


@pytest.mark.parametrize("read", [as_labels, encode])
@pytest.mark.parametrize("classes", [WORDS, [1, 2, 3]], ids=["words", "numbers"])
@pytest.mark.parametrize("odd", [None, (0, 1), {0, 2}], ids=["missing", "interval", "candidates"])
@pytest.mark.parametrize("score", SCORES.values(), ids=SCORES)
def test_scores_of_scikit_learn_are_right_or_an_error(read, classes, odd, score):
    values = [classes[k % 3] for k in range(60)]
    predicted = [classes[0], *values[:-1]]
    label = None if odd is None else type(odd)(classes[k] for k in odd)
    y = read([*values, *[label] * 12], classes=classes)
    np.testing.assert_equal(score(y[:60], predicted), score(values, predicted))
    for imprecise in (y, y[59:]):
        with pytest.raises(ValueError, match=r"rankwise\.metrics, or scoring=rankwise\.evaluation\.IntervalScorer"):
            score(imprecise, [classes[0]] * len(imprecise))


def test_errors_of_scikit_learn_are_refused_too():
    y = as_labels([1, 2, 3, None] * 12)
    with pytest.raises(ValueError, match="12 of 48 are imprecise"):
        metrics.mean_absolute_error(y, np.ones(48))


def test_searches_with_a_score_of_scikit_learn_fail_loudly():
    words = np.array(WORDS)[np.clip(Y // 2, 0, 2)]
    exact = as_labels(words, classes=WORDS)
    found = cross_val_score(CumulativeLink(), X, exact, scoring="accuracy")
    np.testing.assert_array_equal(found, cross_val_score(CumulativeLink(classes=WORDS), X, words, scoring="accuracy"))
    some = as_labels([None if k % 4 == 0 else word for k, word in enumerate(words)], classes=WORDS)
    for scoring in ("accuracy", "balanced_accuracy", metrics.make_scorer(metrics.accuracy_score)):
        with pytest.raises(ValueError, match="IntervalScorer"):
            cross_val_score(CumulativeLink(), X, some, scoring=scoring, error_score="raise")
    assert np.isfinite(cross_val_score(CumulativeLink(), X, some, scoring=evaluation.IntervalScorer())).all()
