"""A primal-dual interior point for separable problems with two equalities and a bound on every variable.

    minimise sum_r f_r(a_r)   subject to   A a = b  (two rows),   p_r a_r <= q_r  for every r

with f_r convex and twice differentiable. With multipliers lam_r > 0 of the bounds and nu of the equalities, the
iterates stay strictly inside the bounds and on the equalities, and approach

    f'_r(a_r) + lam_r p_r + nu . A_r = 0,     lam_r (q_r - p_r a_r) = 0.

**A step.** Linearise both with the right-hand side t_r for the products and eliminate the change of lam. With the slack
``g_r = q_r - p_r a_r``,

    z_r = f''_r + lam_r p_r^2 / g_r,     u_r = -f'_r - p_r t_r / g_r - nu . A_r,     z_r da_r = u_r - dnu . A_r,

and ``A da = 0`` leaves two linear equations for dnu, so an iteration costs O(d). (The paper, Shalev-Shwartz and Singer
eqs. 17-20, loses the factors p_r in u and z.) The paper takes a tenth of the mean product for all t_r; here they are
Mehrotra's: a first solution with t = 0 shows how far the products can fall, which sets their mean, and how much they
bend on the way, which is corrected, the less the shorter that way is. Both solutions share z and the matrix.

**The end.** For convex f and any solution a*, with ``e_r`` what is left of the first condition,

    sum_r f_r(a_r) - f_r(a*_r) <= sum_r lam_r g_r + max_r |e_r| * sum_r |a_r - a*_r|,

and the caller knows a bound, ``width``, of the last sum. The iteration stops when this duality gap is below a
tolerance.
"""

import numpy as np
from numba.extending import register_jitable

_NOT_QUITE = 0.99  # of the way to the nearest bound
#: Rows of the array that the solver works in.
WORK_ROWS = 8


@register_jitable
def _solve(A, nu, p, first, z, slack, target, lam, da, dlam, dnu, M):
    """One linear system: fill da, dlam, dnu for the products ``target``; M is the inverse of sum_r A_r A_r' / z_r."""
    rhs0, rhs1 = 0.0, 0.0
    for r in range(p.size):
        u = -first[r] - p[r] * target[r] / slack[r] - nu[0] * A[0, r] - nu[1] * A[1, r]
        da[r] = u
        rhs0 += A[0, r] * u / z[r]
        rhs1 += A[1, r] * u / z[r]
    dnu[0] = M[0] * rhs0 + M[1] * rhs1
    dnu[1] = M[1] * rhs0 + M[2] * rhs1
    for r in range(p.size):
        da[r] = (da[r] - dnu[0] * A[0, r] - dnu[1] * A[1, r]) / z[r]
        dlam[r] = (lam[r] * p[r] * da[r] + target[r]) / slack[r] - lam[r]


@register_jitable
def _longest_step(p, slack, lam, da, dlam):
    """How far the slacks and the multipliers of the bounds stay positive."""
    longest = np.inf
    for r in range(p.size):
        closing = p[r] * da[r]
        if closing > 0.0:
            longest = min(longest, slack[r] / closing)
        if dlam[r] < 0.0:
            longest = min(longest, -lam[r] / dlam[r])
    return longest


@register_jitable
def _inverse(A, z, M):
    """Fill M with the upper triangle of the inverse of sum_r A_r A_r' / z_r."""
    a, b, c = 0.0, 0.0, 0.0
    for r in range(z.size):
        a += A[0, r] * A[0, r] / z[r]
        b += A[0, r] * A[1, r] / z[r]
        c += A[1, r] * A[1, r] / z[r]
    determinant = a * c - b * b
    M[0], M[1], M[2] = c / determinant, -b / determinant, a / determinant


def make_interior_point(derivatives):
    """Compile the method for one family of functions.

    Parameters
    ----------
    derivatives : jitable function
        ``derivatives(problem, a, first, second)`` fills ``first`` with f'_r(a_r) and ``second`` with f''_r(a_r).

    Returns
    -------
    jitable function
        ``minimise(problem, A, p, q, a, nu, width, tolerance, max_iter, work)``: from the strictly feasible ``a`` and
        the multipliers ``nu`` move both, in place, to a solution; return the number of iterations and the duality gap,
        and leave the multipliers of the bounds in ``work[0]``. ``work`` is room of shape (WORK_ROWS, d).
    """

    @register_jitable
    def minimise(problem, A, p, q, a, nu, width, tolerance, max_iter, work):
        lam, slack, first, second = work[0], work[1], work[2], work[3]
        z, da, dlam, target = work[4], work[5], work[6], work[7]
        dnu, M = np.empty(2), np.empty(3)
        d = a.size
        derivatives(problem, a, first, second)
        least = 0.0
        for r in range(d):
            slack[r] = q[r] - p[r] * a[r]
            lam[r] = -(first[r] + nu[0] * A[0, r] + nu[1] * A[1, r]) / p[r]
            least = max(least, 1e-3 * abs(lam[r]))
        for r in range(d):  # where nu makes a multiplier negative, start with a residual instead
            lam[r] = max(lam[r], least)
        iterations = 0
        while True:
            products, left = 0.0, 0.0
            for r in range(d):
                products += lam[r] * slack[r]
                left = max(left, abs(first[r] + lam[r] * p[r] + nu[0] * A[0, r] + nu[1] * A[1, r]))
            gap = products + width * left
            if gap <= tolerance or iterations == max_iter:
                return iterations, gap
            for r in range(d):
                z[r] = second[r] + lam[r] * p[r] * p[r] / slack[r]
                target[r] = 0.0
            _inverse(A, z, M)
            _solve(A, nu, p, first, z, slack, target, lam, da, dlam, dnu, M)
            step = min(1.0, _longest_step(p, slack, lam, da, dlam))
            fallen = 0.0
            for r in range(d):
                fallen += (lam[r] + step * dlam[r]) * (slack[r] - step * p[r] * da[r])
            mean = (fallen / products) ** 3 * products / d
            for r in range(d):
                target[r] = mean + step * dlam[r] * p[r] * da[r]
            _solve(A, nu, p, first, z, slack, target, lam, da, dlam, dnu, M)
            step = min(1.0, _NOT_QUITE * _longest_step(p, slack, lam, da, dlam))
            for r in range(d):
                a[r] += step * da[r]
                lam[r] += step * dlam[r]
                slack[r] = q[r] - p[r] * a[r]
            nu[0] += step * dnu[0]
            nu[1] += step * dnu[1]
            derivatives(problem, a, first, second)
            iterations += 1

    return minimise
