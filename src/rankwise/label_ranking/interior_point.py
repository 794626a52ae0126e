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
Mehrotra's: a first solution with t = 0 shows how far the products can fall, which sets their mean, and their
second-order change on the way, which is corrected, less for shorter steps. The products never fall far below the
residual of the first condition, and a step is halved while the residual neither falls nor is small beside the products.

**Stopping.** For convex f and any solution a*, with ``e_r`` the residual of the first condition,

    sum_r f_r(a_r) - f_r(a*_r) <= sum_r lam_r g_r + max_r |e_r| * sum_r |a_r - a*_r|,

and the caller knows a bound, ``width``, of the last sum. The iteration stops when this duality gap is below a
tolerance.

**The joint update** is such a problem, for any complexity function. With f_y(a) = G(theta_y + a x) - margin a for
relevant labels and G(theta_y + a x) for the others, minimise

    sum_y f_y(a_y)   subject to   sum_y a_y = 0,   sum_{relevant} a_y + slack = cap,   a >= 0 on the relevant labels,
                                  a <= 0 on the others,   slack >= 0.

The slack is one more variable, with f = 0, after those of the labels.
"""

import numpy as np

from rankwise._kernels.compile import register_jitable

WORK_ROWS = 9  # of the solver's scratch array
_MOST_HALVINGS = 6
_TOLERANCE = 1e-10  # duality gap, as a share of the cap times the size of the scores
_MOST_ITERATIONS = 100


@register_jitable
def _orthogonal(A, z, B):
    """Fill B with the second row of A minus its part along the first, in the inner product with weights 1 / z_r.

    Returns the squared lengths of the first row and of B, and the coefficient of that part. Solving for both separately
    keeps the digits that a determinant loses when few variables are free.
    """
    length, along = 0.0, 0.0
    for r in range(z.size):
        length += A[0, r] * A[0, r] / z[r]
        along += A[0, r] * A[1, r] / z[r]
    coefficient, rest = along / length, 0.0
    for r in range(z.size):
        B[r] = A[1, r] - coefficient * A[0, r]
        rest += B[r] * B[r] / z[r]
    return length, rest, coefficient


@register_jitable
def _solve(A, B, lengths, missing, nu, p, first, z, slack, target, lam, da, dlam, dnu):
    """One linear system: fill da, dlam and dnu for the products ``target``; B and ``lengths`` are from _orthogonal.

    ``missing`` is b - A a, zero but for rounding.
    """
    length, rest, coefficient = lengths
    along_first, along_rest = -missing[0], -(missing[1] - coefficient * missing[0])
    for r in range(p.size):
        da[r] = -first[r] - p[r] * target[r] / slack[r] - nu[0] * A[0, r] - nu[1] * A[1, r]
        along_first += A[0, r] * da[r] / z[r]
        along_rest += B[r] * da[r] / z[r]
    along_first, along_rest = along_first / length, along_rest / rest
    dnu[0], dnu[1] = along_first - coefficient * along_rest, along_rest
    for r in range(p.size):
        da[r] = (da[r] - along_first * A[0, r] - along_rest * B[r]) / z[r]
        dlam[r] = (lam[r] * p[r] * da[r] + target[r]) / slack[r] - lam[r]


@register_jitable
def _longest_step(p, slack, lam, da, dlam):
    """Longest step that keeps the slacks and the multipliers of the bounds positive."""
    longest = np.inf
    for r in range(p.size):
        closing = p[r] * da[r]
        if closing > 0.0:
            longest = min(longest, slack[r] / closing)
        if dlam[r] < 0.0:
            longest = min(longest, -lam[r] / dlam[r])
    return longest


@register_jitable
def _move(step, p, q, a, lam, nu, slack, da, dlam, dnu):
    """Take a step, or a negative one to go back."""
    for r in range(a.size):
        a[r] += step * da[r]
        lam[r] += step * dlam[r]
        slack[r] = q[r] - p[r] * a[r]
    nu[0] += step * dnu[0]
    nu[1] += step * dnu[1]


@register_jitable
def _measure(A, p, first, lam, slack, nu):
    """Sums of the products lam g and of |e| g, where e is the residual of the first condition; and the largest |e|."""
    products, remains, largest = 0.0, 0.0, 0.0
    for r in range(p.size):
        left = abs(first[r] + lam[r] * p[r] + nu[0] * A[0, r] + nu[1] * A[1, r])
        products += lam[r] * slack[r]
        remains += left * slack[r]
        largest = max(largest, left)
    return products, remains, largest


def make_interior_point(derivatives):
    """Compile the method for one family of functions.

    ``derivatives(problem, a, first, second)`` fills ``first`` with f'_r(a_r) and ``second`` with f''_r(a_r).
    """

    @register_jitable
    def minimise(problem, A, p, q, a, nu, width, tolerance, max_iter, work):
        """Move the strictly feasible ``a`` and the multipliers ``nu``, in place, to a solution.

        Returns the number of iterations and the duality gap, and leaves the multipliers of the bounds in ``work[0]``;
        ``work`` is a scratch array (WORK_ROWS, d).
        """
        lam, slack, first, second = work[0], work[1], work[2], work[3]
        z, da, dlam, target, B = work[4], work[5], work[6], work[7], work[8]
        dnu, missing = np.empty(2), np.empty(2)
        d = a.size
        derivatives(problem, a, first, second)
        least, b0, b1 = 0.0, 0.0, 0.0
        for r in range(d):
            b0 += A[0, r] * a[r]
            b1 += A[1, r] * a[r]
            slack[r] = q[r] - p[r] * a[r]
            lam[r] = -(first[r] + nu[0] * A[0, r] + nu[1] * A[1, r]) / p[r]
            least = max(least, 0.1 * abs(lam[r]))
        for r in range(d):  # where nu would make a multiplier negative, start with a residual instead
            lam[r] = max(lam[r], least)
        products, remains, left = _measure(A, p, first, lam, slack, nu)
        iterations = 0
        while products + width * left > tolerance and iterations < max_iter:
            missing[0], missing[1] = b0, b1
            for r in range(d):
                missing[0] -= A[0, r] * a[r]
                missing[1] -= A[1, r] * a[r]
                z[r] = second[r] + lam[r] * p[r] * p[r] / slack[r]
                target[r] = 0.0
            lengths = _orthogonal(A, z, B)
            _solve(A, B, lengths, missing, nu, p, first, z, slack, target, lam, da, dlam, dnu)
            step = min(1.0, _longest_step(p, slack, lam, da, dlam))
            fallen = 0.0
            for r in range(d):
                fallen += (lam[r] + step * dlam[r]) * (slack[r] - step * p[r] * da[r])
            mean = max((fallen / products) ** 3 * products, 0.01 * remains) / d
            for r in range(d):
                target[r] = mean + step * dlam[r] * p[r] * da[r]
            _solve(A, B, lengths, missing, nu, p, first, z, slack, target, lam, da, dlam, dnu)
            short = min(0.01, fallen / products)  # distance kept to the nearest bound; smaller near the solution
            step = min(1.0, (1.0 - short) * _longest_step(p, slack, lam, da, dlam))
            _move(step, p, q, a, lam, nu, slack, da, dlam, dnu)
            derivatives(problem, a, first, second)
            before = left
            products, remains, left = _measure(A, p, first, lam, slack, nu)
            for _ in range(_MOST_HALVINGS):  # where f bends too much for its first two derivatives
                if left <= (1.0 - 0.1 * step) * before or remains <= 0.2 * products:
                    break
                step *= 0.5
                _move(-step, p, q, a, lam, nu, slack, da, dlam, dnu)
                derivatives(problem, a, first, second)
                products, remains, left = _measure(A, p, first, lam, slack, nu)
            iterations += 1
        return iterations, products + width * left

    return minimise


@register_jitable
def interior_workspace(n_labels):
    """Scratch arrays of the solver, for up to ``n_labels`` labels."""
    n = n_labels + 1
    return np.empty((2, n)), np.empty(n), np.zeros(n), np.empty(n), np.empty((WORK_ROWS, n))


@register_jitable
def _start(inside, cap, scale, A, p, a):
    """Constraints, and a point inside them: most of the cap spread over each side, or less if that would be a leap."""
    last = a.size - 1
    n_in = inside.sum()
    mass = min(0.9 * cap, 10.0 / scale)
    for e in range(last):
        A[0, e], A[1, e] = 1.0, 1.0 if inside[e] else 0.0
        p[e] = -1.0 if inside[e] else 1.0
        a[e] = mass / n_in if inside[e] else -mass / (last - n_in)
    A[0, last], A[1, last], p[last], a[last] = 0.0, 1.0, -1.0, cap - mass


@register_jitable
def _start_multipliers(first, inside, scale, nu):
    """Multipliers of the equalities that leave those of all bounds positive."""
    top, low = -np.inf, np.inf
    for e in range(inside.size):
        if inside[e]:
            low = min(low, first[e])
        else:
            top = max(top, first[e])
    distance = 0.3 * max(abs(top - low), 1e-3 * scale)
    nu[0] = -(top + distance)
    nu[1] = max(distance, distance - low - nu[0])


@register_jitable
def _clean(a, lam, inside, cap, scale):
    """Move labels with an active bound onto it, and let both sides move the same mass; return that mass."""
    mass_in, mass_out = 0.0, 0.0
    for e in range(inside.size):
        if abs(a[e]) / cap < lam[e] / scale:
            a[e] = 0.0
        if inside[e]:
            mass_in += a[e]
        else:
            mass_out -= a[e]
    if mass_in <= 0.0 or mass_out <= 0.0:
        return 0.0
    cap_holds = a[-1] / cap < lam[-1] / scale
    mass = cap if cap_holds else min(mass_in, cap)
    for e in range(inside.size):
        a[e] *= mass / mass_in if inside[e] else mass / mass_out
    return mass


def make_joint_solver(derivatives):
    """Compile the solver for one family of functions.

    ``derivatives(problem, a, first, second)`` fills ``first`` and ``second`` with the derivatives of all f_y, and with
    zeros in the last place.
    """
    minimise = make_interior_point(derivatives)

    @register_jitable
    def solve(problem, inside, cap, scale, workspace):
        """Leave the best steps of the labels in ``workspace[3]``; ``inside`` marks the relevant ones.

        Returns the mass that moves from one side to the other, zero if the duality gap was not closed, and the number
        of iterations. ``scale`` is the size of the derivatives.
        """
        A, p, q, a, work = workspace
        n = inside.size + 1
        A, p, q, a, work, nu = A[:, :n], p[:n], q[:n], a[:n], work[:, :n], np.empty(2)
        tolerance = _TOLERANCE * cap * scale
        width = 5.0 * cap  # two points are at most 2 cap apart on either side, and cap in the slack
        _start(inside, cap, scale, A, p, a)
        derivatives(problem, a, work[2], work[3])
        _start_multipliers(work[2], inside, scale, nu)
        iterations, gap = minimise(problem, A, p, q, a, nu, width, tolerance, _MOST_ITERATIONS, work)
        mass = _clean(a, work[0], inside, cap, scale) if gap <= tolerance else 0.0
        return mass, iterations

    return solve
