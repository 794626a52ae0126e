"""Contributions add up to the score, are those of brute force, and go back to raw columns and words."""

from itertools import permutations

import matplotlib
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import rankwise as rw
from rankwise.explanations import permutation_importances

matplotlib.use("Agg")

WORDS = ["fine", "dull", "sweet", "bitter", "old", "young", "of", "the"]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    n = 320
    frame = pd.DataFrame(
        {
            "size": rng.normal(5, 2, n),
            "price": rng.exponential(3, n),
            "colour": rng.choice(["red", "blue", "green"], n),
            "fresh": rng.random(n) < 0.5,
            "when": pd.date_range("2023-01-01", periods=n, freq="31h"),
            "remark": [" ".join(rng.choice(WORDS, 6)) for _ in range(n)],
        }
    )
    frame.loc[::7, "price"] = np.nan
    fine = frame["remark"].str.count("fine")
    score = 0.4 * frame["size"] + (frame["colour"] == "red") + fine + 0.3 * rng.normal(size=n)
    return frame, np.digitize(score, [2.0, 3.0, 4.0]) + 1


ENCODERS = {
    "linear": rw.TableEncoder(numbers="linear", indicate_missing=True),
    "splines": rw.TableEncoder(numbers="spline+products", dates="cyclic", ngrams=2),
    "hashed": rw.TableEncoder(texts="hash", categories="hash", n_hashed=8),  # so few that columns fall together
}


@pytest.mark.parametrize("encoder", ENCODERS.values(), ids=ENCODERS)
@pytest.mark.parametrize("estimator", [rw.SVOR(alpha=0.01), rw.CumulativeLink(alpha=0.01), rw.PRIL(random_state=0)])
def test_table_models_add_up_over_raw_columns(encoder, estimator, data):
    X, y = data
    model = rw.TableModel(estimator, encoder).fit(X, y)
    found = rw.explain(model, X)
    assert found.method == "linear"
    assert found.columns == X.columns.tolist()
    np.testing.assert_allclose(found.base + found.values.sum(axis=1), model.project(X), rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.values.mean(axis=0), 0.0, atol=1e-9)
    # Of two rows that differ in one column, only its contribution differs; with products those of its partners too.
    if encoder.numbers != "spline+products" and encoder.texts != "hash":
        other = X.assign(size=X["size"] + 1)
        change = rw.explain(model, other, background=X).values - found.values
        np.testing.assert_allclose(change[:, 1:], 0.0, atol=1e-9)
        np.testing.assert_allclose(change[:, 0], model.project(other) - model.project(X), atol=1e-9)


def test_linear_contributions_are_the_shapley_values(data):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 4))
    model = rw.SVOR(alpha=0.1).fit(X, rng.integers(0, 3, 30))
    found = rw.explain(model, X[:3], background=X)
    expected = np.zeros((3, 4))
    for order in permutations(range(4)):
        mixed = np.tile(X.mean(axis=0), (3, 1))
        for j in order:
            before = model.project(mixed)
            mixed[:, j] = X[:3, j]
            expected[:, j] += (model.project(mixed) - before) / 24
    np.testing.assert_allclose(found.values, expected, atol=1e-12)
    assert found.base == pytest.approx(model.project(X).mean())


def test_sampled_ones_add_up_and_come_near_to_the_exact_ones():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 3))
    y = np.digitize(X[:, 0] * X[:, 1], [-0.5, 0.5])
    model = rw.KernelPRIL(gamma=0.5, n_epochs=3, budget=30, random_state=0).fit(X, y)
    found = rw.explain(model, X[:5], background=X, n_samples=240)
    assert found.method == "sampled"
    np.testing.assert_allclose(found.base + found.values.sum(axis=1), model.project(X[:5]), atol=1e-9)
    exact = np.zeros((5, 3))
    for order in permutations(range(3)):
        for z in X:
            mixed = np.tile(z, (5, 1))
            for j in order:
                before = model.project(mixed)
                mixed[:, j] = X[:5, j]
                exact[:, j] += (model.project(mixed) - before) / (6 * 60)
    np.testing.assert_allclose(found.values, exact, atol=0.15 * np.abs(exact).max())
    again = rw.explain(model, X[:5], background=X, n_samples=240)
    np.testing.assert_array_equal(again.values, found.values)


def test_models_without_a_score_explain_the_expected_rank_or_the_rank(data):
    X, y = data
    model = rw.TableModel(rw.CuSumRank(random_state=0)).fit(X, y)
    found = rw.explain(model, X[:6], n_samples=3)
    assert found.score_name == "rank"
    np.testing.assert_allclose(found.base + found.values.sum(axis=1), model.predict(X[:6]) - 1, atol=1e-9)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"])
def test_pipelines_and_sparse_rows(make):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 3)) * [1, 10, 100], rng.integers(0, 3, 50)
    model = make_pipeline(StandardScaler(with_mean=False), rw.SVOR(alpha=0.1)).fit(make(X), y)
    found = rw.explain(model, make(X))
    np.testing.assert_allclose(found.base + found.values.sum(axis=1), model[-1].project(model[0].transform(X)))
    assert found.columns == ["x0", "x1", "x2"]


def test_calibrated_scores_have_probabilities(data):
    X, y = data[0][["size", "colour"]], data[1]
    inside = rw.TableModel(rw.SVOR(alpha=0.01))
    model = rw.CalibratedOrdinal(inside, random_state=0).fit(X, y)
    found = rw.explain(model, X)
    wanted, moves = found.at_least(4)
    k = model.classes_.tolist().index(wanted)
    assert moves[0, 1] == pytest.approx(model.predict_proba(X[4:5])[0, k:].sum())


def test_sentences_and_probabilities(data):
    X, y = data
    model = rw.TableModel(rw.CumulativeLink(alpha=0.01), rw.TableEncoder(numbers="linear")).fit(X, y)
    found = rw.explain(model, X)
    wanted, moves = found.at_least(3)
    j = found.columns.index("remark")
    without = model.estimator_.thresholds_ - (found.scores[3] - found.values[3, j])
    k = wanted - 2
    assert moves[j, 0] == pytest.approx(1 - 1 / (1 + np.exp(-without[k])))
    assert f"P(at least {wanted}) from {moves[j, 0]:.2f} to {moves[j, 1]:.2f}" in " ".join(found.sentences(3, 6))
    scores_only = rw.explain(rw.TableModel(rw.SVOR()).fit(X, y), X)
    assert scores_only.at_least(0) is None
    assert "moves the score by" in scores_only.sentences(0)[0]


@pytest.mark.parametrize("texts", ["tfidf", "hash"])
def test_words_of_a_row(texts, data):
    X, y = data[0][["remark"]], data[1]
    model = rw.TableModel(rw.SVOR(alpha=1e-4), rw.TableEncoder(texts=texts)).fit(X, y)
    row = int(np.argmax(X["remark"].str.count("fine")))
    words = rw.explain(model, X).words(row, top=20)
    assert words[0][:2] == ("remark", "fine")
    assert {word for _, word, _ in words} == set(X["remark"][row].split())
    zero = model.estimator_.project(model.encoder_.transform(X[row : row + 1]) * 0)
    np.testing.assert_allclose(sum(part for *_, part in words), model.project(X[row : row + 1]) - zero, atol=1e-9)


def test_changes_cross_a_threshold_and_are_the_smallest(data):
    X, y = data
    model = rw.TableModel(rw.SVOR(alpha=0.01), rw.TableEncoder(numbers="linear")).fit(X, y)
    found = rw.explain(model, X)
    changes = [change for change in found.changes(5) if change.column == "size"]
    assert changes
    for change in changes:
        changed = X[5:6].assign(size=change.new)
        assert model.predict(changed)[0] == change.new_class != change.old_class == model.predict(X[5:6])[0]
        nearer = X[5:6].assign(size=X["size"][5] + 0.999 * (change.new - X["size"][5]))
        assert model.predict(nearer)[0] == change.old_class
        assert f"size: {X['size'][5]:.4g} -> {change.new:.4g} would make it" in str(change)
    for change in found.changes(5):
        assert model.predict(X[5:6].assign(**{change.column: [change.new]}))[0] == change.new_class


def test_permutation_importances_take_intervals(data):
    X, y = data
    intervals = [(max(k - 1, 1), k) for k in y]
    model = rw.TableModel(rw.SVOR(alpha=0.01)).fit(X[:200], intervals[:200])
    found = permutation_importances(model, X[200:], intervals[200:])
    assert found.error == pytest.approx(model.evaluate(X[200:], intervals[200:])["mae"])
    assert found.columns[int(np.argmax(found.mean))] in ("remark", "size")
    assert found.plot().get_yticklabels()
    with pytest.raises(ValueError, match="n_repeats must be at least 2"):
        permutation_importances(model, X, intervals, n_repeats=1)


def test_pictures(data):
    X, y = data
    found = rw.explain(rw.TableModel(rw.CumulativeLink(alpha=0.01)).fit(X, y), X)
    ax = found.plot(7, top=3)
    assert [t.get_text() for t in ax.get_yticklabels()][-1] == "3 others"
    assert len(ax.patches) == 4
    assert found.plot(column="size").get_xlabel() == "size"
    assert [t.get_text() for t in found.plot(column="colour").get_yticklabels()]
    assert len(found.plot(top=4).patches) == 4
    with pytest.raises(ValueError, match="a row or a column"):
        found.plot(1, column="size")
    with pytest.raises(ValueError, match="there is no column 'siez'"):
        found.plot(column="siez")
    with pytest.raises(IndexError, match="row must be between 0 and 319"):
        found.plot(400)


def test_one_row_needs_a_background_only_where_nothing_is_linear():
    X, y = np.random.default_rng(0).normal(size=(40, 2)), np.arange(40) % 3
    found = rw.explain(rw.SVOR(alpha=0.1).fit(X, y), X[:1])
    np.testing.assert_allclose(found.base, 0.0, atol=1e-12)
    with pytest.raises(ValueError, match="give several as background"):
        rw.explain(rw.KernelPRIL(random_state=0, n_epochs=1).fit(X, y), X[:1])
    with pytest.raises(ValueError, match="sampled contributions need dense rows"):
        rw.explain(rw.KernelPRIL(random_state=0, n_epochs=1).fit(X, y), sparse.csr_matrix(X))


def test_trees(data):
    pytest.importorskip("lightgbm")
    boosted = getattr(rw, "BoostedThresholds", None)
    if boosted is None:
        pytest.skip("no boosted trees here")
    X, y = data[0][["size", "price"]], data[1]
    plain = boosted(max_iter=20, early_stopping=False, n_jobs=1, random_state=0).fit(X, y)
    whole = rw.TableModel(clone(plain), rw.TableEncoder(numbers="linear")).fit(data[0], y)
    for model, rows in ((plain, X), (whole, data[0])):
        found = rw.explain(model, rows)
        assert found.method == "trees"
        assert found.columns == rows.columns.tolist()
        np.testing.assert_allclose(found.base + found.values.sum(axis=1), model.project(rows), atol=1e-9)


@pytest.mark.parametrize("estimator", [rw.SVOR(alpha=0.1), rw.CumulativeLink(), rw.PRIL(random_state=0)], ids=str)
def test_scikit_learn_inspects_our_models(estimator, data):
    X, y = data[0][["size", "price"]].fillna(0.0), data[1]
    model = estimator.fit(X, y)
    assert permutation_importance(model, X, y, n_repeats=2, random_state=0).importances.shape == (2, 2)
    assert partial_dependence(model, X, ["size"], response_method="decision_function").average.shape[0] == 4


@pytest.mark.slow  # shap compiles kernels of its own
def test_shap_agrees_with_linear_contributions(data):
    shap = pytest.importorskip("shap")
    X, y = data[0][["size", "price"]].fillna(0.0).to_numpy(), data[1]
    model = rw.SVOR(alpha=0.1).fit(X, y)
    theirs = shap.explainers.Exact(model.project, shap.maskers.Independent(X, max_samples=len(X)))(X[:10])
    ours = rw.explain(model, X[:10], background=X)
    np.testing.assert_allclose(theirs.values, ours.values, atol=1e-9)
    np.testing.assert_allclose(theirs.base_values, ours.base, atol=1e-9)


@pytest.mark.slow  # as above
def test_shap_agrees_with_the_contributions_of_trees(data):
    shap = pytest.importorskip("shap")
    pytest.importorskip("lightgbm")
    X, y = data[0][["size", "price"]].fillna(0.0).to_numpy(), data[1]
    model = rw.BoostedThresholds(max_iter=10, early_stopping=False, n_jobs=1, random_state=0).fit(X, y)
    theirs = shap.TreeExplainer(model.booster_).shap_values(X[:20])
    np.testing.assert_allclose(theirs, rw.explain(model, X[:20]).values, atol=1e-9)
    around = shap.explainers.Exact(model.project, shap.maskers.Independent(X, max_samples=20))(X[:5])
    np.testing.assert_allclose(around.base_values + around.values.sum(axis=1), model.project(X[:5]), atol=1e-9)


def test_contributions_as_a_table(data):
    frame, y = data
    rows = frame[["size", "price"]].fillna(0.0)
    found = rw.explain(rw.TableModel(rw.CumulativeLink()).fit(rows, y), rows[:5])
    table = found.to_frame()
    assert table.columns.tolist() == ["size", "price", found.score_name]
    np.testing.assert_allclose(table[["size", "price"]].sum(axis=1) + found.base, table[found.score_name], rtol=1e-9)


def test_rows_of_whole_numbers_may_be_changed_to_fractions():
    rng = np.random.default_rng(0)
    X = rng.integers(-9, 10, size=(200, 2))
    model = rw.CumulativeLink(alpha=0.01).fit(X, np.digitize(X[:, 0] + 0.3 * rng.normal(size=200), [-4, 4]))
    found = rw.explain(model, X, background=X + 0.5)
    changes = [(row, change) for row in range(20) for change in found.changes(row)]
    assert changes
    for row, change in changes:
        changed = X[[row]].astype(float)
        changed[0, int(change.column[1:])] = change.new
        assert model.predict(changed)[0] == change.new_class


def test_sampled_contributions_do_not_cut_fractions_off():
    rng = np.random.default_rng(0)
    X, background = rng.normal(size=(20, 2)), rng.integers(-2, 3, size=(20, 2))
    model = rw.KernelPRIL(gamma=0.5, random_state=0).fit(X, np.digitize(X[:, 0], [-0.5, 0.5]))
    whole, exact = (rw.explain(model, X, background=rows) for rows in (background, background.astype(float)))
    np.testing.assert_array_equal(whole.values, exact.values)


def test_an_array_of_texts_and_numbers():
    rows = np.array([[1.0, "a"], [2.0, "b"], [3.0, "a"], [4.0, "b"]] * 10, dtype=object)
    model = rw.TableModel(rw.CumulativeLink(alpha=0.01)).fit(rows, [1, 1, 2, 2] * 10)
    found = rw.explain(model, rows)
    assert any(" = a moves P(at least 2)" in sentence for sentence in found.sentences(0))
    assert found.changes(1)
    for change in found.changes(1):
        changed = rows[[1]].copy()
        changed[0, found.columns.index(change.column)] = change.new
        assert model.predict(changed)[0] == change.new_class
    assert [label.get_text() for label in found.plot(column=found.columns[1]).get_yticklabels()]


def test_a_model_of_a_single_class_has_nothing_to_explain():
    X = np.random.default_rng(0).normal(size=(30, 2))
    found = rw.explain(rw.CumulativeLink().fit(X, np.ones(30, dtype=int)), X)
    assert found.at_least(0) is None
    assert found.sentences(0) == []


def test_a_regressor_is_refused(data):
    X, y = data[0][["size"]].to_numpy(), data[1]
    with pytest.raises(TypeError, match="Ridge has no classes_: explanations need a fitted classifier"):
        rw.explain(Ridge().fit(X, y), X[:3])
