"""Encoded labels are a value: they pass through, compare, select, pickle, join and go through scikit-learn."""

import pickle
from copy import deepcopy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    StratifiedKFold,
    cross_val_score,
    cross_validate,
    train_test_split,
)

from rankwise import PRIL, SVOR, LabelRanker, MissingLabelClassifier, evaluation, metrics
from rankwise.annotation import overlap, partial_labels, precision, summary, type1_intervals
from rankwise.datasets import make_ordinal
from rankwise.labels import (
    ClassOrder,
    Labels,
    MultiLabels,
    Preferences,
    RankingLabels,
    encode,
    encode_multilabel,
    encode_rankings,
    format_labels,
    parse_labels,
)
from tests.strategies import annotated

GRADES = [1, 2, 3, 4]
SAID = [3, (1, 2), {1, 3}, None, 4, (2, 4)]


def mixed():
    return encode(SAID, GRADES)


def intervals(n=90):
    X, y = make_ordinal(n, 3, 4, noise=0.2, random_state=0)
    return X, partial_labels(y, 0.5, random_state=0)


# -- encode ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("classes", [None, GRADES, ClassOrder(GRADES), np.array(GRADES)])
def test_encoding_again_gives_the_same_object(classes):
    labels = mixed()
    assert encode(labels, classes, n_rows=6) is labels


def test_the_number_of_rows_is_checked():
    with pytest.raises(ValueError, match=r"X has 5 rows, y has 6 labels"):
        encode(mixed(), n_rows=5)


def test_equal_classes_of_another_type_are_the_ones_asked_for():
    labels = encode(mixed(), [1.0, 2.0, 3.0, 4.0])
    assert labels.classes.dtype == np.float64
    assert labels.tolist() == mixed().tolist()


@given(annotated(), st.data())
def test_recoding_is_encoding_with_the_other_classes(rows, data):
    labels = rows.encoded()
    strangers = [("new", i) for i in range(data.draw(st.integers(0, 3)))]
    order = ClassOrder(data.draw(st.permutations([*labels.classes.tolist(), *strangers])))
    again = encode(labels, order)
    known = order.codes(np.array(labels.classes.tolist(), dtype=object))
    for row in range(len(labels)):
        before = set(known[labels.admissible()[row]].tolist())
        now = set(np.flatnonzero(again.admissible()[row]).tolist())
        if labels.is_missing[row]:
            assert again.is_missing[row]
        elif np.all(np.diff(known) > 0) and not labels.has_gaps[row]:
            assert now == set(range(min(before), max(before) + 1))
        else:
            assert now == before
    assert again.recoded(order) is again


def test_intervals_admit_the_new_classes_between_their_ends():
    again = encode(encode([(1, 3), {1, 3}, 3, None], [1, 2, 3, 5]), [0, 1, 2, 2.5, 3, 5])
    assert again.tolist() == [(1.0, 3.0), frozenset({1.0, 3.0}), 3.0, None]
    assert again.admissible().sum(axis=1).tolist() == [4, 2, 1, 6]


def test_intervals_keep_their_classes_where_the_order_is_another():
    assert encode(encode([(1, 2)], [1, 2, 3]), [1, 3, 2]).tolist() == [frozenset({1, 2})]


def test_classes_without_those_of_the_labels_are_an_error_that_names_both():
    with pytest.raises(ValueError, match=r"encoded with the classes \[1, 2, 3, 4\], .*among the classes \[1, 2, 3\]\."):
        encode(mixed(), [1, 2, 3])


# -- a value -----------------------------------------------------------------------------------------------------------


@given(annotated())
def test_labels_come_back_as_they_were(rows):
    labels = rows.encoded()
    assert encode(labels.tolist(), labels.order) == labels
    assert list(labels) == labels.tolist() == [labels[row] for row in range(len(labels))]


@given(annotated(), st.data())
def test_rows_are_selected_as_numpy_selects_them(rows, data):
    labels = rows.encoded()
    said = np.fromiter(labels.tolist(), dtype=object, count=len(labels))
    numbers = np.array(data.draw(st.lists(st.integers(-len(labels), len(labels) - 1))), dtype=np.intp)
    chosen = np.array(data.draw(st.lists(st.booleans(), min_size=len(labels), max_size=len(labels))))
    for which in (numbers, chosen, numbers.tolist(), slice(1, None, 2), slice(-2, None)):
        assert labels[which].tolist() == said[which].tolist()
        assert labels[which, ...] == labels[which]
    assert labels.take(numbers) == labels[numbers]


@pytest.mark.parametrize("rows", ["a", 1.0, [0.5], np.array([[0]]), (0, 1)])
def test_rows_that_are_none_are_refused(rows):
    with pytest.raises(TypeError, match=r"^rows must be a slice, row numbers, or a boolean"):
        mixed()[rows]


def test_rows_that_are_not_there_are_refused():
    with pytest.raises(IndexError):
        mixed()[[6]]
    with pytest.raises(IndexError):
        mixed()[6]
    with pytest.raises(IndexError):
        mixed()[[True, False]]


def test_labels_are_equal_if_they_say_the_same():
    assert mixed() == mixed()
    assert mixed() != encode(SAID, [1, 2, 3, 4, 5])
    assert mixed() != encode([*SAID[:-1], (3, 4)], GRADES)
    assert mixed()[:2] == encode(SAID[:2], GRADES)  # one has a mask and the other none
    assert encode([{1, 3, 4}], GRADES) != encode([{1, 2, 4}], GRADES)
    assert (mixed() == np.array([1, 2])) is False
    with pytest.raises(TypeError, match="unhashable"):
        hash(mixed())


def test_labels_pickle_and_copy():
    assert pickle.loads(pickle.dumps(mixed())) == mixed()
    assert deepcopy(mixed()) == mixed()


def test_labels_are_shown_in_one_line():
    assert repr(mixed()) == "Labels(6 rows, 2 exact, 2 interval, 1 candidates, 1 missing; classes [1, 2, 3, 4])"
    assert repr(encode(range(100))).endswith("99] (100 classes))")


def test_a_mask_is_not_shared_with_the_caller():
    mask = np.array([[True, False, True]])
    labels = encode(mask)
    mask[0, 0] = False
    assert labels.tolist() == [frozenset({0, 2})]


@given(annotated(), st.integers(0, 20))
def test_parts_join(rows, cut):
    labels = rows.encoded()
    assert Labels.concatenate([labels[:cut], labels[cut:]]) == labels


def test_parts_of_other_classes_do_not_join():
    with pytest.raises(ValueError, match=r"^part 1: all parts must have the classes \[1, 2\]\. Got \[2, 1\]\.$"):
        Labels.concatenate([encode([1], [1, 2]), encode([1], [2, 1])])
    with pytest.raises(ValueError, match="at least one part"):
        Labels.concatenate([])


def test_an_array_of_labels_holds_classes_or_texts():
    assert np.asarray(encode([2, 1], [1, 2])).tolist() == [2, 1]
    assert np.asarray(mixed()).tolist() == ["3", "1-2", "1|3", "?", "4", "2-4"]
    assert np.asarray(mixed()).tolist() == format_labels(mixed()).tolist()
    assert encode(parse_labels(np.asarray(mixed()), GRADES), GRADES) == mixed()
    assert np.asarray(encode([2, 1], [1, 2]), dtype=np.float32).dtype == np.float32
    with pytest.raises(ValueError, match="always a copy"):
        np.asarray(mixed(), copy=False)


# -- everything that takes y -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", [PRIL(random_state=0), SVOR(alpha=0.1)])
def test_estimators_learn_the_same_from_them(estimator):
    X, y = intervals()
    model = estimator.fit(X, encode(y))
    score, coef = model.score(X, encode(y)), model.coef_
    assert np.array_equal(estimator.fit(X, y).coef_, coef)
    assert estimator.score(X, y) == score


def test_metrics_take_them():
    y, predicted = encode(SAID, GRADES), [1, 1, 4, 1, 4, 1]
    for metric in (metrics.mean_absolute_error, metrics.zero_one_loss, metrics.accuracy_within):
        assert metric(y, encode(predicted, GRADES)) == metric(SAID, predicted, classes=GRADES)
    exact = encode([1, None, 2, 4], GRADES)
    for metric in (metrics.confusion_matrix, metrics.quadratic_weighted_kappa, metrics.kendall_tau):
        assert np.array_equal(metric(exact, [1, 2, 2, 3]), metric([1, None, 2, 4], [1, 2, 2, 3], classes=GRADES))


def test_evaluation_and_annotation_take_them():
    predicted = [1, 1, 4, 1, 4, 1]
    labels = mixed()
    assert evaluation.error_range(labels, predicted) == evaluation.error_range(SAID, predicted, classes=GRADES)
    table = evaluation.interval_confusion(labels, predicted)
    assert np.array_equal(table, evaluation.interval_confusion(SAID, predicted, classes=GRADES))
    assert summary(labels) == summary(SAID, GRADES)
    assert precision(labels) == precision(SAID, GRADES)
    truth = [3, 1, 1, 2, 4, 4]
    assert np.array_equal(overlap(labels, truth).counts, overlap(SAID, truth, GRADES).counts)
    exact = encode([1, 4], GRADES)
    assert np.array_equal(type1_intervals(exact, random_state=0), type1_intervals([1, 4], GRADES, random_state=0))


@pytest.mark.parametrize("truth", [False, True])
def test_progressive_validation_takes_them(truth):
    X, y = intervals()
    exact = y[:, 0]
    found = evaluation.progressive(PRIL(random_state=0), X, encode(y), truth=encode(exact) if truth else None)
    wanted = evaluation.progressive(PRIL(random_state=0), X, y, truth=exact if truth else None)
    assert np.array_equal(found.losses, wanted.losses)
    assert np.array_equal(found.predictions, wanted.predictions)


def test_progressive_validation_of_river_models_gives_the_labels_themselves():
    class Remembers:
        def __init__(self):
            self.said = []

        def predict_one(self, x):
            return 1

        def learn_one(self, x, y):
            self.said.append(y)

    model = Remembers()
    evaluation.progressive(model, [{"a": 1.0}] * 6, mixed())
    assert model.said == [3, (1, 2), frozenset({1, 3}), None, 4, (2, 4)]


def test_tables_take_them():
    X, y = make_ordinal(200, 3, 4, noise=0.2, random_state=0)
    models = {"PRIL": PRIL(random_state=0), "logistic": LogisticRegression()}
    parts = [X[:100], y[:100], X[100:], y[100:]]
    encoded = [X[:100], encode(y[:100]), X[100:], encode(y[100:])]
    found, wanted = (evaluation.compare(models, *rows) for rows in (encoded, parts))
    assert [[row[name] for name in ("model", "mae", "zero_one")] for row in found] == [
        [row[name] for name in ("model", "mae", "zero_one")] for row in wanted
    ]


# -- scikit-learn ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cv", [KFold(3), 3, evaluation.StratifiedIntervalKFold(3)])
def test_cross_validation_splits_them(cv):
    X, y = intervals()
    model = SVOR(alpha=0.1, classes=np.unique(y))
    found = cross_val_score(model, X, encode(y), cv=cv)
    folds = StratifiedKFold(3) if cv == 3 else cv  # what scikit-learn makes of a number for classifiers
    assert found.tolist() == [
        model.fit(X[train], y[train]).score(X[test], y[test]) for train, test in folds.split(X, encode(y))
    ]


def test_a_fold_without_a_class_keeps_it():
    X, y = np.arange(12.0)[:, None], np.repeat([1, 2, 3, 4], 3)
    fitted = cross_validate(SVOR(alpha=0.1), X, encode(y), cv=KFold(4), return_estimator=True)["estimator"]
    assert all(model.classes_.tolist() == [1, 2, 3, 4] for model in fitted)


def test_searches_split_them():
    X, y = intervals()
    grid = {"alpha": [0.01, 1.0]}
    search = GridSearchCV(SVOR(), grid, cv=KFold(3)).fit(X, encode(y))
    raw = GridSearchCV(SVOR(classes=np.unique(y)), grid, cv=KFold(3)).fit(X, y)
    assert search.best_params_ == raw.best_params_
    assert search.cv_results_["mean_test_score"].tolist() == raw.cv_results_["mean_test_score"].tolist()


def test_a_stratified_split_keeps_the_mixture_of_labels():
    y = encode([(1, 2)] * 40 + [3] * 40 + [None] * 20, [1, 2, 3])
    X = np.zeros((100, 1))
    _, _, _, test = train_test_split(X, y, test_size=0.25, stratify=y, random_state=0)
    assert (test.tolist().count((1, 2)), test.tolist().count(3), test.tolist().count(None)) == (10, 10, 5)
    for _, rows in StratifiedKFold(5).split(X, y):
        assert y[rows].counts() == (8, 8, 0, 4)


# -- rankings and tables of labels -------------------------------------------------------------------------------------


RANKINGS = {
    "lists": [["a", "c"], None, ["b"], ["c", "b"]],
    "singles": ["b", None, "a", "c"],
    "preferences": Preferences([[("a", "b")], None, [("c", "a"), ("b", "a")], [("c", "b")]]),
}


@pytest.mark.parametrize("kind", RANKINGS)
def test_rankings_pass_through_and_are_recoded(kind):
    y = RANKINGS[kind]
    labels = encode_rankings(y, ["a", "b", "c"])
    assert encode_rankings(labels) is labels
    assert encode_rankings(labels, ["a", "b", "c"], n_rows=4) is labels
    assert encode_rankings(labels, ["d", "c", "b", "a"]) == encode_rankings(y, ["d", "c", "b", "a"])
    assert encode_rankings(labels, ["d", "a"], growing=True) == encode_rankings(y, ["d", "a", "b", "c"])
    assert encode_rankings(labels, growing=True) is labels
    with pytest.raises(ValueError, match=r"the labels \['a', 'b', 'c'\], .*labels \['a', 'b'\]\."):
        encode_rankings(labels, ["a", "b"])
    with pytest.raises(ValueError, match=r"X has 3 rows, y has 4"):
        encode_rankings(labels, n_rows=3)


@pytest.mark.parametrize("kind", RANKINGS)
def test_rows_of_rankings(kind):
    y = RANKINGS[kind]
    labels = encode_rankings(y, ["a", "b", "c"])
    assert labels[[2, 0, 2]] == encode_rankings([y[2], y[0], y[2]], ["a", "b", "c"])
    assert labels[1:] == encode_rankings(y[1:], ["a", "b", "c"])
    assert labels != labels[1:]
    assert pickle.loads(pickle.dumps(labels)) == labels
    what = "4 preferences" if kind == "preferences" else f"{labels.above.size} relevant labels"
    assert repr(labels) == f"RankingLabels(4 rows, {what}; labels ['a', 'b', 'c'])"


def test_rankers_take_encoded_rankings():
    X, y = np.eye(4), RANKINGS["lists"]
    labels = encode_rankings(y)
    assert np.array_equal(LabelRanker(random_state=0).fit(X, labels).coef_, LabelRanker(random_state=0).fit(X, y).coef_)
    folds = [cross_val_score(LabelRanker(classes=["a", "b", "c"]), X, rows, cv=KFold(2)) for rows in (labels, y)]
    assert folds[0].tolist() == folds[1].tolist()


def test_tables_of_labels_pass_through():
    Y = [["no", None], ["yes", "no"], ["no", "no"]]
    labels = encode_multilabel(Y)
    assert encode_multilabel(labels) is labels
    assert encode_multilabel(labels, ["no", "yes"], n_rows=3) is labels
    assert encode_multilabel(labels, ["yes", "no"]) == encode_multilabel(Y, ["yes", "no"])
    assert labels[[2, 0]] == encode_multilabel([Y[2], Y[0]], ["no", "yes"])
    assert labels[[2, 0]] != labels[[0, 2]]
    assert labels[1:].codes.flags.f_contiguous
    assert pickle.loads(pickle.dumps(labels)) == labels
    assert repr(labels) == "MultiLabels(3 rows, 2 labels, 1 missing entries; classes ['no', 'yes'])"
    with pytest.raises(ValueError, match=r"the classes \['no', 'yes'\], .*the classes \[0, 1\]\."):
        encode_multilabel(labels, [0, 1])
    with pytest.raises(ValueError, match=r"X has 2 rows but y has 3"):
        encode_multilabel(labels, n_rows=2)


def test_the_classifier_of_tables_takes_encoded_ones():
    X, Y = np.arange(8.0).reshape(4, 2), np.array([[0, 1], [1, 0], [np.nan, 1], [0, 0]])
    found, wanted = (MissingLabelClassifier(random_state=0).fit(X, rows) for rows in (encode_multilabel(Y), Y))
    assert np.array_equal(found.coef_, wanted.coef_)


@pytest.mark.parametrize("y", [encode_rankings([["a"]]), encode_multilabel([[0, 1]])])
def test_other_encoded_labels_are_no_grades(y):
    assert isinstance(y, (RankingLabels, MultiLabels))
    with pytest.raises(ValueError, match=r"y should be a 1d array: .*Got (Ranking|Multi)Labels\("):
        encode(y)
