"""The structured perceptron: special cases equal to the fast estimators, both forms equal, Theorem 1, errors."""

import itertools
import pickle

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.estimator_checks import estimator_checks_generator

from rankwise import PRIL, CuSumRank, KernelCuSumRank, KernelPRIL, PRank, RowError, StructuredPerceptron, bounds
from rankwise.structured import CumulativeRanks, MixedClasses, ProjectedRanks, SharedClasses, StructuredModel
from tests.streams import make_stream

PLAIN = {"n_epochs": 1, "shuffle": False, "average": False}


def annotations(stream):
    """Intervals as tuples, exact labels as themselves."""
    return [lo if lo == hi else (lo, hi) for lo, hi in stream.y.tolist()]


def rounds(frame, fast, stream, read):
    """Learn row by row with both, and compare what they would predict and what they have learnt in every round."""
    y = annotations(stream)
    for i, c in enumerate(stream.weight.tolist()):
        if i:
            assert frame.predict_one(stream.X[i]) == fast.predict(stream.X[i : i + 1])[0]
        frame.learn_one(stream.X[i], y[i], c)
        fast.partial_fit(stream.X[i : i + 1], stream.y[i : i + 1], sample_weight=[c])
        yield read(frame.coef_), fast
        assert frame.n_updates_ == fast.n_updates_
        assert frame.loss_ == fast.n_violations_


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize(
    ("step", "margin"),
    [("perceptron", "none"), *itertools.product(["perceptron", "pa", "pa1", "pa2"], ["constant", "loss"])],
)
def test_cusum_rank_written_on_the_frame_is_cusum_rank_round_by_round(step, margin, average):
    stream = make_stream(3, n=80)
    options = {"step": step, "margin": margin, "delta": 0.7, "C": 0.3, "average": average}
    frame = StructuredPerceptron(CumulativeRanks(stream.classes), **options)
    fast = CuSumRank(classes=stream.classes, **options)
    exactly = step == "perceptron" and not average  # otherwise the order of sums shows in the last bits
    for blocks, model in rounds(frame, fast, stream, lambda w: w.reshape(stream.n_classes, -1)):
        expected = np.column_stack([model.coef_, model.intercept_])
        np.testing.assert_allclose(blocks, expected, rtol=0, atol=0 if exactly else 1e-12)
    assert frame.n_updates_ > 10


@pytest.mark.parametrize("average", [False, True])
def test_prank_and_pril_written_on_the_frame_are_prank_and_pril_round_by_round(average):
    for fast, exact in ((PRIL, 0.4), (PRank, 1.0)):
        stream = make_stream(4, n=80, exact=exact)
        frame = StructuredPerceptron(ProjectedRanks(stream.classes), margin="none", average=average)
        model = fast(classes=stream.classes, average=average)
        if fast is PRank:  # takes exact labels only
            stream_y, learn = stream.lower, model.partial_fit
            model.partial_fit = lambda X, y, sample_weight, learn=learn: learn(X, y[:, 0], sample_weight=sample_weight)
            assert np.array_equal(stream_y, stream.upper)
        for found, learnt in rounds(frame, model, stream, lambda w: w):
            expected = np.concatenate([learnt.coef_, learnt.thresholds_])
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)  # c (k x) against (c k) x


@pytest.mark.parametrize("seed", range(20))
def test_intervals_where_scores_touch_thresholds_are_learnt_as_pril_learns_them(seed):
    rng = np.random.default_rng(seed)
    X, ends = rng.integers(-2, 3, (40, 2)).astype(float), np.sort(rng.integers(0, 5, (40, 2)), axis=1)
    frame = StructuredPerceptron(ProjectedRanks(range(5)), margin="none", average=False)
    fast = PRIL(classes=range(5), average=False)
    for x, (low, high) in zip(X, ends.tolist(), strict=True):
        frame.learn_one(x, (low, high))
        fast.partial_fit(x[None], [(low, high)])
        np.testing.assert_array_equal(frame.coef_, np.concatenate([fast.coef_, fast.thresholds_]))
    assert frame.n_updates_ > 5


def test_fit_takes_the_same_random_order_as_the_fast_estimators():
    stream = make_stream(5, n=60)
    frame = StructuredPerceptron(CumulativeRanks(stream.classes), n_epochs=3, random_state=1)
    frame.fit(stream.X, annotations(stream), sample_weight=stream.weight)
    fast = CuSumRank(n_epochs=3, random_state=1, classes=stream.classes)
    fast.fit(stream.X, stream.y, sample_weight=stream.weight)
    assert frame.predict(stream.X) == fast.predict(stream.X).tolist()
    assert frame.score(stream.X, annotations(stream)) == pytest.approx(fast.score(stream.X, stream.y))


@pytest.mark.parametrize("step", ["perceptron", "pa1"])
@pytest.mark.parametrize("model", [CumulativeRanks, ProjectedRanks])
def test_the_kernel_form_with_a_linear_kernel_is_the_primal_form(model, step):
    stream = make_stream(6, n=60)
    primal = StructuredPerceptron(model(stream.classes), step=step, C=0.5)
    dual = clone(primal).set_params(kernel="linear")
    y, weight = annotations(stream), np.where(stream.weight > 0, 1.0, 0.0)  # PRank's order survives unit steps only
    assert primal.progressive_predict(stream.X, y, weight) == dual.progressive_predict(stream.X, y, weight)
    assert primal.n_updates_ == dual.n_updates_ > 10
    for p, d in zip(primal.decision_function(stream.X), dual.decision_function(stream.X), strict=True):
        assert p == pytest.approx(d)


def test_kernel_pril_written_on_the_frame():
    stream = make_stream(7, n=60)
    frame = StructuredPerceptron(ProjectedRanks(stream.classes), kernel="rbf", gamma=0.3, margin="none", **PLAIN)
    fast = KernelPRIL(kernel="rbf", gamma=0.3, classes=stream.classes, **PLAIN)
    predicted = frame.progressive_predict(stream.X, annotations(stream))
    assert predicted == fast.progressive_predict(stream.X, stream.y).tolist()
    assert len(frame.support_) == 2  # rows, and the bias
    counts = frame.dual_coef_[[part.shape[1] for part in frame.support_].index(5)]["direction"]
    np.testing.assert_array_equal(counts, fast.dual_coef_.ravel())


@pytest.mark.parametrize("step", ["perceptron", "pa1"])
def test_kernel_cusum_rank_written_on_the_frame(step):
    stream = make_stream(8, n=60)
    options = {"kernel": "rbf", "gamma": 0.3, "step": step, "C": 0.5}
    frame = StructuredPerceptron(CumulativeRanks(stream.classes), **options)
    fast = KernelCuSumRank(classes=stream.classes, average=True, **options)
    predicted = frame.progressive_predict(stream.X, annotations(stream), stream.weight)
    assert predicted == fast.progressive_predict(stream.X, stream.y, stream.weight).tolist()
    (rows,) = (k for k, part in enumerate(frame.support_) if part.shape[1] == 5)
    np.testing.assert_array_equal(frame.support_[rows], fast.support_vectors_)
    for k in range(1, stream.n_classes):
        np.testing.assert_allclose(frame.dual_coef_[rows][k], fast.dual_coef_[:, k], atol=1e-12)


# -- Theorem 1 ------------------------------------------------------------------------------------------------------


def size_of(model, X, y, unit):
    """R of Theorem 1 for the stream, with ``unit`` scaled such that its scores exceed the losses."""
    differences, losses = [], []
    for x, right in zip(X, y, strict=True):
        for wrong in model.outputs(x):
            if wrong != right:
                differences.append(model.features(x, right) - model.features(x, wrong))
                losses.append(model.loss(right, wrong))
    differences, losses = np.array(differences), np.array(losses)
    margin = np.min(differences @ unit / losses)  # scaled to 1 by scaling all features by 1 / margin
    return np.sqrt(np.max((differences**2).sum(axis=1) / losses)) / margin if margin > 0 else None


@given(seed=st.integers(0, 10_000), n_classes=st.integers(2, 4), ordered=st.booleans())
def test_theorem_1_on_separable_streams(seed, n_classes, ordered):
    rng = np.random.default_rng(seed)
    classes = list(range(n_classes))
    joint = lambda x, y: np.append(x, 1.0) * np.cos(1.0 + y * np.arange(4))  # noqa: E731
    model = CumulativeRanks(classes) if ordered else SharedClasses(classes, joint)
    X = rng.uniform(-1, 1, (300, 3))
    unit = rng.standard_normal(model.parameters(X[0]).size)
    if ordered:
        unit[:4] = 0.0  # the first rank has no vector
    unit /= np.linalg.norm(unit)
    scores = np.array([[model.features(x, k) @ unit for k in classes] for x in X])
    y = scores.argmax(axis=1)
    behind = scores[np.arange(300), y][:, None] - scores
    losses = np.abs(np.arange(n_classes) - y[:, None]) if ordered else (np.arange(n_classes) != y[:, None]) * 1.0
    clear = np.all((losses == 0) | (behind >= 0.1 * losses), axis=1)
    X, y = X[clear][:60], y[clear][:60].tolist()
    assume(len(X) > 10)
    size = size_of(model, X, y, unit)
    learner = StructuredPerceptron(model, margin="none", average=False)
    for _ in range(4):
        learner.partial_fit(X, y)
    assert learner.loss_ <= bounds.structured_loss(size)


# -- writing one's own ----------------------------------------------------------------------------------------------


class Chain(StructuredModel):
    """Labels of the positions of a sequence: unary features per label, and one parameter for every pair of neighbours.

    Annotations are tuples with None where nobody looked.
    """

    def __init__(self, n_labels, clever):
        self.n_labels, self.clever = n_labels, clever

    def parameters(self, x):
        return np.zeros(self.n_labels * x.shape[1] + self.n_labels**2)

    def outputs(self, x):
        return itertools.product(range(self.n_labels), repeat=len(x))

    def features(self, x, y):
        unary, pairs = np.zeros((self.n_labels, x.shape[1])), np.zeros((self.n_labels, self.n_labels))
        for row, label in zip(x, y, strict=True):
            unary[label] += row
        for a, b in itertools.pairwise(y):
            pairs[a, b] += 1
        whole = np.concatenate([unary.ravel(), pairs.ravel()])
        return sparse.csr_array(whole[None]) if self.clever else whole

    def admits(self, annotation, y):
        return all(a is None or a == b for a, b in zip(annotation, y, strict=True))

    def loss(self, annotation, y):
        return float(sum(a is not None and a != b for a, b in zip(annotation, y, strict=True)))

    def argmax(self, x, score, *, among=None, bonus=None):
        if not self.clever:
            return super().argmax(x, score, among=among, bonus=bonus)
        split = self.n_labels * x.shape[1]
        unary = x @ score.weights[:split].reshape(self.n_labels, -1).T
        pairs = score.weights[split:].reshape(self.n_labels, -1)
        for t in range(len(x)):
            if among is not None and among[t] is not None:
                unary[t, np.arange(self.n_labels) != among[t]] = -np.inf
            if bonus is not None and bonus.annotation[t] is not None:
                unary[t] += bonus.slope * (np.arange(self.n_labels) != bonus.annotation[t])
        best, came = unary[0], []
        for t in range(1, len(x)):
            through = best[:, None] + pairs
            came.append(through.argmax(axis=0))
            best = through.max(axis=0) + unary[t]
        labels = [int(best.argmax())]
        for previous in reversed(came):
            labels.append(int(previous[labels[-1]]))
        return tuple(labels[::-1])


def test_own_model_with_its_own_solver_sparse_features_and_partial_sequences():
    rng = np.random.default_rng(8)
    X, Y = [], []
    for _ in range(60):
        labels = np.cumsum(rng.integers(0, 2, 4)) % 3  # a label stays or goes to the next
        X.append(np.eye(3)[labels] + 0.5 * rng.standard_normal((4, 3)))
        Y.append(tuple(int(k) if rng.random() < 0.6 else None for k in labels))
    plain, clever = (StructuredPerceptron(Chain(3, clever), random_state=0).fit(X, Y) for clever in (False, True))
    np.testing.assert_allclose(plain.coef_, clever.coef_, atol=1e-9)
    assert plain.predict(X) == clever.predict(X)
    assert clever.score(X, Y) > -0.3
    with pytest.raises(TypeError, match=r"kernel='linear' needs a model with atoms\(x, y\); Chain has none"):
        StructuredPerceptron(Chain(3, True), kernel="linear").fit(X, Y)


def test_weights_teach_the_shared_vector_what_matters():
    """Two contradicting examples: the heavier one wins."""
    model = SharedClasses("ab", lambda x, y: np.asarray(x) * (1 if y == "a" else -1))
    X, y = [[1.0], [1.0]], ["a", "b"]
    for weight, expected in (([5.0, 1.0], "a"), ([1.0, 5.0], "b")):
        learner = StructuredPerceptron(model, margin="constant", **PLAIN).fit(X, y, sample_weight=weight)
        assert learner.predict(X[:1]) == [expected]


def test_the_mixed_form_learns_what_neither_part_can():
    """Class "c" is never seen: only the shared vector can know it. What tells "a" from "b" is in no description."""
    described = {"a": 0.0, "b": 0.0, "c": 1.0}
    joint = lambda x, y: [x[0] * described[y]]  # noqa: E731
    X = [[0.0, 1.0], [0.0, -1.0], [5.0, 1.0], [5.0, -1.0]]
    y = ["a", "b", "c", "c"]
    mixed = StructuredPerceptron(MixedClasses("abc", joint), n_epochs=20, random_state=0).fit(X, y)
    assert mixed.predict(X) == y
    shared = StructuredPerceptron(SharedClasses("abc", joint), n_epochs=20, random_state=0).fit(X, y)
    assert shared.predict(X)[:2] == ["a", "a"]


# -- manners --------------------------------------------------------------------------------------------------------


def test_a_bad_example_leaves_the_model_as_it_was():
    stream = make_stream(9, n=30, exact=1.0)
    y = stream.lower.tolist()
    for kernel in (None, "rbf"):
        model = StructuredPerceptron(CumulativeRanks(stream.classes), kernel=kernel).partial_fit(stream.X, y)
        before = pickle.dumps(model.decision_function(stream.X)), model.n_updates_, model.loss_
        X = stream.X.copy()
        X[20, 1] = np.nan
        with pytest.raises(ValueError, match=r"row 20|NaN"):
            model.partial_fit(X, y)
        with pytest.raises(ValueError, match=r"7 must be one of the classes \[0, 1, 2, 3\]"):
            model.partial_fit(stream.X, [*y[:-1], 7])
        assert (pickle.dumps(model.decision_function(stream.X)), model.n_updates_, model.loss_) == before


def test_an_input_without_a_finite_score_is_named_by_its_row():
    X = np.array([[0.0], [1.0], [np.nan]])
    for shuffle in (False, True):
        with pytest.raises(RowError, match="row 2: no output has a finite score") as caught:
            StructuredPerceptron(CumulativeRanks([0, 1]), shuffle=shuffle, random_state=0).fit(X, [0, 1, 1])
        assert type(caught.value.row) is int


def test_the_kernel_of_a_fitted_model_is_that_of_its_fit():
    stream = make_stream(11, n=30, exact=1.0)
    model = StructuredPerceptron(CumulativeRanks(stream.classes), kernel="rbf", gamma=0.5, random_state=0)
    before = model.fit(stream.X, stream.lower.tolist()).decision_function(stream.X)
    assert model.set_params(gamma=5.0).decision_function(stream.X) == before


def test_missing_annotations_and_zero_weights_are_no_rounds():
    stream = make_stream(10, n=30, exact=1.0)
    y = stream.lower.tolist()
    model = StructuredPerceptron(CumulativeRanks(stream.classes)).partial_fit(stream.X, y)
    before = model.coef_
    model.partial_fit(stream.X, [None, np.nan, (0, 3), *y[3:]], sample_weight=[1, 1, 1] + [0] * 27)
    np.testing.assert_array_equal(model.coef_, before)


class Careless(StructuredModel):
    def parameters(self, x):
        return np.zeros(2)

    def outputs(self, x):
        return (0, 1)

    def features(self, x, y):
        return np.ones(3)


@pytest.mark.parametrize(
    ("learner", "X", "y", "error", "message"),
    [
        (StructuredPerceptron(None), [[1.0]], [0], TypeError, "model must be a .*StructuredModel: None has no param"),
        (
            StructuredPerceptron(Careless()),
            [[1.0]],
            [0],
            ValueError,
            r"as the parameters, 2\. Got shape \(3,\)",
        ),
        (StructuredPerceptron(CumulativeRanks([0, 1])), [], [], ValueError, "X is empty"),
        (StructuredPerceptron(CumulativeRanks([0, 1])), [[1.0]], [0, 1], ValueError, "X has 1 inputs but y has 2"),
        (StructuredPerceptron(CumulativeRanks([0, 1]), step="x"), [[1.0]], [0], ValueError, "'step' parameter"),
        (StructuredPerceptron(CumulativeRanks([0, 1, 2])), [[1.0]], [(2, 1)], ValueError, r"\(2, 1\) must be one of"),
    ],
)
def test_errors_say_what_is_wrong(learner, X, y, error, message):
    with pytest.raises(error, match=message):
        learner.fit(X, y)
    assert not hasattr(learner, "n_updates_")


@pytest.mark.parametrize(
    ("y", "weight", "message"),
    [
        ([None, None], None, "no example has an annotation and a positive weight"),
        ([0, None], [0.0, 1.0], "no example has an annotation and a positive weight"),
        ([0], None, "X has 2 inputs but y has 1 annotations"),
    ],
)
def test_what_cannot_be_scored_is_refused(y, weight, message):
    X = [[1.0], [-1.0]]
    model = StructuredPerceptron(CumulativeRanks([0, 1])).fit(X, [0, 1])
    with pytest.raises(ValueError, match=message):
        model.score(X, y, sample_weight=weight)


def test_classes_must_differ():
    with pytest.raises(ValueError, match=r"at least two different ones\. Got \[1, 1\]"):
        CumulativeRanks([1, 1])


def test_each_form_says_where_its_parameters_are():
    X, y = [[1.0], [-1.0]], [0, 1]
    primal = StructuredPerceptron(CumulativeRanks([0, 1])).fit(X, y)
    with pytest.raises(AttributeError, match="see coef_"):
        _ = primal.dual_coef_
    with pytest.raises(AttributeError, match="see support_ and dual_coef_"):
        _ = primal.set_params(kernel="linear").fit(X, y).coef_


def test_pickles_and_clones():
    stream = make_stream(11, n=30, exact=1.0)
    model = StructuredPerceptron(ProjectedRanks(stream.classes), random_state=0).fit(stream.X, stream.lower)
    assert pickle.loads(pickle.dumps(model)).predict(stream.X) == model.predict(stream.X)
    assert clone(model).fit(stream.X, stream.lower).predict(stream.X) == model.predict(stream.X)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")  # the rest of the checks needs 2-D inputs
def test_scikit_learn_checks_that_apply_to_any_kind_of_input():
    ran = 0
    for estimator, check in estimator_checks_generator(StructuredPerceptron(CumulativeRanks([0, 1, 2]))):
        check(estimator)
        ran += 1
    assert ran
