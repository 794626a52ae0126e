import sys

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rankwise import PRIL, CuSumRank, KernelPRIL, LabelRanker, TableEncoder, TableModel
from rankwise.annotation import type2_intervals
from rankwise.evaluation import Annotated, interval_confusion
from rankwise.plots import AnnotationDisplay, ConfusionDisplay, RankingDisplay, ThresholdDisplay, WeightsDisplay


@pytest.fixture(scope="module")
def model(data):
    return PRIL(random_state=0).fit(*data)


class TestConfusionDisplay:
    def test_the_numbers_are_the_counts(self, model, data):
        X, y = data
        display = ConfusionDisplay.from_estimator(model, X, y)
        table = interval_confusion(y, model.predict(X))
        np.testing.assert_array_equal(display.table, table)
        shown = {text.get_position(): text.get_text() for text in display.texts_}
        assert shown == {(c, r): f"{table[r, c]:.0f}" for r in range(5) for c in range(5) if table[r, c]}
        np.testing.assert_allclose(display.image_.get_array().sum(axis=1), 1.0)
        assert display.ax_.get_ylabel() == "label"
        low, high = display.ax_.get_ylim()
        assert low < high  # the lowest class is at the bottom

    @pytest.mark.parametrize(
        ("counting", "said"), [("nearest", "nearest"), ("shared", "in equal parts"), ("farthest", "farthest")]
    )
    def test_the_axis_says_how_intervals_were_counted(self, model, data, counting, said):
        X, y = data
        display = ConfusionDisplay.from_estimator(model, X, type2_intervals(y), counting=counting)
        assert said in display.ax_.get_ylabel()
        expected = interval_confusion(type2_intervals(y), model.predict(X), counting=counting)
        np.testing.assert_array_equal(display.table, expected)

    def test_weights_and_names(self):
        display = ConfusionDisplay.from_predictions(
            ["low", "$$"], ["low", "low"], classes=["low", "$$"], sample_weight=[0.25, 2.0]
        )
        assert sorted(text.get_text() for text in display.texts_) == ["0.25", "2"]
        assert [t.get_text() for t in display.ax_.get_xticklabels()] == ["low", r"\$\$"]
        display.figure_.canvas.draw()  # a dollar sign begins no formula

    def test_numbers_are_readable_on_every_shade(self):
        display = ConfusionDisplay.from_predictions([1, 1, 2], [1, 1, 1], classes=[1, 2, 3])
        assert {to_hex(text.get_color()) for text in display.texts_} == {"#ffffff"}
        pale = ConfusionDisplay.from_predictions([1] * 4, [1, 2, 3, 4])
        assert "#ffffff" not in {to_hex(text.get_color()) for text in pale.texts_}

    def test_many_classes_have_shades_but_no_numbers(self, rng):
        truth = np.repeat(np.arange(40), 3)
        display = ConfusionDisplay.from_predictions(truth, rng.permutation(truth))
        assert display.texts_ == []
        assert len(display.ax_.get_xticks()) == 20
        assert ConfusionDisplay.from_predictions(truth, truth, numbers=True).texts_

    def test_needs_a_fitted_classifier(self, data):
        with pytest.raises(TypeError, match=r"needs a fitted classifier. PRIL has no classes_"):
            ConfusionDisplay.from_estimator(PRIL(), *data)


class TestWeightsDisplay:
    def test_the_largest_come_first(self):
        display = WeightsDisplay.from_weights([0.5, -3.0, 1.0], feature_names=["a", "b", "$c$"], top=2)
        assert display.shown_.tolist() == [1, 2]
        assert [bar.get_width() for bar in display.bars_] == [-3.0, 1.0]
        assert [t.get_text() for t in display.ax_.get_yticklabels()] == ["b", r"\$c\$"]
        assert display.ax_.get_xlabel() == "weight; 1 features with smaller weights are not shown"
        assert [bool(bar.get_hatch()) for bar in display.bars_] == [True, False]  # signs can be told apart in grey
        display.figure_.canvas.draw()

    def test_names_come_from_the_frame(self, data):
        pandas = pytest.importorskip("pandas")
        X, y = data
        model = PRIL(random_state=0).fit(pandas.DataFrame(X, columns=list("abcd")), y)
        display = WeightsDisplay.from_estimator(model)
        assert sorted(t.get_text() for t in display.ax_.get_yticklabels()) == list("abcd")
        np.testing.assert_array_equal([b.get_width() for b in display.bars_], model.coef_[display.shown_])

    def test_several_weights_a_feature(self, data):
        X, y = data
        model = CuSumRank(random_state=0).fit(X, y)
        display = WeightsDisplay.from_estimator(model)
        assert display.bars_ is None
        np.testing.assert_array_equal(display.image_.get_array(), model.coef_[:, display.shown_].T)
        assert [t.get_text() for t in display.ax_.get_xticklabels()] == ["1", "2", "3", "4", "5"]
        largest = np.linalg.norm(model.coef_, axis=0)[display.shown_]
        assert np.all(np.diff(largest) <= 0)

    def test_refusals(self, data):
        with pytest.raises(TypeError, match=r"needs a fitted linear estimator. KernelPRIL has no coef_"):
            WeightsDisplay.from_estimator(KernelPRIL(random_state=0).fit(data[0][:20], data[1][:20]))
        with pytest.raises(ValueError, match=r"one name for each of the d features. Got \(3,\) and 2 names"):
            WeightsDisplay.from_weights([1, 2, 3], feature_names=["a", "b"])
        with pytest.raises(ValueError, match=r"top must be a number of features >= 1. Got 0 instead"):
            WeightsDisplay.from_weights([1, 2, 3], top=0)
        with pytest.raises(ValueError, match=r"Got \(\) and 0 names"):
            WeightsDisplay.from_weights(1.0)
        with pytest.raises(ValueError, match=r"parts must name each of the 2 weights of a feature\. Got 1 names\."):
            WeightsDisplay.from_weights([[1, 2, 3], [4, 5, 6]], parts=["low"])


class TestRankingDisplay:
    def test_lists_are_in_the_order_of_the_scores_and_relevant_labels_are_filled(self):
        display = RankingDisplay.from_predictions(
            [["b"], ["a", "c"]], [[0.1, 0.9, 0.3], [0.5, 0.4, 0.6]], classes=["a", "b", "c"]
        )
        assert [[t.get_text() for t in row] for row in display.texts_] == [["b", "c", "a"], ["c", "a", "b"]]
        filled = [[box.get_facecolor()[3] == 1 for box in row] for row in display.boxes_]
        assert filled == [[True, False, False], [True, True, False]]

    def test_hits_are_those_in_sight(self):
        display = RankingDisplay.from_predictions(
            [["b", "a"]], [[0.1, 0.9, 0.3]], classes=["a", "b", "c"], top=2, row_names=["letter"]
        )
        assert "1 of 2" in [text.get_text() for text in display.ax_.texts]
        assert [t.get_text() for t in display.ax_.get_yticklabels()] == ["letter"]

    def test_from_a_ranker(self, data):
        X, y = data
        ranker = LabelRanker(random_state=0).fit(X, [[label] for label in y.tolist()])
        display = RankingDisplay.from_estimator(ranker, X, [[label] for label in y.tolist()], n_rows=4, top=3)
        expected = ranker.predict_top(X[:4], 3).astype(str).tolist()
        assert [[t.get_text() for t in row] for row in display.texts_] == expected

    def test_refusals(self):
        with pytest.raises(TypeError, match=r"needs a fitted label ranker such as LabelRanker. str has no"):
            RankingDisplay.from_estimator("ranker", [[1]], [[1]])
        with pytest.raises(ValueError, match=r"scores must have the shape \(n, k\).* Got \(2,\)"):
            RankingDisplay.from_predictions([[0]], [0.1, 0.2])
        with pytest.raises(ValueError, match=r"row_names must name every row. Got 2 names for 1 rows"):
            RankingDisplay.from_predictions([[0]], [[0.1, 0.2]], row_names=["a", "b"])
        with pytest.raises(ValueError, match=r"top must be a number >= 1. Got 0"):
            RankingDisplay.from_predictions([[0]], [[0.1, 0.2]], top=0)


class TestAnnotationDisplay:
    RESULTS = (
        Annotated(1, 1.0, 50.0, 0.6, 0.5, 0.7),
        Annotated(1, 0.0, 100.0, 0.5, 0.4, 0.6),
        Annotated(2, 0.0, 100.0, 0.5, 0.4, 0.6),
        Annotated(2, 1.0, 30.0, 0.9, 0.8, 1.0),
    )

    @pytest.mark.parametrize(
        ("x", "lines"),
        [
            (None, {1: ([50, 100], [0.6, 0.5]), 2: ([30, 100], [0.9, 0.5])}),
            ("portion", {1: ([0, 1], [0.5, 0.6]), 2: ([0, 1], [0.5, 0.9])}),
            ("width", {0.0: ([1, 2], [0.5, 0.5]), 1.0: ([1, 2], [0.6, 0.9])}),
        ],
    )
    def test_lines(self, x, lines):
        display = AnnotationDisplay.from_results(self.RESULTS, x=x)
        found = {k: (list(line.get_xdata()), list(line.get_ydata())) for k, line in display.lines_.items()}
        assert found == lines
        markers = [line.get_marker() for line in display.lines_.values()]
        assert len(set(markers)) == 2  # lines can be told apart in grey

    def test_from_an_estimator(self, data):
        X, y = data
        display = AnnotationDisplay.from_estimator(
            PRIL(random_state=0), X[:200], y[:200], X[200:], y[200:], widths=[2], portions=[0, 1], loss="zero_one"
        )
        assert display.ax_.get_ylabel() == "share of mistakes"
        assert display.lines_[2].get_ydata().tolist() == [result.error for result in display.results]

    def test_from_predictions(self):
        predicted = {(1, 0.0): [1, 2, 3, 4], (1, 1.0): [2, 2, 3, 3]}
        costs = {(1, 0.0): 4.0, (1, 1.0): 2.0}
        display = AnnotationDisplay.from_predictions([1, 2, 3, 4], predicted, costs=costs)
        assert display.lines_[1].get_xdata().tolist() == [2.0, 4.0]
        assert display.lines_[1].get_ydata().tolist() == [0.5, 0.0]
        assert display.results[0].upper_limit == 0.0  # all resamples are without an error

    def test_refusals(self):
        free = [Annotated(1, 0.5, None, 0.5, 0.4, 0.6)]
        with pytest.raises(ValueError, match=r"'cost'. Got 'cost' and no prices instead"):
            AnnotationDisplay.from_results(free, x="cost")
        with pytest.raises(ValueError, match="Got 'time' instead"):
            AnnotationDisplay.from_results(free, x="time")
        with pytest.raises(ValueError, match="at least one result"):
            AnnotationDisplay.from_results([])


def draw_all(model, X, y, ax):
    ConfusionDisplay.from_estimator(model, X, y, ax=ax)
    WeightsDisplay.from_estimator(model, ax=ax)
    RankingDisplay.from_predictions([[0]], [[0.1, 0.2]], ax=ax)
    AnnotationDisplay.from_results(TestAnnotationDisplay.RESULTS, ax=ax)


def test_they_draw_where_they_are_told_and_change_no_setting(model, data):
    before = mpl.rcParams.copy()
    draw_all(model, *data, Figure().subplots())
    assert pyplot.get_fignums() == []
    assert mpl.rcParams == before


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch, model, data):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r'^pictures need matplotlib: pip install "rankwise\[plot\]"$'):
        draw_all(model, *data, None)


class TestModelsAroundAnEstimator:
    """Displays draw what is inside a pipeline, a table model and a search."""

    @pytest.fixture(params=["pipeline", "table model", "search"])
    def around(self, request, data):
        X, y = data
        frame = pd.DataFrame(X, columns=[f"size {j}" for j in range(X.shape[1])])
        scaled = make_pipeline(StandardScaler(), PRIL(random_state=0))
        models = {
            "pipeline": scaled,
            "table model": TableModel(PRIL(random_state=0), TableEncoder(numbers="linear")),
            "search": GridSearchCV(scaled, {"pril__step": ["perceptron"]}, cv=2),
        }
        model = models[request.param].fit(frame, y)
        best = getattr(model, "best_estimator_", model)
        return model, best.estimator_ if request.param == "table model" else best[-1], frame

    def test_thresholds_and_scores(self, around, data):
        model, inside, frame = around
        display = ThresholdDisplay.from_estimator(model, frame, data[1])
        np.testing.assert_array_equal(display.thresholds, inside.thresholds_)
        scaled = StandardScaler().fit_transform(frame)
        np.testing.assert_allclose(display.scores, inside.project(scaled))

    def test_weights_with_names(self, around):
        model, inside, frame = around
        display = WeightsDisplay.from_estimator(model)
        np.testing.assert_array_equal(display.weights, inside.coef_)
        assert display.names == frame.columns.tolist()

    def test_confusion(self, around, data):
        model, _, frame = around
        display = ConfusionDisplay.from_estimator(model, frame, data[1])
        np.testing.assert_array_equal(display.table, interval_confusion(data[1], model.predict(frame)))

    def test_rankings(self):
        X, y = np.eye(3), [["sport"], ["politics", "economy"], ["economy"]]
        ranker = make_pipeline(StandardScaler(), LabelRanker(random_state=0)).fit(X, y)
        assert RankingDisplay.from_estimator(ranker, X, y).texts_[0][0].get_text() == "sport"

    def test_what_they_lack_is_what_the_estimator_lacks(self, data):
        model = make_pipeline(StandardScaler(), KernelPRIL(random_state=0)).fit(data[0][:50], data[1][:50])
        with pytest.raises(TypeError, match=r"WeightsDisplay needs a fitted linear estimator. KernelPRIL has no coef_"):
            WeightsDisplay.from_estimator(model)
