"""CumulativeLink: the optimum and its certificate, every kind of label, probabilities, and what labels cannot tell."""

import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.utils.estimator_checks import parametrize_with_checks

import rankwise as rw
from rankwise import CumulativeLink
from rankwise.risks.coded_rows import CodedRows
from rankwise.risks.link_risk import LinkRisk, ProfiledRisk
from rankwise.risks.links import LINKS, probabilities
from rankwise.solvers.design import Design
from rankwise.solvers.risk import Risk
from tests.reference.cumulative_link import log_probability, objective, optimum
from tests.streams import make_stream

K = 4
each_link = pytest.mark.parametrize("link", LINKS)

MEDIAN_IS_NOT_MODE = "the check wants the most probable class, and this predicts the median"
SEPARABLE = "the labels of the check are separable: maximum likelihood has no optimum to compare"


def _expected_failures(estimator):
    failures = {} if estimator.decision == "mode" else {"check_classifiers_train": MEDIAN_IS_NOT_MODE}
    if estimator.alpha == 0:
        kinds = ("dense", "sparse")
        failures |= {f"check_sample_weight_equivalence_on_{kind}_data": SEPARABLE for kind in kinds}
    return failures


@pytest.mark.filterwarnings("ignore::rankwise.labels.OrderWarning")
@pytest.mark.filterwarnings("ignore:CumulativeLink.alpha=0.:sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:CumulativeLink. no label needs:UserWarning")
@parametrize_with_checks(
    [CumulativeLink(), CumulativeLink("probit", decision="mode"), CumulativeLink(alpha=0)],
    expected_failed_checks=_expected_failures,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def _data(kind, weighted=True, seed=3, n=60, d=3):
    stream = make_stream(seed, n=n, d=d, n_classes=K, noise=1.0, exact=1.0 if kind == "exact" else 0.4)
    weight = stream.weight if weighted else np.ones(len(stream))
    return stream.X, stream.lower, stream.upper, weight


@each_link
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("kind", ["exact", "interval"])
def test_the_optimum_of_a_general_solver_and_a_true_certificate(link, kind, weighted):
    X, lower, upper, weight = _data(kind, weighted)
    best = optimum(link, X, lower, upper, weight, K, 0.05)
    model = CumulativeLink(link, alpha=0.05, tol=1e-9, classes=range(K))
    model.fit(X, np.column_stack([lower, upper]), sample_weight=weight)
    direct = objective(link, model.coef_, model.thresholds_, X, lower, upper, weight, 0.05)
    assert model.objective_ == pytest.approx(direct, rel=1e-10)
    assert model.objective_ == pytest.approx(best, rel=1e-6)
    assert model.lower_bound_ <= best + 1e-8
    assert 0.0 <= model.gap_ <= 1e-9


@each_link
@settings(max_examples=6)
@given(seed=st.integers(0, 10_000), exponent=st.integers(-4, 1), tol=st.sampled_from([0.3, 1e-2, 1e-4]))
def test_objective_and_lower_bound_bracket_the_optimum(link, seed, exponent, tol):
    X, lower, upper, weight = _data("interval", seed=seed)
    model = CumulativeLink(link, alpha=10.0**exponent, classes=range(K))
    y = np.column_stack([lower, upper])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # few rows may leave a class without a label
        best = clone(model).set_params(tol=1e-10).fit(X, y, sample_weight=weight).objective_
        model.set_params(tol=tol).fit(X, y, sample_weight=weight)
    assert model.lower_bound_ - 1e-9 <= best <= model.objective_ + 1e-9
    assert model.gap_ <= tol


@each_link
def test_derivatives_are_the_limits_of_differences(link):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 2))
    lower = rng.integers(0, 5, 40)
    upper = np.minimum(lower + rng.integers(0, 3, 40), 4)
    weight = rng.random(40)
    keep = (lower > 0) | (upper < 4)
    rows = CodedRows(weight[keep] / weight[keep].sum(), lower[keep].astype(np.int32), upper[keep].astype(np.int32))
    risk, design = LinkRisk(rows, 5, link), Design(X[keep], 2)
    theta = np.array([0.7, -0.4, -1.0, -0.6, 0.5, 0.52])
    assert risk.n_offsets == 4

    def gradient(theta):
        value, r, dt = risk.derivatives(design.times(theta[None, :2]), theta[2:])
        return value, np.concatenate([design.pull(r)[0], dt])

    value, slopes = gradient(theta)
    direct = objective(link, theta[:2], theta[2:], X[keep], lower[keep], upper[keep], weight[keep], 0.0)
    assert risk.exact(design.times(theta[None, :2]), theta[2:])[0] == pytest.approx(direct, rel=1e-11)
    assert value == pytest.approx(direct, abs=1e-7)  # with the barrier that keeps order
    units = 1e-6 * np.eye(6)
    found = [(gradient(theta + u)[0] - gradient(theta - u)[0]) / 2e-6 for u in units]
    np.testing.assert_allclose(slopes, found, atol=1e-7)
    bends = [(gradient(theta + u)[1] - gradient(theta - u)[1]) / 2e-6 for u in units]
    hessian = risk.hessian(design, design.times(theta[None, :2]), theta[2:])
    np.testing.assert_allclose(hessian, bends, atol=2e-4 * np.abs(hessian).max())


# -- probabilities -----------------------------------------------------------------------------------------------------


@each_link
def test_probabilities_are_those_of_the_formula_in_both_tails(link):
    t = np.array([-2.0, -1.9999, 0.3, 4.0])
    scores = np.array([-30.0, -8.0, -2.0, 0.0, 0.31, 5.0, 12.0, 30.0])
    padded = np.concatenate([[-np.inf], t, [np.inf]])
    P = probabilities(link, scores, t)
    exact = log_probability(link, padded[1:], padded[:-1], scores[:, None])
    seen = exact > -600.0
    # The formula itself loses digits where the two ends are near each other.
    np.testing.assert_allclose(np.log(P[seen]), exact[seen], rtol=1e-7, atol=1e-7)
    assert (P[~seen] < 1e-250).all()


@each_link
def test_probabilities_add_up_and_are_never_negative_however_far_the_scores(link):
    rng = np.random.default_rng(0)
    t = np.sort(np.concatenate([rng.normal(size=6), rng.normal(size=3) * 500.0, [0.1, 0.1, np.inf, np.inf, -np.inf]]))
    scores = np.concatenate([[-1e4, 1e4, -1e300, 1e300, 0.0], rng.normal(size=50) * 400, rng.normal(size=50)])
    P = probabilities(link, scores, t)
    assert np.isfinite(P).all()
    assert (P >= 0.0).all()
    np.testing.assert_allclose(P.sum(axis=1), 1.0, atol=1e-13)
    assert (P[:, np.flatnonzero(t[1:] == t[:-1]) + 1] == 0.0).all()


@each_link
def test_quantiles_intervals_and_decisions_follow_from_the_probabilities(link):
    X, lower, upper, _ = _data("interval", n=200)
    model = CumulativeLink(link, alpha=0.01, classes=["a", "b", "c", "d"])
    model.fit(X, [("abcd"[lo], "abcd"[hi]) for lo, hi in zip(lower, upper, strict=True)])
    P, names = model.predict_proba(X), np.array(list("abcd"))
    cumulative = P.cumsum(axis=1)
    np.testing.assert_array_equal(model.predict(X), names[(cumulative <= 0.5).sum(axis=1)])
    np.testing.assert_array_equal(model.predict_quantile(X, 0.8), names[(cumulative < 0.8).sum(axis=1)])
    ends = np.searchsorted(names, model.predict_interval(X, 0.7))
    inside = cumulative[np.arange(200), ends[:, 1]] - np.pad(cumulative, ((0, 0), (1, 0)))[np.arange(200), ends[:, 0]]
    assert (inside >= 0.7).all()
    costs = np.abs(np.subtract.outer(range(4), range(4))) ** 1.5
    for decision, expected in {
        "mode": P.argmax(axis=1),
        "mean": np.rint(P @ range(4)).astype(int),
        "cost": (P @ costs).argmin(axis=1),
    }.items():
        model.decision = costs if decision == "cost" else decision
        np.testing.assert_array_equal(model.predict(X), names[expected])
        np.testing.assert_array_equal(model.decision_function(X).argmax(axis=1), expected)
    model.decision = "median"
    np.testing.assert_array_equal(names[model.decision_function(X).argmax(axis=1)], model.predict(X))
    np.testing.assert_allclose(model.project(X), X @ model.coef_)


@pytest.mark.parametrize("decision", ["median", "mode", "mean", [[0, 1], [3, 0]]])
def test_two_classes_are_decided_by_one_sign(decision):
    X, lower, *_ = _data("exact")
    y = (lower > 1).astype(int)
    model = CumulativeLink(decision=decision).fit(X, y)
    scores = model.decision_function(X)
    assert scores.shape == (60,)
    np.testing.assert_array_equal(scores > 0, model.predict(X))


# -- labels ------------------------------------------------------------------------------------------------------------


@each_link
def test_sparse_rows_weights_and_missing_labels(link):
    X, lower, upper, weight = _data("interval")
    weight = np.ceil(3 * weight)
    y = np.column_stack([lower, upper]).astype(float)
    model = CumulativeLink(link, alpha=0.01, classes=range(K)).fit(X, y, sample_weight=weight)
    again = np.repeat(np.arange(len(X)), weight.astype(int))
    more_X, more_y = np.vstack([X, X[:9]]), np.vstack([y, np.full((9, 2), np.nan)])
    for other in (
        clone(model).fit(sparse.csr_matrix(X), y, sample_weight=weight),
        clone(model).fit(X[again], y[again]),
        clone(model).fit(more_X, more_y, sample_weight=np.concatenate([weight, np.ones(9)])),
    ):
        assert other.objective_ == pytest.approx(model.objective_, rel=1e-9)
        np.testing.assert_allclose(other.coef_, model.coef_, atol=1e-6)
        np.testing.assert_allclose(other.thresholds_, model.thresholds_, atol=1e-6)
    single = clone(model).fit(X.astype(np.float32), y, sample_weight=weight)
    assert single.objective_ == pytest.approx(model.objective_, rel=1e-5)


@each_link
def test_a_path_ends_where_single_fits_end(link):
    X, lower, upper, weight = _data("interval")
    model, y, alphas = CumulativeLink(link, classes=range(K)), np.column_stack([lower, upper]), [0.1, 0.01, 0.0]
    for alpha, fitted in zip(alphas, model.path(X, y, alphas, weight), strict=True):
        alone = clone(model).set_params(alpha=alpha).fit(X, y, sample_weight=weight)
        assert fitted.objective_ == pytest.approx(alone.objective_, rel=2e-6)
        assert fitted.gap_ <= 1e-6 or alpha == 0.0
    assert fitted.n_iter_ <= alone.n_iter_ + 1  # rounding decides whether a last step is needed


def test_classes_that_labels_cannot_tell_apart_are_named_once_and_share_their_probability():
    X, lower, *_ = _data("exact", n=200)
    y = np.column_stack([lower, lower])
    y[(lower == 1) | (lower == 2)] = 1, 2
    with pytest.warns(UserWarning, match="cannot tell these classes apart: 1, 2. They share .* equal parts") as caught:
        models = CumulativeLink(classes=range(K)).path(X, y, [0.1, 0.01])
    assert len(caught) == 1
    merged = CumulativeLink(alpha=0.01).fit(X, np.array([0, 1, 1, 2])[lower])
    assert models[1].objective_ == pytest.approx(merged.objective_, rel=1e-6)
    np.testing.assert_allclose(models[1].predict_proba(X)[:, 1:3].sum(axis=1), merged.predict_proba(X)[:, 1], atol=1e-4)
    P = models[1].predict_proba(X.mean(axis=0, keepdims=True))[0]
    assert P[1] == pytest.approx(P[2])
    np.testing.assert_array_equal(models[1].classes_, range(K))


@pytest.mark.parametrize("empty", [0, 2, 3])
def test_classes_without_labels_keep_their_place_and_have_no_probability(empty, tmp_path):
    X, lower, *_ = _data("exact", n=200)
    told = lower != empty
    with pytest.warns(UserWarning, match=f"no label needs these classes, their probability is zero: {empty}"):
        model = CumulativeLink(classes=range(K)).fit(X[told], lower[told])
    without = CumulativeLink().fit(X[told], lower[told])
    P = model.predict_proba(X)
    np.testing.assert_allclose(np.delete(P, empty, axis=1), without.predict_proba(X), atol=1e-12)
    assert (P[:, empty] == 0.0).all()
    assert (model.predict(X) != empty).all()
    np.testing.assert_array_equal(model.decision_function(X).argmax(axis=1), model.predict(X))
    rw.save(model, tmp_path / "m")
    for other in (rw.load(tmp_path / "m"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(other.thresholds_, model.thresholds_)
        np.testing.assert_array_equal(other.predict_proba(X), P)
        assert other.gap_ == model.gap_


def test_labels_that_all_admit_one_class_give_it_everything():
    with pytest.warns(UserWarning, match="no label needs these classes, their probability is zero: 1, 3"):
        model = CumulativeLink(classes=[1, 2, 3]).fit([[0.0], [1.0]], [(1, 2), (2, 3)])
    np.testing.assert_array_equal(model.predict_proba([[5.0]]), [[0.0, 1.0, 0.0]])
    assert (model.objective_, model.lower_bound_) == (0.0, 0.0)


@each_link
def test_thresholds_that_bound_no_label_stay_in_order(link):
    """Nothing in the likelihood keeps them so: left alone, class 1 would get a negative probability."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 2))
    labels = np.array([(0, 0)] * 50 + [(2, 2)] * 50 + [(0, 1)] * 10 + [(1, 2)] * 10)
    y = labels[rng.permutation(120)]
    model = CumulativeLink(link, alpha=0.1, classes=range(3)).fit(X, y)
    assert model.gap_ <= 1e-6
    assert model.thresholds_[0] <= model.thresholds_[1]

    def constrained(theta):
        return objective(link, theta[:2], theta[[2, 2]] + [0.0, 1e-300], X, *y.T, np.ones(120), 0.1)

    best = minimize(constrained, np.zeros(3), method="BFGS").fun
    assert model.objective_ == pytest.approx(best, rel=1e-6)


def test_candidate_sets_are_learnt_to_a_local_optimum():
    X, lower, *_ = _data("exact", n=300)
    rng = np.random.default_rng(0)
    sets = [{int(k), int(k + 2) % K} if rng.random() < 0.4 else {int(k)} for k in lower]
    assert any(s in ({0, 2}, {1, 3}) for s in sets)
    model = CumulativeLink(alpha=0.01, tol=1e-8, classes=range(K)).fit(X, sets)
    assert np.isnan(model.gap_)

    def value(theta):
        P = probabilities("logit", X @ theta[:3], theta[3:])
        likelihood = [P[i, sorted(s)].sum() for i, s in enumerate(sets)]
        return 0.005 * theta[:3] @ theta[:3] - np.mean(np.log(likelihood))

    theta = np.concatenate([model.coef_, model.thresholds_])
    assert model.objective_ == pytest.approx(value(theta), rel=1e-9)
    slopes = [(value(theta + u) - value(theta - u)) / 2e-5 for u in 1e-5 * np.eye(6)]
    np.testing.assert_allclose(slopes, 0.0, atol=1e-4)
    exact = CumulativeLink(alpha=0.01).fit(X, lower)
    assert model.score(X, lower) >= exact.score(X, lower) - 0.1


def test_a_set_without_gaps_is_an_interval():
    X, lower, *_ = _data("exact")
    upper = np.where((lower < 3) & (np.arange(60) % 2 == 0), lower + 1, lower)
    sets = CumulativeLink(classes=range(K)).fit(X, [set(range(a, b + 1)) for a, b in zip(lower, upper, strict=True)])
    pairs = CumulativeLink(classes=range(K)).fit(X, np.column_stack([lower, upper]))
    np.testing.assert_array_equal(sets.coef_, pairs.coef_)


# -- maximum likelihood ------------------------------------------------------------------------------------------------


def test_maximum_likelihood_is_said_to_have_no_certificate():
    X, lower, upper, _ = _data("interval", n=300)
    model = CumulativeLink(alpha=0, classes=range(K)).fit(X, np.column_stack([lower, upper]))
    ridge = CumulativeLink(alpha=1e-9, classes=range(K)).fit(X, np.column_stack([lower, upper]))
    assert np.isnan([model.lower_bound_, model.gap_]).all()
    assert model.objective_ == pytest.approx(ridge.objective_, rel=1e-7)


@each_link
@pytest.mark.parametrize("kind", ["complete", "one column"])
def test_separable_labels_are_named_and_end(link, kind):
    X, lower, *_ = _data("exact", n=300)
    if kind == "complete":
        y = np.digitize(X[:, 1], [-0.5, 0.5])
        X = np.delete(X, 0, axis=1)
        named = "0"
    else:  # a column that only rows of the highest class have
        X = np.column_stack([X, np.where((lower == K - 1) & (np.arange(300) % 3 == 0), 1.0, 0.0)])
        y, named = lower, "3"
    with pytest.warns(ConvergenceWarning, match=f"separable by columns? {named}.*Set alpha > 0"):
        model = CumulativeLink(link, alpha=0).fit(X, y)
    assert model.n_iter_ < 200
    assert np.isfinite(model.coef_).all()


# -- bad input ---------------------------------------------------------------------------------------------------------


def test_bad_parameters_are_refused_with_the_reason():
    X, y = [[0.0], [1.0], [2.0]], [1, 2, 3]
    with pytest.raises(ValueError, match="link='cauchit' is refused: its density is not log-concave"):
        CumulativeLink("cauchit").fit(X, y)
    with pytest.raises(ValueError, match=r"3 classes must have the shape \(3, 3\), true classes in rows. Got \(2, 2\)"):
        CumulativeLink(decision=np.zeros((2, 2))).fit(X, y)
    with pytest.raises(ValueError, match=r"finite numbers >= 0. Got -1 in row 0, column 2"):
        CumulativeLink(decision=[[0, 1, -1], [1, 0, 1], [1, 1, 0]]).fit(X, y)
    model = CumulativeLink().fit(X, y)
    for level in (0.0, 1.0, "wide"):
        with pytest.raises(ValueError, match="level must be a number between 0 and 1, both excluded"):
            model.predict_interval(X, level)
    with pytest.raises(ValueError, match="q must be a number between 0 and 1"):
        model.predict_quantile(X, 1.5)


def test_too_few_iterations_warn_and_say_what_to_do():
    X, lower, *_ = _data("exact")
    with pytest.warns(ConvergenceWarning, match=r"stopped at a relative gap of .* raise max_iter \(now 1\) or tol"):
        CumulativeLink(max_iter=1, tol=1e-12, alpha=1e-6).fit(X, lower)
    for labels in (lower, [{0, 2} if k == 0 else {int(k)} for k in lower]):
        with pytest.warns(
            ConvergenceWarning, match=r"stopped while the likelihood still rose.* raise max_iter \(now 1\)"
        ):
            CumulativeLink(max_iter=1, alpha=0, classes=range(K)).fit(X, labels)


def test_a_file_that_describes_no_model_is_refused():
    model = CumulativeLink().fit([[0.0], [1.0], [2.0]], [1, 2, 3])
    with pytest.raises(ValueError, match="array 'offsets' holds NaN"):
        CumulativeLink().from_plain({**model.to_plain(), "offsets": np.array([0.0, np.nan])})
    with pytest.raises(ValueError, match="thresholds must not descend"):
        CumulativeLink().from_plain({**model.to_plain(), "offsets": np.array([1.0, 0.0])})


def test_grid_search_by_log_loss():
    X, lower, *_ = _data("exact", n=300)
    search = GridSearchCV(CumulativeLink(), {"alpha": [100.0, 0.01]}, cv=KFold(3), scoring="neg_log_loss")
    assert search.fit(X, lower).best_params_ == {"alpha": 0.01}


# -- wide rows ---------------------------------------------------------------------------------------------------------


@each_link
@pytest.mark.parametrize("alpha", [0.01, 0.0])
def test_wide_rows_reach_the_optimum_of_narrow_ones(link, alpha, monkeypatch):
    X, lower, upper, weight = _data("interval", n=300)
    y = np.column_stack([lower, upper])
    narrow = CumulativeLink(link, alpha=alpha, tol=1e-8, classes=range(K)).fit(X, y, weight)
    monkeypatch.setattr("rankwise.solvers.smoothing._NEWTON_UP_TO", 0)
    wide = CumulativeLink(link, alpha=alpha, tol=1e-8, classes=range(K)).fit(sparse.csr_matrix(X), y, weight)
    assert wide.objective_ == pytest.approx(narrow.objective_, rel=1e-8)
    np.testing.assert_allclose(wide.coef_, narrow.coef_, atol=2e-4)
    np.testing.assert_allclose(wide.thresholds_, narrow.thresholds_, atol=2e-4)
    assert wide.gap_ <= 1e-8 or alpha == 0.0
    first, second = wide.path(X, y, [0.02, 0.01], weight)
    assert second.n_iter_ <= wide.n_iter_ or alpha == 0.0
    assert first.gap_ <= 1e-8


@each_link
def test_second_derivatives_at_the_best_thresholds(link):
    X, lower, upper, weight = _data("interval", n=80)
    told = (lower > 0) | (upper < K - 1)
    rows = CodedRows(weight[told] / weight[told].sum(), lower[told].astype(np.int32), upper[told].astype(np.int32))
    risk, design = LinkRisk(rows, K, link), Design(X[told], 3)
    profiled, w, none = ProfiledRisk(risk, risk.start()), np.array([0.5, -0.2, 0.3]), np.empty(0)

    def gradient(w):
        return design.pull(profiled.derivatives(design.times(w[None]), none)[1])[0]

    bends = [(gradient(w + u) - gradient(w - u)) / 2e-4 for u in 1e-4 * np.eye(3)]
    gradient(w)
    np.testing.assert_allclose(profiled.hessian(design, design.times(w[None]), none), bends, atol=1e-5)
    assert isinstance(profiled, Risk)


@each_link
@pytest.mark.parametrize("tiny", [1e-6, 1e-13, 1e-25])
def test_a_class_of_hardly_any_weight_spoils_nothing(link, tiny):
    X, lower, *_ = _data("exact", n=200)
    for rare in (0, 2, 3):
        weight = np.where(lower == rare, tiny, 1.0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the bound may need more digits than there are
            warnings.filterwarnings("ignore", "CumulativeLink: no label needs these classes")
            model = CumulativeLink(link, alpha=0.01).fit(X, lower, weight)
        counted = lower != rare
        without = CumulativeLink(link, alpha=0.01).fit(X[counted], lower[counted])
        assert model.objective_ == pytest.approx(without.objective_, rel=1e-3)
        P = model.predict_proba(X)
        assert P[:, rare].mean() < 0.02
        np.testing.assert_allclose(P.sum(axis=1), 1.0)
