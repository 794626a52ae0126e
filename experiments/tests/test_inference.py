"""The simulations of tests and intervals: a quick part of them, and that what they compare with is true."""

import numpy as np
import pytest
from scipy import stats

import rankwise_experiments as experiments
from rankwise import CumulativeLink
from rankwise_experiments import inference
from rankwise_experiments.inference import ALTERNATIVES, NULL, SETTINGS, Data, Setting

N_SETS = 30
UNLIKELY = 1e-5  # that a share of a good test or interval is beyond these bounds


@pytest.mark.parametrize("name", ["table, intervals and weights", "table, splines"])
def test_tests_reject_rarely_and_intervals_cover(name):
    rejected, missed = inference.Hits(), inference.Hits()
    for sequence in range(N_SETS):
        data = inference.simulate(SETTINGS[name], NULL, np.random.default_rng([7, sequence]))
        p, covered = inference.judge(SETTINGS[name], data, NULL)
        rejected.add({test: value < 0.05 for test, value in p.items()})
        missed.add({what: not hit for what, hit in covered.items()})
    most = stats.binom.isf(UNLIKELY, N_SETS, 0.05)
    assert len(rejected) >= 7
    assert len(missed) >= 3
    for found in (rejected, missed):
        assert {what: hits for what, (hits, _) in found.items() if hits > most} == {}


def test_it_finds_effects():
    setting = SETTINGS["table"]
    for about, truth in ALTERNATIVES.items():
        data = inference.simulate(setting, truth, np.random.default_rng(1), n=3000)
        p, _ = inference.judge(setting, data, truth)
        assert all(value < 1e-3 for test, value in p.items() if inference.is_about(test, about))


def test_a_setting_that_breaks_the_rules_is_caught():
    """Weights that are not counts: every row stands for four, so that errors are half of what they are."""
    setting = Setting(table=True)
    missed = 0
    for sequence in range(N_SETS):
        data = inference.simulate(setting, NULL, np.random.default_rng([8, sequence]), n=400)
        data = Data(data.frame, data.labels, np.full(400, 4.0))
        missed += not inference.judge(setting, data, NULL)[1]["weight of a number"]
    assert missed > stats.binom.isf(UNLIKELY, N_SETS, 0.05)


@pytest.mark.parametrize("link", ["logit", "probit"])
def test_the_truth_is_that_of_the_model(link):
    setting = Setting(link=link)
    data = inference.simulate(setting, NULL, np.random.default_rng(0), n=30)
    X = inference.design(data.frame)
    model = CumulativeLink(link, classes=[1, 2, 3, 4]).fit(np.tile(X, (2, 1)), np.tile(data.labels, (2, 1)))
    model.coef_, model.thresholds_ = NULL.weights, inference.CUTS
    step = np.array([1e-5, 0, 0, 0, 0, 0])
    slope = (model.predict_proba(X + step) - model.predict_proba(X - step)).mean(axis=0) / 2e-5
    np.testing.assert_allclose(inference._slopes(link, X, None, NULL), slope, atol=1e-9)
    south, north = X.copy(), X.copy()
    south[:, 2:4], north[:, 2:4] = (1, 0), (0, 0)
    difference = (model.predict_proba(south) - model.predict_proba(north)).mean(axis=0)
    assert inference._probability_of_three(link, X, None, NULL) == pytest.approx(difference[2])


def test_labels_hold_the_class_and_counts_are_rows():
    data = inference.simulate(SETTINGS["table, intervals and weights"], NULL, np.random.default_rng(0))
    assert data.weight.sum() == inference.N_ROWS
    assert data.weight.max() > 5
    widths = np.bincount(data.labels[:, 1] - data.labels[:, 0], data.weight)
    assert (widths[:3] > 100).all()
    exact = inference.simulate(SETTINGS["table"], NULL, np.random.default_rng(0)).labels
    assert set(np.unique(exact[:, 0])) == {1, 2, 3, 4}


def test_it_writes_a_page(tmp_path, monkeypatch):
    monkeypatch.setattr(inference, "SETTINGS", {"table, all levels": SETTINGS["table, all levels"]})
    report = experiments.get("inference").run(tmp_path, sequences=2)
    assert {path.name for path in report.files} == {"inference.csv", "inference.md"}
    again = experiments.get("inference").run(tmp_path, sequences=2)  # from the units that are finished
    assert again.conclusions == report.conclusions
    page = (tmp_path / "inference.md").read_text()
    assert "rankwise reproduce inference --sequences 2 --seed 0" in page
    assert "parallel lines" in page
