"""Thresholds that stay in order, and the head that has them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch", reason="needs PyTorch: make test-torch")

from rankwise.decisions import ranks
from rankwise.torch import ExplicitLoss, ImplicitLoss, OrderedThresholds, ThresholdHead


@pytest.mark.parametrize("n_classes", [2, 3, 6])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_thresholds_start_one_apart_around_zero(n_classes, dtype):
    thresholds = OrderedThresholds(n_classes, dtype=dtype)()
    assert thresholds.dtype == dtype
    np.testing.assert_allclose(thresholds.detach(), np.arange(n_classes - 1) - (n_classes - 2) / 2, atol=1e-6)


@given(st.lists(st.floats(-200, 200, width=32), min_size=1, max_size=6))
def test_thresholds_are_in_order_whatever_the_parameters(values):
    module = OrderedThresholds(len(values) + 1)
    with torch.no_grad():
        module.first.fill_(values[0])
        module.gaps.copy_(torch.tensor(values[1:]))
    assert (module().diff() >= 0).all()


def test_gradients_of_the_thresholds(rng):
    module = OrderedThresholds(5, dtype=torch.float64)

    def thresholds(first, gaps):
        return torch.func.functional_call(module, {"first": first, "gaps": gaps}, ())

    parameters = [torch.tensor(rng.normal(size=size), requires_grad=True) for size in (1, 3)]
    assert torch.autograd.gradcheck(thresholds, parameters)


@pytest.mark.parametrize("n_classes", [1, 2.0, True])
def test_bad_sizes(n_classes):
    for module in (OrderedThresholds, lambda k: ThresholdHead(2, k)):
        with pytest.raises(ValueError, match=r"n_classes must be a whole number >= 2\. Got"):
            module(n_classes)
    with pytest.raises(ValueError, match=r"in_features must be a whole number >= 1\. Got 0"):
        ThresholdHead(0, 3)


@given(st.integers(0, 10_000))
def test_predictions_are_those_of_the_numpy_rule(seed):
    rng = np.random.default_rng(seed)
    scores, thresholds = rng.integers(-6, 7, 20) / 4, np.sort(rng.integers(-6, 7, 4)) / 4  # ties occur
    predicted = ThresholdHead.predict(torch.tensor(scores), torch.tensor(thresholds))
    np.testing.assert_array_equal(predicted, ranks(scores, thresholds))
    own = torch.tensor(np.tile(thresholds, (20, 1)))
    assert torch.equal(ThresholdHead.predict(torch.tensor(scores), own), predicted)


def test_head_is_a_linear_score_and_thresholds(rng):
    head = ThresholdHead(3, 4, dtype=torch.float64)
    x = rng.normal(size=(2, 5, 3))
    scores, thresholds = head(torch.tensor(x))
    np.testing.assert_allclose(scores.detach(), x @ head.score.weight.detach().numpy()[0], atol=1e-14)
    assert torch.equal(thresholds, head.thresholds())
    assert [name for name, _ in head.named_parameters()] == ["score.weight", "thresholds.first", "thresholds.gaps"]
    assert "n_classes=4" in repr(head)


@pytest.mark.parametrize("loss", [ImplicitLoss(), ExplicitLoss()])
def test_both_losses_find_a_line_through_intervals(loss):
    """Separable rows whose labels are intervals: all end inside, with the thresholds in order on the way."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, (200, 2))
    y = np.searchsorted([-1.0, 0.0, 1.5], x[:, 0] - x[:, 1])
    low, high = torch.tensor(np.maximum(y - 1, 0)), torch.tensor(np.minimum(y + rng.integers(0, 2, 200), 3))
    torch.manual_seed(0)
    head = ThresholdHead(2, 4, dtype=torch.float64)
    optimizer = torch.optim.Adam(head.parameters(), lr=0.1)
    for _ in range(300):
        optimizer.zero_grad()
        loss(*head(torch.tensor(x)), low, high).backward()
        optimizer.step()
    predicted = ThresholdHead.predict(*head(torch.tensor(x)))
    assert ((low <= predicted) & (predicted <= high)).all()
