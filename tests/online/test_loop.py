"""The loop of a pass, with a toy algorithm of a few lines, beside the same rounds as a plain Python loop."""

import numpy as np
import pytest

from rankwise._kernels.compile import inlined, register_jitable
from rankwise._kernels.rows import dot
from rankwise.base.state import GIVEN_ORDER, NO_MASK, NO_PREDICTIONS
from rankwise.online.learning_loop import NOT_FINITE, UNCHANGED, make_pass

N_CLASSES = 4


@register_jitable
def _prepare(model, mask, options, predicting):
    return N_CLASSES - 1, (model[0][0].copy(), model[1][0], mask)


@inlined
def _score(X, i, workspace):
    return dot(X, i, workspace[0])


@inlined
def _predict(X, i, f, rounds, workspace):
    return int(max(0.0, min(3.0, f + (rounds if f > 0.0 else 0.0))))


@inlined
def _step(X, i, f, lo, hi, c, past, workspace):
    w, trace, mask = workspace
    if not np.isfinite(f):
        return NOT_FINITE
    if c == 0.0 or lo <= f <= hi:
        return UNCHANGED
    rounds, updates, violations = past
    w[0] += c if f < lo else -c
    trace[i] = 100.0 * rounds + 10.0 * updates + violations + (mask[i].sum() if mask.size else 0)
    return 2 if f > hi else 0


@register_jitable
def _finish(model, workspace):
    model[0][0][:] = workspace[0]


LEARN = {plain: make_pass(_prepare, _score, _predict, _step, _finish, plain=plain) for plain in (True, False)}


def _plain_loop(X, labels, weight, order, w, counts, average):
    (lower, upper, mask), w = labels, w.copy()
    rounds, updates, violations = counts
    trace, predictions = np.zeros(len(X)), np.full(len(X), -1)
    for i in order if len(order) else range(len(X)):
        f = float(X[i, 0] * w[0])
        predictions[i] = int(max(0, min(3, f + (rounds if average and f > 0 else 0))))
        c = weight[i] if len(weight) else 1.0
        if c == 0 or (lower[i] == 0 and upper[i] == N_CLASSES - 1 and not mask.size):
            continue
        if not lower[i] <= f <= upper[i]:
            w[0] += c if f < lower[i] else -c
            trace[i] = 100.0 * rounds + 10.0 * updates + violations + (mask[i].sum() if mask.size else 0)
            updates += 1
            violations += 2 if f > upper[i] else 0
        rounds += 1
    return w, trace, [rounds, updates, violations], predictions


def _problem(n=60):
    random = np.random.default_rng(0)
    X = random.uniform(0.1, 2.0, size=(n, 1))
    lower = random.integers(0, N_CLASSES, n).astype(np.int32)
    upper = np.minimum(lower + random.integers(0, 2, n), N_CLASSES - 1).astype(np.int32)
    lower[::7], upper[::7] = 0, N_CLASSES - 1  # missing
    weight = random.integers(0, 3, n) / 2.0
    return X, (lower, upper, NO_MASK), weight, random.permutation(n)


def _run(X, labels, weight, order, average=True, plain=False, predict=True):
    w, trace, counts = np.ones(1), np.zeros(len(X)), np.array([5, 3, 2])
    predictions = np.empty(len(X), dtype=np.int32) if predict else NO_PREDICTIONS
    bad = LEARN[plain](X, labels, weight, order, ((w,), (trace,)), counts, (average, 0), predictions)
    return bad, w, trace, counts, predictions


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_loop_runs_the_rounds_of_a_plain_loop(weighted, ordered, average, masked):
    X, labels, weight, order = _problem()
    if masked:  # candidates: also a row that may be anything from 0 to K - 1 says something
        labels = (*labels[:2], np.random.default_rng(1).random((len(X), N_CLASSES)) < 0.5)
    weight, order = weight if weighted else np.empty(0), order if ordered else GIVEN_ORDER
    bad, w, trace, counts, predictions = _run(X, labels, weight, order, average)
    expected = _plain_loop(X, labels, weight, order, np.ones(1), [5, 3, 2], average)
    assert bad == -1
    assert w == expected[0]
    assert trace.tolist() == expected[1].tolist()
    assert counts.tolist() == expected[2]
    assert predictions.tolist() == expected[3].tolist()


def test_the_plain_variant_gives_the_same_model():
    X, labels, _, _ = _problem()
    general = _run(X, labels, np.empty(0), GIVEN_ORDER, predict=False)
    plain = _run(X, labels, np.empty(0), GIVEN_ORDER, plain=True, predict=False)
    assert all(np.array_equal(a, b) for a, b in zip(general, plain, strict=True))
    assert general[3][1] > 3  # it did learn


@pytest.mark.parametrize("plain", [True, False])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_score_that_is_not_finite_ends_the_pass_and_nothing_is_written(value, plain):
    X, labels, _, order = _problem()
    X[14] = value  # a row without a label is read too
    order = GIVEN_ORDER if plain else order
    with np.errstate(invalid="ignore"):  # without numba, numpy warns of infinity times zero
        bad, w, _, counts, _ = _run(X, labels, np.empty(0), order, plain=plain, predict=False)
    assert bad == 14
    assert w == 1.0
    assert counts.tolist() == [5, 3, 2]


def test_a_prediction_below_zero_ends_the_pass():
    @inlined
    def refuse(X, i, f, rounds, workspace):
        return -1 if i == 4 else 0

    learn = make_pass(_prepare, _score, refuse, _step, _finish)
    X, labels, _, _ = _problem()
    counts, predictions = np.zeros(3, dtype=np.int64), np.empty(len(X), dtype=np.int32)
    model = (np.ones(1),), (np.zeros(len(X)),)
    assert learn(X, labels, np.empty(0), GIVEN_ORDER, model, counts, (True, 0), predictions) == 4
    assert counts.tolist() == [0, 0, 0]
