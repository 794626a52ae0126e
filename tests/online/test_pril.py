"""PRIL against its plain twin, its bounds, and a QP solver."""

import clarabel
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from rankwise import PRIL, PRank, bounds
from rankwise.labels import encode
from tests.reference.pril import PlainPRIL, sides
from tests.streams import make_separable, make_stream


def plain(stream, weighted):
    twin = PlainPRIL(stream.X.shape[1], stream.n_classes)
    last, averaged = [], []
    for x, lo, hi, c in zip(stream.X, stream.lower, stream.upper, stream.weight, strict=True):
        last.append(twin.predict(x))
        averaged.append(twin.predict_averaged(x))
        twin.learn(x, lo, hi, c if weighted else 1.0)
    return twin, last, averaged


@given(seed=st.integers(0, 10_000), n_classes=st.integers(2, 7), weighted=st.booleans())
def test_rounds_are_those_of_the_plain_twin(seed, n_classes, weighted):
    stream = make_stream(seed, n=80, n_classes=n_classes)
    twin, last, averaged = plain(stream, weighted)
    weight = stream.weight if weighted else None
    for average, expected in ((False, last), (True, averaged)):
        model = PRIL(average=average, classes=stream.classes)
        predicted = model.progressive_predict(stream.X, stream.y, sample_weight=weight)
        # Averages of exact ties may fall on either side by rounding: then the scores themselves agree.
        assert np.mean(predicted != expected) <= (0.0 if not average else 0.03)
        assert model.n_violations_ == sum(twin.violations)
    np.testing.assert_allclose(model.coef_, twin.sum_w / twin.rounds, atol=1e-12)
    np.testing.assert_allclose(model.thresholds_, twin.sum_t / twin.rounds, atol=1e-12)
    model.set_params(average=False)
    np.testing.assert_allclose(model.coef_, twin.w, atol=1e-12)
    np.testing.assert_allclose(model.thresholds_, twin.t, atol=1e-12)


@pytest.mark.parametrize("step", ["perceptron", "pa", "pa1", "pa2"])
@given(seed=st.integers(0, 10_000), n_classes=st.integers(2, 8))
def test_thresholds_stay_in_order(step, seed, n_classes):
    stream = make_stream(seed, n=60, n_classes=n_classes)
    model = PRIL(step=step, C=0.1, average=False, classes=stream.classes)
    for i in range(len(stream)):
        model.partial_fit(stream.X[i : i + 1], stream.y[i : i + 1], sample_weight=stream.weight[i : i + 1])
        assert np.all(np.diff(model._state["t"]) >= 0), i


@given(seed=st.integers(0, 10_000), n_classes=st.integers(2, 6))
def test_unit_weights_keep_thresholds_on_the_integers(seed, n_classes):
    stream = make_stream(seed, n_classes=n_classes)
    model = PRIL(average=False, classes=stream.classes).partial_fit(stream.X, stream.y)
    np.testing.assert_array_equal(model.thresholds_, np.round(model.thresholds_))


@given(seed=st.integers(0, 10_000))
def test_exact_label_is_an_interval_of_width_zero(seed):
    stream = make_stream(seed, exact=1.0)
    assert np.array_equal(stream.lower, stream.upper)
    from_intervals = PRIL(classes=stream.classes).partial_fit(stream.X, stream.y)
    from_labels = PRank(classes=stream.classes).partial_fit(stream.X, stream.lower)
    np.testing.assert_array_equal(from_intervals.coef_, from_labels.coef_)
    np.testing.assert_array_equal(from_intervals.thresholds_, from_labels.thresholds_)


@pytest.mark.parametrize("step", ["perceptron", "pa", "pa1", "pa2"])
def test_full_interval_never_updates(step, rng):
    X = rng.standard_normal((50, 3))
    y = np.tile([0, 4], (50, 1))
    model = PRIL(step=step, classes=range(5)).partial_fit(X, y)
    assert model.n_updates_ == 0
    assert not model.coef_.any()


@given(seed=st.integers(0, 10_000), n_classes=st.integers(2, 5))
def test_theorem_1_on_separable_streams(seed, n_classes):
    stream = make_separable(seed, n=300, d=3, n_classes=n_classes, gap=0.1)
    labels = encode(stream.y, stream.classes)
    margins = bounds.margins(stream.X, labels, stream.coef, stream.thresholds, norm=2)
    model = PRIL(average=False, classes=stream.classes)
    for _ in range(5):  # the bound counts violations however long the stream is
        model.partial_fit(stream.X, stream.y)
    bound = bounds.pril_mistakes(
        bounds.data_radius(stream.X), np.nanmin(margins), n_classes, bounds.smallest_width(labels)
    )
    assert 0 < model.n_violations_ <= bound


@given(seed=st.integers(0, 10_000), n_classes=st.integers(2, 5), margin=st.floats(0.05, 1.0))
def test_theorem_2_on_noisy_streams(seed, n_classes, margin):
    stream = make_stream(seed, n=300, n_classes=n_classes, noise=0.5)
    labels = encode(stream.y, stream.classes)
    deviation = bounds.deviation(stream.X, labels, stream.coef, stream.thresholds, margin)
    model = PRIL(average=False, classes=stream.classes).partial_fit(stream.X, stream.y)
    bound = bounds.pril_mistakes_noisy(
        bounds.data_radius(stream.X), margin, n_classes, deviation, bounds.smallest_width(labels)
    )
    assert 0 < model.n_violations_ <= bound


def qp_step(w, t, x, lo, hi, C, kind):
    """min |w'-w|^2/2 + |t'-t|^2/2 + penalty over (w', t', xi) with z_i (<w', x> - t'_i) >= 1 - xi_i, by Clarabel."""
    z = sides(lo, hi, t.size)
    active = np.flatnonzero(z)
    if np.all(z[active] * (w @ x - t[active]) >= 1.0):  # optimal already; interior points only come near
        return w, t
    d, k, m = w.size, t.size, active.size
    n = d + k + m
    quadratic = np.concatenate([np.ones(d + k), np.full(m, 2 * C if kind == "pa2" else 0.0)])
    linear = np.concatenate([-w, -t, np.full(m, C if kind == "pa1" else 0.0)])
    constraints = np.zeros((2 * m, n))
    for row, i in enumerate(active):  # -z (<w', x> - t'_i) - xi <= -1
        constraints[row, :d] = -z[i] * x
        constraints[row, d + i] = z[i]
        constraints[row, d + k + row] = -1.0
        constraints[m + row, d + k + row] = -1.0  # -xi <= 0
    if kind == "pa":  # no slack at all
        constraints[m:, d + k :] = 0.0
        constraints[:m, d + k :] = 0.0
        quadratic[d + k :] = 1.0
    right = np.concatenate([-np.ones(m), np.zeros(m)])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    solver = clarabel.DefaultSolver(
        sparse.csc_matrix(np.diag(quadratic)), linear, sparse.csc_matrix(constraints), right,
        [clarabel.NonnegativeConeT(2 * m)], settings,
    )  # fmt: skip
    v = np.array(solver.solve().x)
    return v[:d], v[d : d + k]


@pytest.mark.parametrize("kind", ["pa", "pa1", "pa2"])
@given(seed=st.integers(0, 10_000), n_classes=st.integers(2, 7), C=st.sampled_from([0.05, 0.5, 3.0]))
def test_passive_aggressive_step_is_the_qp_optimum(kind, seed, n_classes, C):
    rng = np.random.default_rng(seed)
    model = PRIL(step=kind, C=C, average=False, classes=range(n_classes))
    model.partial_fit(np.zeros((1, 3)), [(0, n_classes - 1)])
    model._state["w"][:] = rng.standard_normal(3)
    model._state["t"][:] = np.sort(rng.standard_normal(n_classes - 1)) * 2
    lo, hi = np.sort(rng.integers(0, n_classes, 2))
    if lo == 0 and hi == n_classes - 1:
        lo = hi
    x = rng.standard_normal(3) * rng.choice([0.3, 1.0, 4.0])
    weight = rng.choice([1.0, 0.5, 3.0])
    expected = qp_step(model.coef_, model.thresholds_, x, lo, hi, C * weight, kind)
    model.partial_fit(x[None], [(lo, hi)], sample_weight=[weight])
    np.testing.assert_allclose(model.coef_, expected[0], atol=2e-6)
    np.testing.assert_allclose(model.thresholds_, expected[1], atol=2e-6)


def test_hard_passive_aggressive_step_satisfies_every_constraint(rng):
    model = PRIL(step="pa", average=False, classes=range(6))
    for _ in range(200):
        x = rng.standard_normal(4)
        lo, hi = np.sort(rng.integers(0, 6, 2))
        model.partial_fit(x[None], [(lo, hi)])
        z = sides(lo, hi, 5)
        assert np.all(z * (model.coef_ @ x - model.thresholds_) >= np.abs(z) - 1e-9)


def test_row_of_zeros_moves_only_thresholds():
    for step in ("perceptron", "pa", "pa1", "pa2"):
        model = PRIL(step=step, average=False, classes=range(3)).partial_fit(np.zeros((1, 2)), [0])
        assert not model.coef_.any()
        assert np.all(model.thresholds_ > 0)
        assert np.all(np.isfinite(model.thresholds_))


def test_mirror_image_of_the_labels_mirrors_the_margin_methods():
    """Reversing the order and negating X mirrors predictions (PRIL's perceptron step starts on a tie, so not there)."""
    stream = make_stream(3, n_classes=5)
    model = PRIL(step="pa1", average=False, classes=stream.classes).partial_fit(stream.X, stream.y)
    mirrored = PRIL(step="pa1", average=False, classes=stream.classes)
    mirrored.partial_fit(-stream.X, 4 - stream.y[:, ::-1])
    np.testing.assert_allclose(mirrored.thresholds_, -model.thresholds_[::-1], atol=1e-9)
    np.testing.assert_array_equal(mirrored.predict(-stream.X), 4 - model.predict(stream.X))
