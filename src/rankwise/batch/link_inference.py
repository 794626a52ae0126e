"""Inference for cumulative links: standard errors, a likelihood-ratio test, effective sample size.

The observed information is the matrix H of second derivatives of ``-sum_i c_i log P_i`` (plus ``alpha/2 sum_i c_i
|w|^2`` for a ridge) by weights and thresholds, at the fitted ones. Its inverse gives the standard errors. With S the
sum of the squared slopes of the rows, ``H^-1 S H^-1`` is the sandwich, which also holds if the link is wrong. A row of
weight 2 counts as two rows in both. With a ridge these are the errors of the penalised estimate, which is biased: they
tell how the estimate varies, not how far it is from the truth.

By Louis' (1982) rule the information of an imprecise label is the expected information of an exact one, given the
label, minus the information that is missing. So its share is in [0, 1] for every row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, stats
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from sklearn.base import clone

from rankwise._errors import RowError
from rankwise._extras import require
from rankwise._kernels.compile import kernel
from rankwise._types import Floats
from rankwise.base.row_data import length
from rankwise.batch._separation import separating_columns
from rankwise.batch.identification import REMEDY, columns_named, dependences, described
from rankwise.labels import encode
from rankwise.risks.coded_rows import CodedRows
from rankwise.risks.link_risk import LOGIT, LinkRisk, newton_step, pull_apart, row_springs
from rankwise.risks.links import LINKS, exponentials, log_terms, logit_terms, padded, probabilities
from rankwise.solvers.design import Design, squared_norms

_MOST_PARAMETERS = 5000  # whose information matrix is inverted
_FROM_MAXIMUM = 1e-4  # score statistic: the squared distance from the maximum, in standard errors, that does not matter
_PER_GAP = 4.0  # score statistic that a gap of the total likelihood explains: twice the gap near the maximum
_SINGULAR = 1e-13  # smallest pivot of a scaled information matrix that is not rounding


class LikelihoodRatio(NamedTuple):
    """Result of a likelihood-ratio test."""

    statistic: float
    df: int
    p: float


@dataclass(frozen=True, eq=False)
class RowEvidence:
    """Labelled rows as a fitted model sees them; rows without a label or with weight zero are left out."""

    design: Design
    rows: CodedRows  # with weights as given
    risk: LinkRisk
    thresholds: Floats  # the determined ones
    scores: Floats

    @classmethod
    def of(cls, model: Any, X: Any, y: Any, sample_weight: Any) -> RowEvidence:
        read = model._rows(X, reset=False)
        labels = encode(y, model.classes_, n_rows=length(read))
        if labels.has_gaps.any():
            row = int(np.argmax(labels.has_gaps))
            raise RowError(f"{labels.describe(row)} has gaps; standard errors need intervals.", row)
        weight = model._weights(1.0 if sample_weight is None else sample_weight, read)
        labelled = np.flatnonzero((weight > 0.0) & ~labels.is_missing)
        if labelled.size == 0:
            raise ValueError("every label is missing, or its weight is zero: there is nothing to learn from.")
        design = Design(read, model.n_features_in_).take(labelled)
        rows = CodedRows(weight[labelled], labels.lower[labelled], labels.upper[labelled])
        risk = LinkRisk(rows.normalised(), len(model.classes_), model.link)
        thresholds = risk.innermost.determined_of(model.thresholds_)
        if not np.isfinite(thresholds).all() or (np.diff(thresholds) <= 0.0).any():
            raise ValueError("these labels tell classes apart that those of the fit did not: use the rows of the fit.")
        return cls(design, rows, risk, thresholds, design.times(model.coef_[None]))

    def log_likelihood(self) -> float:
        mean_loss, _ = self.risk.exact(self.scores, self.thresholds)
        return -mean_loss * float(self.rows.weight.sum())

    def information(self, alpha: float) -> Floats:
        total = float(self.rows.weight.sum())
        hessian = total * self.risk.hessian(self.design, self.scores, self.thresholds)
        d = self.design.n_features
        hessian[np.arange(d), np.arange(d)] += alpha * total
        return hessian

    def score_statistic(self, model: Any) -> float:
        """``g' H^-1 g`` with the slope g of the penalised likelihood; scales and centres of columns do not matter."""
        total = float(self.rows.weight.sum())
        _, r, by_threshold = self.risk.derivatives(self.scores, self.thresholds)
        slope = np.append(self.design.pull(r)[0] + model.alpha_ * model.coef_, by_threshold) * total
        return float(slope @ newton_step(self.information(model.alpha_), slope))

    def squared_slopes(self) -> Floats:
        """Sum over rows of the outer products of their slopes by weights and thresholds."""
        t, d, c = padded(self.thresholds), self.design.n_features, self.rows.weight
        low, high = self.risk.ends[0][self.rows.lower], self.risk.ends[1][self.rows.upper]
        a, g = np.empty(len(self.rows)), np.empty(len(self.rows))
        _ends(self.scores[:, 0], t, *exponentials(t), low, high, LINKS[self.risk.link], a, g)
        by_both, by_threshold = np.zeros((t.size, d)), np.zeros((t.size, t.size))
        r = c * (a - g)
        pull_apart(self.design.rows, self.rows.lower, self.rows.upper, *self.risk.ends, r * a, -r * g, by_both)
        for ends, others, product in ((high, high, a * a), (low, low, g * g), (high, low, -a * g), (low, high, -a * g)):
            np.add.at(by_threshold, (ends, others), c * product)
        by_weight, by_both = self.design.gram(r * (a - g)), by_both[1:-1]
        return np.block([[by_weight, by_both.T], [by_both, by_threshold[1:-1, 1:-1]]])


@kernel
def _ends(f, t, shrink, grow, low, high, link, a, g):
    """Slopes a and g of every row; for the logit, with its barrier."""
    for i in range(f.size):
        k, h = low[i], high[i]
        if link == LOGIT:
            _, a[i], g[i] = logit_terms(f[i], t[h], t[k], shrink[h], grow[k])
            decay = np.exp(t[k] - t[h])
            a[i] += decay / (1.0 - decay)
            g[i] += decay / (1.0 - decay)
        else:
            _, a[i], g[i], _, _ = log_terms(link, t[h] - f[i], t[k] - f[i], t[h] - t[k])


def covariance(model: Any, X: Any, y: Any, sample_weight: Any) -> Floats:
    """Covariance of weights and all thresholds; zero for thresholds that the labels do not determine."""
    evidence = RowEvidence.of(model, X, y, sample_weight)
    matrix, parameter = _covariance(model, evidence)
    widened = np.pad(matrix, ((0, 1), (0, 1)))
    return np.asarray(widened[np.ix_(parameter, parameter)])


def _covariance(model: Any, evidence: RowEvidence) -> tuple[Floats, NDArray[np.intp]]:
    """Covariance of weights and determined thresholds, and the place of every weight and threshold in it, or -1."""
    d, size = model.n_features_in_, model.n_features_in_ + evidence.thresholds.size
    if size > _MOST_PARAMETERS:
        raise ValueError(f"standard errors need at most {_MOST_PARAMETERS} weights and thresholds. Got {size} instead.")
    # Thresholds that the labels do not determine have no standard error.
    place, inside = evidence.risk.innermost.place_of_all()
    known = ~inside & (place > 0) & (place <= evidence.thresholds.size)
    parameter = np.concatenate([np.arange(d), np.where(known, d - 1 + place, -1)])
    require_identified(model, evidence, model._column_name, except_zero=True)
    require_maximum(model, evidence)
    information = evidence.information(model.alpha_)
    told = np.diag(information) > 0.0  # not of a column of zeros
    inverse = np.zeros_like(information)
    inverse[np.ix_(told, told)] = _inverse(information[np.ix_(told, told)], model)
    return inverse, np.where(np.append(told, False)[parameter], parameter, -1)


def require_identified(
    model: Any, evidence: RowEvidence, name: Callable[[int], str | int], *, except_zero: bool = False
) -> None:
    """Raise an error with the columns whose weights maximum likelihood does not determine; ``name`` names a column.

    ``except_zero``: columns of zeros, such as that of categories that are new, do not count.
    """
    if model.alpha_ != 0.0:
        return
    found = [one for one in dependences(evidence.design, evidence.risk) if not (except_zero and one.is_zero)]
    if found:
        raise ValueError(f"{described(found, name)} {REMEDY}")
    separating = separating_columns(evidence.design, evidence.risk, model.coef_, evidence.thresholds, found)
    if separating is not None:
        raise ValueError(
            f"the labels are separable by {columns_named(separating, name)}, so the likelihood grows with these "
            f"weights for ever. Drop the columns, merge rare levels (TableEncoder(min_category_rows=...)) or classes, "
            f"or set alpha > 0."
        )


def require_maximum(model: Any, evidence: RowEvidence) -> None:
    """Raise an error unless the model's likelihood of these rows is at its maximum, as at the end of a fit to them."""
    if evidence.risk.n_offsets == 0:  # some classes are in all labels: the likelihood is 1
        return
    total = float(evidence.rows.weight.sum())
    explained = _PER_GAP * model.tol * model.objective_ * total if model.alpha_ > 0.0 else 0.0
    if evidence.thresholds.size + model.n_features_in_ <= _MOST_PARAMETERS:
        far = evidence.score_statistic(model)
    else:  # too many second derivatives: the likelihood itself must be that of the fit
        penalty = 0.5 * model.alpha_ * float(model.coef_ @ model.coef_)
        far = 2.0 * abs(total * (penalty - model.objective_) - evidence.log_likelihood())
    if not far <= _FROM_MAXIMUM + explained:
        raise ValueError(
            f"these are not the rows, labels and weights of the fit, or the fit stopped before its maximum "
            f"(max_iter={model.max_iter}): the parameters are about {np.sqrt(far):.2g} standard errors from the "
            f"maximum of the likelihood of these rows. Give the rows of the fit, or fit to these."
        )


def inference_table(model: Any, X: Any, y: Any, sample_weight: Any, level: float) -> Any:
    """Table of :meth:`rankwise.CumulativeLink.inference`."""
    pandas = require("pandas", "inference returns a pandas table: pip install 'rankwise[io]'.")
    evidence = RowEvidence.of(model, X, y, sample_weight)
    inverse, parameter = _covariance(model, evidence)
    errors = np.sqrt(np.diag(inverse))
    robust = np.sqrt(np.einsum("ij,jk,ki->i", inverse, evidence.squared_slopes(), inverse))
    estimate = np.concatenate([model.coef_, model.thresholds_])
    std_err, robust_std_err = (np.append(values, np.nan)[parameter] for values in (errors, robust))
    z = estimate / std_err
    reach = stats.norm.isf(0.5 * (1.0 - level)) * std_err
    named = map(model._column_name, range(model.n_features_in_))
    features = [name if isinstance(name, str) else f"x{name}" for name in named]
    between = [f"{low}|{high}" for low, high in pairwise(model.classes_.tolist())]
    ratio = np.concatenate([np.exp(model.coef_), np.full(len(between), np.nan)])
    return pandas.DataFrame(
        {
            "coef": estimate,
            "std_err": std_err,
            "robust_std_err": robust_std_err,
            "z": z,
            "p": 2.0 * stats.norm.sf(np.abs(z)),
            "lower": estimate - reach,
            "upper": estimate + reach,
            "odds_ratio": ratio if model.link == "logit" else np.nan,
        },
        index=features + between,
    )


def _inverse(information: Floats, model: Any) -> Floats:
    scale = np.sqrt(np.diag(information))
    scale[scale == 0.0] = 1.0
    try:
        factor = cho_factor(information / np.outer(scale, scale), lower=True)
        if np.diag(factor[0]).min() ** 2 < _SINGULAR:
            raise LinAlgError
    except LinAlgError:
        raise ValueError(
            f"the information matrix is singular to rounding, so there are no standard errors: columns of X are nearly "
            f"constant or collinear, or the labels nearly separable. Scale or drop such columns, or set a larger alpha "
            f"(now {model.alpha_:g})."
        ) from None
    return np.asarray(cho_solve(factor, np.eye(scale.size)) / np.outer(scale, scale))


def log_likelihood(model: Any, X: Any, y: Any, sample_weight: Any) -> float:
    """Weighted sum of the log-probabilities of the labels."""
    return RowEvidence.of(model, X, y, sample_weight).log_likelihood()


def chosen_columns(without: Iterable[Any] | None, known: list[Any]) -> list[Any]:
    """Columns to leave out of a model, all by default; an error about one that is unknown."""
    named = known if without is None else list(without)
    unknown = [name for name in named if name not in known]
    if unknown or not named:
        some = ", ".join(map(repr, known[:8])) + ", ..." * (len(known) > 8)
        raise ValueError(
            f"without must be columns of X: {some}. Got {repr(unknown[0]) if unknown else 'none'} instead."
        )
    return named


def likelihood_ratio(model: Any, X: Any, y: Any, without: Any, sample_weight: Any) -> LikelihoodRatio:
    """See :meth:`rankwise.CumulativeLink.likelihood_ratio_test`."""
    d = model.n_features_in_
    known = {name: j for j, name in enumerate(getattr(model, "feature_names_in_", ()))} or {j: j for j in range(d)}
    named = chosen_columns(without, list(known))
    dropped = np.unique([known[name] for name in named])
    evidence = RowEvidence.of(model, X, y, sample_weight)
    require_maximum(model, evidence)
    kept = _independent(evidence, np.setdiff1d(np.arange(d), dropped))
    df = _independent(evidence, np.arange(d)).size - kept.size
    if df == 0:
        follow = columns_named(dropped.tolist(), model._column_name)
        raise ValueError(
            f"{follow} follow{'s' * (dropped.size == 1)} from the others, so there is nothing to test. "
            f"Name the columns that should be tested together."
        )
    matrix = Design(model._rows(X, reset=False), d).matrix()
    # If no column is left, a column of zeros: thresholds alone.
    smaller = clone(model).set_params(classes=model.classes_.tolist())
    fewer = matrix[:, kept] if kept.size else sparse.csr_matrix((matrix.shape[0], 1))
    smaller.fit(fewer, y, sample_weight)
    without_them = RowEvidence.of(smaller, fewer, y, sample_weight)
    require_maximum(smaller, without_them)
    statistic = 2.0 * (evidence.log_likelihood() - without_them.log_likelihood())
    return LikelihoodRatio(max(statistic, 0.0), df, float(stats.chi2.sf(statistic, df)))


def _independent(evidence: RowEvidence, columns: NDArray[np.intp]) -> NDArray[np.intp]:
    """Those of some columns that do not follow from earlier ones."""
    matrix = evidence.design.matrix()[:, columns]
    design = Design((matrix.data, matrix.indices, matrix.indptr), columns.size)
    return np.delete(columns, [dependence.column for dependence in dependences(design, evidence.risk)])


def effective_sample_size(model: Any, X: Any, y: Any, sample_weight: Any) -> float:
    """See :meth:`rankwise.CumulativeLink.effective_sample_size`."""
    evidence = RowEvidence.of(model, X, y, sample_weight)
    rows, innermost, t = evidence.rows, evidence.risk.innermost, padded(evidence.thresholds)
    low, high = evidence.risk.ends[0][rows.lower], evidence.risk.ends[1][rows.upper]
    link = LINKS[model.link], *evidence.risk.ends
    length = np.sqrt(squared_norms(evidence.design.rows))
    above, below, *_ = row_springs(rows, evidence.scores, t, *link)
    classes = probabilities(model.link, evidence.scores[:, 0], evidence.thresholds)
    mass, expected = np.zeros(len(rows)), np.zeros(len(rows))
    for j in range(innermost.first.size):
        inside = (low <= j) & (j < high)
        code = np.full(len(rows), innermost.first[j], dtype=np.int32)
        up, down, *_ = row_springs(CodedRows(rows.weight, code, code), evidence.scores, t, *link)
        mass += inside * classes[:, j]
        expected += inside * classes[:, j] * (up + down)
    expected = np.divide(expected, mass, out=above + below, where=mass > 0.0)
    imprecise = high > low + 1
    exact = float(rows.weight[~imprecise].sum())
    if not imprecise.any():
        return exact
    square = length[imprecise] ** 2
    if not square.any():  # the limit of short rows: all count equally
        square[:] = 1.0
    share = float(square @ (above + below)[imprecise]) / float(square @ expected[imprecise])
    return exact + min(share, 1.0) * float(rows.weight[imprecise].sum())
