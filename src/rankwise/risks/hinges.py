"""Compiled loops over the hinges between scores and thresholds; see :mod:`rankwise.risks.threshold_risk`.

f are the scores, t the thresholds, ``[lo, hi]`` the codes of a row, c its weight, mu the smoothing.
"""

import numpy as np

from rankwise._kernels.compile import kernel, register_jitable
from rankwise._kernels.rows import column, n_entries, value


@register_jitable(forceinline=True)
def count_up_to(t, x):
    """Number of thresholds <= x, by a binary search without branches."""
    base = 0
    n = t.size
    while n > 1:
        half = n >> 1
        base += half * (t[base + half - 1] <= x)
        n -= half
    return base + (t[base] <= x)


@register_jitable(forceinline=True)
def inverse_of(mu):
    """1 / mu, or for mu = 0 a number that makes every dual variable 0 or 1."""
    return 1.0 / mu if mu > 0.0 else 1e300


@register_jitable(forceinline=True)
def dual(u, half, inverse):
    """Derivative of the smoothed hinge: 0 below -mu/2, 1 above mu/2."""
    return min(max((u + half) * inverse, 0.0), 1.0)


@kernel
def looped(f, t, lo, hi, c, reach, mu, scale_low, scale_high, r, dt):
    """Risk, its derivatives r by score and dt by threshold, looping over each row's thresholds.

    The dual variables of threshold k are multiplied by ``scale_low[k]`` (for rows above it) and ``scale_high[k]``
    (for rows below it), in the derivatives and in the second result, the sum of all dual variables.
    """
    half, inverse = 0.5 * mu, inverse_of(mu)
    risk = gain = 0.0
    for k in range(t.size):
        dt[k] = 0.0
    for i in range(f.size):
        below, above = f[i] - 1.0, f[i] + 1.0
        loss = push = 0.0
        total = 0.0
        for k in range(max(lo[i] - reach, 0), lo[i]):
            u = t[k] - below
            a = dual(u, half, inverse)
            loss += a * (u + half * (1.0 - a))
            a *= scale_low[k]
            push -= a
            total += a
            dt[k] += c[i] * a
        for k in range(hi[i], min(hi[i] + reach, t.size)):
            u = above - t[k]
            a = dual(u, half, inverse)
            loss += a * (u + half * (1.0 - a))
            a *= scale_high[k]
            push += a
            total += a
            dt[k] -= c[i] * a
        r[i] = c[i] * push
        risk += c[i] * loss
        gain += c[i] * total
    return risk, gain


@register_jitable
def prefix(values):
    """Sums of the first 0, 1, 2, ... values."""
    sums = np.empty(values.size + 1)
    sums[0] = 0.0
    for k in range(values.size):
        sums[k + 1] = sums[k] + values[k]
    return sums


@kernel
def searched(f, t, lo, hi, c, mu, scale_low, scale_high, r, dt):
    """What ``looped`` computes with the longest reach, in O(log K) a row, for thresholds in order.

    Of the thresholds below lo, those in [p0, p1) are on their parabola and those in [p1, lo) on their line; of
    those from hi on, [hi, q0) on their line and [q0, q1) on their parabola.
    """
    half, inverse = 0.5 * mu, inverse_of(mu)
    t1, t2 = prefix(t), prefix(t * t)
    low0, low1 = prefix(scale_low), prefix(scale_low * t)
    high0, high1 = prefix(scale_high), prefix(scale_high * t)
    # Differences over k, on each side: of constant dual variables, and of those that are a constant plus t_k / mu.
    flat_low, slope_low = np.zeros(t.size + 1), np.zeros(t.size + 1)
    flat_high, slope_high = np.zeros(t.size + 1), np.zeros(t.size + 1)
    risk = gain = 0.0
    for i in range(f.size):
        below, above, weight = f[i] - 1.0, f[i] + 1.0, c[i]
        p1 = min(count_up_to(t, below + half), lo[i])
        p0 = min(count_up_to(t, below - half), lo[i])
        q0 = max(count_up_to(t, above - half), hi[i])
        q1 = max(count_up_to(t, above + half), hi[i])
        loss = t1[lo[i]] - t1[p1] - (lo[i] - p1) * below + (q0 - hi[i]) * above - (t1[q0] - t1[hi[i]])
        total_low = low0[lo[i]] - low0[p1]
        total_high = high0[q0] - high0[hi[i]]
        flat_low[p1] += weight
        flat_low[lo[i]] -= weight
        flat_high[hi[i]] += weight
        flat_high[q0] -= weight
        if p0 < p1:
            e = half - below
            s = t1[p1] - t1[p0]
            loss += 0.5 * inverse * (t2[p1] - t2[p0] + 2.0 * e * s + (p1 - p0) * e * e)
            total_low += inverse * (low1[p1] - low1[p0] + e * (low0[p1] - low0[p0]))
            flat_low[p0] += weight * e * inverse
            flat_low[p1] -= weight * e * inverse
            slope_low[p0] += weight
            slope_low[p1] -= weight
        if q0 < q1:
            e = above + half
            s = t1[q1] - t1[q0]
            loss += 0.5 * inverse * (t2[q1] - t2[q0] - 2.0 * e * s + (q1 - q0) * e * e)
            total_high += inverse * (e * (high0[q1] - high0[q0]) - (high1[q1] - high1[q0]))
            flat_high[q0] += weight * e * inverse
            flat_high[q1] -= weight * e * inverse
            slope_high[q0] += weight
            slope_high[q1] -= weight
        r[i] = weight * (total_high - total_low)
        risk += weight * loss
        gain += weight * (total_low + total_high)
    a0 = a1 = b0 = b1 = 0.0
    for k in range(t.size):
        a0 += flat_low[k]
        a1 += slope_low[k]
        b0 += flat_high[k]
        b1 += slope_high[k]
        dt[k] = scale_low[k] * (a0 + a1 * inverse * t[k]) - scale_high[k] * (b0 - b1 * inverse * t[k])
    return risk, gain


@kernel
def curvature(X, f, t, lo, hi, c, reach, ordered, mu, by_score, by_both, by_threshold):
    """Second derivatives: by score (n,), by score and threshold summed over rows (K-1, d), by threshold (K-1,)."""
    half, inverse = 0.5 * mu, inverse_of(mu)
    for i in range(f.size):
        below, above = f[i] - 1.0, f[i] + 1.0
        p0, p1 = max(lo[i] - reach, 0), lo[i]
        q0, q1 = hi[i], min(hi[i] + reach, t.size)
        if ordered:
            p0 = max(p0, min(count_up_to(t, below - half), p1))
            p1 = min(p1, max(count_up_to(t, below + half), p0))
            q0 = max(q0, min(count_up_to(t, above - half), q1))
            q1 = min(q1, max(count_up_to(t, above + half), q0))
        second = c[i] * inverse
        n_curved = 0
        for side in range(2):
            start, stop, middle = (p0, p1, below) if side == 0 else (q0, q1, above)
            for k in range(start, stop):
                if abs(t[k] - middle) < half:
                    n_curved += 1
                    by_threshold[k] += second
                    row = by_both[k]
                    for p in range(n_entries(X, i)):
                        row[column(X, i, p)] -= second * value(X, i, p)
        by_score[i] = second * n_curved


@register_jitable
def slope_of(k, weight_below, passed_low, passed_high):
    """Slope of threshold k's problem, from the weights with passed break points, by lower and by upper code."""
    slope = -weight_below[k]
    for y in range(k + 1, passed_low.size):
        slope += passed_low[y]
    for y in range(k + 1):
        slope += passed_high[y]
    return slope


@kernel
def order_statistics(f, lo, hi, c, row, t, r):
    """t[k] = the minimiser of threshold k's problem, for rows in the order of their scores; return the gain.

    The slope of the problem starts at minus the weight below the threshold. From left to right it grows by c at
    f - 1 of every row above, where its hinge begins, and at f + 1 of every row below, where its hinge ends. The
    threshold lies where the slope crosses zero, and the row there gets the share of its dual variable that makes the
    slope zero. Lower thresholds cross first, so one sweep over all break points finds all thresholds.
    """
    n, K = f.size, t.size + 1
    passed_low, passed_high = np.zeros(K), np.zeros(K)
    weight_below, weight_above = np.zeros(K), np.zeros(K)
    for i in range(n):
        weight_below[hi[i]] += c[i]
        weight_above[lo[i]] += c[i]
    for k in range(1, K):
        weight_below[k] += weight_below[k - 1]
        weight_above[K - 1 - k] += weight_above[K - k]  # of code K-1-k and more
    # Number of rows, in order, that had passed their f - 1, and their f + 1, when each threshold was found.
    low_place, high_place = np.full(K, n), np.full(K, n)
    gain = 0.0
    k = low = high = 0
    slope = slope_of(0, weight_below, passed_low, passed_high)
    last = f[0] - 1.0
    while k < t.size and high < n:
        from_low = low < n and f[low] - 1.0 <= f[high] + 1.0
        i = low if from_low else high
        while k < t.size:
            counts = c[i] > 0.0 and (lo[i] > k if from_low else hi[i] <= k)
            if counts:
                last = f[i] - 1.0 if from_low else f[i] + 1.0
            elif weight_below[k] > 0.0 or weight_above[k + 1] > 0.0:
                break
            if counts and slope + c[i] < 0.0:
                slope += c[i]
                break
            t[k] = last
            low_place[k], high_place[k] = low, high + (counts and not from_low)
            if counts:
                share = -slope if from_low else slope + c[i]
                gain += share
                r[row[i]] += -share if from_low else share
            k += 1
            slope = slope_of(k, weight_below, passed_low, passed_high)
        if from_low:
            passed_low[lo[i]] += c[i]
            low += 1
        else:
            passed_high[hi[i]] += c[i]
            high += 1
    for rest in range(k, t.size):  # no row is above these, and by rounding the slope did not reach zero
        t[rest] = last
        for i in range(n):
            if c[i] > 0.0 and hi[i] <= rest:
                t[rest] = max(t[rest], f[i] + 1.0)
    # Full dual variables: the rows that passed f - 1 pull the threshold down, those before f + 1 push it up.
    k_low = k_high = 0
    for i in range(n):
        while k_low < t.size and low_place[k_low] <= i:
            k_low += 1
        while k_high < t.size and high_place[k_high] <= i:
            k_high += 1
        down, up = max(lo[i] - k_low, 0), max(k_high - hi[i], 0)
        gain += c[i] * (down + up)
        r[row[i]] += c[i] * (up - down)
    return gain


@kernel
def bucketed(f, lo, hi, c, n_buckets, most, t, r):
    """What ``order_statistics`` finds, without sorting all rows; NaN if all rows must be sorted.

    Counting the break points f - 1 and f + 1 in buckets, by code, shows in which bucket the slope of each threshold's
    problem crosses zero. Rows with break points in other buckets have dual variables 0 or 1. Only the break points in
    that bucket are sorted, at most ``most`` for all thresholds.
    """
    n, K = f.size, t.size + 1
    least, largest = f[0], f[0]
    for i in range(n):
        least, largest = min(least, f[i]), max(largest, f[i])
    origin, scale = least - 1.0, (n_buckets - 1) / (largest - least + 2.0)
    weights, points = np.zeros((2, K, n_buckets)), np.zeros((2, K, n_buckets), dtype=np.int64)
    for i in range(n):
        below, above = int((f[i] - 1.0 - origin) * scale), int((f[i] + 1.0 - origin) * scale)
        weights[0, lo[i], below] += c[i]
        weights[1, hi[i], above] += c[i]
        points[0, lo[i], below] += 1
        points[1, hi[i], above] += 1
    # What the slope of threshold k passes in each bucket: f - 1 of the rows above k, f + 1 of those below.
    passed, n_passed = weights[0].sum(axis=0), points[0].sum(axis=0)
    weight_below, weight_above = 0.0, passed.sum()
    bucket, before = np.empty(t.size, dtype=np.int64), np.empty(t.size)  # of each threshold, and the slope there
    first = np.zeros(K, dtype=np.int64)  # where its break points begin
    up_to = np.zeros(n_buckets + 1, dtype=np.int64)  # number of thresholds in the buckets before each
    for k in range(t.size):
        passed += weights[1, k] - weights[0, k]
        n_passed += points[1, k] - points[0, k]
        weight_below += weights[1, k].sum()
        weight_above -= weights[0, k].sum()
        slope, b = -weight_below, 0
        while b < n_buckets - 1 and slope + passed[b] < 0.0:
            slope += passed[b]
            b += 1
        bucket[k], before[k], first[k + 1] = b, slope, first[k] + n_passed[b]
        up_to[b + 1] += 1
        one_sided = weight_below <= 0.0 or weight_above <= 1e-12
        if one_sided or n_passed[b] == 0 or first[k + 1] > most or (k > 0 and b < bucket[k - 1]):
            return np.nan
    up_to = up_to.cumsum()

    gain = 0.0
    value, row = np.empty(first[t.size]), np.empty(first[t.size], dtype=np.int64)
    end = first[:-1].copy()
    for i in range(n):
        below, above = int((f[i] - 1.0 - origin) * scale), int((f[i] + 1.0 - origin) * scale)
        down, up = max(lo[i] - up_to[below + 1], 0), max(up_to[above] - hi[i], 0)
        gain += c[i] * (down + up)
        r[i] = c[i] * (up - down)
        for k in range(up_to[below], min(up_to[below + 1], lo[i])):
            value[end[k]], row[end[k]] = f[i] - 1.0, i
            end[k] += 1
        for k in range(max(up_to[above], hi[i]), up_to[above + 1]):
            value[end[k]], row[end[k]] = f[i] + 1.0, ~i
            end[k] += 1
    for k in range(t.size):
        slope, crossed = before[k], False
        t[k] = value[first[k] : first[k + 1]].max()  # stays if, by rounding, the slope does not reach zero
        for p in first[k] + np.argsort(value[first[k] : first[k + 1]]):
            from_low = row[p] >= 0
            i = row[p] if from_low else ~row[p]
            # Rows above count once passed, rows below until then: fully, or with the share that makes the slope zero.
            a = c[i] if from_low != crossed else 0.0
            if not crossed and slope + c[i] >= 0.0:
                a = -slope if from_low else slope + c[i]
                t[k], crossed = value[p], True
            slope += c[i]
            gain += a
            r[i] += -a if from_low else a
    return gain
