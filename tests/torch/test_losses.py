"""Every loss through the same tests: the numpy losses' values and slopes, weights, types, devices, bad input."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch", reason="needs PyTorch: make test-torch")

from rankwise.losses import explicit_surrogate, implicit_surrogate
from rankwise.torch import (
    CuSumMarginLoss,
    ExplicitLoss,
    ImplicitLoss,
    IntervalMAELoss,
    VILMALoss,
    VILMAMAELoss,
    cusum_margin_loss,
    explicit_loss,
    implicit_loss,
    interval_mae_loss,
    vilma_loss,
    vilma_mae_loss,
)
from tests.reference.interval_losses import cusum_margin, interval_mae, vilma

N_CLASSES = 5


@dataclass(frozen=True)
class Loss:
    """A loss, its module, its plain numpy form and the shapes of its inputs."""

    function: Callable
    module: Callable
    plain: Callable
    shapes: tuple[str, ...]
    first: str = "scores"  #: name of the first argument

    def inputs(self, values: Callable[[tuple[int, ...]], np.ndarray], n: int) -> list[np.ndarray]:
        """Arrays of the right shapes; thresholds ascend."""
        size = {"n": (n,), "n,K": (n, N_CLASSES), "K-1": (N_CLASSES - 1,), "n,K-1": (n, N_CLASSES - 1)}
        return [np.sort(values(size[shape])) if "K-1" in shape else values(size[shape]) for shape in self.shapes]


def row_by_row(plain):
    return lambda s, low, high: np.array([plain(*row) for row in zip(s, low.tolist(), high.tolist(), strict=True)])


def cusum(margin, delta):
    plain = row_by_row(lambda s, low, high: cusum_margin(s, range(low, high + 1), margin, delta))
    options = dict(margin=margin, delta=delta)
    return Loss(partial(cusum_margin_loss, **options), partial(CuSumMarginLoss, **options), plain, ("n,K",))


#: V-shaped, and neither symmetric nor a function of the distance.
UNEVEN = np.array([[0, 1, 1, 4, 4], [3, 0, 2, 2, 5], [3, 1, 0, 1, 2], [9, 9, 1, 0, 0.5], [4, 3, 2, 2, 0]])


def vilma_of(loss, cost):
    plain = row_by_row(lambda s, low, high: vilma(s, low, high, cost))
    return Loss(partial(vilma_loss, loss=loss), partial(VILMALoss, loss), plain, ("n,K",))


def threshold(function, module, plain, margin, thresholds="K-1"):
    return Loss(
        partial(function, margin=margin),
        partial(module, margin=margin),
        partial(plain, margin=margin),
        ("n", thresholds),
    )


LOSSES = {
    "cusum, loss": cusum("loss", 0.75),
    "cusum, constant": cusum("constant", 0.5),
    "cusum, none": cusum("none", 1.0),
    "vilma": Loss(
        vilma_mae_loss, VILMAMAELoss, row_by_row(lambda s, a, b: vilma(s, a, b, lambda y, p: abs(y - p))), ("n,K",)
    ),
    "vilma, zero_one": vilma_of("zero_one", lambda y, p: float(y != p)),
    "vilma, squared": vilma_of("squared", lambda y, p: (y - p) ** 2),
    "vilma, matrix": vilma_of(UNEVEN, lambda y, p: UNEVEN[y, p]),
    "implicit": threshold(implicit_loss, ImplicitLoss, implicit_surrogate, 1.0),
    "implicit, margin 0.5": threshold(implicit_loss, ImplicitLoss, implicit_surrogate, 0.5, "n,K-1"),
    "explicit": threshold(explicit_loss, ExplicitLoss, explicit_surrogate, 1.0),
    "explicit, margin 0.5": threshold(explicit_loss, ExplicitLoss, explicit_surrogate, 0.5, "n,K-1"),
    "interval mae": Loss(
        partial(interval_mae_loss, n_classes=N_CLASSES),
        partial(IntervalMAELoss, n_classes=N_CLASSES),
        row_by_row(lambda f, low, high: interval_mae(f, low, high, N_CLASSES)),
        ("n",),
        first="outputs",
    ),
}
every_loss = pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)


def intervals(rng, n):
    low, high = np.sort(rng.integers(0, N_CLASSES, (2, n)), axis=0)
    low[0], high[0] = 0, N_CLASSES - 1  # a missing label
    return low, high


def tensors(arrays, dtype=torch.float64):
    return [torch.tensor(a, dtype=dtype, requires_grad=True) for a in arrays]


@every_loss
@given(seed=st.integers(0, 10_000), n=st.integers(1, 8))
@settings(max_examples=50)
def test_values_are_those_of_the_numpy_loss(loss, seed, n):
    rng = np.random.default_rng(seed)
    arrays = loss.inputs(lambda shape: rng.integers(-12, 13, shape) / 4, n)  # quarters: exact sums, and ties
    low, high = intervals(rng, n)
    losses = loss.function(*map(torch.tensor, arrays), torch.tensor(low), torch.tensor(high), reduction="none")
    assert losses.tolist() == loss.plain(*arrays, low, high).tolist()


@every_loss
@given(seed=st.integers(0, 10_000))
@settings(max_examples=10)
def test_gradients_are_the_slopes_of_the_numpy_loss(loss, seed):
    rng = np.random.default_rng(seed)
    arrays = loss.inputs(lambda shape: rng.normal(1, 3, shape), 6)
    low, high = intervals(rng, 6)
    inputs = tensors(arrays)
    loss.function(*inputs, torch.tensor(low), torch.tensor(high), reduction="sum").backward()
    step = 1e-6
    for array, tensor in zip(arrays, inputs, strict=True):
        slopes = np.empty((2, *array.shape))
        for place in np.ndindex(array.shape):
            here, value = loss.plain(*arrays, low, high).sum(), array[place]
            for side, h in enumerate((-step, step)):
                array[place] = value + h
                slopes[(side, *place)] = (loss.plain(*arrays, low, high).sum() - here) / h
            array[place] = value
        assume(np.abs(slopes[0] - slopes[1]).max() < 1e-4)  # no kink in between
        np.testing.assert_allclose(tensor.grad.numpy(), slopes.mean(axis=0), atol=1e-4)


@every_loss
def test_autograd_agrees_with_itself(loss, rng):
    inputs = tensors(loss.inputs(lambda shape: rng.normal(1, 3, shape), 6))
    low, high = map(torch.tensor, intervals(rng, 6))
    weight = torch.tensor(rng.random(6))
    for reduction in ("mean", "sum", "none"):
        assert torch.autograd.gradcheck(
            lambda *tensors, r=reduction: loss.function(*tensors, low, high, weight=weight, reduction=r), inputs
        )


@every_loss
def test_a_missing_label_costs_nothing_and_moves_nothing(loss, rng):
    inputs = tensors(loss.inputs(lambda shape: rng.normal(0, 9, shape), 20))
    ends = torch.zeros(20, dtype=torch.long), torch.full((20,), N_CLASSES - 1)
    losses = loss.function(*inputs, *ends, reduction="none")
    assert not losses.any()
    losses.sum().backward()
    assert not any(tensor.grad.any() for tensor in inputs)


@every_loss
def test_reductions_and_weights(loss, rng):
    inputs = tensors(loss.inputs(rng.standard_normal, 7))
    ends = [torch.tensor(end) for end in intervals(rng, 7)]
    rows = loss.function(*inputs, *ends, reduction="none").detach()
    weight = torch.tensor([0.0, 2.0, 1.0, 0.5, 0.0, 1.0, 3.0])
    for given_weight, expected in ((None, rows), (weight, rows * weight), (weight.long(), rows * weight.long())):
        total = 7 if given_weight is None else given_weight.sum()
        by = {r: loss.module(reduction=r)(*inputs, *ends, weight=given_weight) for r in ("none", "sum", "mean")}
        torch.testing.assert_close(by["none"], expected)
        torch.testing.assert_close(by["sum"], expected.sum())
        torch.testing.assert_close(by["mean"], expected.sum() / total)
        assert by["mean"] == loss.function(*inputs, *ends, weight=given_weight)


@every_loss
@pytest.mark.parametrize("n", [0, 3])
def test_rows_that_weigh_nothing_leave_the_network_alone(loss, n, rng):
    inputs = tensors(loss.inputs(rng.standard_normal, n))
    ends = torch.zeros(n, dtype=torch.long), torch.zeros(n, dtype=torch.long)
    for weight in (torch.zeros(n), None)[: 1 if n else 2]:
        mean = loss.function(*inputs, *ends, weight=weight)
        mean.backward()
        assert mean == 0.0
        assert not any(tensor.grad.any() for tensor in inputs)


@every_loss
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("code", [torch.int32, torch.int64])
def test_types_follow_the_input(loss, dtype, code, rng):
    arrays, (low, high) = loss.inputs(rng.standard_normal, 5), intervals(rng, 5)
    ends = torch.tensor(low, dtype=code), torch.tensor(high, dtype=code)
    inputs = tensors(arrays, dtype)
    losses = loss.function(*inputs, *ends, weight=torch.ones(5, dtype=torch.float64), reduction="none")
    assert losses.dtype == dtype
    np.testing.assert_allclose(
        losses.detach(), loss.plain(*arrays, low, high), atol=1e-5 if dtype == torch.float32 else 1e-14
    )


@every_loss
def test_nothing_leaves_the_device(loss, rng):
    """The meta device has shapes but no values: whatever looks at a value or mixes devices fails there."""
    inputs = [t.detach().to("meta").requires_grad_() for t in tensors(loss.inputs(rng.standard_normal, 5))]
    ends = [torch.tensor(end).to("meta") for end in intervals(rng, 5)]
    module = loss.module(check=False)
    result = module(*inputs, *ends, weight=torch.ones(5, device="meta"))
    result.backward()
    assert result.device.type == "meta"
    assert all(tensor.grad.device.type == "meta" for tensor in inputs)
    with pytest.raises((RuntimeError, NotImplementedError)):
        loss.function(*inputs, *ends)


@every_loss
def test_bad_arguments(loss, rng):
    inputs = tensors(loss.inputs(rng.standard_normal, 3))
    low, high = torch.tensor([0, 1, 2]), torch.tensor([4, 1, 3])

    def refused(message, *arguments, **options):
        with pytest.raises(ValueError, match=message):
            loss.function(*arguments, **options)

    integers = r"must be an integer tensor of shape \(3,\), one code a row\. Got"
    refused(rf"lower {integers} torch.float32 of shape \(3,\)", *inputs, low.float(), high)
    refused(rf"lower {integers} torch.bool of shape \(3,\)", *inputs, low > 0, high)
    refused(rf"upper {integers} torch.int64 of shape \(2,\)", *inputs, low, high[:2])
    refused(rf"upper {integers} list", *inputs, low, high.tolist())
    rule = r"0 <= lower <= upper <= 4 must hold\. Got"
    refused(rf"row 1: {rule} \[2, 1\]", *inputs, torch.tensor([0, 2, 2]), high)
    refused(rf"row 0: {rule} \[-1, 4\]", *inputs, low - 1, high)
    refused(rf"row 0: {rule} \[0, 5\]", *inputs, low, torch.tensor([5, 1, 3]))
    refused(
        r"weight must be a tensor of shape \(3,\)\. Got torch.float32 of shape \(1,\)",
        *inputs,
        low,
        high,
        weight=torch.ones(1),
    )
    for bad in (-1.0, np.nan, np.inf):
        refused(
            r"row 2: a weight must be a finite number >= 0\. Got", *inputs, low, high, weight=torch.tensor([1, 0, bad])
        )
    refused("reduction must be one of 'mean', 'sum', 'none'. Got 'max'", *inputs, low, high, reduction="max")
    with pytest.raises(ValueError, match="reduction must be one of"):
        loss.module(reduction="max")
    first, *others = inputs
    wanted = {"n": r"\(n,\)", "n,K": r"\(n, K\)"}[loss.shapes[0]]
    floats = rf"{loss.first} must be a floating-point tensor of shape {wanted}\. Got"
    refused(rf"{floats} torch.int64", first.long(), *others, low, high)
    refused(rf"{floats} torch.float64 of shape \(1, 3", first[None], *others, low, high)
    refused(rf"{floats} ndarray", first.detach().numpy(), *others, low, high)


@pytest.mark.parametrize("function", [implicit_loss, explicit_loss])
def test_bad_thresholds_and_margins(function):
    f, end = torch.zeros(3), torch.zeros(3, dtype=torch.long)
    for bad in (torch.zeros(2, 4), torch.zeros(1, 3, 4), torch.tensor(0.0), torch.tensor([0, 1]), [0.0]):
        with pytest.raises(
            ValueError, match=r"thresholds must be .* shape \(K-1,\) or \(n, K-1\) for n = 3 scores\. Got"
        ):
            function(f, bad, end, end)
    for margin in (-1.0, np.inf, np.nan):
        with pytest.raises(ValueError, match="margin must be a finite number >= 0"):
            function(f, torch.zeros(4), end, end, margin=margin)
    for module in (ImplicitLoss, ExplicitLoss):
        with pytest.raises(ValueError, match="margin must be a finite number >= 0"):
            module(margin=-1.0)


def test_explicit_constraints_need_ordered_thresholds():
    f, end = torch.zeros(2), torch.zeros(2, dtype=torch.long)
    for thresholds in ([0.0, 2.0, 1.0], [[0.0, 1.0, 2.0], [0.0, 2.0, 1.0]]):
        with pytest.raises(ValueError, match=r"thresholds must not descend\. Got 1\.0 after 2\.0 at place 2"):
            explicit_loss(f, torch.tensor(thresholds), end, end)
    implicit_loss(f, torch.tensor([0.0, 2.0, 1.0]), end, end)


def test_infinite_thresholds_without_a_say_cost_and_move_nothing():
    thresholds = torch.tensor([-torch.inf, 0.0, torch.inf], requires_grad=True)
    f, code = torch.tensor([-2.0], requires_grad=True), torch.tensor([1])
    for function in (implicit_loss, explicit_loss):
        loss = function(f, thresholds, code, code)
        loss.backward()
        assert loss == 0.0
        assert not f.grad.any()
        assert not thresholds.grad.any()


@given(seed=st.integers(0, 10_000))
@settings(max_examples=50)
def test_losses_bound_what_the_predicted_class_costs(seed):
    rng = np.random.default_rng(seed)
    n = 10
    low, high = intervals(rng, n)
    ends = torch.tensor(low), torch.tensor(high)

    def away(codes):
        return np.maximum(0, np.maximum(low - codes, codes - high))

    scores = torch.tensor(rng.integers(-8, 9, (n, N_CLASSES)) / 4)
    predicted = away(scores.argmax(dim=1).numpy())
    assert (cusum_margin_loss(scores, *ends, delta=0.5, reduction="none").numpy() >= 0.5 * predicted).all()
    assert (vilma_mae_loss(scores, *ends, reduction="none").numpy() >= predicted).all()
    cheapest = [UNEVEN[a : b + 1, p].min() for a, b, p in zip(low, high, scores.argmax(dim=1), strict=True)]
    assert (vilma_loss(scores, *ends, loss=UNEVEN, reduction="none").numpy() >= cheapest).all()
    f, t = torch.tensor(rng.integers(-8, 9, n) / 4), torch.tensor(np.sort(rng.integers(-8, 9, N_CLASSES - 1)) / 4)
    predicted = away((f[:, None] >= t).sum(dim=1).numpy())
    assert (implicit_loss(f, t, *ends, reduction="none").numpy() >= predicted).all()
    assert (explicit_loss(f, t, *ends, reduction="none").numpy() >= (predicted > 0)).all()
    outputs = torch.tensor(rng.integers(-8, 32, n) / 4)
    predicted = away(outputs.round().clamp(0, N_CLASSES - 1).numpy())
    assert (2 * interval_mae_loss(outputs, *ends, n_classes=N_CLASSES, reduction="none").numpy() >= predicted).all()


@given(seed=st.integers(0, 10_000))
def test_vilma_of_a_threshold_model_is_the_implicit_loss(seed):
    """Proposition 2 of the thesis: MORD's scores k f - t_0 - ... - t_{k-1}."""
    rng = np.random.default_rng(seed)
    f, t = rng.integers(-12, 13, 6) / 4, np.sort(rng.integers(-12, 13, N_CLASSES - 1)) / 4
    ends = [torch.tensor(end) for end in intervals(rng, 6)]
    scores = np.arange(N_CLASSES) * f[:, None] - np.concatenate([[0.0], np.cumsum(t)])
    vilma = vilma_mae_loss(torch.tensor(scores), *ends, reduction="none")
    assert torch.equal(vilma, implicit_loss(torch.tensor(f), torch.tensor(t), *ends, reduction="none"))


def test_a_loss_matrix_moves_with_its_module_and_must_be_v_shaped():
    module = VILMALoss(UNEVEN).to(torch.float32)
    assert module.loss.dtype == torch.float32
    assert torch.equal(module.loss, torch.tensor(UNEVEN, dtype=torch.float32))
    assert not module.state_dict()  # a parameter of the loss is no state
    scores, code = torch.zeros(1, 5), torch.tensor([1])
    for wrong in (UNEVEN[:4, :4], 1.0 - np.eye(5) * 2.0):
        with pytest.raises(ValueError, match=r"a loss matrix must have|a V-shaped loss must be 0"):
            vilma_loss(scores, code, code, loss=wrong)
    with pytest.raises(ValueError, match=r"a loss matrix must have .* shape \(5, 5\)"):
        vilma_loss(scores, code, code, loss=torch.zeros(4, 4), check=False)
    with pytest.raises(ValueError, match=r"loss must be one of 'mae', 'zero_one', 'squared'"):
        VILMALoss("huber")


def test_modules_show_their_parameters():
    assert repr(CuSumMarginLoss()) == "CuSumMarginLoss(margin='loss', delta=1.0, reduction='mean')"
    assert repr(ExplicitLoss(0.5, "sum", check=False)) == "ExplicitLoss(margin=0.5, reduction='sum', check=False)"
    assert repr(IntervalMAELoss(3)) == "IntervalMAELoss(n_classes=3, reduction='mean')"
    assert repr(VILMALoss("squared")) == "VILMALoss(loss='squared', reduction='mean')"
    assert repr(VILMAMAELoss("none")) == "VILMAMAELoss(reduction='none')"
