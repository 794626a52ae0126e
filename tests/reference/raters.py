"""Plain twins of rankwise.raters: loops and differences of F, as the formulas say."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np


def alpha(units, n_classes):
    """Krippendorff's alpha of sets of codes; ``units`` holds for every item the list of its answers."""
    units = [unit for unit in units if len(unit) > 1]
    answers = [answer for unit in units for answer in unit]
    count = [sum((k in answer) / len(answer) for answer in answers) for k in range(n_classes)]

    def apart(one, other):
        def ordinal(c, k):
            c, k = min(c, k), max(c, k)
            return (sum(count[c : k + 1]) - (count[c] + count[k]) / 2) ** 2 if c != k else 0.0

        return min(ordinal(c, k) for c in one for k in other)

    observed = sum(apart(a, b) / (len(unit) - 1) for unit in units for a, b in permutations(unit, 2)) / len(answers)
    n = len(answers)
    expected = sum(apart(a, b) for a, b in permutations(answers, 2)) / (n * (n - 1))
    return 1 - observed / expected


def logistic(x):
    return 1.0 / (1.0 + math.exp(-x)) if x > -700 else 0.0


def answer_probability(k, z, shift, precision, spread, thresholds, positions):
    """P(answer k | true class z), without slips."""
    at = [-math.inf, *thresholds, math.inf]

    def below(t):
        return logistic(precision * (spread * t + shift - positions[z]))

    return below(at[k + 1]) - below(at[k])


def joint(answers, model):
    """P(class, answers) of one item for each class; ``answers`` are pairs (place of rater, set of codes)."""
    probabilities = []
    for z, prior in enumerate(model.class_prior_):
        p = prior
        for r, label in answers:
            parameters = (model.shift_[r], model.precision_[r], model.spread_[r], model.thresholds_, model.positions_)
            seen = sum(answer_probability(k, z, *parameters) for k in label)
            p *= (1 - model.slips_[r]) * seen + model.slips_[r] * sum(model.slip_classes_[k] for k in label)
        probabilities.append(p)
    return np.array(probabilities)


def log_posterior(answers_by_item, model):
    """Log-likelihood and log-prior of a fitted model's parameters, but for constants."""
    value = sum(math.log(joint(answers, model).sum()) for answers in answers_by_item)
    logs = np.column_stack([model.shift_, np.log(model.precision_), np.log(model.spread_)])
    value -= 0.5 * model.strength * float((logs**2 / np.array([1.0, 0.5, 0.5]) ** 2).sum())
    value += float((10 * model.slips * np.log(model.slips_) + 10 * (1 - model.slips) * np.log1p(-model.slips_)).sum())
    value += float(np.log(model.class_prior_).sum() + np.log(model.slip_classes_).sum())
    away = [model.thresholds_[0] - 1.5, model.positions_[0]]
    away += [math.log(gap / 3.0) for gap in (*np.diff(model.thresholds_), *np.diff(model.positions_))]
    return value - 0.5 * sum(a * a for a in away) / 0.25
