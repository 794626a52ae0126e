import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rankwise import PRIL, ConformalOrdinal, CumulativeLink
from rankwise.annotation import type2_intervals
from rankwise.metrics import reliability, set_coverage
from rankwise.plots import DistributionDisplay, ReliabilityDisplay, SetSizeDisplay


@pytest.fixture(scope="module")
def model(data):
    return CumulativeLink(alpha=0.01).fit(*data)


def test_a_reliability_diagram_has_a_line_for_each_event(model, data):
    X, y = data
    display = ReliabilityDisplay.from_estimator(model, X, y, n_bins=5)
    predicted, least, _ = reliability(y, model.predict_proba(X), n_bins=5, classes=model.classes_).frequencies()
    assert [line.get_label() for line in display.lines_] == [f"y \u2264 {k}" for k in model.classes_[:-1]]
    for k, line in enumerate(display.lines_):
        used = np.isfinite(predicted[k])
        np.testing.assert_allclose(line.get_xdata(), predicted[k][used])
        np.testing.assert_allclose(line.get_ydata(), least[k][used])
    assert not display.ax_.collections  # exact labels leave no range
    ranges = ReliabilityDisplay.from_estimator(model, X, type2_intervals(y))
    assert len(ranges.ax_.collections) == 4
    ranges.figure_.canvas.draw()


def test_set_sizes_and_their_coverage(data):
    X, y = data
    model = ConformalOrdinal(CumulativeLink(), level=0.8, random_state=0).fit(X[:200], y[:200])
    display = SetSizeDisplay.from_estimator(model, X[200:], y[200:])
    sets = model.predict_set(X[200:])
    np.testing.assert_allclose(display.shares, np.bincount(sets.sum(axis=1), minlength=6) / 200)
    known = display.shares > 0
    total = set_coverage(y[200:], sets, classes=model.classes_)
    assert display.shares[known] @ display.least[known] == pytest.approx(total)
    assert "level 0.8" in [text.get_text() for text in display.ax_.get_legend().get_texts()]
    wide = SetSizeDisplay.from_estimator(model, X[200:], type2_intervals(y)[200:])
    assert (wide.least[known] <= wide.most[known]).all()


def test_the_distribution_of_one_row(model, data):
    X, y = data
    display = DistributionDisplay.from_estimator(model, X[:1], y=(2, 3), level=0.7)
    np.testing.assert_array_equal([bar.get_height() for bar in display.bars_], model.predict_proba(X[:1])[0])
    low, high = display.interval
    assert model.classes_[[low, high]].tolist() == model.predict_interval(X[:1], 0.7)[0].tolist()
    assert model.classes_[display.predicted] == model.predict(X[:1])[0]
    assert display.admitted.tolist() == [False, True, True, False, False]
    display.figure_.canvas.draw()
    with pytest.raises(ValueError, match=r"DistributionDisplay draws one row\. Got 2 rows"):
        DistributionDisplay.from_estimator(model, X[:2])
    piped = make_pipeline(StandardScaler(), CumulativeLink()).fit(X, y)
    assert DistributionDisplay.from_estimator(piped, X[:1]).admitted is None


def test_estimators_without_probabilities_are_refused(data):
    X, y = data
    with pytest.raises(
        TypeError, match=r"ReliabilityDisplay needs a fitted estimator with probabilities\. PRIL has no"
    ):
        ReliabilityDisplay.from_estimator(PRIL(random_state=0).fit(X, y), X, y)
    with pytest.raises(TypeError, match="SetSizeDisplay needs a fitted estimator with sets such as ConformalOrdinal"):
        SetSizeDisplay.from_estimator(CumulativeLink().fit(X, y), X, y)
