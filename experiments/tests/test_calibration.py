"""The calibration laboratory: exact minima, and the conclusions of Table 4.1."""

import csv

import numpy as np
import pytest
from scipy.optimize import linprog

import rankwise_experiments as experiments
from rankwise_experiments import calibration
from rankwise_experiments._tabular import MISSING, SURROGATES, Outputs


@pytest.fixture(scope="module")
def outputs():
    return Outputs(n_parts=2, n_labels=3)


def _plain_surrogate(name, annotation, labellings, s):
    """Equation (4.9), one labelling after the other."""
    agree, differ, everything = [], [], range(len(labellings))
    loss = []
    for t, labelling in enumerate(labellings):
        wrong = sum(a not in (MISSING, y) for a, y in zip(annotation, labelling, strict=True))
        loss.append(wrong)
        (differ if wrong else agree).append(t)
    penalised = {"ramp": everything, "hinge": everything, "max": differ, "bridge": differ}[name]
    rewarded = {"ramp": everything, "hinge": agree, "max": everything, "bridge": agree}[name]
    penalty = max((loss[t] + s[t] for t in penalised), default=-np.inf)
    value = penalty - max(s[t] for t in rewarded)
    return value if name in ("ramp", "hinge") else max(value, 0.0)


@pytest.mark.parametrize("name", SURROGATES)
def test_surrogates_are_those_of_the_thesis(outputs, rng, name):
    scores = rng.normal(scale=2.0, size=(20, 9))
    table = outputs.surrogate(name, scores)
    for i, annotation in enumerate(outputs.annotations):
        for s, value in zip(scores, table[:, i], strict=True):
            assert value == pytest.approx(_plain_surrogate(name, annotation, outputs.labellings, s))


def test_max_is_ramp_and_bridge_is_hinge_under_the_hamming_loss(outputs, rng):
    scores = rng.normal(scale=2.0, size=(500, 9))
    np.testing.assert_allclose(outputs.surrogate("max", scores), outputs.surrogate("ramp", scores), atol=1e-12)
    np.testing.assert_allclose(outputs.surrogate("bridge", scores), outputs.surrogate("hinge", scores), atol=1e-12)


@pytest.mark.parametrize("name", SURROGATES)
def test_no_scores_beat_the_whole_ones(outputs, rng, name):
    table = outputs.surrogate(name)
    scores = np.concatenate([rng.normal(scale=scale, size=(2000, 9)) for scale in (0.3, 1.0, 3.0)])
    others = outputs.surrogate(name, scores)
    for _ in range(5):
        p = rng.dirichlet(np.full(len(outputs.annotations), 0.5))
        best = (table @ p).min()
        assert (others @ p).min() >= best - 1e-12
        # Nor do scores near a whole minimiser.
        near = outputs.scores[np.argmin(table @ p)] + rng.normal(scale=0.2, size=(500, 9))
        assert (outputs.surrogate(name, near) @ p).min() >= best - 1e-12


def test_the_convex_case_is_the_optimum_of_a_linear_program(outputs, rng):
    """Nothing missing: hinge is convex, and a solver that knows no whole numbers finds the same minimum."""
    complete = np.flatnonzero((outputs.annotations != MISSING).all(axis=1))
    for _ in range(5):
        p = rng.dirichlet(np.full(9, 0.5))
        # Variables s (9) and xi (9): minimise p.(xi - s) subject to xi_a >= loss(a, t) + s_t.
        left = [np.r_[np.eye(9)[t], -np.eye(9)[a]] for a in range(9) for t in range(9)]
        right = [-outputs.loss[complete[a], t] for a in range(9) for t in range(9)]
        found = linprog(np.r_[-p, p], left, right, bounds=[(0, 0), *[(None, None)] * 17])
        of_annotations = np.zeros(len(outputs.annotations))
        of_annotations[complete] = p  # in the order of the labellings
        np.testing.assert_array_equal(outputs.annotations[complete], outputs.labellings)
        assert (outputs.surrogate("hinge") @ of_annotations).min() == pytest.approx(found.fun, abs=1e-9)


def test_probabilities_of_annotations_are_those_of_simulated_ones(outputs, rng):
    world = calibration.worlds()[1]
    p, n = world.annotation_probabilities()[0], 200_000
    np.testing.assert_allclose(world.annotation_probabilities().sum(axis=1), 1.0)
    y = outputs.labellings[rng.choice(9, size=n, p=world.p_labelling[0])]
    a = np.where(rng.random((n, 2)) < world.p_annotated[0], y, MISSING)
    seen = [(a == annotation).all(axis=1).mean() for annotation in outputs.annotations]
    np.testing.assert_allclose(seen, p, atol=0.005)


def test_the_gap_of_additive_parts_is_the_smallest_over_scores(rng):
    world = calibration.worlds()[1]
    p = world.annotation_probabilities()[1]
    frequencies = calibration._part_frequencies(world, p[None])[0]
    scores = rng.normal(size=(200_000, 3)) * 0.3
    log = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
    lost = []
    for of_part, errors in zip(frequencies, calibration._part_errors(world, 1), strict=True):
        wrong = scores.argmax(axis=1) != np.argmin(errors)
        share = of_part / of_part.sum()
        lost.append((-(log[wrong] + 0) @ of_part).min() + (of_part * np.log(share)).sum())
    gap = calibration._additive_gap(world, 1, p)
    assert gap <= min(lost) <= gap + 2e-3


@pytest.mark.slow
def test_the_conclusions_hold(tmp_path):
    report = experiments.get("calibration").run(tmp_path, sequences=10, rounds=10_000)
    assert [conclusion.verdict for conclusion in report.conclusions] == ["HOLDS"] * 4
    assert {path.name for path in report.files} == {
        *("calibration-curves.csv", "calibration-limits.csv", "calibration.png", "calibration.txt")
    }
    with (tmp_path / "calibration-curves.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["surrogate"] for row in rows} == set(calibration.ALL)
    assert max(int(row["examples"]) for row in rows) == 10_000
    assert all(float(row["risk"]) >= float(row["bayes_risk"]) - 1e-6 for row in rows)


def test_too_few_examples_do_not_show_it(tmp_path):
    report = experiments.get("calibration").run(tmp_path, sequences=3, rounds=10)
    assert report.conclusions[1].verdict == "DOES NOT HOLD"
    with pytest.raises(ValueError, match="rounds must be at least 1"):
        calibration.run(tmp_path, rounds=0)
