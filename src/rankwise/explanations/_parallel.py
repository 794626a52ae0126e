"""Brant's (1990) test of the parallel-lines assumption: whether the weights of an ordinal model differ by threshold.

A cumulative link gives every threshold the same weights. The test fits a logistic regression of its own for every
threshold k, to the question "higher than class k?"; labels that admit classes on both sides are left out. It compares
the weights b_k of these regressions: with ``s_ik`` the slope of row i in the k-th log-likelihood and H_k its
information, the covariance of b_k and b_l is ``H_k^-1 (sum_i s_ik s_il') H_l^-1``, which also holds for imprecise
labels, and the differences ``b_k - b_1`` give a Wald statistic, whose degrees of freedom are the rank of their
covariance. A row of weight c counts as c rows in all sums, and slopes are corrected for the leverage of their rows.

The weights of single splines rest on a few rows at the ends of a column, and the test of all of them rejects what
holds. So the splines of a number count as one feature, the curve that the model follows.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from rankwise._drawing import INK, OKABE_ITO, QUIET, SMALL, curve_frame, load_matplotlib, plain
from rankwise._types import Floats
from rankwise.base.model import Model
from rankwise.batch.binary_logit import binary_logit
from rankwise.batch.identification import dependences
from rankwise.batch.wald_test import wald
from rankwise.explanations._scored_model import Target
from rankwise.features import TableEncoder
from rankwise.features.moves import curves
from rankwise.labels import Labels, check_weights, encode
from rankwise.risks.coded_rows import CodedRows
from rankwise.risks.link_risk import LinkRisk
from rankwise.solvers.design import Design

_FEWEST = 10  # rows on either side of a threshold that has a regression


@dataclass(frozen=True, eq=False)
class ParallelLines:
    """Weights of every threshold, and tests whether they are the same.

    Attributes
    ----------
    columns : list of d str
        Names of the features that have weights.
    thresholds : list of str
        Which questions were asked, such as "above 2".
    coef : ndarray of shape (m, d)
        Weights of each threshold's own regression.
    std_err : ndarray of shape (m, d)
        Their standard errors.
    p : ndarray of shape (d,)
        Probability of such differences if the weights of a feature were the same at all thresholds.
    statistic, df, p_all
        The test of all features together; ``df`` is the rank of the differences between the thresholds.
    left_out : list of str
        Features without weights of their own, because they are constant or follow from earlier ones; as the last of the
        indicators of a category, with whose level the others are compared.
    """

    columns: list[str]
    thresholds: list[str]
    coef: Floats
    std_err: Floats
    p: Floats
    statistic: float
    df: int
    p_all: float
    left_out: list[str] = field(default_factory=list)

    def plot(self, *, top: int = 6) -> Any:
        """Draw the weights of each threshold, features with the clearest differences first.

        Parameters
        ----------
        top : int, default 6
            Maximum number of features.

        Returns
        -------
        matplotlib Figure
        """
        load_matplotlib()
        from matplotlib import pyplot

        shown = np.argsort(self.p, kind="stable")[:top]
        figure, all_axes = pyplot.subplots(
            1, shown.size, figsize=(0.6 + 1.9 * shown.size, 3.2), sharey=True, squeeze=False, layout="constrained"
        )
        x = np.arange(len(self.thresholds))
        for ax, j in zip(all_axes[0], shown, strict=True):
            weight = 1.0 / np.maximum(self.std_err[:, j], 1e-300) ** 2
            ax.axhline(np.average(self.coef[:, j], weights=weight), color=QUIET, lw=1.0, ls=(0, (4, 2)))
            ax.errorbar(x, self.coef[:, j], 1.96 * self.std_err[:, j], color=OKABE_ITO[0], marker="o", ms=4, lw=1.2,
                        elinewidth=1.0)  # fmt: skip
            ax.set_xticks(x, [plain(name) for name in self.thresholds], rotation=90)
            ax.set_xlim(-0.5, x.size - 0.5)
            p = "p < 0.001" if self.p[j] < 0.001 else f"p = {self.p[j]:.3f}"
            ax.set_title(f"{plain(self.columns[j])}\n{p}", fontsize=SMALL, color=INK)
            curve_frame(ax)
        all_axes[0, 0].set_ylabel("weight at the threshold", color=INK)
        return figure


def parallel_lines(model: Any, X: Any, y: Any, sample_weight: Any = None) -> ParallelLines:
    """Test whether the weights of a model with one score are the same at all thresholds.

    Parameters
    ----------
    model : fitted estimator, pipeline or TableModel
        With one score and thresholds; its features and classes are used, its weights only for curves: the splines of a
        number in a TableModel count as one feature.
    X, y, sample_weight
        The rows of the fit; labels of any kind. Candidate sets with gaps count as intervals. A row of weight 2 counts
        as two rows.

    Returns
    -------
    ParallelLines
        Thresholds with fewer than ten labelled rows on either side are left out. A threshold whose regression is not
        identified, because its labels are separable, is an error that names the columns.

    Examples
    --------
    >>> import rankwise as rw
    >>> X, y = rw.datasets.make_ordinal(600, 2, 4, noise=1.0, random_state=0)
    >>> lines = rw.explanations.parallel_lines(rw.CumulativeLink().fit(X, y), X, y)
    >>> lines.coef.shape
    (3, 2)
    """
    target = Target.of(model)
    features = target.model.rows(X)
    matrix = features.toarray() if sparse.issparse(features) else np.asarray(features, dtype=np.float64)
    names = target.model.feature_names(matrix.shape[1], X)
    matrix, names = _with_curves(target.model, matrix, names)
    labels = encode(y, target.classes, n_rows=matrix.shape[0])
    weight = check_weights(sample_weight, len(labels))
    weight = weight if weight.size else np.ones(len(labels))
    kept = _independent(matrix, labels, np.where(labels.is_missing, 0.0, weight))
    columns, left_out = [names[j] for j in kept], [name for j, name in enumerate(names) if j not in kept]
    if not columns:
        raise ValueError("no column varies among the labelled rows: there are no weights to compare.")
    thresholds, coef, influence = [], [], []
    for k in range(len(target.classes) - 1):
        answer = np.where(labels.lower > k, 1.0, np.where(labels.upper <= k, 0.0, np.nan))
        known = np.flatnonzero(np.isfinite(answer) & (weight > 0))
        if min((answer[known] == side).sum() for side in (0.0, 1.0)) < _FEWEST:
            continue
        thresholds.append(f"above {target.classes[k]}")
        try:
            own, rows = binary_logit(matrix[known][:, kept], answer[known], weight[known], columns.__getitem__)
        except ValueError as error:
            raise ValueError(f"{thresholds[-1]}: {error}") from None
        coef.append(own)
        influence.append(np.zeros((len(labels), len(columns))))
        influence[-1][known] = rows
    if len(thresholds) < 2:
        raise ValueError(f"fewer than two thresholds have {_FEWEST} labelled rows on either side.")
    every = np.hstack(influence)
    return _compared(columns, left_out, thresholds, np.array(coef), (every * weight[:, None]).T @ every)


def _with_curves(model: Model, matrix: Floats, names: list[str]) -> tuple[Floats, list[str]]:
    """Features, with one for all splines of a number: the curve that the model follows."""
    if not isinstance(model.before, TableEncoder) or model.weights is None or model.weights.ndim > 1:
        return matrix, names
    found, weights = curves(model.before), model.weights
    bent = np.concatenate([np.empty(0, dtype=np.intp), *found.values()])
    kept = np.setdiff1d(np.arange(len(names)), bent)
    columns = [matrix[:, places] @ weights[places] for places in found.values()]
    return np.column_stack([*columns, matrix[:, kept]]), [*found, *(names[j] for j in kept)]


def _independent(matrix: Floats, labels: Labels, weight: Floats) -> list[int]:
    """Columns that do not follow from earlier ones and the thresholds, among the labelled rows."""
    labelled = np.flatnonzero(weight > 0.0)
    if labelled.size == 0:
        raise ValueError("every label is missing, or its weight is zero: there is nothing to compare.")
    rows = CodedRows(weight[labelled], labels.lower[labelled], labels.upper[labelled])
    design = Design(np.ascontiguousarray(matrix[labelled]), matrix.shape[1])
    found = dependences(design, LinkRisk(rows.normalised(), len(labels.order), "logit"))
    dependent = {dependence.column for dependence in found}
    return [j for j in range(matrix.shape[1]) if j not in dependent]


def _compared(
    columns: list[str], left_out: list[str], thresholds: list[str], coef: Floats, covariance: Floats
) -> ParallelLines:
    m, d = coef.shape
    std_err = np.sqrt(np.diag(covariance)).reshape(m, d)
    contrast = np.kron(np.column_stack([-np.ones(m - 1), np.eye(m - 1)]), np.eye(d))
    differences, spread = contrast @ coef.ravel(), contrast @ covariance @ contrast.T
    p = [wald(differences[j::d], spread[j::d, j::d]).p for j in range(d)]
    return ParallelLines(columns, thresholds, coef, std_err, np.array(p), *wald(differences, spread), left_out)
