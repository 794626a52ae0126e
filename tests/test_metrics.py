import numpy as np
import pandas as pd
import pytest
import sklearn.metrics
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.stats import kendalltau
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import cross_val_score

from rankwise import CumulativeLink, metrics
from rankwise.labels import UnknownOrderError, encode, encode_rankings
from tests.strategies import annotated

FOR_ANY_LABEL = {
    metrics.mean_absolute_error: float,
    metrics.mean_squared_error: lambda distance: distance**2,
    metrics.zero_one_loss: lambda distance: distance > 0,
    metrics.weighted_cost: lambda distance: distance > 0,
    metrics.interval_coverage: lambda distance: distance == 0,
    metrics.accuracy_within: lambda distance: distance <= 1,
}
FOR_EXACT = [
    metrics.macro_mean_absolute_error,
    metrics.quadratic_weighted_kappa,
    metrics.kendall_tau,
    metrics.confusion_matrix,
]
RANKING = [metrics.ranking_loss, metrics.one_error, metrics.coverage_error, metrics.average_precision]


def labelled_rows(rows):
    """Rows that say something, as (admissible codes, predicted code, weight)."""
    every = zip(rows.codes, rows.predicted, rows.weights, strict=True)
    return [row for row in every if len(row[0]) < len(rows.classes)]


@given(annotated(), st.sampled_from(list(FOR_ANY_LABEL)), st.booleans())
def test_metrics_of_any_label_are_plain_means(rows, metric, weighted):
    kept = labelled_rows(rows)
    weight = [w if weighted else 1 for _, _, w in kept]
    assume(sum(weight) > 0)
    cost = [FOR_ANY_LABEL[metric](min(abs(y - p) for y in admitted)) for admitted, p, _ in kept]
    expected = sum(w * c for w, c in zip(weight, cost, strict=True)) / sum(weight)
    result = metric(rows.y, rows.y_pred, classes=rows.classes, sample_weight=rows.weights if weighted else None)
    assert type(result) is float
    assert result == pytest.approx(expected, abs=1e-12)


@given(annotated(kinds=("exact",)), st.integers(0, 6))
def test_tolerance_of_accuracy_within(rows, tolerance):
    right = [abs(y - p) <= tolerance for (y,), p in zip(rows.codes, rows.predicted, strict=True)]
    result = metrics.accuracy_within(rows.y, rows.y_pred, tolerance=tolerance, classes=rows.classes)
    assert result == pytest.approx(np.mean(right))


@given(annotated(kinds=("exact",)), st.sampled_from([*FOR_ANY_LABEL, *FOR_EXACT]))
def test_whole_weights_are_repetitions(rows, metric):
    weighted = metric(rows.y, rows.y_pred, classes=rows.classes, sample_weight=rows.weights)
    repeated = metric(np.repeat(rows.y, rows.weights), np.repeat(rows.y_pred, rows.weights), classes=rows.classes)
    np.testing.assert_allclose(weighted, repeated, atol=1e-12)


@given(annotated(kinds=("exact",)), st.sampled_from([*FOR_ANY_LABEL, *FOR_EXACT]))
def test_exact_labels_are_intervals_of_width_0_and_missing_rows_do_not_count(rows, metric):
    expected = metric(rows.y, rows.y_pred, classes=rows.classes)
    as_intervals = np.column_stack([rows.y, rows.y])
    np.testing.assert_equal(metric(as_intervals, rows.y_pred, classes=rows.classes), expected)
    with_missing = [None, *rows.y, np.nan]
    predicted = [rows.classes[0], *rows.y_pred, rows.classes[-1]]
    np.testing.assert_equal(metric(with_missing, predicted, classes=rows.classes), expected)


@given(annotated(kinds=("exact",), max_rows=20), st.booleans())
def test_exact_metrics_agree_with_scikit_learn(rows, weighted):
    weight = rows.weights if weighted else None
    y, p = [c[0] for c in rows.codes], rows.predicted
    ours = {"classes": rows.classes, "sample_weight": weight}
    theirs = {"sample_weight": weight}
    assert metrics.mean_absolute_error(rows.y, rows.y_pred, **ours) == pytest.approx(
        sklearn.metrics.mean_absolute_error(y, p, **theirs)
    )
    assert metrics.mean_squared_error(rows.y, rows.y_pred, **ours) == pytest.approx(
        sklearn.metrics.mean_squared_error(y, p, **theirs)
    )
    assert metrics.zero_one_loss(rows.y, rows.y_pred, **ours) == pytest.approx(
        sklearn.metrics.zero_one_loss(y, p, **theirs), abs=1e-12
    )
    table = metrics.confusion_matrix(rows.y, rows.y_pred, **ours)
    codes = np.arange(len(rows.classes))
    np.testing.assert_allclose(table, sklearn.metrics.confusion_matrix(y, p, labels=codes, **theirs))
    assert table.dtype == (np.float64 if weighted else np.int64)
    kappa = metrics.quadratic_weighted_kappa(rows.y, rows.y_pred, **ours)
    if np.count_nonzero(table) == 1 and np.trace(table) > 0:
        assert np.isnan(kappa)
    else:
        expected = sklearn.metrics.cohen_kappa_score(y, p, labels=codes, weights="quadratic", **theirs)
        assert kappa == pytest.approx(expected, abs=1e-12)


@given(annotated(kinds=("exact",), max_rows=20))
def test_kendall_tau_is_scipys(rows):
    y, p = [c[0] for c in rows.codes], rows.predicted
    result = metrics.kendall_tau(rows.y, rows.y_pred, classes=rows.classes)
    if len(set(y)) == 1 or len(set(p)) == 1:
        assert np.isnan(result)
    else:
        assert result == pytest.approx(kendalltau(y, p).statistic, abs=1e-12)


@given(annotated(kinds=("exact",)), st.booleans())
def test_macro_mae_is_the_mean_of_the_classes(rows, weighted):
    weight = np.array(rows.weights if weighted else np.ones(len(rows.y)), dtype=float)
    y, p = np.array([c[0] for c in rows.codes]), rows.predicted_codes
    occurring = [k for k in range(len(rows.classes)) if weight[y == k].sum() > 0]
    expected = np.mean([np.average(np.abs(p - y)[y == k], weights=weight[y == k]) for k in occurring])
    result = metrics.macro_mean_absolute_error(rows.y, rows.y_pred, classes=rows.classes, sample_weight=weight)
    assert result == pytest.approx(expected)


def test_weights_keep_kendall_and_kappa_within_bounds_whatever_their_scale():
    y = [1, 2, 3, 3]
    for scale in (1e-9, 1.0, 1e9):
        weight = scale * np.array([0.1, 0.3, 0.7, 0.9])
        assert metrics.kendall_tau(y, y, sample_weight=weight) == pytest.approx(1.0)
        assert metrics.quadratic_weighted_kappa(y, y, sample_weight=weight) == 1.0


class TestClassOrder:
    def test_numbers_of_both_sides_are_sorted(self):
        # 1 and 9 alone would be neighbours: the predicted 5 lies between them.
        assert metrics.mean_absolute_error([1, 9], [5, 1]) == (1 + 2) / 2

    def test_declared_classes_count_even_if_they_never_occur(self):
        assert metrics.mean_absolute_error([1, 9], [9, 9], classes=[1, 3, 5, 7, 9]) == 4 / 2

    def test_a_categorical_carries_its_order_on_either_side(self):
        sizes = pd.CategoricalDtype(["small", "medium", "large"], ordered=True)
        words = ["small", "large", "large"]
        for y, p in [
            (pd.Series(words, dtype=sizes), ["large", "large", "medium"]),
            (words, pd.Categorical(["large", "large", "medium"], dtype=sizes)),
        ]:
            assert metrics.mean_absolute_error(y, p) == (2 + 0 + 1) / 3

    @pytest.mark.parametrize("metric", [*FOR_ANY_LABEL, *FOR_EXACT])
    def test_names_without_an_order_are_refused_where_it_matters(self, metric):
        y, p = ["egg", "imago", "larva"], ["egg", "larva", "larva"]
        if metric in (metrics.zero_one_loss, metrics.weighted_cost, metrics.interval_coverage):
            assert metric(y, p) == metric(y, p, classes=["egg", "larva", "imago"])
            with pytest.raises(ValueError, match="an interval needs the order of the classes"):
                metric([("egg", "imago"), *y[1:]], p)
            return
        with pytest.raises(ValueError, match=r"needs the order of the classes.*\['egg', 'imago', 'larva'\].*classes="):
            metric(y, p)
        metric(pd.Categorical(y, ["egg", "larva", "imago"], ordered=True), p)
        with pytest.raises(ValueError, match="needs the order of the classes"):  # pandas sorted the categories
            metric(pd.Categorical(y), p)

    @pytest.mark.parametrize("scorer", ["quadratic_weighted_kappa", "kendall_tau", "macro_mean_absolute_error"])
    def test_the_error_about_an_unknown_order_names_a_scorer_that_knows_it(self, scorer):
        """``make_scorer`` passes no classes: .458 instead of .678 for words in alphabetical order."""
        words = np.array(["egg", "larva", "pupa", "imago"])
        X = np.random.default_rng(0).normal(size=(240, 2))
        codes = np.digitize(X[:, 0] + 0.5 * X[:, 1], [-1, 0, 1])
        model = CumulativeLink(classes=words)
        metric = getattr(metrics, scorer)
        with pytest.raises(ValueError, match="needs the order") as caught:
            cross_val_score(model, X, words[codes], scoring=sklearn.metrics.make_scorer(metric), error_score="raise")
        named = next(name for name in metrics.__all__ if f"metrics.{name}," in str(caught.value))
        of_words = cross_val_score(model, X, words[codes], scoring=getattr(metrics, named), cv=4)
        of_codes = cross_val_score(CumulativeLink(), X, codes, scoring=sklearn.metrics.make_scorer(metric), cv=4)
        np.testing.assert_allclose(np.abs(of_words), of_codes)

    def test_probabilities_and_sets_of_names_need_their_order(self):
        P, sets = [[0.2, 0.8], [0.9, 0.1]], [[True, False], [True, True]]
        for metric in (
            metrics.log_score,
            metrics.ranked_probability_score,
            metrics.cumulative_brier_score,
            metrics.cumulative_brier_scores,
            metrics.cumulative_calibration_error,
            metrics.reliability,
        ):
            with pytest.raises(ValueError, match="needs the order of the classes"):
                metric(["egg", "imago"], P)
            metric(["egg", "imago"], P, classes=["egg", "imago"])
        with pytest.raises(ValueError, match=r"set_coverage needs the order.*metrics\.set_coverage_scorer"):
            metrics.set_coverage(["egg", "imago"], sets)
        with pytest.raises(ValueError, match="set_width needs the order"):
            metrics.set_width([["egg", "imago"]])

    def test_strings_and_numbers_have_no_common_order(self):
        with pytest.raises(ValueError, match="no common order"):
            metrics.mean_absolute_error([1, 2], ["a", "b"])

    def test_texts_of_numbers_are_numbers(self):
        assert metrics.mean_absolute_error(["1", "2-3", ""], [1, 4, 1]) == 0.5

    def test_interval_arrays_and_masks(self):
        said = pd.arrays.IntervalArray.from_tuples([(1, 2), (2, 3)], closed="both")
        assert metrics.mean_absolute_error(said, [2, 1]) == (0 + 1) / 2
        mask = np.array([[True, False, True], [False, False, True]])
        assert metrics.mean_absolute_error(mask, [1, 0]) == (1 + 2) / 2

    def test_an_interval_of_all_classes_is_a_missing_label(self):
        assert metrics.mean_absolute_error([(1, 3), (1, 1)], [1, 3], classes=[1, 2, 3]) == 2
        with pytest.raises(ValueError, match="none of them labelled"):
            metrics.mean_absolute_error([(1, 3)], [1], classes=[1, 2, 3])

    def test_one_class(self):
        assert metrics.mean_absolute_error([7, 7], [7, 7]) == 0
        assert metrics.interval_coverage([7, 7], [7, 7]) == 1


@pytest.mark.parametrize("metric", FOR_EXACT)
@pytest.mark.parametrize(
    ("partial", "found"), [((1, 2), r"the interval \[1, 2\]"), ({1, 3}, r"the candidate set \[1, 3\]")]
)
def test_metrics_of_exact_labels_name_the_row_and_the_ones_that_would_do(metric, partial, found):
    message = rf"row 2: {metric.__name__} needs exact labels\. Got {found}\. These take it: mean_absolute_error,"
    with pytest.raises(ValueError, match=message):
        metric([None, 1, partial, 4], [1, 1, 1, 1], classes=[1, 2, 3, 4])


def test_the_named_alternatives_are_exactly_those_that_take_it():
    for metric in FOR_ANY_LABEL:
        metric([(1, 2), 3], [1, 3], classes=[1, 2, 3])
    with pytest.raises(ValueError, match="These take it") as caught:
        metrics.kendall_tau([(1, 2), 3], [1, 3], classes=[1, 2, 3])
    named = str(caught.value).split("These take it: ")[1].rstrip(".").replace(" and ", ", ").split(", ")
    assert sorted(named) == sorted(metric.__name__ for metric in FOR_ANY_LABEL)


@pytest.mark.parametrize("metric", [*FOR_ANY_LABEL, *FOR_EXACT])
@pytest.mark.parametrize(
    ("y", "p", "weight", "message"),
    [
        ([None, np.nan], [1, 2], None, r"y_true must hold at least one label\. Got 2 rows, none of them labelled"),
        ([], [], None, r"y_true must hold at least one label\. Got 0 rows"),
        ([1, 2], [1], None, r"same number of rows\. Got 2 and 1"),
        ([1, 2], [1, 4], None, r"row 1: the label 4 is not one of the classes \[1, 2, 3\]"),
        ([4, 2], [1, 2], None, r"row 0: the label 4 is not one of the classes \[1, 2, 3\]"),
        ([1, 2], [1, None], None, r"row 1: y_pred must hold one class a row\. Got a missing label"),
        ([1, 2], [1, (1, 2)], None, r"row 1: y_pred must hold one class a row\. Got the interval \[1, 2\]"),
        ([1, 2], [1, 2], [1, -1], r"row 1: a weight must be a finite number >= 0\. Got -1"),
        ([1, 2], [1, 2], [1], r"sample_weight"),
        ([1, None], [1, 2], [0, 1], r"positive for at least one labelled row"),
    ],
)
def test_bad_input(metric, y, p, weight, message):
    with pytest.raises(ValueError, match=message):
        metric(y, p, classes=[1, 2, 3], sample_weight=weight)


@pytest.mark.parametrize("tolerance", [-1, np.nan])
def test_bad_tolerance(tolerance):
    with pytest.raises(ValueError, match="tolerance must be a number of ranks >= 0"):
        metrics.accuracy_within([1], [1], tolerance=tolerance)


def test_scorer_is_negative_mae_and_works_in_cross_validation():
    X, y = np.zeros((12, 1)), np.array([1, 1, 2] * 4)
    model = DummyClassifier(strategy="constant", constant=1)
    scores = cross_val_score(model, X, y, scoring=metrics.neg_mean_absolute_error_scorer, cv=4)
    assert scores.tolist() == [-1 / 3] * 4


@st.composite
def rankings(draw):
    """Relevant label lists, scores with ties, whole weights."""
    k = draw(st.integers(2, 5))
    n = draw(st.integers(1, 6))
    relevant = [sorted(draw(st.sets(st.integers(0, k - 1)))) for _ in range(n)]
    scores = np.array([[draw(st.integers(0, 4)) / 4 for _ in range(k)] for _ in range(n)])
    weights = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n).filter(any))
    return relevant, scores, weights


def indicator_of(relevant, k):
    return np.array([[int(label in row) for label in range(k)] for row in relevant])


def slow_ranking_loss(row, scores):
    pairs = [(r, s) for r in row for s in range(len(scores)) if s not in row]
    return sum(scores[r] <= scores[s] for r, s in pairs) / len(pairs) if pairs else 0.0


def slow_one_error(row, scores):
    top = [label for label in range(len(scores)) if scores[label] == max(scores)]
    return float(bool(row) and any(label not in row for label in top))


def slow_coverage(row, scores):
    return float(max((sum(scores >= scores[r]) for r in row), default=0))


def slow_average_precision(row, scores):
    if not row or len(row) == len(scores):
        return 1.0
    return np.mean([sum(scores[row] >= scores[r]) / sum(scores >= scores[r]) for r in row])


@given(rankings(), st.booleans())
def test_ranking_metrics_are_their_definitions(example, weighted):
    relevant, scores, weights = example
    weight = weights if weighted else None
    slow = [slow_ranking_loss, slow_one_error, slow_coverage, slow_average_precision]
    for metric, one_row in zip(RANKING, slow, strict=True):
        rows = [one_row(row, s) for row, s in zip(relevant, scores, strict=True)]
        expected = pytest.approx(np.average(rows, weights=weight), abs=1e-12)
        assert metric(relevant, scores, sample_weight=weight) == expected
        indicator = indicator_of(relevant, scores.shape[1])
        for form in (indicator, indicator.astype(bool), csr_array(indicator), pd.DataFrame(indicator)):
            assert metric(form, scores, sample_weight=weight) == expected


@given(rankings())
def test_a_mistaken_row_is_one_with_a_ranking_loss(example):
    relevant, scores, _ = example
    for row, score in zip(relevant, scores, strict=True):
        if metrics.one_error([row], [score]) > 0:
            assert metrics.ranking_loss([row], [score]) > 0


def test_names_of_the_columns():
    scores = [[0.9, 0.1, 0.5]]
    named = {"classes": ["x", "y", "z"]}
    assert metrics.ranking_loss([["x"]], scores, **named) == 0
    assert metrics.one_error([{"y"}], scores, **named) == 1
    assert metrics.coverage_error([("y",)], scores, **named) == 3


@pytest.mark.parametrize("metric", RANKING)
@pytest.mark.parametrize(
    ("relevant", "scores", "options", "message"),
    [
        ([[0]], [0.1, 0.2], {}, r"scores must have shape \(n, k\).*Got shape \(2,\)"),
        ([[0]], [[0.1]], {}, r"k >= 2 labels\. Got shape \(1, 1\)"),
        ([[0], [1]], [[0.1, 0.2], [np.nan, 0.0]], {}, r"row 1: scores must be finite\. Got nan for label 0"),
        ([[0], [1]], [[0.1, 0.2]], {}, r"relevant must say for 1 rows which of 2 labels are\. Got shape \(2, 2\)"),
        ([[2]], [[0.1, 0.2]], {}, r"row 0: 2 is not one of the labels \[0, 1\]"),
        (
            [[1, 0, 0]],
            [[0.1, 0.2, 0.3]],
            {},
            r"row 0: label 0 is listed twice\. \(An indicator matrix must be an array",
        ),
        (["a"], [[0.1, 0.2]], {}, r"row 0: 'a' is not one of the labels \[0, 1\]"),
        ([[0]], [[0.1, 0.2]], {"classes": ["a"]}, r"classes must name the 2 columns of scores\. Got 1 labels: \['a'\]"),
        (np.array([[0, 2]]), [[0.1, 0.2]], {}, r"row 0: an indicator must be 0 or 1\. Got .*2.* for label 1"),
        ([[0]], [[0.1, 0.2]], {"sample_weight": [0.0]}, r"sample_weight must be positive"),
        ([[0]], [[0.1, 0.2]], {"sample_weight": [np.nan]}, r"row 0: a weight must be a finite number"),
    ],
)
def test_bad_rankings(metric, relevant, scores, options, message):
    with pytest.raises(ValueError, match=message):
        metric(relevant, scores, **options)


def test_ranking_metrics_take_encoded_rankings():
    relevant, scores = [["b"], ["a", "c"]], [[0.1, 0.9, 0.3], [0.5, 0.4, 0.2]]
    labels = encode_rankings(relevant, ["c", "a", "b"])
    for metric in (metrics.ranking_loss, metrics.coverage_error, metrics.average_precision, metrics.one_error):
        assert metric(labels, scores, classes=["a", "b", "c"]) == metric(relevant, scores, classes=["a", "b", "c"])
        assert metric(labels, scores) == metric(relevant, scores, classes=["c", "a", "b"])


@pytest.mark.parametrize(
    ("y_true", "y_pred", "classes"),
    [
        (["never", "always"], ["always", "always"], ["never", "rarely", "sometimes", "often", "always"]),
        (["1 - a", "5 - e"], ["5 - e", "5 - e"], ["1 - a", "2 - b", "3 - c", "4 - d", "5 - e"]),
    ],
)
def test_names_that_tell_their_order_do_not_tell_which_classes_lie_between(y_true, y_pred, classes):
    for metric in (
        metrics.mean_absolute_error,
        metrics.quadratic_weighted_kappa,
        metrics.accuracy_within,
        metrics.confusion_matrix,
    ):
        with pytest.raises(UnknownOrderError, match=r"counts ranks.*declare all classes, classes="):
            metric(y_true, y_pred)
    assert metrics.mean_absolute_error(y_true, y_pred, classes=classes) == 2.0
    assert metrics.mean_absolute_error(pd.Categorical(y_true, classes, ordered=True), y_pred) == 2.0
    assert metrics.mean_absolute_error(encode(y_true, classes), y_pred) == 2.0
    assert metrics.zero_one_loss(y_true, y_pred) == 0.5
