"""The updates of the label ranker against their plain twins, and what the theory says of the dual."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp

import rankwise as rw
from rankwise import bounds
from rankwise.labels import Preferences
from tests.reference.label_ranking import PlainLabelRanker

LabelRanker = partial(rw.LabelRanker, fit_intercept=False)  # the paper's
UPDATES = ["fixed", "optimal", "joint"]
COMPLEXITIES = ["euclidean", "entropic"]
each_update = pytest.mark.parametrize("update", UPDATES)
each_complexity = pytest.mark.parametrize("complexity", COMPLEXITIES)


def make_rounds(seed, n=30, d=5, k=5, kind="real"):
    """Rows, relevant sets (some empty, some full) and weights (some zero)."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, (n, d)) * (rng.random((n, d)) < 0.8)
    if kind == "binary":
        X = (rng.random((n, d)) < 0.5).astype(float)
    if kind == "scaled":
        X = (rng.random((n, d)) < 0.5) * rng.choice([0.3, 0.5, 2.0], (n, 1))
    likely = X @ rng.standard_normal((d, k)) + 0.3 * rng.standard_normal((n, k))
    relevant = [set(np.flatnonzero(row > rng.normal(0.2, 0.5)).tolist()) for row in likely]
    return X, relevant, rng.choice([0.0, 0.3, 1.0, 2.0], n, p=[0.1, 0.2, 0.5, 0.2])


def plain_of(model):
    """The twin in the state of a model, whose exponents it reads back from the weights."""
    twin = PlainLabelRanker(
        model.n_features_in_, len(model.classes_), model.update, model.complexity, model.C, model.margin
    )
    if model.complexity == "euclidean":
        twin.theta = model.coef_
    else:
        kept = model._state["weights"].T
        logarithms = np.where(kept > 0, np.log(np.where(kept > 0, kept, 1.0)), kept)
        twin.theta = logarithms + model._state["shift"][:, None]
    twin.gained = model._state["sums"][0] / model.margin
    return twin


def close_call(twin, x):
    """Whether rounding may decide which of two labels is ahead: labels that are equal tie exactly."""
    if not x.any():
        return False
    rho = twin.scores(x)
    near = np.abs(rho[:, None] - rho) < 1e-9
    different = np.abs(twin.theta[:, None] - twin.theta).max(axis=2) > 0
    return bool(np.any(near & different))


@each_update
@each_complexity
@pytest.mark.parametrize("kind", ["real", "binary", "scaled"])
@settings(max_examples=8)
@given(seed=st.integers(0, 10_000), C=st.sampled_from([0.1, 1.0, 10.0]), margin=st.sampled_from([0.05, 0.4, 1.0]))
def test_rounds_are_those_of_the_plain_twin(update, complexity, kind, seed, C, margin):
    X, relevant, weight = make_rounds(seed, n=12, kind=kind)
    k = 5
    model = LabelRanker(update, complexity, average=False, C=C, margin=margin, classes=range(k))
    twin = PlainLabelRanker(X.shape[1], k, update, complexity, C, margin)
    for x, labels, c in zip(X, relevant, weight, strict=True):
        if close_call(twin, x):
            continue
        pairs = twin.pairs_of(labels)
        before = twin.dual
        twin.learn(x, pairs, c)
        model.partial_fit([x], [labels], sample_weight=[c])
        if update == "joint":
            # The general solver of the twin is the less exact one: its steps are compared by what they gain.
            gain = model.dual_value_ - before
            assert gain >= twin.dual - before - 1e-8 * C * (1 + margin)
            assert gain <= twin.dual - before + 1e-5 * C * (1 + margin)
            mistakes, twin = twin.mistakes, plain_of(model)
            twin.mistakes = mistakes
        np.testing.assert_allclose(model.coef_, twin.omega, atol=1e-9)
        assert model.dual_value_ == pytest.approx(twin.dual, abs=1e-9 * (1 + C * len(X)))
        assert model.n_mistakes_ == twin.mistakes


def learnt(update, complexity, C, margin, X, relevant, weight, start=None):
    """A model after these rows, from scratch or from the state of another one."""
    model = LabelRanker(update, complexity, average=False, C=C, margin=margin, classes=range(5))
    model.partial_fit(X[:1], [[]])
    if start is not None:
        model._state = {name: array.copy() for name, array in start._state.items()}
    return model.partial_fit(X, relevant, sample_weight=weight)


def dual_after_each_row(model, X, relevant, weight):
    values = []
    for i in range(len(X)):
        model.partial_fit(X[i : i + 1], relevant[i : i + 1], sample_weight=weight[i : i + 1])
        values.append(model.dual_value_)
    return np.array(values)


@each_update
@each_complexity
@pytest.mark.parametrize("kind", ["real", "binary"])
@settings(max_examples=20)
@given(seed=st.integers(0, 10_000), C=st.sampled_from([0.05, 0.5, 1.0]))
def test_the_dual_grows_by_what_the_lemma_says(update, complexity, kind, seed, C):
    X, relevant, weight = make_rounds(seed, n=40, kind=kind)
    X = X / max(1.0, np.sqrt(2 * bounds.label_ranking_curvature(X, complexity)))  # <x, H x> <= 1/2
    margin = 0.8
    model = LabelRanker(update, complexity, average=False, C=C, margin=margin, classes=range(5))
    mistakes, last = [0], 0.0
    for i in range(len(X)):
        model.partial_fit(X[i : i + 1], relevant[i : i + 1], sample_weight=weight[i : i + 1])
        gain, last = model.dual_value_ - last, model.dual_value_
        mistakes.append(model.n_mistakes_)
        least = margin * weight[i] * C - (weight[i] * C) ** 2 / 2
        assert gain >= min(0.0, least) - 1e-12
        if mistakes[-1] > mistakes[-2]:
            assert gain >= least - 1e-12


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # then the worst pair moves alone
@each_complexity
@pytest.mark.parametrize("update", ["optimal", "joint"])
@pytest.mark.parametrize("kind", ["real", "binary"])
@settings(max_examples=20)
@given(seed=st.integers(0, 10_000), C=st.sampled_from([0.5, 5.0, 50.0]), margin=st.sampled_from([0.02, 0.5, 3.0]))
def test_the_dual_never_falls_under_optimal_and_joint_however_large_the_rows(update, complexity, kind, seed, C, margin):
    X, relevant, weight = make_rounds(seed, n=40, kind=kind)
    model = LabelRanker(update, complexity, average=False, C=C, margin=margin, classes=range(5))
    values = dual_after_each_row(model, 10 * X, relevant, weight)
    assert np.diff(values, prepend=0.0).min() >= -1e-12 * max(1.0, np.abs(values).max())


@each_complexity
@pytest.mark.parametrize("kind", ["real", "binary", "scaled"])
@settings(max_examples=25)
@given(seed=st.integers(0, 10_000), C=st.sampled_from([0.1, 1.0, 20.0]), margin=st.sampled_from([0.05, 0.5, 1.0]))
def test_joint_gains_at_least_optimal_gains_at_least_fixed(complexity, kind, seed, C, margin):
    X, relevant, weight = make_rounds(seed, n=31, kind=kind)
    common = learnt("optimal", complexity, C, margin, X[:30], relevant[:30], weight[:30])
    fixed, optimal, joint = (
        learnt(update, complexity, C, margin, X[30:], relevant[30:], np.ones(1), start=common).dual_value_
        for update in UPDATES
    )
    assert joint >= optimal - 1e-9 * C * (margin + 1)
    assert optimal >= fixed - 1e-12 * C * (margin + 1)


@each_update
@each_complexity
@settings(max_examples=15)
@given(seed=st.integers(0, 10_000), C=st.sampled_from([0.05, 0.5]), noise=st.sampled_from([0.0, 0.5]))
def test_mistakes_obey_the_bound_for_any_reference(update, complexity, seed, C, noise):
    rng = np.random.default_rng(seed)
    X = rng.dirichlet(np.ones(6), 200) if complexity == "euclidean" else (rng.random((200, 6)) < 0.5).astype(float)
    reference = rng.dirichlet(np.full(6, 0.2), 4)  # weights that either complexity admits
    scores = X @ reference.T + noise * rng.standard_normal((200, 4))
    relevant = scores > np.median(scores, axis=1, keepdims=True)
    margin, curvature = 0.5, bounds.label_ranking_curvature(X, complexity)
    model = LabelRanker(update, complexity, average=False, C=C, margin=margin).partial_fit(X, relevant.astype(int))
    for coef in (reference, model.coef_, np.full((4, 6), 1 / 6)):
        value = bounds.label_ranking_objective(X, relevant, coef, C=C, margin=margin, complexity=complexity)
        assert model.dual_value_ <= value + 1e-9
        assert model.n_mistakes_ <= bounds.label_ranking_mistakes(value, C, margin, curvature)


def test_weighted_rows_obey_weak_duality():
    X, relevant, weight = make_rounds(7, n=100)
    for update in UPDATES:
        model = LabelRanker(update, C=0.5, classes=range(5)).partial_fit(X, relevant, sample_weight=weight)
        options = dict(C=0.5, margin=1.0, sample_weight=weight)
        assert model.dual_value_ <= bounds.label_ranking_objective(X, relevant, model.coef_, **options)


@each_complexity
@pytest.mark.parametrize("update", ["fixed", "optimal"])
@pytest.mark.parametrize("kind", ["real", "binary"])
def test_relevant_sets_are_preferences_for_every_pair(update, complexity, kind):
    X, relevant, weight = make_rounds(3, n=80, kind=kind)
    pairs = [[(r, s) for r in labels for s in range(5) if s not in labels] for labels in relevant]
    models = [
        LabelRanker(update, complexity, average=False, margin=0.3, classes=range(5)).partial_fit(
            X, y, sample_weight=weight
        )
        for y in (relevant, Preferences(pairs), Preferences([row[::-1] for row in pairs]))
    ]
    for other in models[1:]:
        np.testing.assert_array_equal(models[0].coef_, other.coef_)
        assert models[0].dual_value_ == other.dual_value_
        assert models[0].n_mistakes_ == other.n_mistakes_


@each_complexity
@pytest.mark.parametrize("update", ["fixed", "optimal"])
@settings(max_examples=15)
@given(seed=st.integers(0, 10_000))
def test_rounds_with_preferences_are_those_of_the_plain_twin(update, complexity, seed):
    X, _, weight = make_rounds(seed, n=30)
    rng = np.random.default_rng(seed)
    rankings = [rng.permutation(5)[: rng.integers(0, 5)].tolist() for _ in X]
    model = LabelRanker(update, complexity, average=False, C=0.7, margin=0.4, classes=range(5))
    twin = PlainLabelRanker(5, 5, update, complexity, 0.7, 0.4)
    for x, ranking, c in zip(X, rankings, weight, strict=True):
        if close_call(twin, x):
            continue
        y = Preferences.from_rankings([ranking])
        twin.learn(x, y.rows[0], c)
        model.partial_fit([x], y, sample_weight=[c])
        np.testing.assert_allclose(model.coef_, twin.omega, atol=1e-9)
        assert model.n_mistakes_ == twin.mistakes


@pytest.mark.parametrize("kind", ["real", "binary"])
@pytest.mark.parametrize("C", [0.3, 30.0])
def test_normalisers_agree_with_a_fresh_computation_after_1e5_updates(kind, C):
    rng = np.random.default_rng(0)
    n, d, k = 50_000, 30, 4
    X = (rng.random((n, d)) < 0.2).astype(float)
    if kind == "real":
        X *= rng.normal(0.2, 1.0, X.shape)
    y = rng.integers(0, k, n)
    model = LabelRanker("fixed", "entropic", C=C, classes=range(k))
    model.partial_fit(X, y)
    while model.n_updates_ < 50_000:  # each moves two labels
        model.partial_fit(X, y)
    state = model._state
    kept = state["weights"]
    theta = np.where(kept > 0, np.log(np.where(kept > 0, kept, 1.0)), kept) + state["shift"]
    normalisers = np.log(state["normaliser"][:2].sum(axis=0)) + state["shift"]
    np.testing.assert_allclose(normalisers, logsumexp(theta, axis=0), rtol=1e-12, atol=1e-12)
    if kind == "binary":  # every exponent is a whole number of steps
        np.testing.assert_allclose(normalisers, logsumexp(C * np.round(theta / C), axis=0), rtol=1e-12, atol=1e-9)


def test_exponents_far_apart_are_not_forgotten():
    """A weight that sank below every number returns when the same steps are taken back."""
    one, other = np.array([[1.0, 0.0, 0.3]]), np.array([[0.0, 1.0, 0.0]])
    model = LabelRanker("fixed", "entropic", C=400.0, classes=["a", "b"])
    twin = PlainLabelRanker(3, 2, "fixed", "entropic", C=400.0)
    for x, label in [(one, 0), (one, 1), (one, 0), (other, 0), (other, 1), (one, 1), (other, 1), (other, 0)] * 5:
        pairs = twin.pairs_of({label})
        twin.learn(x[0], pairs)
        model.partial_fit(x, [["ab"[label]]])
        np.testing.assert_allclose(model.coef_, twin.omega, atol=1e-12)
        assert model.dual_value_ == pytest.approx(twin.dual, rel=1e-12)
        assert model.n_mistakes_ == twin.mistakes
