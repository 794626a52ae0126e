"""Standard errors, tests and marginal effects of table models: by raw column, with the levels of categories."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import rankwise as rw
from rankwise.batch.link_inference import covariance

N = 500


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "size": rng.normal(50, 10, N),
            "colour": rng.choice(["blue", "green", "red"], N, p=[0.3, 0.5, 0.2]),
            "fresh": rng.random(N) < 0.4,
        }
    )
    score = (table["size"] - 50) / 10 + table["colour"].map({"blue": 0.8, "green": 0.0, "red": -0.4})
    return table, np.digitize(score + 0.5 * table["fresh"] + rng.logistic(size=N), [-1.0, 0.5, 1.5]) + 1


def _fitted(table, y, weight=None, **encoding):
    encoding = {"numbers": "linear"} | encoding
    return rw.TableModel(rw.CumulativeLink(alpha=0, tol=1e-10), rw.TableEncoder(**encoding)).fit(table, y, weight)


def _design(table):
    """The same features by hand."""
    size = (table["size"] - table["size"].mean()) / table["size"].std(ddof=0)
    columns = [size, table["colour"] == "blue", table["colour"] == "red"]
    return np.column_stack([np.asarray(column, dtype=float) for column in columns])


def test_it_is_the_inference_of_the_same_matrix(data):
    table, y = data[0][["size", "colour"]], data[1]
    labels = np.column_stack([y, np.minimum(y + (np.arange(N) % 4 == 0), 4)])
    weight = np.tile([1.0, 2.0], N // 2)
    model, X = _fitted(table, labels, weight), _design(table)
    found = model.inference(table, labels, weight, level=0.9)
    plain = rw.CumulativeLink(alpha=0, tol=1e-10).fit(X, labels, weight)
    expected = plain.inference(X, labels, weight, level=0.9)
    names = ["size", "colour=green (reference)", "colour=blue", "colour=red", "1|2", "2|3", "3|4"]
    assert found.index.tolist() == names
    np.testing.assert_allclose(
        found.drop(index=names[1])[expected.columns].to_numpy(dtype=float), expected.to_numpy(), rtol=1e-5
    )
    reference = found.loc[names[1]]
    assert (reference["coef"], reference["odds_ratio"]) == (0.0, 1.0)
    assert reference[["std_err", "z", "p", "lower", "upper"]].isna().all()
    assert found["column"].tolist() == ["size", *["colour"] * 3, "", "", ""]
    # The joint test of a category, by its formula.
    cov = covariance(plain, X, labels, weight)[1:3, 1:3]
    statistic = plain.coef_[1:] @ np.linalg.inv(cov) @ plain.coef_[1:]
    assert found.loc["colour=red", "df_column"] == 2
    assert found.loc["colour=red", "p_column"] == pytest.approx(stats.chi2.sf(statistic, 2), rel=1e-5)
    assert found.loc["size", "p_column"] == pytest.approx(found.loc["size", "p"])


def test_likelihood_ratios_leave_out_whole_columns(data):
    table, y = data
    model = _fitted(table, y)
    found = model.likelihood_ratio_test(table, y, without=["colour"])
    smaller = _fitted(table[["size", "fresh"]], y)
    assert found.df == 2
    assert found.statistic == pytest.approx(2 * N * (smaller.estimator_.objective_ - model.estimator_.objective_))
    assert model.likelihood_ratio_test(table, y, without="colour") == found
    assert model.likelihood_ratio_test(table, y).df == 4
    with pytest.raises(ValueError, match=r"without must be columns of X: 'size', 'colour', 'fresh'\. Got 'age'"):
        model.likelihood_ratio_test(table, y, without=["age"])


@pytest.mark.parametrize("numbers", ["linear", "spline", "spline+products"])
def test_marginal_effects_are_differences_of_mean_probabilities(data, numbers):
    table, y = data[0].assign(weight=np.random.default_rng(1).exponential(2.0, N)), data[1]
    table.loc[:20, "weight"] = np.nan
    model = _fitted(table, y, numbers=numbers)
    found = model.marginal_effects(table, y)
    names = ["size", "colour=blue", "colour=red", "fresh=true", "weight"]
    assert found.index.get_level_values("feature").unique().tolist() == names
    for level in ("blue", "red"):
        sides = [model.predict_proba(table.assign(colour=name)).mean(axis=0) for name in (level, "green")]
        rows = found.loc[f"colour={level}"]
        np.testing.assert_allclose(rows["effect"], sides[0] - sides[1], atol=1e-12)
        assert set(rows["reference"]) == {"colour=green"}
    sides = [model.predict_proba(table.assign(fresh=value)).mean(axis=0) for value in (True, False)]
    np.testing.assert_allclose(found.loc["fresh=true", "effect"], sides[0] - sides[1], atol=1e-12)
    known = table["weight"].notna()
    for name, rows in {"size": table, "weight": table[known]}.items():
        step = 1e-4
        sides = [model.predict_proba(rows.assign(**{name: rows[name] + s})).mean(axis=0) for s in (step, -step)]
        np.testing.assert_allclose(found.loc[name, "effect"], (sides[0] - sides[1]) / (2 * step), atol=1e-6)
    assert found["effect"].groupby(level="feature").sum().abs().max() < 1e-10


@pytest.mark.parametrize("numbers", ["linear", "spline"])
def test_standard_errors_of_effects_are_those_of_the_delta_method(data, numbers):
    table, y = data
    model = _fitted(table, y, numbers=numbers)
    found = model.marginal_effects(table, y)
    link, X = model.estimator_, model.encoder_.transform(table)
    cov, d = covariance(link, X, y, None), X.shape[1]
    at = np.concatenate([link.coef_, link.thresholds_])

    def effects(parameters):
        link.coef_, link.thresholds_ = parameters[:d], parameters[d:]
        moved = [
            (table.assign(size=table["size"] + 1e-3), table.assign(size=table["size"] - 1e-3), 2e-3),
            *((table.assign(colour=level), table.assign(colour="green"), 1.0) for level in ("blue", "red")),
            (table.assign(fresh=True), table.assign(fresh=False), 1.0),
        ]
        sides = [((model.predict_proba(a) - model.predict_proba(b)).mean(axis=0) / step) for a, b, step in moved]
        return np.concatenate(sides)

    jacobian = np.column_stack([(effects(at + 1e-4 * e) - effects(at - 1e-4 * e)) / 2e-4 for e in np.eye(at.size)])
    np.testing.assert_allclose(found["std_err"], np.sqrt(np.diag(jacobian @ cov @ jacobian.T)), rtol=1e-3)


def test_a_row_of_weight_two_is_two_rows(data):
    table, y = data
    times = np.tile([1, 2, 3, 1], N // 4)
    rows = np.repeat(np.arange(N), times)
    options = {"scaling": "none"}
    weighted = _fitted(table, y, times, **options)
    repeated = _fitted(table.iloc[rows], y[rows], **options)
    for ask in ("inference", "marginal_effects"):
        a = getattr(weighted, ask)(table, y, times).select_dtypes("number")
        b = getattr(repeated, ask)(table.iloc[rows], y[rows]).select_dtypes("number")
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-9)
    a, b = (
        weighted.likelihood_ratio_test(table, y, sample_weight=times),
        repeated.likelihood_ratio_test(table.iloc[rows], y[rows]),
    )
    assert (a.df, a.statistic) == (b.df, pytest.approx(b.statistic, rel=1e-6))


def test_columns_without_a_value_and_other_encoders(data):
    table, y = data
    model = _fitted(table, y, unknown="column")
    found = model.inference(table, y)
    assert np.isnan(found.loc["colour is new", "std_err"])
    assert found.loc["colour=red", "df_column"] == 2
    X = _design(table)
    from sklearn.preprocessing import StandardScaler

    for encoder in ("none", StandardScaler()):
        plain = rw.TableModel(rw.CumulativeLink(alpha=0), encoder).fit(X, y)
        assert plain.inference(X, y).index.tolist()[:3] == ["x0", "x1", "x2"]
        assert plain.likelihood_ratio_test(X, y, without=["x1", "x2"]).df == 2
        assert plain.marginal_effects(X, y).shape == (12, 6)


def test_models_without_inference_say_so(data):
    table, y = data
    for name in ("inference", "likelihood_ratio_test", "marginal_effects"):
        with pytest.raises(AttributeError) as caught:
            getattr(rw.TableModel(rw.SVOR()), name)
        assert "SVOR has no standard errors" in str(caught.value.__cause__)
        penalised = rw.TableModel(rw.CumulativeLink(alpha=0.01)).fit(table, y)
        with pytest.raises(ValueError, match=r"need maximum likelihood.*alpha=0\)\)\. This model has alpha=0.01"):
            getattr(penalised, name)(table, y)
    with pytest.raises(ValueError, match="level must be a number between 0 and 1"):
        _fitted(table, y).inference(table, y, level=95)


def test_what_is_not_identified_is_named_by_its_levels(data):
    table, y = data
    with pytest.warns(UserWarning, match="'colour=red' follows from 'colour=blue', 'colour=green'"):
        model = _fitted(table, y, drop_first=False)
    for ask in (model.inference, model.marginal_effects):
        with pytest.raises(ValueError, match="collinear: 'colour=red' follows from 'colour=blue', 'colour=green'"):
            ask(table, y)
    assert model.likelihood_ratio_test(table, y, without="colour").df == 2
    again = table.assign(twice=2 * table["size"])
    with pytest.warns(UserWarning, match="'twice' follows from 'size'"):
        model = _fitted(again, y)
    with pytest.raises(ValueError, match="'twice' follows from the others, so there is nothing to test"):
        model.likelihood_ratio_test(again, y, without="twice")


def test_a_model_from_a_file_and_rows_of_other_libraries(data, tmp_path):
    table, y = data
    polars = pytest.importorskip("polars")
    model = _fitted(table, y)
    rw.save(model, tmp_path / "model.rankwise")
    expected = model.inference(table, y)
    assert rw.load(tmp_path / "model.rankwise").inference(table, y).equals(expected)
    assert model.inference(polars.from_pandas(table), y).equals(expected)


def test_other_rows_labels_and_weights_are_refused(data):
    table, y = data
    model = _fitted(table, y)
    for ask in (model.inference, model.likelihood_ratio_test, model.marginal_effects):
        for other in ((table[:400], y[:400]), (table, y[::-1]), (table, y, np.tile([1.0, 2.0], N // 2))):
            with pytest.raises(ValueError, match="not the rows, labels and weights of the fit, or the fit stopped"):
                ask(*other[:2], sample_weight=other[-1] if len(other) > 2 else None)
