"""Brant's (1990) test of the parallel-lines assumption: whether the weights of an ordinal model differ by threshold.

A cumulative link gives every threshold the same weights. The test fits a logistic regression of its own for every
threshold k, to the question "higher than class k?"; labels that admit classes on both sides are left out. It compares
the weights b_k of these regressions: with ``s_ik`` the slope of row i in the k-th log-likelihood and H_k its
information, the covariance of b_k and b_l is ``H_k^-1 (sum_i s_ik s_il') H_l^-1``, which also holds for imprecise
labels, and the differences ``b_k - b_1`` give a Wald statistic.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, stats
from scipy.special import expit

from rankwise._types import Floats
from rankwise.batch import CumulativeLink
from rankwise.explanations._scored_model import Target
from rankwise.labels import check_weights, encode
from rankwise.plots._style import INK, OKABE_ITO, QUIET, SMALL, curve_frame, load_matplotlib, plain

_FEWEST = 10  # rows on either side of a threshold that has a regression


@dataclass(frozen=True, eq=False)
class ParallelLines:
    """Weights of every threshold, and tests whether they are the same.

    Attributes
    ----------
    columns : list of d str
        Names of the features.
    thresholds : list of str
        Which questions were asked, such as "above 2".
    coef : ndarray of shape (m, d)
        Weights of each threshold's own regression.
    std_err : ndarray of shape (m, d)
        Their standard errors.
    p : ndarray of shape (d,)
        Probability of such differences if the weights of a feature were the same at all thresholds.
    statistic, df, p_all
        The test of all features together.
    """

    columns: list[str]
    thresholds: list[str]
    coef: Floats
    std_err: Floats
    p: Floats
    statistic: float
    df: int
    p_all: float

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
        With one score and thresholds; its features and classes are used, not its weights.
    X, y, sample_weight
        The rows of the fit; labels of any kind. Candidate sets with gaps count as intervals.

    Returns
    -------
    ParallelLines
        Thresholds with fewer than ten labelled rows on either side are left out.

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
    # The weight of a constant feature cannot be told from the threshold.
    varies = np.ptp(matrix, axis=0) > 0
    names = target.model.feature_names(varies.size, X)
    columns = [names[j] for j in np.flatnonzero(varies)]
    labels = encode(y, target.classes, n_rows=matrix.shape[0])
    weight = check_weights(sample_weight, len(labels))
    weight = weight if weight.size else np.ones(len(labels))
    thresholds, fits = [], []
    for k in range(len(target.classes) - 1):
        answer = np.where(labels.lower > k, 1.0, np.where(labels.upper <= k, 0.0, np.nan))
        known = np.flatnonzero(np.isfinite(answer) & (weight > 0))
        if min((answer[known] == side).sum() for side in (0.0, 1.0)) >= _FEWEST:
            thresholds.append(f"above {target.classes[k]}")
            fits.append(_logistic(matrix[:, varies], answer, known, weight))
    if len(fits) < 2:
        raise ValueError(f"fewer than two thresholds have {_FEWEST} labelled rows on either side.")
    return _compared(columns, thresholds, fits)


def _logistic(X: Floats, answer: Floats, known: NDArray[np.intp], weight: Floats) -> tuple[Floats, Floats]:
    """Weights of one threshold, and the influence of every row on them, (n, d)."""
    model = CumulativeLink(alpha=0.0).fit(X[known], answer[known].astype(int), weight[known])
    with_one = np.column_stack([X[known], np.ones(known.size)])
    p = expit(model.project(X[known]) - model.thresholds_[0])
    information = (with_one * (weight[known] * p * (1 - p))[:, None]).T @ with_one
    slopes = np.zeros((X.shape[0], X.shape[1] + 1))
    slopes[known] = (weight[known] * (answer[known] - p))[:, None] * with_one
    influence = np.linalg.lstsq(information, slopes.T, rcond=None)[0].T
    return np.asarray(model.coef_), influence[:, :-1]


def _compared(columns: list[str], thresholds: list[str], fits: list[tuple[Floats, Floats]]) -> ParallelLines:
    coef = np.array([weights for weights, _ in fits])
    m, d = coef.shape
    influence = np.hstack([rows for _, rows in fits])
    covariance = influence.T @ influence
    std_err = np.sqrt(np.diag(covariance)).reshape(m, d)
    contrast = np.kron(np.column_stack([-np.ones(m - 1), np.eye(m - 1)]), np.eye(d))
    differences, spread = contrast @ coef.ravel(), contrast @ covariance @ contrast.T
    p = [_wald(differences[j::d], spread[j::d, j::d])[1] for j in range(d)]
    statistic, p_all = _wald(differences, spread)
    return ParallelLines(columns, thresholds, coef, std_err, np.array(p), statistic, differences.size, p_all)


def _wald(differences: Floats, spread: Floats) -> tuple[float, float]:
    statistic = float(differences @ np.linalg.lstsq(spread, differences, rcond=None)[0])
    return statistic, float(stats.chi2.sf(statistic, differences.size))
