"""The layer of cumulative-sum units: CuSumRank's scores, and its rounds as gradient steps."""

import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch", reason="needs PyTorch: make test-torch")

from sklearn.exceptions import NotFittedError

from rankwise import CuSumRank, PRank
from rankwise.torch import CuSumHead, CuSumMarginLoss, cusum_margin_loss
from tests.reference.interval_losses import cusum_margin
from tests.streams import make_stream


def whole_stream(seed, n, n_classes, gaps):
    """Whole features and weights: all sums are exact, and ties occur."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, (n, 3)).astype(np.float64)
    low, high = np.sort(rng.integers(0, n_classes, (2, n)), axis=0)
    codes = np.arange(n_classes)
    admissible = (low[:, None] <= codes) & (codes <= high[:, None])
    if gaps:
        admissible |= rng.random(admissible.shape) < 0.3
    return X, admissible, rng.choice([0.0, 0.5, 1.0, 2.0], n)


def as_tensors(admissible):
    n_classes = admissible.shape[1]
    low, high = admissible.argmax(axis=1), n_classes - 1 - admissible[:, ::-1].argmax(axis=1)
    return torch.tensor(low), torch.tensor(high), torch.tensor(admissible)


@pytest.mark.parametrize("margin", ["loss", "constant", "none"])
@pytest.mark.parametrize("fit_intercept", [True, False])
@given(seed=st.integers(0, 10_000), n_classes=st.integers(2, 6), gaps=st.booleans(), weighted=st.booleans())
@settings(max_examples=20)
def test_gradient_steps_are_the_rounds_of_cusum_rank(margin, fit_intercept, seed, n_classes, gaps, weighted):
    X, admissible, weight = whole_stream(seed, 40, n_classes, gaps)
    low, high, mask = as_tensors(admissible)
    model = CuSumRank(
        "perceptron", margin, delta=0.5, fit_intercept=fit_intercept, average=False, classes=range(n_classes)
    )
    head = CuSumHead(3, n_classes, bias=fit_intercept, dtype=torch.float64)
    optimizer = torch.optim.SGD(head.parameters(), lr=1.0)
    # The mean over one row takes its weight out again.
    loss = CuSumMarginLoss(margin, delta=0.5, reduction="sum" if weighted else "mean")
    for i in range(len(X)):
        row = slice(i, i + 1)
        sample_weight = weight[row] if weighted else None
        predicted = model.progressive_predict(X[row], admissible[row], sample_weight=sample_weight)
        scores = head(torch.tensor(X[row]))
        assert CuSumHead.predict(scores).tolist() == predicted.tolist()
        optimizer.zero_grad()
        loss(
            scores,
            low[row],
            high[row],
            mask=mask[row] if gaps else None,
            weight=None if sample_weight is None else torch.tensor(sample_weight),
        ).backward()
        optimizer.step()
        np.testing.assert_array_equal(head.weight.detach(), model.coef_[1:])
        if fit_intercept:
            np.testing.assert_array_equal(head.bias.detach(), model.intercept_[1:])


@given(seed=st.integers(0, 10_000), n_classes=st.integers(1, 7), margin=st.sampled_from(["loss", "constant", "none"]))
@settings(max_examples=50)
def test_candidate_sets_are_the_plain_formula(seed, n_classes, margin):
    rng = np.random.default_rng(seed)
    admissible = rng.random((8, n_classes)) < 0.4
    admissible[np.arange(8), rng.integers(0, n_classes, 8)] = True
    scores = rng.integers(-12, 13, (8, n_classes)) / 4
    low, high, mask = as_tensors(admissible)
    losses = cusum_margin_loss(torch.tensor(scores), low, high, mask, margin=margin, delta=0.5, reduction="none")
    expected = [cusum_margin(s, np.flatnonzero(row), margin, 0.5) for s, row in zip(scores, admissible, strict=True)]
    assert losses.tolist() == expected
    # Codes of the mask outside the interval do not count.
    whole = torch.ones_like(mask)
    by_interval = cusum_margin_loss(torch.tensor(scores), low, high, margin=margin, delta=0.5, reduction="none")
    again = cusum_margin_loss(torch.tensor(scores), low, high, whole, margin=margin, delta=0.5, reduction="none")
    assert torch.equal(again, by_interval)


def test_a_mask_stays_on_its_device():
    scores = torch.zeros(3, 4, device="meta", requires_grad=True)
    ends = torch.zeros(2, 3, dtype=torch.long, device="meta")
    loss = CuSumMarginLoss(check=False)(scores, *ends, mask=torch.ones(3, 4, dtype=torch.bool, device="meta"))
    loss.backward()
    assert scores.grad.device.type == "meta"


@pytest.mark.parametrize(
    ("mask", "message"),
    [
        (torch.ones(2, 3), r"mask must be a boolean tensor of shape \(2, 3\)\. Got torch.float32 of shape \(2, 3\)"),
        (torch.ones(2, 2, dtype=torch.bool), r"mask must be .*Got torch.bool of shape \(2, 2\)"),
        ([[True] * 3] * 2, r"mask must be .*Got list"),
        (
            torch.tensor([[True, True, True], [True, False, False]]),
            r"row 1: a candidate set must not be empty between lower and upper\. Got \[True, False, False\]",
        ),
    ],
)
def test_bad_masks(mask, message):
    with pytest.raises(ValueError, match=message):
        cusum_margin_loss(torch.zeros(2, 3), torch.tensor([0, 1]), torch.tensor([2, 2]), mask)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"margin": "rank"}, "margin must be one of 'none', 'constant', 'loss'. Got 'rank'"),
        ({"delta": 0.0}, "delta must be a finite number > 0. Got 0.0"),
        ({"delta": np.nan}, "delta must be a finite number > 0. Got nan"),
    ],
)
def test_bad_parameters(options, message):
    with pytest.raises(ValueError, match=message):
        CuSumMarginLoss(**options)
    with pytest.raises(ValueError, match=message):
        cusum_margin_loss(torch.zeros(1, 2), torch.tensor([0]), torch.tensor([0]), **options)


@pytest.mark.parametrize("sizes", [(0, 3), (2, 1), (2.0, 3), (2, True)])
def test_bad_sizes(sizes):
    with pytest.raises(ValueError, match=r"(in_features|n_classes) must be a whole number >= [12]\. Got"):
        CuSumHead(*sizes)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("average", [True, False])
def test_a_head_takes_over_a_fitted_estimator(fit_intercept, average):
    stream = make_stream(0)
    model = CuSumRank(fit_intercept=fit_intercept, average=average, random_state=0).fit(stream.X, stream.y)
    head = CuSumHead.from_estimator(model, dtype=torch.float64)
    scores = head(torch.tensor(stream.X))
    np.testing.assert_allclose(scores.detach(), model.decision_function(stream.X), atol=1e-12)
    np.testing.assert_array_equal(model.classes_[CuSumHead.predict(scores)], model.predict(stream.X))
    assert (head.bias is not None) == fit_intercept
    assert CuSumHead.from_estimator(model).weight.dtype == torch.float32


def test_only_a_fitted_cusum_rank_can_be_taken_over():
    with pytest.raises(ValueError, match=r"estimator must be a CuSumRank\. Got PRank instead"):
        CuSumHead.from_estimator(PRank().fit([[0.0], [1.0]], [1, 2]))
    with pytest.raises(NotFittedError):
        CuSumHead.from_estimator(CuSumRank())


def test_scores_add_up_and_the_first_is_zero(rng):
    head = CuSumHead(3, 5, dtype=torch.float64)
    assert not head(torch.ones(3, dtype=torch.float64)).any()  # untrained: all ranks tie
    torch.nn.init.normal_(head.weight)
    torch.nn.init.normal_(head.bias)
    x = rng.normal(size=(2, 4, 3))
    answers = x @ head.weight.detach().numpy().T + head.bias.detach().numpy()
    expected = np.concatenate([np.zeros((2, 4, 1)), np.cumsum(answers, axis=-1)], axis=-1)
    np.testing.assert_allclose(head(torch.tensor(x)).detach(), expected, atol=1e-14)


def test_the_smallest_of_equals_is_predicted():
    assert CuSumHead.predict(torch.tensor([[0.0, 1.0, 1.0], [2.0, 2.0, 2.0], [0.0, 0.0, 1.0]])).tolist() == [1, 0, 2]


def test_a_head_can_be_saved_and_shown():
    head = CuSumHead(2, 3)
    torch.nn.init.normal_(head.weight)
    file = io.BytesIO()
    torch.save(head.state_dict(), file)
    file.seek(0)
    again = CuSumHead(2, 3)
    again.load_state_dict(torch.load(file, weights_only=True))
    assert torch.equal(again.weight, head.weight)
    assert repr(head) == "CuSumHead(in_features=2, n_classes=3, bias=True)"
    assert [name for name, _ in CuSumHead(2, 3, bias=False).named_parameters()] == ["weight"]
