import numpy as np
import pytest
from scipy.optimize import nnls

from rankwise.annotation import ErrorMonitor, QuestionChooser, expected_rps
from rankwise.annotation._stopping import _fitted
from rankwise.annotation.questions import _left_by_range
from rankwise.metrics import ranked_probability_score

RNG = np.random.default_rng(0)
P = RNG.dirichlet(np.ones(5), size=200)


def test_expected_rps_is_the_expectation_of_the_score():
    for p in P[:5]:
        scores = [ranked_probability_score([k], [p], classes=range(5)) for k in range(5)]
        assert expected_rps(p[None])[0] == pytest.approx(p @ scores)


def test_what_a_range_leaves_is_the_expectation_over_answers():
    for p in P[:5]:
        total = 0.0
        for truth in range(5):
            starts = range(max(truth - 2, 0), min(truth, 2) + 1)
            for start in starts:
                inside = np.array([p[k] / len(range(max(k - 2, 0), min(k, 2) + 1)) for k in range(start, start + 3)])
                total += p[truth] / len(starts) * expected_rps((inside / inside.sum())[None])[0]
        assert _left_by_range(p[None], 2)[0] == pytest.approx(total)


def test_uncertain_items_are_drawn_more_often_and_control_evenly():
    probabilities = np.vstack([np.tile([0.98, 0.02, 0.0], (50, 1)), np.tile([0.5, 0.0, 0.5], (50, 1))])
    chooser = QuestionChooser("uncertainty", control=0.3, random_state=0)
    asked = [q for _ in range(300) for q in chooser.choose(probabilities, n=3)]
    control = np.array([q.control for q in asked])
    unsure = np.array([q.item >= 50 for q in asked])
    assert control.mean() == pytest.approx(0.3, abs=0.05)
    assert unsure[~control].mean() > 0.9
    assert unsure[control].mean() == pytest.approx(0.5, abs=0.08)


def test_items_differ_and_known_ones_are_not_asked():
    known = np.ones((200, 5), dtype=bool)
    known[:150] = [True, False, False, False, False]
    known[150] = False
    for strategy in ("random", "uncertainty", "information"):
        chooser = QuestionChooser(strategy, kinds=("exact", "at_least"), random_state=0)
        items = [q.item for q in chooser.choose(P, known, n=100)]
        assert sorted(items) == list(range(151, 200))


def test_cheap_questions_are_asked_where_they_gain_most():
    probabilities = [[0.5, 0.5, 0.0, 0.0], [0.25, 0.25, 0.25, 0.25]]
    chooser = QuestionChooser("information", ("exact", "at_least"), control=0.0, random_state=0)
    asked = {q.item: q for q in chooser.choose(probabilities, n=2)}
    assert (asked[0].kind, asked[0].code) == ("at_least", 1)  # it settles the item in less time
    dear = QuestionChooser("information", ("exact", "at_least"), {"at_least": 9.5}, control=0.0, random_state=0)
    assert {q.item: q.kind for q in dear.choose(probabilities, n=2)} == {0: "at_least", 1: "exact"}


@pytest.mark.parametrize(
    "options",
    [
        {"strategy": "best"},
        {"kinds": ("yes",)},
        {"kinds": ()},
        {"control": 1.5},
        {"seconds": {"exact": 0.0}},
        {"seconds": {"interval": 3.0}},
        {"width": -1},
    ],
)
def test_bad_parameters(options):
    with pytest.raises(ValueError, match="must"):
        QuestionChooser(**options)


def test_shapes_must_agree():
    with pytest.raises(ValueError, match="same shape"):
        QuestionChooser().choose(P, np.ones((3, 5)))


def test_the_monitor_finds_the_curve_and_its_range_covers_it():
    rng = np.random.default_rng(1)
    monitor = ErrorMonitor()
    for minute in np.linspace(1, 60, 200):
        monitor.add(minute, rng.exponential(0.5 + 1.0 / np.sqrt(minute)))
    found = monitor.error()
    assert found.lower < 0.5 + 1.0 / np.sqrt(60) < found.upper
    minutes, value, lower, upper = monitor.curve()
    assert ((lower <= value) & (value <= upper)).all()
    assert (np.diff(value) <= 0).all()
    assert minutes.size == 200
    true_worth = 1.0 / np.sqrt(60) - 1.0 / np.sqrt(70)
    worth = monitor.worth(10)
    assert worth.lower <= true_worth <= worth.upper
    assert monitor.should_stop(10, worth=0.2)
    assert not monitor.should_stop(10, worth=1e-6)


def test_too_few_answers_say_nothing():
    monitor = ErrorMonitor()
    assert np.isnan(monitor.error().value)
    monitor.add(1.0, 1.0)
    assert np.isnan(monitor.error().lower)
    assert not monitor.should_stop(10, worth=100.0)
    for minutes, error in ((0.0, 1.0), (np.inf, 1.0), (1.0, np.nan), (1.0, np.inf)):
        with pytest.raises(ValueError, match="minutes must"):
            monitor.add(minutes, error)


def test_curves_are_the_least_squares_without_negative_parts():
    rng = np.random.default_rng(2)
    minutes, errors = rng.uniform(1, 50, (40, 6)), rng.exponential(1.0, (40, 6))
    minutes[0] = 5.0  # a slope that no answer tells
    errors[1] = 0.0
    a, b = _fitted(minutes, errors)
    for i in range(1, 40):
        X = np.column_stack([np.ones(6), 1 / np.sqrt(minutes[i])])
        assert [a[i], b[i]] == pytest.approx(nnls(X, errors[i])[0], abs=1e-9)
    assert (a[0], b[0]) == pytest.approx((errors[0].mean(), 0.0))
    assert (a == 0).any()
    assert (b == 0).any()
