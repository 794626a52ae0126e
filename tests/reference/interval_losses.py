"""Losses of scores against admissible codes as the formulas say them: one row, plain loops. Codes are 0..K-1."""


def cusum_margin(s, admissible, margin="loss", delta=1.0):
    """max_k [s(k) + delta d(k)] - max over the admissible, d(k) the distance to the nearest admissible code."""
    away = [min(abs(k - a) for a in admissible) for k in range(len(s))]
    asked = {"none": [0.0] * len(s), "constant": [delta * (d > 0) for d in away], "loss": [delta * d for d in away]}
    return max(s[k] + asked[margin][k] for k in range(len(s))) - max(s[k] for k in admissible)


def vilma(s, lower, upper, loss):
    """VILMA's two maxima with ``loss(y, p)`` as target loss."""
    low = max(loss(lower, k) + s[k] - s[lower] for k in range(lower + 1))
    high = max(loss(upper, k) + s[k] - s[upper] for k in range(upper, len(s)))
    return low + high


def interval_mae(f, lower, upper, n_classes):
    """Distance of a number from an interval that is open where it reaches an end of the scale."""
    if lower > 0 and f < lower:
        return lower - f
    if upper < n_classes - 1 and f > upper:
        return f - upper
    return 0.0
