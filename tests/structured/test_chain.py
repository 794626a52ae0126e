"""ChainClassifier: its parts against enumeration and plain twins, then the estimator as its users meet it."""

import pickle
import threading
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from rankwise import ChainClassifier
from rankwise.labels import encode
from rankwise.structured import Tree, _chain_by_bundle
from rankwise.structured._chain_risk import ChainRisk
from rankwise.structured._sequences import annotate, decision_losses, read_positions, read_sequences
from tests.reference.chain import PlainChainPerceptron, PlainStructure

SEEDS = st.integers(0, 10_000)
ALL = ("ramp", "hinge", "max", "bridge", "additive")


def small_problem(seed, n_structures=4, n_classes=3, reject=None, charge=False, tree=True):
    """Whole numbers; chains and trees of up to four parts; labels, candidate sets and missing labels."""
    rng = np.random.default_rng(seed)
    loss = rng.integers(1, 4, (n_classes, n_classes)) * 1.0
    np.fill_diagonal(loss, rng.integers(1, 3, n_classes) if charge else 0)
    X, Y, plain = [], [], []
    for _ in range(n_structures):
        n = int(rng.integers(1, 5))
        x = rng.integers(-2, 3, (n, 2)) * 1.0
        parents = np.array([-1, *(rng.integers(-1, v) if tree else v - 1 for v in range(1, n))])
        annotation = []
        for _ in range(n):
            size = rng.choice([0, 1, 1, 2])
            annotation.append(set(rng.choice(n_classes, size, replace=False).tolist()) if size else None)
        X.append(Tree(x, parents) if tree else x)
        Y.append(annotation)
        plain.append(PlainStructure(x, parents, annotation, decision_losses(loss, n_classes, reject)))
    return X, Y, plain, loss, rng


def read(X, Y, loss, reject=None, n_classes=3):
    sequences = read_sequences(X)
    labels = read_positions(Y, sequences, encode_order(n_classes), ordered=False)
    return sequences, annotate(labels, decision_losses(loss, n_classes, reject), sequences.starts)


def encode_order(n_classes):
    from rankwise.labels import declared_order

    return declared_order(range(n_classes))


# -- surrogates --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("surrogate", ALL)
@given(seed=SEEDS, charge=st.booleans(), reject=st.sampled_from([None, 0.5]))
@settings(max_examples=20)
def test_surrogates_by_enumeration(surrogate, seed, charge, reject):
    reject = None if surrogate == "additive" else reject
    X, Y, plain, loss, rng = small_problem(seed, reject=reject, charge=charge)
    sequences, annotation = read(X, Y, loss, reject)
    weight = rng.random(len(X))
    risk = ChainRisk(sequences, annotation, weight, surrogate)
    theta = rng.standard_normal(plain[0].phi.shape[1])
    value = risk.convex(theta)[0] - risk.reward(theta)[0]
    assert value == pytest.approx(sum(c * p.surrogate(surrogate, theta) for c, p in zip(weight, plain, strict=True)))


@pytest.mark.parametrize("surrogate", ALL)
@given(seed=SEEDS)
@settings(max_examples=20)
def test_both_parts_are_convex_with_these_subgradients(surrogate, seed):
    X, Y, plain, loss, rng = small_problem(seed, charge=True)
    risk = ChainRisk(*read(X, Y, loss), np.full(len(X), 0.25), surrogate, intercept_scaling=3.0, pairwise_scaling=0.5)
    theta, other = rng.standard_normal((2, plain[0].phi.shape[1]))
    for part in (risk.convex, risk.reward):
        value, slope = part(theta)
        assert part(other)[0] >= value + slope @ (other - theta) - 1e-9  # a plane below, everywhere
        step = 1e-6 * (other - theta)  # no kink so near: the scores have no ties
        assert part(theta + step)[0] - part(theta - step)[0] == pytest.approx(2 * slope @ step, abs=1e-9)


@given(seed=SEEDS)
@settings(max_examples=20)
def test_additive_in_one_go_is_the_difference_of_its_parts(seed):
    X, Y, plain, loss, rng = small_problem(seed)
    risk = ChainRisk(*read(X, Y, loss), rng.random(len(X)), "additive", pairwise_scaling=2.0)
    theta = rng.standard_normal(plain[0].phi.shape[1])
    (value, slope), (reward, gain), (whole, gradient) = (f(theta) for f in (risk.convex, risk.reward, risk.additive))
    assert whole == pytest.approx(value - reward)
    np.testing.assert_allclose(gradient, slope - gain, atol=1e-9)


@given(seed=SEEDS, reject=st.sampled_from([None, 0.5]))
@settings(max_examples=20)
def test_without_a_charge_for_right_answers_four_surrogates_are_two(seed, reject):
    X, Y, plain, loss, rng = small_problem(seed, reject=reject)
    parts = *read(X, Y, loss, reject), np.ones(len(X))
    theta = rng.standard_normal(plain[0].phi.shape[1])
    value = {}
    for surrogate in ("ramp", "hinge", "max", "bridge"):
        risk = ChainRisk(*parts, surrogate)
        value[surrogate] = risk.convex(theta)[0] - risk.reward(theta)[0]
    assert value["hinge"] == pytest.approx(value["bridge"])
    assert value["ramp"] == pytest.approx(value["max"])
    assert value["ramp"] <= value["hinge"] + 1e-9


def test_with_a_charge_they_differ():
    X, Y, plain, loss, _ = small_problem(3, charge=True)
    theta = np.zeros(plain[0].phi.shape[1])
    values = [sum(p.surrogate(name, theta) for p in plain) for name in ("hinge", "bridge", "ramp", "max")]
    risks = [ChainRisk(*read(X, Y, loss), np.ones(len(X)), name) for name in ("hinge", "bridge", "ramp", "max")]
    assert [r.convex(theta)[0] - r.reward(theta)[0] for r in risks] == pytest.approx(values)


# -- the perceptron ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("average", [True, False])
@given(seed=SEEDS, margin=st.sampled_from([0.0, 1.0, 5.0]))
@settings(max_examples=15)
def test_rounds_are_those_of_the_plain_twin(average, seed, margin):
    X, Y, plain, loss, rng = small_problem(seed, n_structures=12)
    weight = rng.choice([0.0, 1.0, 2.0], len(X))
    twin = PlainChainPerceptron(plain[0].phi.shape[1], margin)
    model = ChainClassifier(solver="perceptron", loss=loss, margin=margin, average=average, classes=range(3))
    for s, structure in enumerate(plain):
        if twin.rounds:
            found = model.progressive_predict(X[s : s + 1], Y[s : s + 1], sample_weight=weight[s : s + 1])[0]
            if not average:  # rounding decides ties of averages
                assert tuple(found) == twin.predict(structure, average)
        else:
            model.partial_fit(X[s : s + 1], Y[s : s + 1], sample_weight=weight[s : s + 1])
        twin.learn(structure, weight[s])
        w = twin.sum_w / max(1, twin.rounds) if average else twin.w
        parts = model.unary_coef_.T.ravel(), model.intercept_, model.pairwise_coef_.ravel()
        np.testing.assert_allclose(np.concatenate(parts), w, atol=1e-12)
        assert model.n_updates_ == twin.updates


def words(seed=0, m=40, missing=0.3, noise=0.6):
    """Alternating labels seen through noise."""
    rng = np.random.default_rng(seed)
    X, Y, full = [], [], []
    for _ in range(m):
        n = int(rng.integers(0, 8))
        y = (np.arange(n) + rng.integers(0, 3)) % 3
        X.append(np.eye(4)[y] + noise * rng.standard_normal((n, 4)))
        full.append(y)
        Y.append(np.where(rng.random(n) < missing, -1, y))
    return X, Y, full


def parameters(model):
    return np.concatenate([model.unary_coef_.ravel(), model.intercept_, model.pairwise_coef_.ravel()])


def test_chunks_and_storage_do_not_show():
    X, Y, _ = words()
    models = [ChainClassifier(solver="perceptron", classes=range(3)) for _ in range(3)]
    whole = models[0].progressive_predict(X, Y)
    parts = [p for s in range(0, 40, 7) for p in models[1].progressive_predict(X[s : s + 7], Y[s : s + 7])]
    csr = models[2].progressive_predict([sparse.csr_matrix(x) for x in X], Y)
    for found, more, sparsely in zip(whole, parts, csr, strict=True):
        np.testing.assert_array_equal(found, more)
        np.testing.assert_array_equal(found, sparsely)
    for model in models[1:]:
        np.testing.assert_array_equal(parameters(model), parameters(models[0]))
    once = ChainClassifier(solver="perceptron", n_epochs=1, shuffle=False).fit(X, Y)
    np.testing.assert_array_equal(parameters(once), parameters(models[0]))


# -- learning in batch -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("surrogate", ALL)
def test_learns_from_partial_labels(surrogate):
    X, Y, _ = words(missing=0.5)
    X_test, _, full = words(seed=1)
    model = ChainClassifier(surrogate, alpha=0.02, random_state=0).fit(X, Y)
    assert model.score(X_test, full) > -0.06
    # Positions alone do worse: the neighbours have their say.
    letters = [x[v : v + 1] for x in X for v in range(len(x))]
    alone = ChainClassifier("additive", random_state=0).fit(letters, [[y] for labels in Y for y in labels])
    assert model.score(X_test, full) > 0.05 + alone.score(
        [x[v : v + 1] for x in X_test for v in range(len(x))], [[y] for labels in full for y in labels]
    )
    assert np.all(np.diff(model.objectives_) <= 1e-12)
    assert model.objective_ == model.objectives_[-1]
    assert 0 <= model.gap_ <= model.tol
    assert model.lower_bound_ <= model.objectives_[-2]


def test_the_bundle_finds_the_minimum():
    """Full labels make the hinge convex: no point near has a lower objective, and the bound holds."""
    X, _, full = words()
    how = dict(intercept_scaling=4.0, pairwise_scaling=0.5)
    model = ChainClassifier(alpha=0.1, tol=1e-6, random_state=0, **how).fit(X, full)
    sequences, annotation = read(X, full, "hamming")
    risk = ChainRisk(sequences, annotation, annotation.informative / annotation.informative.sum(), "hinge")
    theta = np.concatenate([model.unary_coef_.T.ravel(), model.intercept_, model.pairwise_coef_.ravel()])
    scaling = np.repeat([1.0, 4.0, 0.5], [12, 3, 9])

    def objective(theta):
        return 0.05 * np.sum((theta / scaling) ** 2) + risk.convex(theta)[0] - risk.reward(theta)[0]

    assert objective(theta) == pytest.approx(model.objective_)
    assert model.lower_bound_ <= model.objective_ <= model.lower_bound_ * (1 + 1e-6)
    rng = np.random.default_rng(0)
    for _ in range(50):
        assert objective(theta + 0.01 * rng.standard_normal(theta.size)) >= model.lower_bound_


def test_dense_and_sparse_agree():
    X, Y, _ = words()
    dense = ChainClassifier(random_state=0).fit(X, Y)
    csr = ChainClassifier(random_state=0).fit([sparse.csr_matrix(x) for x in X], Y)
    assert csr.objective_ == pytest.approx(dense.objective_, rel=2e-2)
    sparsely = dense.decision_function([sparse.csr_matrix(x) for x in X])
    for left, right in zip(dense.decision_function(X), sparsely, strict=True):
        np.testing.assert_allclose(left, right)


def test_weights_are_repetitions_and_zeros_are_nothing():
    X, Y, _ = words(m=12)
    weight = np.tile([0, 1, 2, 1], 3)
    repeated = np.repeat(np.arange(12), weight)
    weighted = ChainClassifier(tol=1e-5, random_state=0).fit(X, Y, sample_weight=weight)
    copied = ChainClassifier(tol=1e-5, random_state=0).fit([X[i] for i in repeated], [Y[i] for i in repeated])
    assert weighted.objective_ == pytest.approx(copied.objective_, rel=0.02)
    bare = ChainClassifier(solver="perceptron", classes=range(3), shuffle=False).fit(X, Y)
    more = ChainClassifier(solver="perceptron", classes=range(3), shuffle=False).fit(
        [*X, X[0], X[1]], [*Y, None, Y[1]], sample_weight=[1] * 13 + [0]
    )
    np.testing.assert_array_equal(parameters(bare), parameters(more))


@pytest.mark.parametrize("solver", ["bundle", "perceptron"])
def test_missing_labels_have_many_names(solver):
    X, Y, _ = words(m=15)
    X, Y = [x for x in X if len(x)], [y for y in Y if len(y)]
    forms = [
        Y,
        [np.where(y == -1, np.nan, y) for y in Y],
        [[None if label == -1 else int(label) for label in y] for y in Y],
        [[{0, 1, 2} if label == -1 else [int(label)] for label in y] for y in Y],
        [[(None, None) if label == -1 else (int(label), int(label)) for label in y] for y in Y],
        [(y[:, None] == np.arange(3)) | (y[:, None] == -1) for y in Y],
        [np.column_stack([y, y]) for y in Y],
    ]
    fitted = [ChainClassifier(solver=solver, classes=range(3), random_state=0).fit(X, form) for form in forms]
    for model in fitted[1:]:
        np.testing.assert_array_equal(parameters(model), parameters(fitted[0]))


def test_minus_one_may_be_a_class():
    X = [np.array([[1.0], [-1.0]])] * 3
    model = ChainClassifier(classes=[-1, 1], random_state=0).fit(X, [[1, -1]] * 3)
    assert model.predict(X[:1])[0].tolist() == [1, -1]


def test_losses():
    X, Y, full = words(missing=0.0, noise=1.5)
    far = ChainClassifier(loss="mae", random_state=0).fit(X, Y)
    matrix = ChainClassifier(loss=np.abs(np.subtract.outer(range(3), range(3))), random_state=0).fit(X, Y)
    np.testing.assert_array_equal(parameters(far), parameters(matrix))
    predicted, truth = np.concatenate(far.predict(X)), np.concatenate(full)
    assert far.score(X, full) == pytest.approx(-np.abs(predicted - truth).mean())
    assert ChainClassifier(random_state=0).fit(X, Y).score(X, full) > -1


@pytest.mark.parametrize("surrogate", ["ramp", "max", "additive"])
def test_a_dear_reject_is_never_chosen_a_free_one_always_and_one_between_pays(surrogate):
    X, Y, full = words(noise=1.0, missing=0.2)
    how = dict(surrogate=surrogate, random_state=0)
    free = ChainClassifier(reject_cost=0.0, **how).fit(X, Y)
    dear = ChainClassifier(reject_cost=100.0, **how).fit(X, Y)
    rejected = [np.mean([label is None for part in m.predict(X) for label in part]) for m in (free, dear)]
    assert rejected[1] == 0.0
    assert rejected[0] > 0.8
    between, plain = ChainClassifier(reject_cost=0.1, **how).fit(X, Y), ChainClassifier(**how).fit(X, Y)
    assert between.score(X, full) > plain.score(X, full)
    assert dear.unary_coef_.shape == ((3, 4) if surrogate == "additive" else (4, 4))


def test_additive_rejects_by_chows_rule():
    X, Y, _ = words(noise=1.0)
    model = ChainClassifier("additive", reject_cost=0.3, random_state=0).fit(X, Y)
    for labels, scores in zip(model.predict(X), model.decision_function(X), strict=True):
        for label, score in zip(labels, scores, strict=True):
            probabilities = np.exp(score - score.max()) / np.exp(score - score.max()).sum()
            assert label == (None if 1 - probabilities.max() > 0.3 else score.argmax())


def test_decision_function_is_max_marginals():
    X, Y, _ = words()
    model = ChainClassifier(random_state=0).fit(X, Y)
    x = X[int(np.argmax([len(x) for x in X]))][:4]
    plain = PlainStructure(x, np.arange(-1, 3), [None] * 4, decision_losses("hamming", 3, None))
    s = plain.phi @ np.concatenate([model.unary_coef_.T.ravel(), model.intercept_, model.pairwise_coef_.ravel()])
    labellings = np.array(plain.labellings)
    expected = [[s[labellings[:, v] == y].max() for y in range(3)] for v in range(4)]
    np.testing.assert_allclose(model.decision_function([x])[0], expected)
    np.testing.assert_array_equal(model.predict([x])[0], labellings[s.argmax()])


def test_strings_copies_and_pickles():
    X, Y, _ = words(m=10)
    letters = [["abc"[label] if label >= 0 else None for label in y] for y in Y]
    model = ChainClassifier(random_state=0).fit(X, letters)
    assert model.classes_.tolist() == ["a", "b", "c"]
    again = pickle.loads(pickle.dumps(model))
    for left, right in zip(model.predict(X), again.predict(X), strict=True):
        np.testing.assert_array_equal(left, right)
    assert not hasattr(clone(model), "unary_coef_")
    with pytest.raises(NotFittedError):
        clone(model).predict(X)


def test_pairs_that_are_all_but_forbidden_leave_independent_positions():
    X, Y, _ = words(m=20)
    model = ChainClassifier("additive", pairwise_scaling=1e-6, random_state=0).fit(X, Y)
    assert np.abs(model.pairwise_coef_).max() < 1e-6
    for labels, x in zip(model.predict(X), X, strict=True):
        np.testing.assert_array_equal(labels, (x @ model.unary_coef_.T + model.intercept_).argmax(axis=1))


def test_too_few_iterations_warn():
    X, Y, _ = words()
    with pytest.warns(ConvergenceWarning, match="did not converge: the gap of the last convex problem"):
        ChainClassifier(max_iter=3, tol=1e-8, random_state=0).fit(X, Y)


# -- bad input ---------------------------------------------------------------------------------------------------------

ONE = np.ones((2, 3))


@pytest.mark.parametrize(
    ("X", "Y", "kind", "message"),
    [
        (
            ONE,
            [[0, 1]] * 2,
            ValueError,
            r"X must be a list .* Got one ndarray of shape \(2, 3\): .* give \[X\]",
        ),
        ([ONE[0]], [[0, 1]], ValueError, r"sequence 0 must be a \(T, d\) array.*Got shape \(3,\)"),
        ([ONE + 1j], [[0, 1]], ValueError, "sequence 0: features must be a .* complex numbers"),
        (
            [(ONE, [-1, 0, 1])],
            [[0, 1]],
            ValueError,
            r"sequence 0: .* A tree is Tree\(features, parents\)",
        ),
        ([np.ones((2, 2, 3))], [[0, 1]], ValueError, "sequence 0 has shape .* grids of parts are not supported"),
        (sparse.csr_matrix(ONE), [[0, 1]], TypeError, "X must be a list of sequences.*csr_matrix"),
        ([], [], ValueError, "X is empty"),
        ([ONE, ONE[:, :2]], [[0, 1]] * 2, ValueError, "sequence 1 has 2 features, sequence 0 has 3"),
        ([["a"]], [[0]], ValueError, "sequence 0: features must be"),
        ([ONE, ONE * [1, np.nan, 1]], [[0, 1]] * 2, ValueError, "sequence 1, position 0, column 1: .* Got nan"),
        ([ONE, sparse.csr_matrix(ONE * np.inf)], [[0, 1]] * 2, ValueError, "sequence 1, position 0, column 0"),
        ([Tree(ONE, [0, 0])], [[0, 1]], ValueError, "sequence 0, position 0: the parent of a part must come before"),
        ([Tree(ONE, [-1])], [[0, 1]], ValueError, "sequence 0: parents must be 2 whole numbers"),
        ([ONE, ONE], [[0, 1]], ValueError, "X has 2 sequences but Y has labels for 1"),
        ([ONE, ONE], [[0, 1], [0]], ValueError, "sequence 1 has 2 positions in X but 1 labels"),
        ([ONE, ONE], [[0, 1], [0, 7]], ValueError, "sequence 1, position 1: the label 7 is not one of"),
        ([ONE, ONE], [[0, 1], [(1, 0), 1]], ValueError, "sequence 1, position 0: the lower end"),
        ([ONE, ONE], [[0, 1], 3], TypeError, "sequence 1: labels must be a list"),
        ([ONE], ["ab"], ValueError, "sequence 0, position 0: the label 'a' is not one of"),
        ([ONE, ONE], [None, None], ValueError, "no sequence has a label"),
    ],
)
@pytest.mark.parametrize("solver", ["bundle", "perceptron"])
def test_bad_data(X, Y, kind, message, solver):
    model = ChainClassifier(solver=solver, classes=[0, 1])
    with pytest.raises(kind, match=message):
        model.fit(X, Y)
    assert not hasattr(model, "classes_")


def test_the_name_of_a_class_is_not_taken_for_a_row():
    model = ChainClassifier(classes=["row 0", "row 1"])
    with pytest.raises(ValueError, match="sequence 1") as caught:
        model.fit([ONE, ONE], [["row 0", "row 1"], ["row 1", "row 2"]])
    rule = "the label 'row 2' is not one of the classes ['row 0', 'row 1']."
    assert str(caught.value).startswith(f"sequence 1, position 1: {rule}")


def test_encoded_labels_are_labels_of_a_sequence():
    X, Y, _ = words(m=5)
    plain = ChainClassifier(classes=range(3), random_state=0).fit(X, Y)
    labels = [encode(np.where(y < 0, np.nan, y), range(3)) for y in Y]
    encoded = ChainClassifier(classes=range(3), random_state=0).fit(X, labels)
    assert np.array_equal(plain.unary_coef_, encoded.unary_coef_)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"surrogate": "square"}, "'surrogate' parameter"),
        ({"solver": "perceptron", "surrogate": "ramp"}, "solver='perceptron' .* Got surrogate='ramp'"),
        ({"alpha": 0.0}, "'alpha' parameter"),
        ({"reject_cost": -1.0}, "'reject_cost' parameter"),
        ({"reject_cost": 0.1}, "surrogate='hinge' .* never learns to say .* Got reject_cost=0.1"),
        ({"loss": np.ones((2, 2))}, r"shape \(3, 3\)"),
        ({"loss": [["a", "b", "c"]] * 3}, "a loss matrix must hold numbers: could not convert string to float: 'a'"),
        ({"intercept_scaling": 0.0}, "'intercept_scaling' parameter"),
        ({"pairwise_scaling": -1.0}, "'pairwise_scaling' parameter"),
        ({"loss": -np.ones((3, 3))}, r"a part loss must be a finite number >= 0. Got loss\[0, 0\] = -1.0"),
    ],
)
def test_bad_parameters(parameters, message):
    X, Y, _ = words(m=5)
    with pytest.raises(ValueError, match=message):
        ChainClassifier(**parameters, classes=range(3)).fit(X, Y)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1.0] * 4, "X has 5 sequences but sample_weight"),
        ([1, 1, -1, 1, 1], "sequence 2: a weight must be .* Got -1.0"),
    ],
)
def test_bad_weights(weight, message):
    X, Y, full = words(m=5)
    with pytest.raises(ValueError, match=message):
        ChainClassifier(classes=range(3)).fit(X, Y, sample_weight=weight)
    with pytest.raises(ValueError, match=message):
        ChainClassifier(solver="perceptron", classes=range(3)).fit(X, Y).score(X, full, sample_weight=weight)


def test_a_tree_may_be_empty():
    X, Y, _ = words(m=5)
    model = ChainClassifier(solver="perceptron").fit([Tree(np.empty((0, 4)), []), *X], [[], *Y])
    assert [len(labels) for labels in model.predict([Tree(np.empty((0, 4)), []), X[0]])] == [0, len(X[0])]


def test_solvers_leave_nothing_of_each_other_behind():
    X, Y, _ = words(m=5)
    model = ChainClassifier(solver="perceptron", random_state=0).fit(X, Y).set_params(solver="bundle").fit(X, Y)
    assert not hasattr(model, "n_updates_")
    with pytest.raises(ValueError, match="was fitted with solver='bundle'"):
        model.set_params(solver="perceptron").partial_fit(X, Y)
    assert not hasattr(model.fit(X, Y), "gap_")


def test_nothing_but_empty_sequences():
    with pytest.raises(ValueError, match="no sequence has a label"):
        ChainClassifier(classes=[0, 1]).fit([np.empty((0, 2))], [[]])


def test_streams_need_classes_and_the_perceptron():
    X, Y, _ = words(m=5)
    with pytest.raises(ValueError, match="needs all labels"):
        ChainClassifier(solver="perceptron").partial_fit(X, Y)
    with pytest.raises(ValueError, match="only solver='perceptron'"):
        ChainClassifier(classes=range(3)).partial_fit(X, Y)
    model = ChainClassifier(solver="perceptron").partial_fit(X, Y, classes=range(3))
    before = parameters(model)
    with pytest.raises(ValueError, match="not the same as before"):
        model.partial_fit(X, Y, classes=range(4))
    with pytest.raises(ValueError, match="sequence 1 has 3 features, the model was fitted with 4"):
        model.partial_fit([X[0], X[1][:, :3]], Y[:2])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        with pytest.raises(ValueError, match="too large"):
            model.partial_fit([np.full((2, 4), 1e308)] * 9, [[0, 1], [1, 2], [2, 0]] * 3)
    np.testing.assert_array_equal(parameters(model), before)


def test_predictions_do_not_wait_for_a_refit(monkeypatch):
    X, Y, full = words(m=6)
    model = ChainClassifier(random_state=0).fit(X, Y)
    before, seen = np.concatenate(model.decision_function(X)), []
    minimise = _chain_by_bundle.minimise

    def after_a_reader(*args, **kwargs):
        reader = threading.Thread(target=lambda: seen.append(model.decision_function(X)), daemon=True)
        reader.start()
        reader.join(timeout=20)
        return minimise(*args, **kwargs)

    monkeypatch.setattr(_chain_by_bundle, "minimise", after_a_reader)
    model.fit([-x for x in X], full)
    np.testing.assert_array_equal(np.concatenate(seen[0]), before)
    assert not np.array_equal(np.concatenate(model.decision_function(X)), before)


@pytest.mark.parametrize("surrogate", ["ramp", "max"])
def test_a_reject_cost_does_not_make_it_reject_what_it_could_tell(surrogate):
    """Six of ten labels are plain to see, the others not at all: rejecting these alone costs half of rejecting all."""
    rng = np.random.default_rng(0)
    X, Y = [], []
    for _ in range(60):
        y, seen = rng.integers(0, 3), rng.random() < 0.6
        X.append(np.append(np.eye(3)[y] * seen, 1.0 - seen)[None])
        Y.append([int(y)])
    model = ChainClassifier(surrogate, reject_cost=0.2, random_state=0).fit(X, Y)
    rejected = np.array([labels[0] is None for labels in model.predict(X)])
    np.testing.assert_array_equal(rejected, [x[0, 3] > 0 for x in X])
    assert model.objective_ < 0.12  # 0.202 where everything is rejected
    assert model.convex_gap_ == model.gap_ <= model.tol
    assert model.convex_lower_bound_ == model.lower_bound_
