"""The theorems are checked by counting: slow plain twins of the learners, streams of every kind, no golden numbers."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.sparse import csr_array

from rankwise import CuSumRank, ImportanceWeightedPerceptron, StructuredPerceptron, bounds
from rankwise.labels import encode
from rankwise.losses import implicit_surrogate
from rankwise.structured import CumulativeRanks
from tests.strategies import annotated

SEEDS = st.integers(0, 2**32 - 1)


def signs(lower, upper, n_classes):
    """z of every threshold; 0 where the label says nothing."""
    return np.array([1 if i < lower else -1 if i >= upper else 0 for i in range(n_classes - 1)])


def violated(f, t, z):
    return np.where((z != 0) & (z * (f - t) <= 0), z, 0)


def plain_pril(X, lower, upper, n_classes):
    """Violations of each round, and the model (w, t) before each."""
    w, t = np.zeros(X.shape[1]), np.zeros(n_classes - 1)
    count, models = [], []
    for x, low, high in zip(X, lower, upper, strict=True):
        models.append((w.copy(), t.copy()))
        tau = violated(w @ x, t, signs(low, high, n_classes))
        count.append(np.abs(tau).sum())
        w, t = w + tau.sum() * x, t - tau
    return count, models


def plain_multiplicative_pril(X, lower, upper, n_classes, eta, signed):
    """Violations over all rounds of M-PRIL from uniform weights."""
    d, n_thresholds = X.shape[1], n_classes - 1
    # Rows of `side`: the sign with which a weight enters. One-sided: all +1.
    side = np.array([[1.0], [-1.0]]) if signed else np.array([[1.0]])
    u = np.full((side.size, d + n_thresholds), 1 / (side.size * (d + n_thresholds)))
    count = 0
    for x, low, high in zip(X, lower, upper, strict=True):
        v = (side * u).sum(axis=0)
        tau = violated(v[:d] @ x, v[d:], signs(low, high, n_classes))
        count += np.abs(tau).sum()
        u = u * np.exp(eta * side * np.concatenate([tau.sum() * x, -tau]))
        u /= u.sum()
    return count


def stream(seed, *, non_negative=False, separable=True, margin=0.02):
    """Rows in the unit cube, a reference (w, t), and intervals: around the reference's answer, or anywhere."""
    rng = np.random.default_rng(seed)
    n, d, n_classes = 300, int(rng.integers(1, 6)), int(rng.integers(2, 6))
    X = rng.uniform(0.0 if non_negative else -1.0, 1.0, (n, d))
    w = np.abs(rng.normal(size=d)) if non_negative else rng.normal(size=d)
    t = np.quantile(X @ w, np.arange(1, n_classes) / n_classes)
    answer = np.searchsorted(t, X @ w, side="right") if separable else rng.integers(0, n_classes, n)
    extra = int(rng.integers(0, 2))  # at 1, no label is exact
    lower = np.maximum(answer - rng.integers(0, 2, n), 0)
    upper = np.minimum(lower + np.maximum(answer - lower, extra) + rng.integers(0, 2, n), n_classes - 1)
    if separable:
        far = np.abs((X @ w)[:, None] - t).min(axis=1) > margin
        X, lower, upper = X[far], lower[far], upper[far]
    return X, encode(np.column_stack([lower, upper]), range(n_classes)), w, t


@given(SEEDS)
def test_theorem_1_bounds_the_violations_on_separable_streams(seed):
    X, labels, w, t = stream(seed)
    gamma = np.nanmin(bounds.margins(X, labels, w, t, norm=2), initial=np.inf)
    if gamma == np.inf:  # labels that say nothing at all
        return
    assert gamma > 0
    n_classes = len(labels.order)
    count, _ = plain_pril(X, labels.lower, labels.upper, n_classes)
    bound = bounds.pril_mistakes(bounds.data_radius(X), gamma, n_classes, bounds.smallest_width(labels))
    assert sum(count) <= bound


@given(SEEDS, st.sampled_from([0.01, 0.1, 1.0, 10.0]))
def test_theorem_2_bounds_the_violations_on_any_stream(seed, gamma):
    X, labels, w, t = stream(seed, separable=False)
    n_classes = len(labels.order)
    count, _ = plain_pril(X, labels.lower, labels.upper, n_classes)
    lacking = bounds.deviation(X, labels, w, t, gamma)
    c = bounds.smallest_width(labels)
    assert sum(count) <= bounds.pril_mistakes_noisy(bounds.data_radius(X), gamma, n_classes, lacking, c)


@given(SEEDS, st.booleans(), st.sampled_from([0.0, 1.0, 5.0]))
def test_theorem_3_bounds_the_regret_against_any_reference(seed, separable, norm):
    X, labels, w, t = stream(seed, separable=separable)
    n_classes = len(labels.order)
    _, models = plain_pril(X, labels.lower, labels.upper, n_classes)
    scores = [w_t @ x for (w_t, _), x in zip(models, X, strict=True)]
    thresholds = np.array([t_t for _, t_t in models]).reshape(len(X), n_classes - 1)
    ours = implicit_surrogate(scores, thresholds, labels.lower, labels.upper).sum()
    scale = norm / np.linalg.norm(np.concatenate([w, t]))
    theirs = implicit_surrogate(X @ w * scale, t * scale, labels.lower, labels.upper).sum()
    radius, c = bounds.data_radius(X), bounds.smallest_width(labels)
    assert ours - theirs <= bounds.pril_regret(radius, norm, len(X), n_classes, c)


@pytest.mark.parametrize(("n_classes", "radius"), [(3, 1.0), (5, 2.0), (8, 0.5)])
def test_theorem_3_needs_its_correction_and_is_then_tight(n_classes, radius):
    # The same row as the highest class and then as the lowest. Round 1 moves w by (K-1) x and every threshold by -1;
    # round 2 then costs (K-1) ((K-1) R^2 + 1), while the zero reference (norm 0) never costs anything.
    X = np.array([[radius], [radius]])
    top = n_classes - 1
    ends = np.array([top, 0])
    _, models = plain_pril(X, ends, ends, n_classes)
    regret = sum(implicit_surrogate(w @ x, t, int(e), int(e))[0] for (w, t), x, e in zip(models, X, ends, strict=True))
    printed = 2 * (radius**2 + 1) * top / 2
    assert regret > printed
    assert regret == bounds.pril_regret(radius, 0.0, 2, n_classes)


@given(SEEDS, st.booleans())
def test_theorem_4_bounds_the_violations_of_both_forms(seed, signed):
    X, labels, w, t = stream(seed, non_negative=not signed)
    n_classes = len(labels.order)
    gamma = np.nanmin(bounds.margins(X, labels, w, t, norm=1), initial=np.inf)
    if gamma == np.inf:
        return
    assert 0 < gamma <= 1
    c = bounds.smallest_width(labels)
    eta = bounds.multiplicative_pril_rate(gamma, n_classes, c)
    count = plain_multiplicative_pril(X, labels.lower, labels.upper, n_classes, eta, signed)
    coordinates = (n_classes + X.shape[1] - 1) * (2 if signed else 1)
    assert count <= bounds.multiplicative_pril_mistakes(gamma, n_classes, coordinates, c)


@pytest.mark.parametrize("n", [4, 16])
def test_theorem_1_is_attained(n):
    # Corners of a simplex with <x_i, x_j> = -1: the vectors (x_i, -1) that the perceptron adds up are orthogonal, so
    # every round of two classes is a tie, a violation; their signed mean has the margin sqrt(R^2 + 1) / sqrt(n).
    X = math.sqrt(n) * (np.eye(n) - 1 / n)
    labels = encode(np.arange(n) % 2)
    z = 2 * labels.lower - 1
    w, t = z @ X, np.array([-z.sum()])
    gamma = np.nanmin(bounds.margins(X, labels, w, t, norm=2))
    count, _ = plain_pril(X, labels.lower, labels.upper, 2)
    assert sum(count) == n
    assert bounds.pril_mistakes(bounds.data_radius(X), gamma, 2) == pytest.approx(n)


@given(st.floats(0, 10), st.floats(0.01, 10), st.integers(2, 9), st.floats(0.01, 10))
def test_theorem_2_is_the_least_of_its_proof(radius, gamma, n_classes, lacking):
    def bound(log_delta):  # Theorem 1 with one more coordinate of size delta for every constraint
        delta = math.exp(log_delta)
        return (1 + (lacking / delta) ** 2) * bounds.pril_mistakes(math.hypot(radius, delta), gamma, n_classes)

    best = minimize_scalar(bound, bounds=(-10, 10), method="bounded", options={"xatol": 1e-10})
    assert bounds.pril_mistakes_noisy(radius, gamma, n_classes, lacking) == pytest.approx(best.fun)


@given(st.floats(0, 10), st.floats(0.01, 10), st.integers(2, 9), st.data())
def test_theorem_1_is_its_formula(radius, gamma, n_classes, data):
    c = data.draw(st.integers(0, n_classes - 1))
    expected = (radius**2 + 1) * (n_classes - c - 1) / gamma**2
    assert bounds.pril_mistakes(radius, gamma, n_classes, c) == pytest.approx(expected)


def test_the_bounds_can_fail():
    # Two opposite labels for one row: not separable, so Theorem 1 with an invented margin must break.
    X, ends = np.ones((200, 1)), np.tile([0, 2], 100)
    count, _ = plain_pril(X, ends, ends, 3)
    assert sum(count) > bounds.pril_mistakes(1.0, 1.0, 3)


@given(st.floats(0.001, 0.999), st.integers(2, 9), st.integers(2, 1000), st.data())
def test_the_rate_minimises_the_bound_of_the_proof(gamma, n_classes, n_coordinates, data):
    c = data.draw(st.integers(0, n_classes - 2))
    most = n_classes - c - 1

    def gain(eta):  # the denominator of eq. 8
        return eta * gamma - math.log(math.cosh(eta * most))

    eta = bounds.multiplicative_pril_rate(gamma, n_classes, c)
    assert eta == pytest.approx(math.log((most + gamma) / (most - gamma)) / (2 * most), rel=1e-9)
    best = minimize_scalar(lambda e: -gain(e), bounds=(0, 4 * eta), method="bounded")
    assert gain(eta) >= -best.fun - 1e-12
    bound = bounds.multiplicative_pril_mistakes(gamma, n_classes, n_coordinates, c)
    assert bound == pytest.approx(math.log(n_coordinates) / gain(eta), rel=1e-6)
    assert bound <= 2 * most**2 * math.log(n_coordinates) / gamma**2 * (1 + 1e-12)


@given(st.floats(0, 10), st.floats(0.01, 10), st.integers(2, 9), st.floats(0, 10), st.data())
def test_the_bounds_move_as_they_should(radius, gamma, n_classes, lacking, data):
    c = data.draw(st.integers(0, n_classes - 1))
    assert bounds.pril_mistakes_noisy(radius, gamma, n_classes, 0.0, c) == pytest.approx(
        bounds.pril_mistakes(radius, gamma, n_classes, c)
    )
    noisy = bounds.pril_mistakes_noisy(radius, gamma, n_classes, lacking, c)
    assert noisy >= bounds.pril_mistakes(radius, gamma, n_classes, c) * (1 - 1e-12)
    if c > 0:
        assert noisy <= bounds.pril_mistakes_noisy(radius, gamma, n_classes, lacking, c - 1)
    assert bounds.pril_mistakes(radius, gamma, n_classes, n_classes - 1) == 0
    assert bounds.pril_regret(radius, 0.0, 7, n_classes, n_classes - 1) == 0


def test_extreme_margins():
    assert bounds.multiplicative_pril_mistakes(0.5, 4, 10, min_width=3) == 0
    # g(1) = log 2, as a limit.
    assert bounds.multiplicative_pril_mistakes(1.0, 2, 16) == pytest.approx(math.log(16) / math.log(2))
    near, at = (bounds.multiplicative_pril_mistakes(gamma, 2, 16) for gamma in (1 - 1e-12, 1.0))
    assert near == pytest.approx(at)
    assert bounds.multiplicative_pril_mistakes(1e-200, 4, 10) == math.inf
    assert bounds.pril_mistakes(1.0, 1e-200, 4) == math.inf
    # For small u, g(u) = u^2 / 2 + u^4 / 12 + ...
    small = bounds.multiplicative_pril_mistakes(1e-7, 2, 10)
    assert small == pytest.approx(2 * math.log(10) / 1e-14, rel=1e-12)


@given(annotated(), SEEDS, st.sampled_from([None, 1, 2]))
def test_margins_and_deviation_are_the_plain_loops(rows, seed, norm):
    rng = np.random.default_rng(seed)
    n, d, n_classes = len(rows.y), 3, len(rows.classes)
    X, w, t = rng.normal(size=(n, d)), rng.normal(size=d), np.sort(rng.normal(size=n_classes - 1))
    size = {None: 1.0, 1: sum(abs(w)) + sum(abs(t)), 2: math.sqrt(sum(w**2) + sum(t**2))}[norm]
    expected = np.full((n, n_classes - 1), np.nan)
    for row, admitted in enumerate(rows.codes):
        for i in range(n_classes - 1):
            z = 1 if i < admitted[0] else -1 if i >= admitted[-1] else None
            if z is not None:
                expected[row, i] = z * (X[row] @ w - t[i]) / size
    labels = rows.encoded()
    for rows_of_X in (X, csr_array(X)):
        np.testing.assert_allclose(bounds.margins(rows_of_X, labels, w, t, norm=norm), expected, atol=1e-12)
    if norm == 2:
        lacking = [max(0.0, 0.3 - z) for z in expected.ravel() if not math.isnan(z)]
        result = bounds.deviation(X, labels, 5 * w, 5 * t, margin=0.3)  # the scale of the reference does not matter
        assert result == pytest.approx(math.sqrt(sum(v * v for v in lacking)), abs=1e-12)


def rank_separable(rng, n_classes, n=40):
    """Rows with a constant attribute, their ranks, and the margin of a reference of norm 1 that answers them all."""
    X = np.column_stack([rng.standard_normal((n, 3)) * rng.choice([1.0, 8.0]), np.ones(n)])
    thresholds = np.sort(rng.standard_normal(n_classes - 1))
    reference = np.column_stack([np.tile(rng.standard_normal(3), (n_classes - 1, 1)), -thresholds])
    answers = X @ reference.T
    clear = np.abs(answers).min(axis=1) > 0.05
    X, answers = X[clear], answers[clear]
    return X, (answers > 0).sum(axis=1), float(np.abs(answers).min(initial=np.inf) / np.linalg.norm(reference))


def passive_aggressive_losses(X, y, n_classes, margin, delta):
    """|y - yhat| of every round of four passes."""
    model = CuSumRank(
        step="pa", margin=margin, delta=delta, fit_intercept=False, average=False, classes=range(n_classes)
    )
    return np.concatenate([np.abs(model.progressive_predict(X, y) - y) for _ in range(4)])


@given(seed=SEEDS, n_classes=st.integers(2, 6), delta=st.sampled_from([0.1, 1.0, 7.0]))
def test_corollary_4_on_rank_separable_streams(seed, n_classes, delta):
    X, y, margin = rank_separable(np.random.default_rng(seed), n_classes)
    assume(len(X) > 5)
    bound = bounds.cusum_passive_aggressive_loss(bounds.data_radius(X), margin)
    assert passive_aggressive_losses(X, y, n_classes, "loss", delta).sum() <= bound
    assert np.count_nonzero(passive_aggressive_losses(X, y, n_classes, "constant", delta)) <= bound


def test_corollary_4_as_printed_is_false():
    losses = passive_aggressive_losses(np.array([[3.0]]), np.array([1]), 2, "loss", 1.0)
    assert losses.sum() == 1 <= bounds.cusum_passive_aggressive_loss(radius=3.0, margin=3.0)


@given(seed=SEEDS, n_classes=st.integers(2, 5), step=st.sampled_from(["perceptron", "pa"]))
@settings(max_examples=30)
def test_theorems_1_and_2_on_separable_streams(seed, n_classes, step):
    X, y, margin = rank_separable(np.random.default_rng(seed), n_classes, n=20)
    assume(len(X) > 5)
    model = CumulativeRanks(list(range(n_classes)), fit_intercept=False)
    margin_of_steps = "loss" if step == "pa" else "none"
    learner = StructuredPerceptron(model, step=step, margin=margin_of_steps, average=False)
    for _ in range(3):
        learner.partial_fit(X, y.tolist())
    # A difference of features is x in as many blocks as there are ranks between: squared norm loss |x|^2.
    assert learner.loss_ <= bounds.structured_loss(bounds.data_radius(X) / margin)


def test_theorem_2_bounds_losses_and_not_their_squares():
    learner = StructuredPerceptron(CumulativeRanks([1, 2, 3], fit_intercept=False), step="pa", average=False)
    size = math.sqrt(2.0)  # the reference (1, 1) / sqrt(2) answers x = sqrt(2) by 1, the loss of each rank
    learner.learn_one([size], 3)
    assert learner.loss_ == 2 <= bounds.structured_loss(size) * (1 + 1e-12)
    assert learner.loss_**2 > bounds.structured_loss(size)


@given(
    seed=SEEDS, margin=st.floats(0.05, 5.0), largest=st.sampled_from([0.2, 1.0, 30.0]), warm=st.sampled_from([0, 1, 20])
)
def test_theorem_4_from_any_start(seed, margin, largest, warm):
    rng = np.random.default_rng(seed)
    X, y, weight = rng.standard_normal((60, 3)), rng.integers(0, 3, 60), rng.uniform(0, largest, 60)
    y = np.where(rng.random(60) < 0.7, (X @ rng.standard_normal((3, 3))).argmax(axis=1), y)
    options = dict(fit_intercept=False, average=False, classes=[0, 1, 2])
    model = ImportanceWeightedPerceptron(**options).partial_fit(np.eye(3), [0, 1, 2])  # every class has been met
    model.partial_fit(X[:warm], y[:warm], sample_weight=weight[:warm]) if warm else None
    start, before = model.coef_.copy(), model.cost_
    model.partial_fit(X, y, sample_weight=weight)
    u = rng.standard_normal((3, 3)) if seed % 2 else start / (np.linalg.norm(start) or 1.0)
    loss = bounds.importance_weighted_hinge(X, encode(y, [0, 1, 2]), u, weight, margin=margin)
    bound = bounds.importance_weighted_cost_at_margin(
        bounds.data_radius(X), float(np.linalg.norm(u)), loss, margin, float(weight.max()),
        start_norm=float(np.linalg.norm(start)), start_product=float(np.sum(u * start)),
    )  # fmt: skip
    assert model.cost_ - before <= bound


@given(st.floats(0, 5), st.floats(0, 5), st.floats(0, 50), st.floats(0, 9), st.booleans())
def test_theorem_4_at_margin_1_from_zero_is_sharper_than_theorem_3(radius, norm, loss, weight, multiclass):
    theorem_3 = bounds.importance_weighted_cost(radius, norm, loss, weight, multiclass=multiclass)
    theorem_4 = bounds.importance_weighted_cost_at_margin(radius, norm, loss, max_weight=weight, multiclass=multiclass)
    assert theorem_4 <= theorem_3 * (1 + 1e-12)


def test_radius_and_width_of_data():
    X = np.array([[3.0, -4.0], [0.0, 0.0]])
    assert bounds.data_radius(X) == bounds.data_radius(csr_array(X)) == math.hypot(3, 4)
    assert bounds.data_radius(np.zeros((0, 2))) == 0
    assert bounds.smallest_width(encode([(1, 3), None, {1, 2}], [1, 2, 3, 4])) == 1
    assert bounds.smallest_width(encode([], [1, 2, 3])) == 2


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bounds.pril_mistakes(-1.0, 1.0, 3), r"radius must be a finite number >= 0\. Got -1\.0"),
        (lambda: bounds.pril_mistakes(1.0, 0.0, 3), r"margin must be a finite number > 0\. Got 0\.0"),
        (lambda: bounds.pril_mistakes(1.0, math.nan, 3), r"margin must be a finite number > 0\. Got nan"),
        (lambda: bounds.pril_mistakes(1.0, "1", 3), r"margin must be a finite number > 0\. Got '1'"),
        (lambda: bounds.pril_mistakes(1.0, 1.0, 1), r"n_classes must be an integer >= 2\. Got 1"),
        (lambda: bounds.pril_mistakes(1.0, 1.0, 3.0), r"n_classes must be an integer >= 2\. Got 3\.0"),
        (lambda: bounds.pril_mistakes(1.0, 1.0, 3, -1), r"min_width must be an integer >= 0\. Got -1"),
        (lambda: bounds.pril_mistakes(1.0, 1.0, 3, 3), r"min_width must be at most n_classes - 1 = 2\. Got 3"),
        (lambda: bounds.pril_mistakes_noisy(1.0, 1.0, 3, -0.5), r"deviation must be a finite number >= 0\. Got -0\.5"),
        (lambda: bounds.pril_regret(1.0, -1.0, 5, 3), r"norm must be a finite number >= 0\. Got -1\.0"),
        (lambda: bounds.pril_regret(1.0, 1.0, 5.5, 3), r"n_rounds must be an integer >= 0\. Got 5\.5"),
        (lambda: bounds.multiplicative_pril_mistakes(1.5, 3, 4), r"margin must lie in \(0, 1\].*Got 1\.5"),
        (lambda: bounds.multiplicative_pril_mistakes(0.5, 3, 0), r"n_coordinates must be an integer >= 1\. Got 0"),
        (lambda: bounds.multiplicative_pril_rate(0.0, 3), r"margin must lie in \(0, 1\].*Got 0\.0"),
        (lambda: bounds.multiplicative_pril_rate(1.0, 2), r"margin must be below n_classes - min_width - 1 = 1"),
        (lambda: bounds.multiplicative_pril_rate(0.5, 3, 2), r"margin must be below n_classes - min_width - 1 = 0"),
        (lambda: bounds.importance_weighted_cost(1.0, 1.0, -2.0), r"loss must be a finite number >= 0\. Got -2\.0"),
        (
            lambda: bounds.importance_weighted_cost(1.0, 1.0, 2.0, -1),
            r"max_weight must be a finite number >= 0\. Got -1",
        ),
        (
            lambda: bounds.importance_weighted_cost_at_margin(1.0, 1.0, 2.0, start_norm=1.0, start_product=3.0),
            r"start_product must lie within norm \* start_norm = 1 of 0\. Got 3\.0",
        ),
        (
            lambda: bounds.importance_weighted_hinge(np.zeros((2, 3)), encode([1, 2]), np.zeros((3, 2))),
            r"coef shape \(K, d\), K = 2\. Got X of shape \(2, 3\), 2 labels and coef of shape \(3, 2\)",
        ),
    ],
)
def test_domains(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"thresholds": [0.0]}, r"thresholds must have shape \(2,\), K - 1\. Got shape \(1,\)"),
        ({"coef": [1.0]}, r"Got X of shape \(2, 2\), 2 labels and coef of shape \(1,\)"),
        ({"X": np.zeros((3, 2))}, r"Got X of shape \(3, 2\), 2 labels"),
        ({"norm": 3}, r"norm must be 1, 2 or None\. Got 3"),
        ({"coef": [0.0, 0.0], "thresholds": [0.0, 0.0], "norm": 2}, r"must not be zero"),
    ],
)
def test_bad_references(change, message):
    good = {"X": np.zeros((2, 2)), "labels": encode([1, 2], [1, 2, 3]), "coef": [1.0, 0.0], "thresholds": [0.0, 1.0]}
    bounds.margins(**good)
    with pytest.raises(ValueError, match=message):
        bounds.margins(**{**good, **change})
