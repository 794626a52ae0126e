"""The losses of VILMA, MORD and PW-MORD as an oracle: maxima over classes, smoothed or not, with their dual variables.

The unified model scores class y of a row by ``F_y = sum_z beta[y, z] <w_z, x> + b_y`` with ``b = basis c + fixed``. A
row with codes ``[lo, hi]`` loses, with ``l[y, p]`` the target loss of predicting p where y is true,

    psi = max_{y <= lo} [l[lo, y] + F_y - F_lo] + max_{y >= hi} [l[hi, y] + F_y - F_hi]          (VILMA)
    psi = max_y [l[lo, y] + F_y - F_lo]                             (SO-SVM: one maximum, exact labels only)

**Smoothing.** A maximum is ``max { <p, v> : p in the simplex }``. With ``mu (1 - |p|^2) / 4`` added inside it becomes
smooth, and p is the projection of ``2 v / mu`` on the simplex. For two classes this is the smoothed hinge of SVOR.

**Dual point.** p moves weight from the class ``lo`` (or ``hi``) to others. If the intercepts are not regularised, a
dual point must move as much into every class as out of it (in general: ``basis' (in - out) = 0``). A linear programme
with K^2 variables scales the flows between classes down to such a circulation. With a single offset, as in rounded
regression, it is enough to scale down all flows that pull to the stronger side.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from rankwise._kernels.compile import kernel, register_jitable
from rankwise._kernels.rows import column, n_entries, value
from rankwise._types import Floats
from rankwise.losses import Loss, check_v_shaped, loss_matrix
from rankwise.risks.coded_rows import CodedRows
from rankwise.solvers.design import Design, LinearMap
from rankwise.solvers.risk import Pieces
from rankwise.solvers.row_sums import KinkedRowRisk, RowSums


@register_jitable
def candidates(side, lo, hi, loss, joint, F, v):
    """Fill in the candidates of a maximum; return the class that they compete with, and their range."""
    if joint and lo == hi:
        own, start, stop = (lo, 0, F.size) if side == 0 else (lo, lo, lo + 1)
    else:
        own, start, stop = (lo, 0, lo + 1) if side == 0 else (hi, hi, F.size)
    for y in range(start, stop):
        v[y] = loss[own, y] + F[y] - F[own]
    return own, start, stop


@register_jitable
def project(v, start, stop, mu, p, kept):
    """p = argmax over the simplex of <p, v> - mu |p|^2 / 4, on [start, stop); the first largest if mu = 0.

    ``kept`` gets the classes whose p is not zero, in order; only their p is valid. Returns their number.
    """
    top = start
    for y in range(start, stop):
        if v[y] > v[top]:
            top = y
    if mu == 0.0:
        kept[0], p[top] = top, 1.0
        return 1
    # p = max(2 v / mu - level, 0), where the level is at least that of the largest class alone.
    scale, most, count = 2.0 / mu, v[top], 0
    for y in range(start, stop):
        p[y] = scale * (v[y] - most)
        if p[y] > -1.0:
            kept[count] = y
            count += 1
    # Drop classes until all that remain are above the common level (Michelot 1986).
    while True:
        total = 0.0
        for y in kept[:count]:
            total += p[y]
        level = (total - 1.0) / count
        n = 0
        for y in kept[:count]:
            if p[y] > level:
                kept[n] = y
                n += 1
        if n == count:
            break
        count = n
    for y in kept[:count]:
        p[y] -= level
    return count


@register_jitable
def class_scores(s, i, beta, b, F):
    """F[y] = sum_z beta[y, z] s[i, z] + b[y]."""
    for y in range(b.size):
        F[y] = b[y]
    for z in range(beta.shape[1]):
        for y in range(b.size):
            F[y] += beta[y, z] * s[i, z]


@kernel
def _losses(s, b, lo, hi, c, beta, loss, joint, mu, scale, r, flow):
    """Risk, its derivative r by the scores, and the weight that flows from each class to each other."""
    K = b.size
    F, v, p, kept = np.empty(K), np.empty(K), np.empty(K), np.empty(K, np.int64)
    risk = 0.0
    for i in range(s.shape[0]):
        for z in range(beta.shape[1]):
            r[i, z] = 0.0
        if c[i] == 0.0:
            continue
        class_scores(s, i, beta, b, F)
        for side in range(2):
            own, start, stop = candidates(side, lo[i], hi[i], loss, joint, F, v)
            if stop - start < 2:
                continue
            psi = 0.25 * mu
            for y in kept[: project(v, start, stop, mu, p, kept)]:
                psi += p[y] * (v[y] - 0.25 * mu * p[y])
                moved = c[i] * p[y] * scale[own, y]
                if y != own:
                    flow[own, y] += moved
                    for z in range(beta.shape[1]):
                        r[i, z] += moved * (beta[y, z] - beta[own, z])
            risk += c[i] * psi
    return risk


@kernel
def _second(X, s, b, lo, hi, c, beta, basis, loss, joint, mu, ww, wb, bb):
    """Add the second derivatives by weights (z, j, z', j'), weights and offsets (z, j, m), and offsets (m, m').

    With g_y the gradient of F_y by scores and offsets, a maximum that n classes share has the second derivatives
    ``2/mu (sum_y g_y g_y' - n mean mean')``. Those by weights are added for z >= z' only, those by offsets for one
    of (m, m') and (m', m).
    """
    K, Z, M = b.size, beta.shape[1], wb.shape[2]
    F, v, p, kept = np.empty(K), np.empty(K), np.empty(K), np.empty(K, np.int64)
    by_score, by_both = np.empty((Z, Z)), np.zeros((Z, M))
    score, offset = np.empty(Z), np.zeros(M)  # sums over the classes
    for i in range(s.shape[0]):
        if c[i] == 0.0:
            continue
        class_scores(s, i, beta, b, F)
        touched = False
        for side in range(2):
            own, start, stop = candidates(side, lo[i], hi[i], loss, joint, F, v)
            if stop - start < 2:
                continue
            # Few classes share the maximum, and few offsets belong to them: all else stays zero.
            count = project(v, start, stop, mu, p, kept)
            if count < 2:
                continue
            if not touched:
                by_score[:] = 0.0
                touched = True
            factor = 2.0 * c[i] / mu
            score[:] = 0.0
            first, last = M, 0  # range of their offsets: zeros in it cost less than picking out the others
            for y in kept[:count]:
                for z in range(Z):
                    mine = beta[y, z] - beta[own, z]  # a common shift changes nothing and keeps the squares small
                    score[z] += mine
                    for other in range(Z):
                        by_score[z, other] += factor * mine * (beta[y, other] - beta[own, other])
                    for q in range(n_entries(basis, y)):
                        by_both[z, column(basis, y, q)] += mine * value(basis, y, q)
                for q in range(n_entries(basis, y)):
                    m, x = column(basis, y, q), value(basis, y, q)
                    first, last = min(first, m), max(last, m + 1)
                    offset[m] += x
                    for k in range(q + 1):
                        bb[m, column(basis, y, k)] += factor * x * value(basis, y, k)
            for z in range(Z):
                for other in range(Z):
                    by_score[z, other] -= factor * score[z] * score[other] / count
                for m in range(first, last):
                    by_both[z, m] = factor * (by_both[z, m] - score[z] * offset[m] / count)
            for g in range(first, last):
                share = factor * offset[g] / count
                if share != 0.0:
                    for m in range(first, g + 1):
                        bb[g, m] -= share * offset[m]
            for q in range(n_entries(X, i)):
                j, x = column(X, i, q), value(X, i, q)
                for z in range(Z):
                    for m in range(first, last):
                        wb[z, j, m] += x * by_both[z, m]
            offset[first:last] = 0.0
            by_both[:, first:last] = 0.0
        if not touched:
            continue
        for q in range(n_entries(X, i)):
            j, x = column(X, i, q), value(X, i, q)
            for z in range(Z):
                for other in range(z + 1):
                    factor = x * by_score[z, other]
                    if factor != 0.0:
                        row = ww[z, j, other]
                        for k in range(n_entries(X, i)):
                            row[column(X, i, k)] += factor * value(X, i, k)


class _Model(NamedTuple):
    """What all rows share: the model matrix, the target loss, and whether an exact label has a single maximum."""

    beta: Floats
    loss: Floats
    joint: bool


def _evaluate(
    rows: CodedRows, scores: Floats, b: Floats, mu: float, scale: Floats, model: _Model
) -> tuple[Floats, float, Floats]:
    """Derivatives by score; risk, and the weight that flows from each class to each other."""
    r, flow = np.empty_like(scores), np.zeros_like(model.loss)
    risk = _losses(scores, b, rows.lower, rows.upper, rows.weight, *model, mu, scale, r, flow)
    return r, risk, flow


def _exactly(rows: CodedRows, scores: Floats, b: Floats, model: _Model) -> tuple[float]:
    return (_evaluate(rows, scores, b, 0.0, np.ones_like(model.loss), model)[1],)


def _curvature(
    rows: CodedRows, design: Design, scores: Floats, b: Floats, mu: float, basis: Floats, model: _Model
) -> tuple[Floats, Floats, Floats]:
    """Second derivatives by weights (one half), by weights and offsets, and by offsets (one half)."""
    Z, M, d = model.beta.shape[1], basis.shape[1], design.n_features
    ww, wb, bb = np.zeros((Z, d, Z, d)), np.zeros((Z, d, M)), np.zeros((M, M))
    by_class = sparse.csr_array(basis)
    _second(
        design.rows, scores, b, rows.lower, rows.upper, rows.weight,
        model.beta, (by_class.data, by_class.indices, by_class.indptr), model.loss, model.joint, mu, ww, wb, bb,
    )  # fmt: skip
    return ww, wb, bb


def _n_pieces(rows: CodedRows, n_classes: int) -> tuple[int]:
    both = rows.lower.astype(np.int64) + (n_classes - 1 - rows.upper)
    return (int(both.sum()),)  # one maximum has as many as two: all classes except the label's


def margin_loss(loss: Loss, n_classes: int, rows: RowSums, name: str) -> Floats:
    """Target loss of margin rescaling: any for exact labels, a V-shaped one for the two maxima of intervals."""
    matrix = loss_matrix(loss, n_classes, v_shaped=False)
    if not isinstance(loss, str) and rows.count(_n_intervals)[0]:
        try:
            check_v_shaped(matrix)
        except ValueError as error:
            raise ValueError(f"{name} needs a V-shaped loss for interval labels: {error}") from None
    return matrix


def _n_intervals(rows: CodedRows) -> tuple[int]:
    return (int(np.count_nonzero((rows.lower < rows.upper) & (rows.weight > 0.0))),)


class MaximaRisk(KinkedRowRisk):
    """Weighted mean of the losses of a unified model; see the module's docstring.

    ``rows`` are CodedRows, or sums over such rows elsewhere. ``joint``: whether a row with an exact label has one
    maximum over all classes instead of two. Without ``basis`` (K, M) and ``fixed`` (K,) the offsets are the intercepts.
    Implements :class:`rankwise.solvers.risk.Risk`, ``HasKinks`` and ``HasPieces``.
    """

    def __init__(
        self, rows: RowSums, beta: Floats, loss: Floats, *,
        joint: bool, basis: Floats | None = None, fixed: Floats | None = None,
    ) -> None:  # fmt: skip
        n_classes = len(beta)
        self.rows = rows
        self.model = _Model(np.ascontiguousarray(beta), loss, joint)
        self.basis = np.eye(n_classes) if basis is None else basis
        self.fixed = np.zeros(n_classes) if fixed is None else fixed
        self.n_scores, self.n_offsets = beta.shape[1], self.basis.shape[1]
        self.first_smoothing = 4.0 * float(loss.max())
        self.unit = (
            float(loss.mean(axis=0).min()) or 1.0
        )  # of the best constant prediction, for equally frequent classes
        self._one = np.ones_like(loss)

    def start(self) -> Floats:
        """Offsets whose intercepts are nearest to zero."""
        return np.asarray(-np.linalg.lstsq(self.basis, self.fixed, rcond=None)[0], dtype=np.float64)

    def tidy(self, c: Floats) -> Floats:
        return c

    def derivatives(self, scores: Floats, c: Floats) -> tuple[float, Floats, Floats]:
        r, risk, flow = self._evaluate(scores, c, self._one)
        return risk, r, self._pull(flow)

    def exact(self, scores: Floats, c: Floats) -> tuple[float, Floats]:
        return float(self.rows.mean(_exactly, scores, self._intercepts(c), self.model)[0]), c

    def dual(self, scores: Floats, c: Floats, *, balanced: bool) -> tuple[float, Floats, Floats]:
        """Dual point near the smoothed gradient, made feasible."""
        r, _, flow = self._evaluate(scores, c, self._one)
        if balanced:
            r, _, flow = self._evaluate(scores, c, self._circulation(flow))
        gain = float(np.sum(flow * (self.model.loss + self.fixed - self.fixed[:, None])))
        if not balanced:
            return gain, r, self._pull(flow)
        # The programme balances the pulls up to its tolerance; charge the rest at the size of the offsets. This is the
        # range of several, since a common shift changes nothing, and the distance of a single one from zero.
        size = float(np.ptp(c)) if c.size > 1 else abs(float(c[0]))
        return gain - float(np.abs(self._pull(flow)).sum()) * (1.0 + size), r, np.zeros_like(c)

    def hessian(self, design: LinearMap, scores: Floats, c: Floats) -> Floats:
        Z, M, d = self.n_scores, self.n_offsets, design.n_features
        ww, wb, half = self.rows.mean(_curvature, design, scores, self._intercepts(c), self.mu, self.basis, self.model)
        bb = half + half.T - np.diag(np.diag(half))
        for z in range(Z):
            for other in range(z):
                ww[other, :, z, :] = ww[z, :, other, :].T
        weights, both = ww.reshape(Z * d, Z * d), wb.reshape(Z * d, M)
        return np.block([[weights, both], [both.T, bb]])

    def n_pieces(self) -> int:
        return int(self.rows.count(_n_pieces, len(self.basis))[0])

    def pieces(self) -> Pieces:
        """All linear pieces; those of one maximum share a slack."""
        beta, loss, joint = self.model
        lo, hi, codes = self.rows.lower[:, None], self.rows.upper[:, None], np.arange(len(beta))
        row, other = np.nonzero((codes < lo) | (codes > hi))
        above = other > self.rows.upper[row]
        own = np.where(above, self.rows.upper[row], self.rows.lower[row])
        one = joint & (lo == hi)[row, 0]  # one maximum for all classes
        numbers, slack = np.unique(2 * row + (above & ~one), return_inverse=True)
        weight = self.rows.weight[numbers // 2]
        constant = loss[own, other] + self.fixed[other] - self.fixed[own]
        by_offset = sparse.csr_array(self.basis[other] - self.basis[own])
        by_score = beta[other] - beta[own]
        return Pieces(row, slack, constant, by_score, by_offset, weight, ordered=False)

    def _intercepts(self, c: Floats) -> Floats:
        return np.asarray(self.basis @ c + self.fixed)

    def _pull(self, flow: Floats) -> Floats:
        return np.asarray(self.basis.T @ (flow.sum(axis=0) - flow.sum(axis=1)))

    def _evaluate(self, scores: Floats, c: Floats, scale: Floats) -> Any:
        return self.rows.slopes(_evaluate, scores, self._intercepts(c), self.mu, scale, self.model)

    def _circulation(self, flow: Floats) -> Floats:
        """Factors in [0, 1] that keep as much flow as possible while nothing pulls at the offsets."""
        if self.n_offsets == 1:  # a single equation needs no programme, and leaves no residual
            step = self.basis.T - self.basis
            up, down = (float((flow * np.maximum(sign * step, 0.0)).sum()) for sign in (1.0, -1.0))
            both = min(up, down)
            return np.where(step > 0.0, both / (up or 1.0), both / (down or 1.0))
        source, target = np.nonzero(flow)
        scale = np.zeros_like(flow)
        if source.size == 0:
            return scale
        amounts = flow[source, target]
        # In units of each flow, so that small flows are as accurate as large ones.
        balance = (self.basis[target] - self.basis[source]).T * amounts
        size = np.abs(balance).max()
        result = linprog(-amounts / amounts.max(), A_eq=balance / size, b_eq=np.zeros(len(balance)), bounds=(0.0, 1.0))
        if result.status == 0:
            scale[source, target] = np.clip(result.x, 0.0, 1.0)
        return scale
