"""A model is never left half-way: not by large numbers, interrupts, readers beside a writer, or other parameters."""

import copy
import gc
import random
import sys
import threading
import time

import numpy as np
import pytest
from scipy import sparse

from rankwise import (
    PRIL,
    CuSumRank,
    ImportanceWeightedPerceptron,
    KernelCuSumRank,
    KernelPRIL,
    LabelRanker,
    MultiplicativePRIL,
    RowError,
    WidrowHoff,
)

CLASSES = [0, 1, 2, 3]
LINEAR = [
    PRIL(),
    PRIL(step="pa"),
    PRIL(step="pa1"),
    PRIL(step="pa2"),
    MultiplicativePRIL(),
    MultiplicativePRIL(eta=0.1, signed=False),
    WidrowHoff(),
    WidrowHoff(normalized=False, learning_rate=1e-4),
    ImportanceWeightedPerceptron(),
    CuSumRank(),
    CuSumRank(step="pa2", margin="constant"),
]
KERNELS = [
    KernelPRIL(gamma=0.2),
    KernelPRIL(kernel="polynomial", degree=2, budget=8),
    KernelCuSumRank(kernel="linear", budget=8),
    KernelCuSumRank(gamma=0.2, step="pa1", margin="constant"),
]
RANKERS = [LabelRanker(), LabelRanker(complexity="entropic")]
each = pytest.mark.parametrize("estimator", LINEAR + KERNELS, ids=str)
kernels = pytest.mark.parametrize("estimator", KERNELS, ids=str)
forms = pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])


def table(seed, n=30, d=4):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, rng.integers(0, len(CLASSES), n)


def begun(estimator, form=np.asarray, classes=CLASSES):
    X, y = table(0)
    return copy.deepcopy(estimator).set_params(classes=classes, n_epochs=2, random_state=0).partial_fit(form(X), y)


def bits(value):
    """Everything in a plain value, comparable."""
    if isinstance(value, dict):
        return tuple((name, bits(entry)) for name, entry in sorted(value.items()))
    if isinstance(value, (list, tuple)):
        return tuple(map(bits, value))
    return (
        (value.shape, value.tobytes() if value.dtype != object else tuple(value)) if hasattr(value, "shape") else value
    )


def seen(model):
    """All that a model has learnt; None before it has."""
    if not model.__sklearn_is_fitted__():
        return None
    plain = model.to_plain()
    if "support_used" in plain["state"]:  # what lies behind is no part of the model
        for name in ("support_data", "support_indices"):
            plain["state"][name] = plain["state"][name][: int(plain["state"]["support_used"][0])]
    return bits(plain)


# -- numbers that are too large, or too small --------------------------------------------------------------------------

WILD = [1e100, 1e154, 1e160, 1e300, 1.7e308, -1.7e308, 1e-160, 5e-324, 0.0, 1.0]
WEIGHTS = [1.0, 1e100, 1e300, 1e-300]


def healthy(model, form):
    """Whether the model is finite and goes on to learn and predict rows of ordinary size."""
    state = {name: array for name, array in model._state.items() if array.dtype.kind == "f"}
    assert all(np.isfinite(array).all() for array in state.values())
    X, y = table(5, n=3)
    model = copy.deepcopy(model)
    assert np.isfinite(model.decision_function(form(X))).all()
    model.partial_fit(form(X), y)
    model.learn_one(dict(enumerate(X[0])), int(y[0]))
    assert model.predict_one(dict(enumerate(X[1]))) in CLASSES


@forms
@each
def test_no_finite_row_can_poison_a_model(estimator, form):
    rng, gaps = np.random.default_rng(7), np.random.default_rng(8)
    model, refused = begun(estimator, form), 0
    for turn in range(40):
        X, y = table(turn, n=int(rng.integers(1, 4)))
        X[rng.integers(len(X))] = rng.choice(WILD, X.shape[1])
        weight = rng.choice(WEIGHTS, len(X))
        if turn % 3 == 0:
            model = begun(estimator, form)  # what was accepted before may be in the way of the next
        before, error = seen(model), None
        try:
            if turn % 2:
                x = {j: value for j, value in enumerate(X[0]) if gaps.random() < 0.7}  # neighbouring columns or not
                model.learn_one(x, int(y[0]), w=float(weight[0]))
            else:
                model.partial_fit(form(X), y, sample_weight=weight)
        except RowError as row_error:
            error = row_error
        if error:
            refused += 1
            assert "Scale them" in str(error)
            assert seen(model) == before
        healthy(model, form)
    assert refused


IMMUNE = "WidrowHoff()", "CuSumRank(margin='constant', step='pa2')"  # a step of zero from a norm of infinity


@forms
@pytest.mark.parametrize("estimator", [e for e in LINEAR + KERNELS if str(e) not in IMMUNE], ids=str)
def test_the_row_that_would_poison_a_model_is_named(estimator, form):
    X, y = table(1, n=30)
    model = begun(estimator, form)
    X[17, 2], before = 1.7e308, seen(model)
    for learn in (model.partial_fit, model.fit):
        with pytest.raises(RowError, match=r"row 17: .*, up to 1\.7e\+308 in row 17, column 2\. Scale them"):
            learn(form(X), y)
        assert seen(model) == before


def test_candidates_of_one_example_that_are_lists_themselves_are_refused():
    model = PRIL(classes=[0, 1, 2]).partial_fit([[1.0]], [1])
    before = bits(model.to_plain())
    with pytest.raises(RowError, match=r"a list inside y.* Got \[\[0\]\]"):
        model.learn_one({0: 1.0}, [[0]])
    assert bits(model.to_plain()) == before


def test_a_feature_that_made_all_weights_nan_is_refused():
    model = PRIL(step="pa1", classes=[1, 2, 3]).partial_fit([[1.0], [2.0], [3.0]], [1, 2, 3])
    before = seen(model)
    with pytest.raises(RowError, match=r"row 0: .*model after learning from it, is not finite .* up to 1e\+160"):
        model.learn_one({0: 1e160}, 1)
    with pytest.raises(RowError, match=r"row 1: .*Scale them"):
        model.partial_fit([[2.0], [1e160], [2.0]], [2, 1, 2])
    assert seen(model) == before


# -- interrupts --------------------------------------------------------------------------------------------------------


def run_until(call, instruction):
    """Call, and raise KeyboardInterrupt before this instruction of the interpreter; return how many there were."""
    count, former = 0, sys.gettrace()

    def trace(frame, event, _):
        nonlocal count
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        if event == "opcode":
            count += 1
            if count == instruction:
                raise KeyboardInterrupt
        return trace

    gc.disable()  # it would call what other libraries registered with it, and an interrupt there is theirs
    sys.settrace(trace)
    try:
        call()
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(former)
        gc.enable()
    return count


def changes(estimator, form):
    """What may be interrupted, by name: a function of the model."""
    X, y = table(3, n=6)
    known = dict(enumerate(X[0].tolist()))
    calls = {
        "learn_one": lambda model: model.learn_one(known, 1),
        "learn_one with a weight": lambda model: model.learn_one(known, 2, w=0.5),
        "learn_one with new names": lambda model: model.learn_one({**known, "a": 1.5, "b": -2.0}, 1),
        "refused learn_one": lambda model: refused(model.learn_one, {**known, "a": np.nan}, 1),
        "partial_fit": lambda model: model.partial_fit(form(X), y),
        "fit": lambda model: model.fit(form(X[:, :3]), y),
    }
    if "classes" in estimator.get_params() and estimator.label_kinds:
        calls["learn_one with a new class"] = lambda model: model.learn_one({**known, "c": 1.0}, 9)
    return calls


def refused(learn, *arguments):
    with pytest.raises(ValueError, match=r"."):
        learn(*arguments)


@pytest.mark.parametrize(
    "form", [np.asarray, pytest.param(sparse.csr_matrix, marks=pytest.mark.slow)], ids=["dense", "sparse"]
)
@pytest.mark.parametrize("estimator", LINEAR[:6:5] + LINEAR[6:10] + KERNELS + RANKERS, ids=str)
def test_an_interrupt_leaves_the_model_before_or_after(estimator, form):
    choose = random.Random(0)
    for name, change in changes(estimator, form).items():
        start = begun(estimator, form)
        if "new class" in name:
            start._growing = True
            start.classes = None
        before, after = seen(start), copy.deepcopy(start)
        change(after)
        n_instructions = run_until(lambda s=start, c=change: c(copy.deepcopy(s)), 0)
        for _ in range(60 if "learn_one" in name else 12):
            model = copy.deepcopy(start)
            run_until(lambda m=model, c=change: c(m), choose.randrange(1, n_instructions))
            assert seen(model) in (before, seen(after)), name
            change(model)  # it is not blocked either
            model.predict_one({0: 1.0})


# -- readers beside a writer -------------------------------------------------------------------------------------------


def stream(classes):
    """Writes that make the model wider, richer in classes and support vectors, and small again."""
    rng = np.random.default_rng(2)
    for i in range(60):
        x = {f"x{j}": float(rng.standard_normal()) for j in range(1 + i // 6)}
        label = int(rng.integers(0, min(len(classes), 2 + i // 10)))
        yield lambda model, x=x, label=label: model.learn_one(x, label)
    yield lambda model: model.fit(np.array([[1.0], [2.0], [3.0]]), [0, 1, 2])


@pytest.mark.parametrize("estimator", [LINEAR[0], LINEAR[4], LINEAR[8], LINEAR[9], *KERNELS, RANKERS[0]], ids=str)
def test_readers_see_some_whole_model_while_a_stream_grows_it(estimator):
    def fresh():
        return copy.deepcopy(estimator).set_params(n_epochs=1, random_state=0)

    x = {"x0": 1.0, "x3": -1.0, "x9": 2.0}
    writes = list(stream(CLASSES))
    model, plain, answers = fresh(), set(), set()
    for write in [lambda model: None, *writes]:
        write(model)
        plain.add(seen(model))
        answers.add(model.predict_one(x))
    model, over, odd, counts = fresh(), threading.Event(), [], [0]
    writes[0](model)

    def look():
        while not over.is_set():
            try:
                if seen(model) not in plain or model.predict_one(x) not in answers:
                    odd.append("no whole model")
            except Exception as error:
                odd.append(repr(error))
            counts[0] += 1

    readers, interval = [threading.Thread(target=look) for _ in range(2)], sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for reader in readers:
            reader.start()
        end = time.monotonic() + 0.4
        while time.monotonic() < end:
            for write in writes:
                write(model)
            first = fresh()
            writes[0](first)
            with model._afresh() as again:
                again.__dict__ = first.__dict__
    finally:
        over.set()
        for reader in readers:
            reader.join()
        sys.setswitchinterval(interval)
    assert counts[0]
    assert odd == []


# -- a budget that changes ---------------------------------------------------------------------------------------------


def influences(model):
    state, size = model._state, int(model._state["size"][0])
    last, mean = state["dual"][:size], (state["dual"] - state["dual_lag"] / state["counts"][0])[:size]
    lengths = [np.linalg.norm(a.reshape(size, -1), axis=1) for a in (last, mean)]
    return np.maximum(*lengths) * state["influence"][:size]


@forms
@kernels
def test_a_smaller_budget_evicts_the_least_influential_and_a_larger_one_grows(estimator, form):
    X, y = table(4, n=40)
    model = begun(estimator, form).set_params(budget=8).partial_fit(form(X), y)
    assert len(model.dual_coef_) == 8
    influence = influences(model)
    one = copy.deepcopy(model)
    for learn in (lambda m: m.partial_fit(form(X[:1]), [np.nan]), lambda m: m.learn_one(dict(enumerate(X[0])), None)):
        smaller = copy.deepcopy(model).set_params(budget=3, n_neighbors=0)
        learn(smaller)
        assert smaller.support_vectors_.shape == (3, 4)
        assert sorted(influences(smaller)) == sorted(influence)[-3:]
        smaller = copy.deepcopy(model).set_params(budget=3)
        learn(smaller)
        assert smaller.support_vectors_.shape == (3, 4)
        smaller.partial_fit(form(X), y)
        assert len(smaller.dual_coef_) == 3
        smaller.set_params(budget=20).partial_fit(form(X), y)
        assert 3 < len(smaller.dual_coef_) <= 20
        smaller.set_params(budget=None).learn_one(dict(enumerate(X[0])), 1)
    by_rows = one.set_params(budget=3)
    chunk = copy.deepcopy(one).partial_fit(form(X), y)
    for x, label in zip(X, y, strict=True):
        by_rows.learn_one(dict(enumerate(x)), int(label))
    np.testing.assert_array_equal(by_rows.dual_coef_, chunk.dual_coef_)
    np.testing.assert_array_equal(by_rows.predict(form(X)), chunk.predict(form(X)))


@pytest.mark.parametrize("estimator", [PRIL, CuSumRank, WidrowHoff], ids=lambda estimator: estimator.__name__)
def test_learn_one_refuses_other_classes_than_those_of_before(estimator):
    model = estimator(classes=[1, 2, 3])
    model.learn_one({"a": 1.0}, 2)
    before = copy.deepcopy(model)
    model.set_params(classes=[1, 2])
    with pytest.raises(ValueError, match="is not the same as before"):
        model.learn_one({"a": 1.0}, 2)
    model.set_params(classes=[1, 2, 3]).learn_one({"a": 1.0}, 2)
    before.learn_one({"a": 1.0}, 2)
    np.testing.assert_array_equal(model.coef_, before.coef_)
