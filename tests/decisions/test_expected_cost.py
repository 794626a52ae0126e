"""Each rule answers with the class of least expected loss, found by trying all; of several the one that it promises."""

import numpy as np
import pytest

from rankwise.decisions import least_cost, median, mode, quantiles, rounded_mean

K = 5


@pytest.fixture
def probabilities(rng):
    tied = rng.multinomial(8, np.full(K, 1 / K), size=200) / 8  # eighths: sums are exact, and ties frequent
    return np.vstack([tied, rng.dirichlet(np.ones(K), size=200)])


def best(probabilities, losses, last=False):
    """Class of least expected loss, of several the first or the last."""
    expected = probabilities @ losses
    least = expected <= expected.min(axis=1, keepdims=True) + 1e-12
    return K - 1 - least[:, ::-1].argmax(axis=1) if last else least.argmax(axis=1)


def test_every_rule_has_the_least_expected_loss(probabilities, rng):
    cumulative = probabilities.cumsum(axis=1)[:, :-1]
    distance = np.subtract.outer(np.arange(K), np.arange(K))
    np.testing.assert_array_equal(mode(probabilities), best(probabilities, distance != 0))
    np.testing.assert_array_equal(median(cumulative), best(probabilities, np.abs(distance), last=True))
    np.testing.assert_array_equal(rounded_mean(probabilities), best(probabilities, distance**2, last=True))
    cost = rng.integers(0, 4, size=(K, K))
    np.testing.assert_array_equal(least_cost(probabilities, cost), best(probabilities, cost))


@pytest.mark.parametrize("q", [0.125, 0.25, 0.5, 0.875])
def test_a_quantile_is_the_lowest_class_that_reaches_it(probabilities, q):
    cumulative = probabilities.cumsum(axis=1)
    answers = quantiles(cumulative[:, :-1], q)
    np.testing.assert_array_equal(answers, [np.flatnonzero(row >= q - 1e-12)[0] for row in cumulative])
    distance = np.subtract.outer(np.arange(K), np.arange(K))  # truth less answer
    pinball = np.where(distance > 0, q * distance, (q - 1) * distance)
    np.testing.assert_array_equal(answers, best(probabilities, pinball))
