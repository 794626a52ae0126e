"""Average marginal effects and the check of parallel lines, against finite differences and simulation."""

import matplotlib
import numpy as np
import pytest
from scipy.special import expit

import rankwise as rw
from rankwise.batch.link_inference import covariance
from rankwise.explanations import marginal_effects, parallel_lines

matplotlib.use("Agg")


def drawn(seed, n=800, slopes=((1.0, -0.5),) * 3):
    """Rows and classes of cumulative logits whose weights may differ between the thresholds."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    above = expit(X @ np.array(slopes).T - [-1.0, 0.5, 2.0])
    above = np.minimum.accumulate(above, axis=1)
    return X, (rng.random((n, 1)) < above).sum(axis=1) + 1


@pytest.mark.parametrize("link", ["logit", "probit", "cloglog", "loglog"])
def test_effects_are_the_slopes_of_the_mean_probabilities(link):
    X, y = drawn(0, 150)
    model = rw.CumulativeLink(link=link, alpha=0.01).fit(X, y)
    table = marginal_effects(model, X, y)
    assert marginal_effects(model, X.tolist(), y).equals(table)
    for j in range(2):
        step = np.eye(2)[j] * 1e-5
        slope = (model.predict_proba(X + step) - model.predict_proba(X - step)).mean(axis=0) / 2e-5
        np.testing.assert_allclose(table.loc[f"x{j}", "effect"], slope, atol=1e-8)


@pytest.mark.parametrize("link", ["logit", "probit", "cloglog", "loglog"])
def test_standard_errors_are_those_of_the_delta_method(link):
    X, y = drawn(1, 150)
    labels = np.column_stack([y, np.minimum(y + (np.arange(150) % 3 == 0), 4)])
    model = rw.CumulativeLink(link=link, alpha=0.01).fit(X, labels)
    table = marginal_effects(model, X, labels)

    def effects(parameters):
        model.coef_, model.thresholds_ = parameters[:2], parameters[2:]
        step = 1e-4
        slopes = [model.predict_proba(X + step * e) - model.predict_proba(X - step * e) for e in np.eye(2)]
        return np.concatenate([s.mean(axis=0) / (2 * step) for s in slopes])

    at, cov = np.concatenate([model.coef_, model.thresholds_]), covariance(model, X, labels, None)
    jacobian = np.column_stack([(effects(at + 1e-4 * e) - effects(at - 1e-4 * e)) / 2e-4 for e in np.eye(at.size)])
    np.testing.assert_allclose(table["std_err"], np.sqrt(np.diag(jacobian @ cov @ jacobian.T)), rtol=1e-4)


def test_effects_need_a_link():
    X, y = drawn(0, 60)
    with pytest.raises(TypeError, match=r"marginal_effects needs a CumulativeLink\. Got a SVOR"):
        marginal_effects(rw.SVOR().fit(X, y), X, y)


def test_lines_that_are_parallel_are_rarely_called_others():
    rejected = 0
    for seed in range(40):
        X, y = drawn(seed, 500)
        rejected += parallel_lines(rw.CumulativeLink().fit(X, y), X, y).p_all < 0.05
    assert rejected <= 6  # P(more than 6 of 40 at 5 %) is 0.003


def test_lines_that_are_not_parallel_are_found_with_intervals_too():
    X, y = drawn(7, 1500, slopes=((1.0, -0.5), (1.0, 0.3), (1.0, 1.0)))
    intervals = np.column_stack([y, np.where(np.arange(1500) % 3 == 0, np.minimum(y + 1, 4), y)])
    for labels in (y, intervals):
        found = parallel_lines(rw.CumulativeLink().fit(X, labels), X, labels)
        assert found.thresholds == ["above 1", "above 2", "above 3"]
        assert found.p[1] < 1e-6 < 1e-3 < found.p[0]
        assert found.coef[:, 1].tolist() == sorted(found.coef[:, 1].tolist())
    assert len(found.plot().axes) == 2


def test_thresholds_with_few_rows_have_no_line():
    X, y = drawn(3, 300)
    y[y == 4] = 3
    y[:5] = 4
    assert parallel_lines(rw.SVOR().fit(X, y), X, y).thresholds == ["above 1", "above 2"]
    with pytest.raises(ValueError, match="fewer than two thresholds"):
        parallel_lines(rw.SVOR().fit(X, y > 1), X, y > 1)
