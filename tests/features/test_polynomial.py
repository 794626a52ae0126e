from math import comb

import pytest
from numpy.testing import assert_allclose, assert_array_equal

from rankwise import PRIL, KernelPRIL
from rankwise.annotation import type2_intervals
from rankwise.datasets import make_pril_synthetic
from rankwise.evaluation import progressive
from rankwise.features import polynomial_features


@pytest.mark.parametrize("degree", [1, 2, 3, 4])
def test_inner_products_are_the_kernel(rng, degree):
    X, Z = rng.normal(size=(7, 3)), rng.normal(size=(5, 3))
    features = polynomial_features(X, degree)
    assert features.shape == (7, comb(3 + degree, degree))
    assert_allclose(features @ polynomial_features(Z, degree).T, (X @ Z.T + 1) ** degree, rtol=1e-12, atol=1e-12)


def test_the_linear_algorithm_on_them_is_the_kernel_algorithm():
    X, y = make_pril_synthetic(600, random_state=1)
    labels = type2_intervals(y)
    linear = progressive(PRIL(average=False), polynomial_features(X, 2), labels, truth=y)
    kernel = progressive(KernelPRIL(kernel="polynomial", degree=2, average=False), X, labels, truth=y)
    assert_array_equal(linear.predictions, kernel.predictions)
    assert 0 < linear.final < 2


def test_degree_zero_is_refused():
    with pytest.raises(ValueError, match="degree must be at least 1"):
        polynomial_features([[1.0]], 0)
