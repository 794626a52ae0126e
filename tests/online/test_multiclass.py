"""Multi-class perceptrons against their plain twins, each other, and within the bound of Theorem 3."""

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import rankwise as rw
from rankwise import ImportanceWeightedPerceptron, MulticlassPerceptron, bounds, metrics
from rankwise.evaluation import progressive
from rankwise.labels import OrderWarning, encode
from tests.reference.importance import PlainAllPairs, PlainBinary, PlainMaxWin, PlainMultiVector
from tests.streams import make_stream

SEEDS = st.integers(0, 10_000)
PLAIN = dict(n_epochs=1, shuffle=False, average=False)


def admissible_sets(stream, seed, gaps):
    codes = np.arange(stream.n_classes)
    admissible = (stream.lower[:, None] <= codes) & (codes <= stream.upper[:, None])
    if gaps:
        admissible |= np.random.default_rng(seed).random(admissible.shape) < 0.2
    return admissible


def whole_numbers(seed, n_classes, n=60, d=3):
    """A stream on which sums are exact, so that ties are ties: whole features, weights in quarters."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, (n, d)).astype(float)
    noise = rng.integers(-1, 2, (n, n_classes))
    y = (X @ rng.integers(-2, 3, (d, n_classes)) + noise).argmax(axis=1)
    return X, y, rng.choice([0.0, 0.25, 1.0, 2.5], n)


@pytest.mark.parametrize("average", [True, False])
@pytest.mark.parametrize("intercept", [True, False])
@given(seed=SEEDS, n_classes=st.integers(2, 6), gaps=st.booleans())
def test_rounds_are_those_of_the_plain_twin(average, intercept, seed, n_classes, gaps):
    stream = make_stream(seed, n=60, n_classes=n_classes)
    admissible = admissible_sets(stream, seed, gaps)
    X = np.column_stack([stream.X, np.ones(len(stream))]) if intercept else stream.X
    twin = PlainMultiVector(X.shape[1], n_classes)
    expected = []
    for x, row, c in zip(X, admissible, stream.weight, strict=True):
        if average and twin.past:  # rounding decides close calls of averages
            first, second = np.sort(twin.sum_w @ x)[[-1, -2]]
            assume(first - second > 1e-9 or not x.any())
        expected.append(twin.predict_averaged(x) if average else twin.predict(x))
        twin.learn(x, set(np.flatnonzero(row).tolist()), c)
    model = ImportanceWeightedPerceptron(fit_intercept=intercept, average=average, classes=stream.classes)
    if not intercept:
        model = MulticlassPerceptron(average=average, classes=stream.classes)
    predicted = model.progressive_predict(stream.X, admissible, sample_weight=stream.weight)
    np.testing.assert_array_equal(predicted, expected)
    w = twin.sum_w / max(1, twin.rounds) if average else twin.w
    vectors = np.column_stack([model.coef_, model.intercept_]) if intercept else model.coef_
    np.testing.assert_allclose(vectors, w, atol=1e-12)
    assert (model.n_mistakes_, model.cost_) == (twin.mistakes, pytest.approx(twin.cost))
    assert intercept or not model.intercept_.any()


@pytest.mark.parametrize("twin_of", [PlainAllPairs, PlainMaxWin])
@given(seed=SEEDS, n_classes=st.integers(2, 6), gaps=st.booleans())
def test_all_pairs_are_multi_vector_whatever_the_scoring(twin_of, seed, n_classes, gaps):
    """With a vector for every pair, round by round: predictions, ties among them, and differences of vectors."""
    X, y, weight = whole_numbers(seed, n_classes)
    admissible = y[:, None] == np.arange(n_classes)
    if gaps:
        admissible |= np.random.default_rng(seed).random(admissible.shape) < 0.2
    twin, multi_vector = twin_of(3, n_classes), PlainMultiVector(3, n_classes)
    expected = []
    for x, row, c in zip(X, admissible, weight, strict=True):
        expected.append(twin.predict(x))
        assert multi_vector.predict(x) == expected[-1]
        for learner in (twin, multi_vector):
            learner.learn(x, set(np.flatnonzero(row).tolist()), c)
    scoring = "max-win" if twin_of is PlainMaxWin else "linear"
    model = ImportanceWeightedPerceptron("all-pairs", scoring, fit_intercept=False, **PLAIN, classes=range(n_classes))
    np.testing.assert_array_equal(model.progressive_predict(X, admissible, sample_weight=weight), expected)
    np.testing.assert_array_equal(model.pair_coef_, twin.w)
    np.testing.assert_array_equal(model.coef_, multi_vector.w)
    scores = np.array([twin.scores(twin.w, x) for x in X])
    if n_classes > 2:
        decisions = model.decision_function(X)
        np.testing.assert_array_equal(decisions if scoring == "max-win" else n_classes * decisions, scores)


def test_the_two_scorings_rank_classes_alike_but_are_not_the_same_numbers():
    X, y, _ = whole_numbers(5, 4)
    linear = ImportanceWeightedPerceptron("all-pairs", random_state=0).fit(X, y)
    wins = clone(linear).set_params(scoring="max-win").fit(X, y)
    np.testing.assert_array_equal(linear.predict(X), wins.predict(X))
    counts = wins.decision_function(X)
    assert set(np.unique(counts)) == {0.0, 1.0, 2.0, 3.0}
    margins = X @ wins.pair_coef_[1].T + wins.pair_intercept_[1]
    np.testing.assert_array_equal(counts[:, 1], (margins > 1e-12).sum(axis=1))
    assert not np.array_equal(linear.decision_function(X), counts)


def test_vectors_of_pairs_come_with_all_pairs_only():
    model = ImportanceWeightedPerceptron().fit(np.eye(3), [0, 1, 2])
    assert not hasattr(model, "pair_coef_")
    assert not hasattr(model, "pair_intercept_")
    assert model.set_params(scheme="all-pairs").pair_coef_.shape == (3, 3, 3)


@given(seed=SEEDS)
def test_two_classes_are_the_binary_perceptron(seed):
    X, y, weight = whole_numbers(seed, 2)
    twin = PlainBinary(3)
    expected = []
    for x, code, c in zip(X, y, weight, strict=True):
        expected.append(twin.predict(x))
        twin.learn(x, 2 * code - 1, c)
    model = ImportanceWeightedPerceptron(fit_intercept=False, **PLAIN, classes=[-1, 1])
    np.testing.assert_array_equal(model.progressive_predict(X, 2 * y - 1, sample_weight=weight), expected)
    np.testing.assert_array_equal(model.coef_, [-twin.w, twin.w])
    np.testing.assert_array_equal(model.decision_function(X), 2 * X @ twin.w)


@pytest.mark.parametrize("twin_of", [PlainMultiVector, PlainAllPairs, PlainMaxWin])
@settings(max_examples=30)
@given(seed=SEEDS, n_classes=st.integers(2, 5))
def test_classes_join_with_zero_vectors_and_their_first_rounds_are_not_mistakes(twin_of, seed, n_classes):
    X, y, weight = whole_numbers(seed, n_classes)
    rng = np.random.default_rng(seed)
    model, twin, known = ImportanceWeightedPerceptron(fit_intercept=False, average=False), None, []
    updates = 0
    for x, code, c in zip(X, y.tolist(), weight, strict=True):
        label = {code, int(rng.integers(n_classes))}
        new = sorted(label - set(known))
        if twin is not None:
            assert model.predict_one(dict(enumerate(x))) == known[twin.predict(x)]
        model.learn_one(dict(enumerate(x)), label, w=c)
        known = sorted({*known, *new})
        if twin is None:
            twin = twin_of(3, len(known))
        else:
            for value in new:
                twin.join(known.index(value))
        twin.learn(x, {known.index(value) for value in label}, c, brought=[known.index(value) for value in new])
        updates += model.n_updates_ > updates
        assert (model.n_mistakes_, model.cost_) == (twin.mistakes, twin.cost)
    assert model.classes_.tolist() == known
    assert model.n_updates_ == updates == len(twin.past) >= model.n_mistakes_
    vectors = model.coef_ if twin_of is PlainMultiVector else model.set_params(scheme="all-pairs").pair_coef_
    np.testing.assert_array_equal(vectors, twin.w)


def test_strings_need_no_order_except_for_intervals():
    X, y = np.eye(3), ["soup", "fish", "cake"]
    for model in (ImportanceWeightedPerceptron(), MulticlassPerceptron()):
        assert model.fit(X, y).classes_.tolist() == ["cake", "fish", "soup"]
        model.fit(X, ["soup", {"fish", "cake"}, "cake"])
        with pytest.warns(OrderWarning, match="no order given"):
            model.fit(X, ["soup", ("fish", "soup"), "cake"])
        stream = clone(model)
        stream.learn_one({"x": 1.0}, "soup")
        with pytest.warns(OrderWarning, match="no order given"):
            stream.learn_one({"x": 1.0}, ("cake", "soup"))


def test_declared_classes_count_from_the_first_round():
    model = ImportanceWeightedPerceptron(classes=["a", "b"])
    model.learn_one({"x": 1.0}, "b", w=3.0)
    assert (model.n_mistakes_, model.cost_, model.n_updates_) == (1, 3.0, 1)
    stream = ImportanceWeightedPerceptron()
    stream.learn_one({"x": 1.0}, "a", w=3.0)
    stream.learn_one({"x": 1.0}, "b", w=3.0)  # learnt from, but nobody could have known
    assert (stream.n_mistakes_, stream.cost_, stream.n_updates_) == (0, 0.0, 1)
    assert stream.predict_one({"x": 1.0}) == "b"


def test_mistakes_and_cost_are_those_of_progressive_validation_and_of_the_metrics():
    stream = make_stream(3, n=300, exact=1.0)
    model = ImportanceWeightedPerceptron(average=False)
    result = progressive(model, stream.X, stream.lower, sample_weight=stream.weight, loss="zero_one")
    counted = stream.weight > 0
    assert model.n_mistakes_ == result.losses[counted].sum() == round(result.mistake_rate * counted.sum())
    assert model.cost_ / stream.weight.sum() == pytest.approx(result.weighted_cost)
    by_metric = metrics.weighted_cost(stream.lower, result.predictions, sample_weight=stream.weight)
    assert by_metric == pytest.approx(result.cost_curve[-1]) == pytest.approx(result.weighted_cost)


def test_weights_buy_fewer_expensive_mistakes():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4000, 3))
    y = (X @ rng.standard_normal((3, 3)) + 1.5 * rng.standard_normal((4000, 3))).argmax(axis=1)
    weight = np.array([1.0, 1.0, 8.0])[y]
    plain, weighted = (ImportanceWeightedPerceptron(**PLAIN, classes=range(3)) for _ in range(2))
    cheap = progressive(plain, X, y)
    dear = progressive(weighted, X, y, sample_weight=weight)
    assert dear.weighted_cost < metrics.weighted_cost(y, cheap.predictions, sample_weight=weight)
    assert dear.mistake_rate > cheap.mistake_rate


# -- Theorem 3 ---------------------------------------------------------------------------------------------------------


def reference_of(X, y, n_classes, size):
    """A reference that fits roughly: least squares on the labels, at some size."""
    target = (y[:, None] == np.arange(n_classes)) - 1 / n_classes
    return size * np.linalg.lstsq(X, target, rcond=None)[0].T


@given(seed=SEEDS, n_classes=st.integers(2, 6), gaps=st.booleans(), size=st.sampled_from([0.0, 0.3, 1.0, 3.0, 10.0]))
def test_theorem_3_bounds_the_cost_on_noisy_weighted_streams(seed, n_classes, gaps, size):
    stream = make_stream(seed, n=300, n_classes=n_classes, noise=0.5)
    labels = encode(admissible_sets(stream, seed, gaps), range(n_classes))
    model = ImportanceWeightedPerceptron(fit_intercept=False, **PLAIN, classes=range(n_classes))
    model.fit(stream.X, labels.admissible(), sample_weight=stream.weight)
    u = reference_of(stream.X, stream.lower, n_classes, size)
    loss = bounds.importance_weighted_hinge(stream.X, labels, u, stream.weight)
    radius, norm = bounds.data_radius(stream.X), np.linalg.norm(u)
    assert model.cost_ <= bounds.importance_weighted_cost(radius, norm, loss, stream.weight.max())
    if n_classes == 2:  # the paper's own case: one vector, margin y <w, x>
        norm = np.linalg.norm(u[1] - u[0])
        assert model.cost_ <= bounds.importance_weighted_cost(radius, norm, loss, stream.weight.max(), multiclass=False)


@pytest.mark.parametrize("c", [1.0, 3.0])
@pytest.mark.parametrize("n", [1, 8])
def test_theorem_3_is_attained_and_needs_both_vectors_of_an_update(n, c):
    # Orthogonal rows, all of the second class: every round is a tie, which goes to the first class.
    X, y, weight = np.eye(n), np.ones(n, dtype=int), np.full(n, c)
    model = ImportanceWeightedPerceptron(fit_intercept=False, **PLAIN, classes=[0, 1]).fit(X, y, weight)
    u = np.array([[-0.5], [0.5]]) * np.ones(n)
    norm = np.linalg.norm(u)
    assert model.cost_ == c * n
    assert bounds.importance_weighted_hinge(X, encode(y, [0, 1]), u, weight) == 0.0
    assert bounds.importance_weighted_cost(1.0, norm, 0.0, c) == pytest.approx(model.cost_)
    assert bounds.importance_weighted_cost(1.0, norm, 0.0, c, multiclass=False) == pytest.approx(model.cost_ / 2)
    assert bounds.importance_weighted_cost(1.0, np.linalg.norm(u[1] - u[0]), 0.0, c, multiclass=False) == pytest.approx(
        model.cost_
    )


def test_theorem_3_can_fail_without_the_loss_and_without_the_largest_weight():
    X, y = np.ones((200, 1)), np.tile([0, 1], 100)
    weight = np.where(y == 1, 5.0, 4.0)
    model = ImportanceWeightedPerceptron(fit_intercept=False, **PLAIN, classes=[0, 1]).fit(X, y, weight)
    u = np.array([[-0.5], [0.5]])
    loss = bounds.importance_weighted_hinge(X, encode(y), u, weight)
    assert model.cost_ <= bounds.importance_weighted_cost(1.0, np.linalg.norm(u), loss, 5.0)
    assert model.cost_ > bounds.importance_weighted_cost(1.0, np.linalg.norm(u), 0.0, 5.0)
    orthogonal = ImportanceWeightedPerceptron(fit_intercept=False, **PLAIN, classes=[0, 1])
    orthogonal.fit(np.eye(4), np.ones(4, dtype=int), np.full(4, 5.0))
    assert orthogonal.cost_ > bounds.importance_weighted_cost(1.0, np.sqrt(2), 0.0, 1.0)


@given(seed=SEEDS, n_classes=st.integers(2, 5))
def test_the_hinge_is_the_plain_loop(seed, n_classes):
    stream = make_stream(seed, n=30, n_classes=n_classes)
    admissible = admissible_sets(stream, seed, gaps=True)
    u = np.random.default_rng(seed).standard_normal((n_classes, 5))
    expected = 0.0
    for x, row, c in zip(stream.X, admissible, stream.weight, strict=True):
        inside, outside = (u @ x)[row], (u @ x)[~row]
        expected += c * max(0.0, 1.0 - inside.min() + outside.max()) if outside.size else 0.0
    labels = encode(admissible, range(n_classes))
    assert bounds.importance_weighted_hinge(stream.X, labels, u, stream.weight) == pytest.approx(expected)


@pytest.mark.parametrize("form", [np.asarray, list, pd.Series])
@pytest.mark.parametrize("cuts", [[150], [60, 150], [1, 2, 70, 150]])
def test_classes_that_are_new_in_a_chunk_join_as_in_single_rows(form, cuts):
    rng = np.random.default_rng(0)
    X, weight = rng.standard_normal((150, 4)), rng.random(150)
    y = np.array(list("cab"))[np.minimum(rng.integers(0, 3, 150), np.arange(150) // 40)]
    rows, predicted = ImportanceWeightedPerceptron(), []
    for x, label, w in zip(X, y, weight, strict=True):
        predicted.append(rows.predict_one(dict(enumerate(x))))
        rows.learn_one(dict(enumerate(x)), label, w=w)
    chunks, by_chunk = ImportanceWeightedPerceptron(), []
    for start, stop in itertools.pairwise([0, *cuts]):
        chunk = slice(start, stop)
        by_chunk += chunks.progressive_predict(X[chunk], form(y[chunk].tolist()), sample_weight=weight[chunk]).tolist()
    assert by_chunk[1:] == predicted[1:]  # before the first row no class is known
    assert chunks.classes_.tolist() == rows.classes_.tolist() == ["a", "b", "c"]
    for name in ("coef_", "intercept_", "n_mistakes_", "cost_", "n_updates_"):
        np.testing.assert_array_equal(getattr(chunks, name), getattr(rows, name))


def test_a_stream_that_begins_with_one_class_gets_no_warning():
    X = np.eye(4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        chunk = ImportanceWeightedPerceptron().partial_fit(X, [1, 1, 0, 2])
        rows = ImportanceWeightedPerceptron()
        for i, label in enumerate([1, 1, 0, 2]):
            rows.partial_fit(X[i : i + 1], [label])
    assert chunk.classes_.tolist() == rows.classes_.tolist() == [0, 1, 2]
    with pytest.warns(UserWarning, match="one class only"):
        ImportanceWeightedPerceptron().fit(X, [1, 1, 1, 1])


def test_a_bad_row_behind_a_new_class_leaves_the_model_as_it_was():
    X = np.eye(4)[np.arange(12) % 4]
    model = ImportanceWeightedPerceptron().partial_fit(X[:4], list("aabb"))
    before = model.coef_, model.cost_, model.classes_.tolist()
    X[9, 2] = np.nan
    with pytest.raises(rw.RowError, match=r"row 5, column 2: X contains NaN") as caught:
        model.partial_fit(X[4:], list("abcabcab"))
    assert caught.value.row == 5
    np.testing.assert_array_equal(model.coef_, before[0])
    assert (model.cost_, model.classes_.tolist()) == before[1:]
    with pytest.raises(ValueError, match="'z' is not one of"):
        ImportanceWeightedPerceptron(classes=["a", "b"]).partial_fit(X[:2], ["a", "z"])


def test_a_class_that_is_new_after_fit_joins():
    model = ImportanceWeightedPerceptron(random_state=0).fit(np.eye(3)[:2], ["a", "b"])
    assert model.partial_fit(np.eye(3)[2:], ["c"]).classes_.tolist() == ["a", "b", "c"]
    assert model.predict(np.eye(3)[2:]).tolist() == ["c"]
