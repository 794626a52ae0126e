"""Average marginal effects of a cumulative link: how much a probability changes with a feature, averaged over rows.

With ``P(y <= k) = F(t_k - <w, x>)`` the effect of feature j on class k is the mean over the rows of

    dP(y = k) / dx_j = w_j (F'(t_(k-1) - <w, x>) - F'(t_k - <w, x>)).

More generally a column moves the row x along a slope D, a vector of features; and a category moves it from the features
of one level to those of another, so that the effect is the difference of two mean probabilities. The standard error
follows from the covariance C of weights and thresholds by the delta method: with g the gradient of the effect with
respect to them, the variance is ``g' C g``. The effects on all classes add up to zero. Rows are taken as given: the
errors are those of the parameters alone.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from rankwise._extras import require
from rankwise._types import Floats, Places
from rankwise.risks.links import densities, distribution


class Effect(NamedTuple):
    """Mean change of ``P(y <= k)`` for every threshold k, (K-1,), and its gradient by all parameters (K-1, d + K-1)."""

    values: Floats
    gradient: Floats

    def of_classes(self) -> tuple[Floats, Floats]:
        """Changes of ``P(y = k)``, (K,), and their gradients."""
        return np.diff(np.pad(self.values, 1)), np.diff(np.pad(self.gradient, ((1, 1), (0, 0))), axis=0)


def slope_effect(model: Any, matrix: Floats, weight: Floats, places: Places, slopes: Floats) -> Effect:
    """Mean derivative along ``slopes`` (n, m) of the features at ``places``; weights of the rows add up to one."""
    w, t = np.asarray(model.coef_), np.asarray(model.thresholds_)
    density, bend = densities(model.link, t - (matrix @ w)[:, None])
    along = weight * (slopes @ w[places])
    by_weight = (along[:, None] * bend).T @ matrix
    by_weight[:, places] -= density.T @ (weight[:, None] * slopes)
    return Effect(-(along @ density), np.hstack([by_weight, np.diag(-(along @ bend))]))


def level_effect(model: Any, weight: Floats, before: Floats, after: Floats) -> Effect:
    """Mean change from the features of one level to those of another, (n, d) both."""
    w, t = np.asarray(model.coef_), np.asarray(model.thresholds_)
    sides = []
    for matrix in (before, after):
        z = t - (matrix @ w)[:, None]
        density, _ = densities(model.link, z)
        gradient = np.hstack([-(weight[:, None] * density).T @ matrix, np.diag(weight @ density)])
        sides.append((weight @ distribution(model.link, z), gradient))
    (value_before, gradient_before), (value_after, gradient_after) = sides
    return Effect(value_after - value_before, gradient_after - gradient_before)


def feature_effects(model: Any, matrix: Floats, weight: Floats) -> list[Effect]:
    """Effects of one unit of each feature."""
    one = np.ones((len(matrix), 1))
    return [slope_effect(model, matrix, weight, np.array([j]), one) for j in range(matrix.shape[1])]


def effects_table(names: list[str], model: Any, effects: list[Effect], covariance: Floats, level: float) -> Any:
    """Effects on every class, with standard errors and confidence intervals, as a pandas table."""
    pandas = require("pandas", "marginal_effects returns a pandas table: pip install 'rankwise[io]'.")
    pairs = [effect.of_classes() for effect in effects]
    values, gradients = (np.array(side) for side in zip(*pairs, strict=True))
    std_err = np.sqrt(np.maximum(np.einsum("jka,ab,jkb->jk", gradients, covariance, gradients), 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        z = values / std_err
    reach = stats.norm.isf(0.5 * (1.0 - level)) * std_err
    columns = {
        "effect": values,
        "std_err": std_err,
        "z": z,
        "p": 2.0 * stats.norm.sf(np.abs(z)),
        "lower": values - reach,
        "upper": values + reach,
    }
    index = pandas.MultiIndex.from_product([names, model.classes_.tolist()], names=["feature", "class"])
    return pandas.DataFrame({name: side.ravel() for name, side in columns.items()}, index=index)
