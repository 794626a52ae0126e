"""The decision rules of the estimators as graphs: from rows of doubles to codes 0..K-1 and the decision function.

Five rules serve all estimators:

- **thresholds**: one score; the code is the number of thresholds at or below it.
- **boosted**: the same with a sum of trees for the score.
- **link**: thresholds, and the probabilities that a distribution about the score gives the classes.
- **cumulative**: scores of the ranks add up; the first largest wins.
- **linear**: a score for every class, possibly mixed from fewer vectors; the first largest wins.

Sums are taken in another order than by ``predict``: scores agree up to rounding, and so do the labels of all rows but
those whose score lies within rounding of a threshold. Values that are exactly equal, such as the scores of two classes
that were never updated, stay equal here, and ties are decided as by ``predict``.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from onnx import TensorProto

from rankwise import batch, label_ranking, online, trees
from rankwise.labels import ClassOrder
from rankwise.onnx._graph import Graph
from rankwise.onnx._tree_ensemble import tree_scores
from rankwise.risks.links import quantile

#: Names of the values with codes, decision function and, where there are any, probabilities.
Outputs = tuple[str, ...]


def thresholds(graph: Graph, rows: str, model: Any) -> Outputs:
    """One score and ordered thresholds: PRank, PRIL, SVOR and their like."""
    score = graph.add("MatMul", rows, model.coef_.reshape(-1, 1))
    if hasattr(model, "intercept_"):
        score = graph.add("Add", score, model.intercept_)
    cuts = model.thresholds_ if hasattr(model, "thresholds_") else np.arange(1.5, len(model.classes_))
    return _among(graph, score, cuts)


def _among(graph: Graph, score: str, cuts: Any) -> tuple[str, str]:
    """Codes and distances of a score among thresholds."""
    if len(cuts) == 0:  # one class: nothing to compare with
        zero = graph.add("Mul", score, 0.0)
        return graph.add("ArgMax", zero, axis=1, keepdims=0), zero
    cut = graph.constant(cuts[None, :])
    passed = graph.add("Cast", graph.add("GreaterOrEqual", score, cut), to=TensorProto.INT64)
    codes = graph.add("ReduceSum", passed, [1], keepdims=0)
    return codes, _distances(graph, graph.add("Sub", score, cut), len(cuts) + 1)


def _distances(graph: Graph, above: str, n_classes: int) -> str:
    """Signed distance of the score to the interval of each class: :func:`rankwise.decisions.interval_scores`."""
    smallest = np.nextafter(0.0, 1.0)
    tie = graph.add("Equal", above, 0.0)
    if n_classes == 2:
        return graph.add("Squeeze", graph.add("Where", tie, smallest, above), [1])
    below = graph.add("Where", tie, -smallest, graph.add("Neg", above))
    column_before, column_after, endless = map(graph.constant, ([0, 1, 0, 0], [0, 0, 0, 1], np.inf))
    from_below = graph.add("Pad", above, column_before, endless)
    from_above = graph.add("Pad", below, column_after, endless)
    return graph.add("Min", from_below, from_above)


def link(graph: Graph, rows: str, model: Any) -> Outputs:
    """Cumulative links: thresholds for the median, the least expected cost for other decisions; and probabilities."""
    return _linked(graph, graph.add("MatMul", rows, model.coef_.reshape(-1, 1)), model)


def boosted(graph: Graph, rows: str, model: Any) -> Outputs:
    """Trees and thresholds; hinges have no probabilities."""
    score = tree_scores(graph, rows, model)
    if model.loss == "likelihood":
        return _linked(graph, score, model)
    return _among(graph, score, model.thresholds_)


def _linked(graph: Graph, score: str, model: Any) -> Outputs:
    probabilities = _link_probabilities(graph, score, model)
    n_classes = len(model.classes_)
    if model._by_median and n_classes > 1:
        middle = graph.add("Add", score, quantile(model.link, 0.5))
        return *_among(graph, middle, model.thresholds_), probabilities
    costs = graph.add("MatMul", probabilities, _decision_costs(model))
    codes = graph.add("ArgMin", costs, axis=1, keepdims=0)
    return codes, _lead(graph, graph.add("Neg", costs), n_classes), probabilities


def _link_probabilities(graph: Graph, score: str, model: Any) -> str:
    """Probability of every class (rows, K), by the formulas without differences of :mod:`rankwise.risks.links`.

    Runtimes have the error function of the probit in single precision only: its probabilities are right to about 1e-7.
    """
    t = np.concatenate([[-np.inf], model.thresholds_, [np.inf]])
    low, high = t[:-1], t[1:]
    width = np.subtract(high, low, out=np.zeros(low.size), where=high > low)
    apart = graph.constant(-np.expm1(-width)[None, :])
    above, below = (graph.add("Sub", ends[None, :], score) for ends in (high, low))
    if model.link == "logit":
        sides = graph.add("Sigmoid", above), graph.add("Sigmoid", graph.add("Neg", below))
        return graph.add("Mul", graph.add("Mul", *sides), apart)
    if model.link == "probit":
        root = graph.constant(np.sqrt(0.5))
        single = (graph.add("Cast", graph.add("Mul", z, root), to=TensorProto.FLOAT) for z in (above, below))
        high_erf, low_erf = (graph.add("Cast", graph.add("Erf", z), to=TensorProto.DOUBLE) for z in single)
        return graph.add("Mul", graph.add("Sub", high_erf, low_erf), 0.5)
    if model.link == "loglog":
        above, below = graph.add("Neg", below), graph.add("Neg", above)
    outside = graph.add("Exp", graph.add("Neg", graph.add("Exp", below)))
    mass = graph.add("Mul", graph.add("Exp", graph.add("Min", above, 700.0)), apart)  # finite
    inside = graph.add("Sub", 1.0, graph.add("Exp", graph.add("Neg", mass)))
    return graph.add("Mul", outside, inside)


def _decision_costs(model: Any) -> Any:
    """Cost matrix (K, K) that the decision minimises."""
    k = np.arange(len(model.classes_))
    if not isinstance(model.decision, str):
        return np.asarray(model.decision, dtype=np.float64)
    return 1.0 - np.eye(k.size) if model.decision == "mode" else np.subtract.outer(k, k) ** 2.0


def cumulative(graph: Graph, rows: str, model: Any) -> Outputs:
    """CuSum Rank: the score of a rank is that of the one below it and its own answer."""
    answers = _answers(graph, rows, model.coef_, model.intercept_)
    scores = graph.add("CumSum", answers, 1)
    codes = graph.add("ArgMax", scores, axis=1, keepdims=0)
    return codes, graph.add("Gather", scores, 1, axis=1) if len(model.classes_) == 2 else scores


def linear(graph: Graph, rows: str, model: Any) -> Outputs:
    """A vector for every class: the multi-class perceptrons and the label ranker."""
    scores = _answers(graph, rows, model.coef_, getattr(model, "intercept_", None))
    codes = graph.add("ArgMax", scores, axis=1, keepdims=0)
    if getattr(model, "scoring", "linear") == "max-win":
        wins = graph.add("Greater", *(graph.add("Unsqueeze", scores, [axis]) for axis in (2, 1)))
        wins = graph.add("Cast", wins, to=TensorProto.DOUBLE)
        scores = graph.add("ReduceSum", wins, [2], keepdims=0)
    return codes, _lead(graph, scores, len(model.classes_))


def mixed(graph: Graph, rows: str, model: Any) -> Outputs:
    """MORD, PW-MORD and the like: the classes mix a few vectors."""
    beta = model._beta(ClassOrder(model.classes_))
    at_cuts = _answers(graph, rows, model.coef_, None)
    scores = _answers(graph, at_cuts, beta, model.intercepts_)
    codes = graph.add("ArgMax", scores, axis=1, keepdims=0)
    return codes, _lead(graph, scores, len(model.classes_))


def _answers(graph: Graph, rows: str, vectors: Any, intercept: Any) -> str:
    answers = graph.add("MatMul", rows, np.asarray(vectors, dtype=np.float64).T)
    return answers if intercept is None else graph.add("Add", answers, intercept)


def _lead(graph: Graph, scores: str, n_classes: int) -> str:
    """For two classes, the second's score minus the first's."""
    if n_classes != 2:
        return scores
    return graph.add("Sub", *(graph.add("Gather", scores, k, axis=1) for k in (1, 0)))


#: The decision rule of every estimator that can be exported.
RULES: dict[type[Any], Callable[[Graph, str, Any], Outputs]] = {
    online.PRIL: thresholds,
    online.PRank: thresholds,
    online.MultiplicativePRIL: thresholds,
    online.WidrowHoff: thresholds,
    batch.CumulativeLink: link,
    online.OnlineCumulativeLink: link,
    batch.SVOR: thresholds,
    batch.VILMA: thresholds,
    batch.RoundedRegression: thresholds,
    online.CuSumRank: cumulative,
    online.ImportanceWeightedPerceptron: linear,
    online.MulticlassPerceptron: linear,
    label_ranking.LabelRanker: linear,
    trees.BoostedThresholds: boosted,
    batch.MORD: mixed,
    batch.PiecewiseMORD: mixed,
    batch.UnifiedClassifier: mixed,
}
