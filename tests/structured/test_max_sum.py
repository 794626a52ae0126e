"""Max-sum on chains and trees against enumeration: values, labels, ties, constraints, disagreement, max-marginals."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwise.structured.max_sum import best_disagreeing, best_labellings, chain_parents, max_marginals


def enumerate_all(unary, pairwise, parents):
    """Scores of all labellings, in lexicographic order, and the labellings."""
    n, n_labels = unary.shape
    labellings = np.array(list(itertools.product(range(n_labels), repeat=n)))
    scores = sum(unary[v, labellings[:, v]] for v in range(n))
    for v, p in enumerate(parents):
        if p >= 0:
            scores = scores + pairwise[labellings[:, p], labellings[:, v]]
    return labellings, scores


def problem(seed, n, n_labels, tree):
    """Whole numbers, so that sums are exact and ties are many."""
    rng = np.random.default_rng(seed)
    parents = np.array([-1, *(rng.integers(0, v) if tree else v - 1 for v in range(1, n))])
    if tree and n > 3 and rng.random() < 0.3:
        parents[2] = -1  # a forest
    return rng.integers(-2, 3, (n, n_labels)) * 1.0, rng.integers(-2, 3, (n_labels, n_labels)) * 1.0, parents, rng


@pytest.mark.parametrize("n", range(1, 7))
@pytest.mark.parametrize("n_labels", range(1, 5))
@pytest.mark.parametrize("tree", [False, True])
def test_best_is_the_smallest_of_the_best_by_enumeration(n, n_labels, tree):
    for seed in range(8):
        unary, pairwise, parents, rng = problem(seed, n, n_labels, tree)
        constrained = unary.copy()
        allowed = rng.random(unary.shape) < 0.6
        allowed[np.arange(n), rng.integers(0, n_labels, n)] = True
        constrained[~allowed] = -np.inf
        augmented = unary + (np.arange(n_labels) != rng.integers(0, n_labels, (n, 1)))
        for scores in (unary, constrained, augmented):
            labellings, values = enumerate_all(scores, pairwise, parents)
            labels, value = best_labellings(scores, pairwise, np.array([0, n]), parents)
            assert value[0] == values.max()
            np.testing.assert_array_equal(labels, labellings[values.argmax()])


@pytest.mark.parametrize("n", range(1, 7))
@pytest.mark.parametrize("n_labels", range(2, 5))
@pytest.mark.parametrize("tree", [False, True])
def test_best_that_disagrees_somewhere_by_enumeration(n, n_labels, tree):
    for seed in range(8):
        unary, pairwise, parents, rng = problem(seed, n, n_labels, tree)
        allowed = rng.random(unary.shape) < 0.7
        allowed[0, 0] = False
        labellings, values = enumerate_all(unary, pairwise, parents)
        differs = ~allowed[np.arange(n), labellings].all(axis=1)
        values = np.where(differs, values, -np.inf)
        labels, value = best_disagreeing(unary, pairwise, np.array([0, n]), parents, allowed)
        assert value[0] == values.max()
        if tree:
            (found,) = np.flatnonzero((labellings == labels).all(axis=1))
            assert values[found] == values.max()
        else:
            np.testing.assert_array_equal(labels, labellings[values.argmax()])


def test_nothing_disagrees_with_a_constraint_that_allows_everything():
    _, value = best_disagreeing(
        np.zeros((3, 2)), np.zeros((2, 2)), np.array([0, 3]), np.array([-1, 0, 1]), np.ones((3, 2), dtype=bool)
    )
    assert value[0] == -np.inf


@given(seed=st.integers(0, 10_000), n=st.integers(1, 5), n_labels=st.integers(1, 4), tree=st.booleans())
def test_max_marginals_by_enumeration(seed, n, n_labels, tree):
    unary, pairwise, parents, _ = problem(seed, n, n_labels, tree)
    if (parents < 0).sum() > 1:
        parents = np.arange(-1, n - 1)  # one structure, one root
    labellings, values = enumerate_all(unary, pairwise, parents)
    found = max_marginals(unary, pairwise, np.array([0, n]), parents)
    for v in range(n):
        for y in range(n_labels):
            assert found[v, y] == pytest.approx(values[labellings[:, v] == y].max())


def test_many_structures_are_solved_one_by_one():
    rng = np.random.default_rng(0)
    lengths = rng.integers(0, 7, 50)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    unary, pairwise = rng.standard_normal((starts[-1], 3)), rng.standard_normal((3, 3))
    allowed = rng.random(unary.shape) < 0.5
    parents = chain_parents(starts)
    labels, values = best_labellings(unary, pairwise, starts, parents)
    other, other_values = best_disagreeing(unary, pairwise, starts, parents, allowed)
    marginals = max_marginals(unary, pairwise, starts, parents)
    for s, (first, last) in enumerate(itertools.pairwise(starts)):
        if first == last:
            assert values[s] == 0.0
            continue
        here, alone = slice(first, last), (np.array([0, last - first]), np.arange(-1, last - first - 1))
        expected = best_labellings(unary[here], pairwise, *alone)
        np.testing.assert_array_equal(labels[here], expected[0])
        assert values[s] == expected[1][0]
        expected = best_disagreeing(unary[here], pairwise, *alone, allowed[here])
        np.testing.assert_array_equal(other[here], expected[0])
        assert other_values[s] == expected[1][0]
        np.testing.assert_allclose(marginals[here].max(axis=1), values[s])
