import sys

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib import pyplot
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from rankwise import PRIL, MulticlassPerceptron, PRank, WidrowHoff
from rankwise._drawing import ALARM, QUIET
from rankwise.annotation import type2_intervals
from rankwise.evaluation import progressive
from rankwise.plots import ProgressiveDisplay, ThresholdDisplay, ordered_colors
from rankwise.plots._progressive_display import _spread_out
from rankwise.plots.score_axis import density


def texts(ax):
    return [text.get_text() for text in ax.texts]


class TestThresholdDisplay:
    def test_lines_are_the_thresholds(self, data):
        X, y = data
        model = PRIL(random_state=0).fit(X, y)
        display = ThresholdDisplay.from_estimator(model, X, y)
        assert [line.get_xdata()[0] for line in display.lines_] == model.thresholds_.tolist()
        assert len(display.densities_) == 5
        assert display.ax_.figure is display.figure_
        assert display.bars_ == []

    def test_bars_span_what_the_labels_admit(self):
        scores = [-2.0, 0.5, 5.0]
        labels = [(1, 2), (2, 3), (1, 2)]  # the last score lies above its interval
        display = ThresholdDisplay.from_predictions(scores, labels, [0.0, 1.0, 2.0], classes=[1, 2, 3, 4])
        left, _ = display.ax_.get_xlim()
        assert [bar.get_xdata().tolist() for bar in display.bars_] == [[left, 1.0], [0.0, 2.0], [left, 1.0]]
        assert [bar.get_color() for bar in display.bars_] == [QUIET, QUIET, ALARM]

    def test_a_candidate_set_with_a_hole_does_not_admit_the_hole(self):
        display = ThresholdDisplay.from_predictions([0.5, 3.0], [{1, 3}, 4], [0.0, 1.0, 2.0], classes=[1, 2, 3, 4])
        assert [bar.get_color() for bar in display.bars_] == [ALARM]

    def test_bars_are_few_and_in_the_order_of_the_scores(self, data):
        X, y = data
        model = PRIL(random_state=0).fit(X, y)
        display = ThresholdDisplay.from_estimator(model, X, type2_intervals(y), truth=y, n_bars=7)
        assert len(display.bars_) == 7
        ends = [bar.get_xdata()[1] for bar in display.bars_]
        assert ends[0] < ends[-1]
        heights = [bar.get_ydata()[0] for bar in display.bars_]
        assert heights == sorted(heights, reverse=True)
        assert max(heights) < 0  # below the densities

    def test_densities_come_from_the_truth(self):
        scores = np.linspace(-3, 3, 60)
        truth = np.repeat([1, 2, 3], 20)
        everything = [(1, 3)] * 59 + [(1, 2)]
        known, unknown = (
            ThresholdDisplay.from_predictions(scores, everything, [-1.0, 1.0], classes=[1, 2, 3], truth=t)
            for t in (truth, None)
        )
        middles = [d.get_paths()[0].vertices for d in known.densities_]
        assert np.all(np.diff([v[v[:, 1].argmax(), 0] for v in middles]) > 1)
        assert unknown.densities_[2].get_paths()[0].vertices[:, 1].max() == 0  # nothing says that class 3 occurs

    def test_names_stand_in_their_intervals(self, data):
        X, y = data
        names = np.array(["awful", "poor", "fair", "good", "$uperb$"])
        model = PRIL(classes=names, random_state=0).fit(X, names[y - 1])
        display = ThresholdDisplay.from_estimator(model, X, names[y - 1])
        edges = [-np.inf, *model.thresholds_, np.inf]
        for k, name in enumerate([*names[:4], r"\$uperb\$"]):
            (text,) = (t for t in display.ax_.texts if t.get_text() == name)
            assert edges[k] < text.get_position()[0] < edges[k + 1]
        display.figure_.canvas.draw()  # a dollar sign begins no formula

    def test_narrow_intervals_get_a_legend(self):
        names = ["a rather long name", "another one", "the last of them"]
        scores, labels = np.linspace(-50, 50, 30), np.repeat(names, 10)
        display = ThresholdDisplay.from_predictions(scores, labels, [0.0, 0.1], classes=names)
        assert [t.get_text() for t in display.ax_.get_legend().get_texts()] == names
        assert not set(names) & set(texts(display.ax_))

    def test_draws_where_it_is_told_and_changes_no_setting(self, data):
        X, y = data
        ax = Figure().subplots()
        before = mpl.rcParams.copy()
        display = ThresholdDisplay.from_estimator(PRank(random_state=0).fit(X, y), X, y, ax=ax)
        assert display.ax_ is ax
        assert pyplot.get_fignums() == []
        assert mpl.rcParams == before

    def test_scores_that_are_all_alike(self):
        display = ThresholdDisplay.from_predictions([1.0, 1.0], [1, 2], [1.0])
        assert display.ax_.get_xlim() == (0.0, 2.0)

    @pytest.mark.parametrize("model", [MulticlassPerceptron(), PRIL()])
    def test_needs_a_fitted_threshold_estimator(self, model, data):
        X, y = data
        if isinstance(model, MulticlassPerceptron):
            model.fit(X, y)
        with pytest.raises(TypeError, match=f"fitted threshold estimator.*{type(model).__name__} has no"):
            ThresholdDisplay.from_estimator(model, X, y)

    def test_needs_as_many_classes_as_intervals(self):
        for scores, y in ([], []), ([np.nan, 1.0], [1, 2]):
            with pytest.raises(ValueError, match="scores must be finite numbers, at least one"):
                ThresholdDisplay.from_predictions(scores, y, [0.5], classes=[1, 2])
        with pytest.raises(ValueError, match="2 thresholds part 3 classes, and there are 2"):
            ThresholdDisplay.from_predictions([0.0, 1.0], [1, 2], [0.0, 1.0])


def test_a_density_has_the_area_of_its_weights(rng):
    scores, weight = rng.normal(size=500), rng.random(500)
    grid = np.linspace(-8, 8, 512)
    assert density(scores, weight, grid).sum() * (grid[1] - grid[0]) == pytest.approx(weight.sum(), rel=1e-3)
    assert not density(scores, np.zeros(500), grid).any()


def test_ordered_colors_get_lighter():
    lightness = [np.dot(to_rgb(color), [0.2126, 0.7152, 0.0722]) for color in ordered_colors(6)]
    assert np.all(np.diff(lightness) > 0)
    assert lightness[-1] < 0.75  # readable on white


class TestProgressiveDisplay:
    def test_curves_are_the_average_losses(self, data):
        X, y = data
        models = {"PRank": PRank(), "Widrow-Hoff": WidrowHoff()}
        display = ProgressiveDisplay.from_estimator(models, X, y, first_round=1)
        expected = progressive(PRank(), X, y).average
        np.testing.assert_array_equal(display.lines_["PRank"].get_ydata(), expected)
        np.testing.assert_array_equal(display.lines_["PRank"].get_xdata(), np.arange(1, 401))
        assert texts(display.ax_) == ["PRank", "Widrow-Hoff"]
        assert "absolute error" in display.ax_.get_ylabel()
        assert not hasattr(models["PRank"], "coef_")  # clones learnt

    def test_one_estimator_is_named_after_its_class(self, data):
        assert list(ProgressiveDisplay.from_estimator(PRank(), *data).lines_) == ["PRank"]

    def test_predictions_give_the_same_picture_as_results(self, data):
        X, y = data
        result = progressive(PRank(), X, y)
        drawn = ProgressiveDisplay.from_results({"model": result})
        again = ProgressiveDisplay.from_predictions(y, result.predictions)
        np.testing.assert_array_equal(drawn.lines_["model"].get_ydata(), again.lines_["model"].get_ydata())

    def test_rounds_without_a_label_do_not_count(self):
        display = ProgressiveDisplay.from_predictions([1, None, 3, 3], [1, 3, 1, 3], classes=[1, 2, 3], first_round=1)
        assert display.lines_["model"].get_ydata().tolist() == [0.0, 0.0, 1.0, pytest.approx(2 / 3)]

    @pytest.mark.parametrize(("log_x", "scale"), [(True, "log"), (False, "linear")])
    def test_axis_of_rounds(self, data, log_x, scale):
        display = ProgressiveDisplay.from_estimator(PRank(), *data, log_x=log_x, first_round=20)
        assert display.ax_.get_xscale() == scale
        assert display.ax_.get_xlim() == pytest.approx((20, 400))

    @pytest.mark.parametrize("n", [1, 2, 10])
    def test_short_streams_are_shown_whole(self, n):
        display = ProgressiveDisplay.from_predictions(([1, 2] * 5)[:n], ([2, 2] * 5)[:n], classes=[1, 2])
        assert display.lines_["model"].get_xdata().tolist() == list(range(1, n + 1))

    def test_colours(self, data):
        results = {name: progressive(PRank(), *data) for name in "abc"}
        ordered = ProgressiveDisplay.from_results(results, ordered=True, colors={"a": "#123456"})
        assert ordered.lines_["a"].get_color() == "#123456"
        np.testing.assert_array_equal(ordered.lines_["c"].get_color(), ordered_colors(3)[2])
        palette = ProgressiveDisplay.from_results({str(i): results["a"] for i in range(9)})  # more than the palette has
        assert len({line.get_color() for line in palette.lines_.values()}) == 6

    def test_bands(self, data):
        curve = progressive(PRank(), *data).average
        options = {"curves": {"m": curve}, "rounds": np.arange(1, 401)}
        assert len(ProgressiveDisplay(**options, spread={"m": 0.1 * curve}).plot().ax_.collections) == 1
        assert len(ProgressiveDisplay(**options).plot().ax_.collections) == 0

    def test_models_must_have_seen_the_same_rounds(self, data):
        X, y = data
        results = {"a": progressive(PRank(), X, y), "b": progressive(PRank(), X[:50], y[:50], classes=range(1, 6))}
        with pytest.raises(ValueError, match=r"at least one\. Got \[0\] rounds"):
            ProgressiveDisplay.from_predictions([], [], classes=[1, 2])
        with pytest.raises(ValueError, match=r"same rounds.* Got \[50, 400\] rounds"):
            ProgressiveDisplay.from_results(results)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_names_keep_their_distance_and_order(places):
    gap = 0.1
    moved = _spread_out(np.array(places), gap)
    order = np.argsort(places, kind="stable")
    assert np.all(np.diff(moved[order]) >= gap - 1e-12)
    assert moved.min() >= -1e-12
    assert moved.max() <= 1 + 1e-12
    if np.all(np.diff(np.array(places)[order]) >= gap):
        np.testing.assert_allclose(moved, places, atol=1e-12)


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch, data):
    X, y = data
    model = PRank(random_state=0).fit(X, y)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r'^pictures need matplotlib: pip install "rankwise\[plot\]"$'):
        ThresholdDisplay.from_estimator(model, X, y)
    with pytest.raises(ImportError, match=r"rankwise\[plot\]"):
        ProgressiveDisplay.from_estimator(model, X, y)
