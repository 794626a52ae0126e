"""Derivatives of max-marginals against labellings found by enumeration."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rankwise.structured.max_sum import max_marginal_gradient, max_marginals
from tests.structured.test_max_sum import enumerate_all


@given(seed=st.integers(0, 10_000), n=st.integers(1, 5), n_labels=st.integers(1, 4), tree=st.booleans())
def test_gradient_collects_the_labellings(seed, n, n_labels, tree):
    rng = np.random.default_rng(seed)
    parents = np.array([-1, *(rng.integers(0, v) if tree else v - 1 for v in range(1, n))])
    unary, pairwise = rng.standard_normal((n, n_labels)), rng.standard_normal((n_labels, n_labels))
    labellings, values = enumerate_all(unary, pairwise, parents)
    weights = rng.standard_normal((n, n_labels))
    of_unary, of_pairwise = np.zeros_like(unary), np.zeros_like(pairwise)
    for v in range(n):
        for y in range(n_labels):
            best = labellings[np.argmax(np.where(labellings[:, v] == y, values, -np.inf))]
            of_unary[np.arange(n), best] += weights[v, y]
            for u in np.flatnonzero(parents >= 0):
                of_pairwise[best[parents[u]], best[u]] += weights[v, y]
    problem = unary, pairwise, np.array([0, n]), parents
    found = max_marginal_gradient(*problem, max_marginals(*problem), weights)
    np.testing.assert_allclose(found[0], of_unary, atol=1e-9)
    np.testing.assert_allclose(found[1], of_pairwise, atol=1e-9)
