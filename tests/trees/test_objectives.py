"""Derivatives and steps of the objectives, beside numerical ones of the slow reference."""

import numpy as np
import pytest
from scipy.special import expit

from rankwise.labels import encode
from rankwise.risks.links import LINKS, exponential, exponentials, logit_slopes
from rankwise.trees import tree_rows
from rankwise.trees.label_reading import make_objective
from tests.reference.cumulative_link import log_probability

K = 5


def labels_and_scores(seed=0, n=40, gaps=False):
    rng = np.random.default_rng(seed)
    lower = rng.integers(0, K, n)
    upper = np.minimum(lower + rng.integers(0, 3, n), K - 1)
    lower[:K], upper[:K] = np.arange(K), np.arange(K)
    y = [(int(a), int(b)) for a, b in zip(lower, upper, strict=True)]
    if gaps:
        y[K : K + 12] = [frozenset({0, 2}), frozenset({1, 4}), frozenset({0, 2, 4})] * 4
    labels = encode(y, range(K))
    weight = rng.uniform(0.5, 2.0, n)
    return labels, weight / weight.sum(), rng.normal(size=n)


def plain_loss(link, labels, weight, f, t):
    """Weighted mean of -log of the sum of P over the admitted classes."""
    t = np.concatenate([[-np.inf], t, [np.inf]])
    P = np.exp([log_probability(link, t[k + 1], t[k], f) for k in range(K)]).T
    return weight @ -np.log((P * labels.admissible()).sum(axis=1))


def slope(function, x, i, step=1e-5):
    e = np.eye(x.size)[i] * step
    return (function(x + e) - function(x - e)) / (2 * step)


T = np.array([-1.2, -0.3, 0.4, 1.5])


@pytest.mark.parametrize("gaps", [False, True], ids=["intervals", "sets"])
@pytest.mark.parametrize("link", LINKS)
def test_loss_and_derivatives_by_score(link, gaps):
    labels, weight, f = labels_and_scores(gaps=gaps)
    objective = make_objective(labels, weight, "likelihood", link, 1)
    assert objective.loss(f, T) == pytest.approx(plain_loss(link, labels, weight, f, T), rel=1e-10)
    objective.step(f, T)
    by_score = [slope(lambda x: plain_loss(link, labels, weight, x, T), f, i) * f.size for i in range(f.size)]
    np.testing.assert_allclose(objective.gradient, by_score, rtol=1e-4, atol=1e-6)
    if not gaps:  # with gaps it is that of a bound

        def loss(x):
            return plain_loss(link, labels, weight, x, T)

        step = 1e-4 * np.eye(f.size)
        curvature = [(loss(f + e) - 2 * loss(f) + loss(f - e)) * 1e8 * f.size for e in step]
        np.testing.assert_allclose(objective.curvature, curvature, rtol=1e-2, atol=1e-4)
    assert (objective.curvature > 0).all()


@pytest.mark.parametrize("link", LINKS)
def test_steps_of_the_thresholds_lead_to_the_balance(link):
    labels, weight, f = labels_and_scores()
    objective = make_objective(labels, weight, "likelihood", link, 1)
    t, losses = objective.start(), []
    for _ in range(12):
        losses.append(plain_loss(link, labels, weight, f, t))
        t = objective.step(f, t)
    assert (np.diff(losses) <= 1e-9).all()
    np.testing.assert_allclose(t, objective.balanced(f, T), atol=1e-5)
    for k in range(t.size):
        assert abs(slope(lambda x: plain_loss(link, labels, weight, f, x), t, k)) < 1e-6


def test_sets_reach_a_stationary_point():
    labels, weight, f = labels_and_scores(gaps=True)
    objective = make_objective(labels, weight, "likelihood", "logit", 1)
    t = objective.balanced(f, objective.start())
    for _ in range(5):
        t = objective.balanced(f, t)
    for k in range(t.size):
        assert abs(slope(lambda x: plain_loss("logit", labels, weight, f, x), t, k)) < 1e-5


def smoothed_hinge(u):
    return np.where(u <= 0, 0.0, np.where(u < 1, 0.5 * u * u, u - 0.5))


def plain_hinges(loss, labels, weight, f, t):
    total = np.zeros(f.size)
    for i, (lo, hi) in enumerate(zip(labels.lower, labels.upper, strict=True)):
        below, above = range(lo), range(hi, K - 1)
        if loss == "explicit":
            below, above = list(below)[-1:], list(above)[:1]
        total[i] = sum(smoothed_hinge(1 - (f[i] - t[k])) for k in below)
        total[i] += sum(smoothed_hinge(1 + (f[i] - t[k])) for k in above)
    return weight @ total


@pytest.mark.parametrize("loss", ["implicit", "explicit"])
def test_hinges(loss):
    labels, weight, f = labels_and_scores()
    objective = make_objective(labels, weight, loss, "logit", 1)
    assert objective.loss(f, T) == pytest.approx(plain_hinges(loss, labels, weight, f, T))
    objective.step(f, T)
    by_score = [slope(lambda x: plain_hinges(loss, labels, weight, x, T), f, i) * f.size for i in range(f.size)]
    np.testing.assert_allclose(objective.gradient, by_score, rtol=1e-3, atol=1e-5)
    t = objective.balanced(f, T)
    assert (np.diff(t) >= 0).all()
    best = plain_hinges(loss, labels, weight, f, t)
    rng = np.random.default_rng(1)
    for size in (1e-1, 1e-2, 1e-3):  # nothing in order is better
        for _ in range(30):
            assert best <= plain_hinges(loss, labels, weight, f, np.sort(t + size * rng.normal(size=t.size))) + 1e-9


@pytest.mark.parametrize("loss", ["likelihood", "implicit"])
def test_threads_do_not_change_a_bit(loss, monkeypatch):
    monkeypatch.setattr(tree_rows, "BLOCK", 64)
    labels, weight, f = labels_and_scores(n=500)
    found = []
    for threads in (1, 3):
        objective = make_objective(labels, weight, loss, "logit", threads)
        t = objective.step(f, T)
        found.append((t.tobytes(), objective.gradient.tobytes(), objective.curvature.tobytes()))
        objective.blocks.close()
    assert found[0] == found[1]


@pytest.mark.parametrize("gaps", [False, True], ids=["intervals", "sets"])
def test_a_part_without_a_class_has_finite_thresholds(gaps):
    labels, weight, f = labels_and_scores(gaps=gaps)
    objective = make_objective(labels, weight, "likelihood", "logit", 1)
    rows = np.flatnonzero(labels.lower > 0)[::-1]
    some = objective.take(rows)
    t = some.start()
    for _ in range(50):
        t = some.step(f[rows], t)
    assert np.isfinite(t).all()
    assert (np.diff(t) > 0).all()
    assert some.loss(f[rows], t) == pytest.approx(plain_loss("logit", labels.take(rows), some.weight, f[rows], t))


def test_exponentials_of_many_are_those_of_one():
    x = np.concatenate([np.linspace(-700, 700, 20_001), [0.0, -0.0, 1e-300]])
    found = np.empty(x.size)
    exponential(x, found)
    np.testing.assert_allclose(found, np.exp(x), rtol=4.5e-16)


@pytest.mark.parametrize("f", [-1e300, -700.0, -149.0, 0.0, 151.0, 1e4])
@pytest.mark.parametrize(
    ("low", "high"), [(-np.inf, -2.0), (-2.0, 1.0), (1.0, np.inf), (-400.0, -399.0), (240.0, 900.0)]
)
def test_slopes_of_the_logit_far_away(f, low, high):
    e, scale = np.empty(1), np.array([low, high])
    exponential(np.array([f]), e)
    found = logit_slopes(f, e[0], high, low, *(x[i] for x, i in zip(exponentials(scale), (1, 0), strict=True)))
    np.testing.assert_allclose(found, expit([f - high, low - f]), rtol=1e-13)


def test_no_run_of_a_candidate_set_is_given_up():
    """A run whose probability is zero in floating point keeps a weight: later rounds may raise it again."""
    labels, weight, f = labels_and_scores(gaps=True)
    objective = make_objective(labels, weight, "likelihood", "logit", 1)
    f[K : K + 12] = 1e4
    objective.step(f, T)
    assert (objective.risk.rows.weight > 0.0).all()
