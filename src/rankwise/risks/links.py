"""Cumulative links: the likelihood of a label on an ordered scale, without cancellation.

``P(y <= k | x) = F(t_k - f)`` for a score f and ascending thresholds t, so a label whose classes lie between the
thresholds ``l < h`` has ``P = F(t_h - f) - F(t_l - f)``; at an end of the scale, ``t_h = inf`` or ``t_l = -inf``.
``-log P`` is convex in (f, t) because the densities of all four F are log-concave:

    logit     1 / (1 + exp(-z))        probit    the normal distribution function
    cloglog   1 - exp(-exp(z))         loglog    exp(-exp(-z))

With ``a = F'(t_h - f) / P`` and ``g = F'(t_l - f) / P`` the derivatives of ``-log P`` by f, t_h, t_l are
``a - g, -a, g``. Its second derivatives are those of three springs, between f and t_h (stiffness p), f and t_l (q) and
t_h and t_l (v): ``p (f - t_h)^2 + q (f - t_l)^2 + v (t_h - t_l)^2``, all over 2.

The logit factors: ``P = s(t_h - f) s(f - t_l) (1 - exp(-(t_h - t_l)))``, with s the logistic function. The last factor
does not depend on the row, and keeps the thresholds in order.
"""

import math
from typing import Any

import numpy as np
from scipy import special

from rankwise._kernels.compile import inlined, kernel, register_jitable
from rankwise._types import Floats

#: Number of each link in kernels.
LINKS = {"logit": 0, "probit": 1, "cloglog": 2, "loglog": 3}
_PROBIT, _CLOGLOG = LINKS["probit"], LINKS["cloglog"]

_SAFE = 300.0  # exponents up to here neither overflow nor vanish in a product of two
_SAFE_SLOPES = 150.0  # and in a product of three
_ROOT = math.sqrt(0.5)
_HALF_LOG_TAU = 0.5 * math.log(2.0 * math.pi)
_LOG2_E = 1.0 / math.log(2.0)
_LN_2_HEAD, _LN_2_TAIL = 6.93147180369123816490e-01, 1.90821492927058770002e-10  # the head times n < 2^20 is exact
_SERIES = tuple(1.0 / math.factorial(k) for k in range(13, -1, -1))


def distribution(link: str, z: Any) -> Any:
    """F of a link, for an array of any shape."""
    z = np.asarray(z, dtype=np.float64)
    if link == "logit":
        return special.expit(z)
    if link == "probit":
        return special.ndtr(z)
    with np.errstate(over="ignore"):
        return -np.expm1(-np.exp(z)) if link == "cloglog" else np.exp(-np.exp(-z))


def densities(link: str, z: Any) -> tuple[Any, Any]:
    """Density F' of a link and its derivative F'', for an array of any shape; both vanish at infinity."""
    z = np.clip(np.asarray(z, dtype=np.float64), -_SAFE, _SAFE)
    if link == "logit":
        p = special.expit(z)
        density = p * special.expit(-z)
        return density, density * (1.0 - 2.0 * p)
    if link == "probit":
        density = np.exp(-0.5 * z * z - _HALF_LOG_TAU)
        return density, -z * density
    sign = 1.0 if link == "cloglog" else -1.0  # loglog is its mirror image
    density = np.exp(sign * z - np.exp(sign * z))
    return density, sign * (density - np.exp(2.0 * sign * z - np.exp(sign * z)))


def quantile(link: str, q: Any) -> Any:
    """Where F is q, for an array of any shape; infinite at 0 and 1."""
    q = np.asarray(q, dtype=np.float64)
    with np.errstate(divide="ignore"):
        if link == "logit":
            return special.logit(q)
        if link == "probit":
            return special.ndtri(q)
        return np.log(-np.log1p(-q)) if link == "cloglog" else -np.log(-np.log(q))


# -- one row -----------------------------------------------------------------------------------------------------------


@register_jitable
def _mills(x: float) -> float:
    """(1 - Phi(x)) / phi(x) for x >= 0."""
    if x < 10.0:
        return 1.2533141373155003 * math.exp(0.5 * x * x) * math.erfc(x * _ROOT)
    fraction = x
    for k in range(14, 0, -1):  # Laplace's continued fraction, accurate to the last bit from 10 on
        fraction = x + k / fraction
    return 1.0 / fraction


@register_jitable
def _probit(above: float, below: float, width: float) -> tuple[float, float, float]:
    """-log P, a and g, where the upper end is the nearer one: ``above + below <= 0`` or no lower end."""
    if below == -np.inf:
        if above > 0.0:
            p = 0.5 * math.erfc(-above * _ROOT)
            return -math.log(p), math.exp(-0.5 * above * above - _HALF_LOG_TAU) / p, 0.0
        ratio = _mills(-above)
        return 0.5 * above * above + _HALF_LOG_TAU - math.log(ratio), 1.0 / ratio, 0.0
    middle = below + 0.5 * width
    if width * (1.0 - middle) < 0.02:  # Taylor's series about the middle, where differences would cancel
        square, w2 = middle * middle, width * width
        size = width * (1.0 + w2 * ((square - 1.0) / 24.0 + w2 * (square * (square - 6.0) + 3.0) / 1920.0))
        tilt = 0.5 * middle * width
        a, g = math.exp(-tilt - 0.125 * w2) / size, math.exp(tilt - 0.125 * w2) / size
        return 0.5 * square + _HALF_LOG_TAU - math.log(size), a, g
    if above <= 0.0:
        decay = math.exp(0.5 * width * (above + below))
        size = _mills(-above) - decay * _mills(-below)
        return 0.5 * above * above + _HALF_LOG_TAU - math.log(size), 1.0 / size, decay / size
    p = 0.5 * (math.erf(above * _ROOT) - math.erf(below * _ROOT))
    a = math.exp(-0.5 * above * above - _HALF_LOG_TAU) / p
    return -math.log(p), a, math.exp(-0.5 * below * below - _HALF_LOG_TAU) / p


@register_jitable
def _cloglog(above: float, below: float, width: float) -> tuple[float, float, float, float, float]:
    """-log P, a, g, p and q."""
    low = math.exp(below)
    high = math.exp(above) if above < 700.0 else np.inf
    if low == np.inf:
        return np.inf, 0.0, 0.0, 0.0, 0.0
    if high == np.inf:
        return low, 0.0, low, 0.0, low
    apart = -math.expm1(-width)
    if above < -36.0:  # F(z) equals exp(z) to the last bit
        a, g = 1.0 / apart, (1.0 - apart) / apart
        return -above - math.log(apart), a, g, a * high, -g * low
    mass = high * apart  # high - low
    inside = -math.expm1(-mass)
    a = high * math.exp(-mass) / inside
    g = low / inside
    return low - math.log(inside), a, g, a * (a - g - 1.0 + high), g * (g - a + 1.0 - low)


@register_jitable
def log_terms(link: int, above: float, below: float, width: float) -> Any:
    """-log P, a, g, p and q for ``above = t_h - f``, ``below = t_l - f`` and their difference; v is ``a g``.

    For the logit, use :func:`logit_terms`.
    """
    if link == _CLOGLOG:
        return _cloglog(above, below, width)
    if link == _PROBIT:
        if above + below <= 0.0:  # a missing end is infinite
            loss, a, g = _probit(above, below, width)
        else:
            loss, g, a = _probit(-below, -above, width)
        p = a * (a - g + above) if a > 0.0 else 0.0
        return loss, a, g, p, g * (g - a - below) if g > 0.0 else 0.0
    loss, g, a, q, p = _cloglog(-below, -above, width)
    return loss, a, g, p, q


@inlined
def logit_terms(f: float, high: float, low: float, shrink_high: float, grow_low: float) -> tuple[float, float, float]:
    """Two logistic losses and their slopes: log(1 + exp(f - high)) + log(1 + exp(low - f)), s(f - high), s(low - f).

    With ``shrink_high = exp(-high)`` and ``grow_low = exp(low)`` this takes one exponential and one logarithm.
    """
    if abs(f) < _SAFE and shrink_high < 1e130 and grow_low < 1e130:
        e = math.exp(f)
        x, y = e * shrink_high, grow_low / e
        return math.log((1.0 + x) * (1.0 + y)), x / (1.0 + x), y / (1.0 + y)
    over, under = f - high, low - f
    x, y = math.exp(-abs(over)), math.exp(-abs(under))
    loss = max(over, 0.0) + math.log1p(x) + max(under, 0.0) + math.log1p(y)
    return loss, (1.0 if over > 0.0 else x) / (1.0 + x), (1.0 if under > 0.0 else y) / (1.0 + y)


@inlined
def logit_slopes(
    f: float, e: float, high: float, low: float, shrink_high: float, grow_low: float
) -> tuple[float, float]:
    """The two slopes of :func:`logit_terms` for ``e = exp(f)``, without the losses and with one division."""
    if abs(f) < _SAFE_SLOPES and shrink_high < 1e100 and grow_low < 1e100:
        x, y = 1.0 + e * shrink_high, e + grow_low
        share = 1.0 / (x * y)
        return e * shrink_high * y * share, grow_low * x * share
    over, under = f - high, low - f
    x, y = math.exp(-abs(over)), math.exp(-abs(under))
    return (1.0 if over > 0.0 else x) / (1.0 + x), (1.0 if under > 0.0 else y) / (1.0 + y)


@kernel
def exponential(x, out):
    """out[i] = exp(x[i]) within two units of the last place for |x| < 700; undefined elsewhere.

    Splits x into ``n log 2 + r`` with a small r and sums the series of exp(r). There are neither branches nor calls, so
    that the processor can vectorise it.
    """
    for i in range(x.size):
        n = np.floor(x[i] * _LOG2_E + 0.5)
        r = (x[i] - n * _LN_2_HEAD) - n * _LN_2_TAIL
        series = 0.0
        for k in range(len(_SERIES)):
            series = series * r + _SERIES[k]
        out[i] = series * np.int64((np.int64(n) + 1023) << 52).view(np.float64)  # times 2^n


def padded(thresholds: Floats) -> Floats:
    """Thresholds with the infinite ends of the scale."""
    return np.concatenate([[-np.inf], thresholds, [np.inf]])


def exponentials(t: Floats) -> tuple[Floats, Floats]:
    """exp(-t) and exp(t), for :func:`logit_terms`."""
    with np.errstate(over="ignore"):
        return np.exp(-t), np.exp(t)


# -- probabilities of all classes --------------------------------------------------------------------------------------


@kernel
def _logit_probabilities(f, t, shrink, apart, out):
    """out[i, k] = s(t_k - f) s(f - t_{k-1}) apart_k, for thresholds with infinite ends."""
    n_classes = out.shape[1]
    for i in range(f.size):
        if abs(f[i]) < _SAFE:
            e, below = math.exp(f[i]), 1.0
            for k in range(n_classes):
                x = e * shrink[k + 1]
                above = 1.0 / (1.0 + x)  # P(y <= k)
                out[i, k] = below * above * apart[k]
                below = x * above if x < 1.0 else 1.0 / (1.0 + 1.0 / x)  # P(y > k)
        else:
            for k in range(n_classes):
                over, under = f[i] - t[k + 1], t[k] - f[i]
                x, y = math.exp(-abs(over)), math.exp(-abs(under))
                size = (x if over > 0.0 else 1.0) * (y if under > 0.0 else 1.0) / ((1.0 + x) * (1.0 + y))
                out[i, k] = size * apart[k]


@kernel
def _probabilities(link, f, t, out):
    """out[i, k] = F(t_{k+1} - f) - F(t_k - f), for thresholds with infinite ends."""
    for i in range(f.size):
        for k in range(out.shape[1]):
            low, high = t[k], t[k + 1]
            out[i, k] = 0.0
            if low < high:
                out[i, k] = math.exp(-log_terms(link, high - f[i], low - f[i], high - low)[0])


def probabilities(link: str, scores: Floats, thresholds: Floats) -> Floats:
    """Probability of every class, (n, K), for ascending thresholds (K-1,), which may be infinite.

    It takes no differences of F, so small probabilities are accurate to the last digits; a row adds up to one.

    Examples
    --------
    >>> probabilities("logit", np.array([0.0, 1e4]), np.array([-1.0, 1.0])).round(3)
    array([[0.269, 0.462, 0.269],
           [0.   , 0.   , 1.   ]])
    """
    t = padded(thresholds)
    scores = np.ascontiguousarray(scores, dtype=np.float64)
    out = np.empty((scores.size, t.size - 1))
    if link == "logit":
        # Two infinite thresholds on one side have no difference, and no probability between them.
        width = np.subtract(t[1:], t[:-1], out=np.zeros(t.size - 1), where=t[1:] > t[:-1])
        _logit_probabilities(scores, t, exponentials(t)[0], -np.expm1(-width), out)
    else:
        _probabilities(LINKS[link], scores, t, out)
    return out
