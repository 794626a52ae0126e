"""Arguments of a fit: row weights, class weights, columns, constraints; and the objective of the labels."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise._types import Floats, Places
from rankwise.labels import Labels
from rankwise.risks.coded_rows import runs_of
from rankwise.risks.innermost_intervals import InnermostIntervals
from rankwise.risks.link_risk import LinkRisk, at_ends
from rankwise.solvers.row_sums import near_one
from rankwise.trees._hinge_objective import HingeObjective
from rankwise.trees._objective import LikelihoodObjective, Objective
from rankwise.trees.tree_rows import ALONE, Team, TeamRows


def row_weights(sample_weight: Floats, class_weight: Any, labels: Labels, team: Team = ALONE) -> Floats:
    """Weights of the rows, which add up to 1 over all machines of the team; rows without information have none.

    An empty ``sample_weight`` stands for ones. A label of several classes has the mean of their weights.
    """
    weight = np.ones(len(labels)) if sample_weight.size == 0 else sample_weight
    if len(labels) and not weight.any():
        raise ValueError("sample_weight is zero for every row: there is nothing to learn from.")
    weight = np.where(labels.is_missing, 0.0, weight)
    weight = near_one(weight, team.largest(float(weight.max(initial=0.0))))
    if len(labels.order) > 1 and not weight.any():
        raise ValueError("every label is missing, or its weight is zero: there is nothing to learn from.")
    if class_weight is not None:
        share = labels.admissible() / labels.admissible().sum(axis=1, keepdims=True)
        (counts,) = team.total((weight @ share,))
        weight = weight * (share @ of_classes(class_weight, counts, labels.classes))
        if not weight.any():
            raise ValueError("class_weight gives every row the weight zero: there is nothing to learn from.")
    return np.asarray(weight / team.total((weight.sum(),))[0])


def of_classes(class_weight: Any, counts: Floats, classes: NDArray[Any]) -> Floats:
    """Weight of every class; ``counts`` are the weights of the rows of each."""
    if isinstance(class_weight, str):  # "balanced"
        present = counts > 0.0
        return np.where(present, counts.sum() / (present.sum() * np.where(present, counts, 1.0)), 1.0)
    known = classes.tolist()
    strange = [key for key in class_weight if key not in known]
    if strange:
        raise ValueError(f"class_weight names {strange[0]!r}, which is none of the classes {known[:20]}.")
    weights = np.array([float(class_weight.get(value, 1.0)) for value in known])
    if not (np.isfinite(weights) & (weights >= 0.0)).all():
        raise ValueError(f"class_weight must hold finite numbers >= 0. Got {dict(class_weight)!r} instead.")
    return weights


def make_objective(
    labels: Labels, weight: Floats, loss: str, link: str, n_threads: int, team: Team = ALONE
) -> Objective:
    """Objective of rows, all with a weight above zero."""
    n_classes = len(labels.order)
    owner: Places | None = None
    rows = TeamRows(weight, labels.lower, labels.upper, team)
    if loss != "likelihood":
        begins, ends = team.total(
            tuple(at_ends(codes.astype(np.intp), weight, n_classes) for codes in (labels.lower, labels.upper))
        )
        reach = 1 if loss == "explicit" else n_classes
        return HingeObjective(rows, InnermostIntervals.of(begins, ends), reach, n_threads)
    if team.total((int(labels.has_gaps.any()),))[0]:
        owner, runs = runs_of(labels, weight)
        rows = TeamRows(*runs, team)
    return LikelihoodObjective(LinkRisk(rows, n_classes, link), owner, n_threads)


def places_of(what: str, chosen: Any, names: list[Any] | None, n_features: int) -> list[int]:
    """Places of columns that are given by names, numbers or a boolean mask."""
    given = np.asarray(chosen)
    if given.ndim != 1:
        raise ValueError(f"{what} must be names, numbers or a boolean for every column. Got {chosen!r} instead.")
    if given.dtype == bool:
        if given.size != n_features:
            raise ValueError(f"{what} must have a boolean for each of the {n_features} columns. Got {given.size}.")
        return np.flatnonzero(given).tolist()
    places = []
    for column in given.tolist():
        if isinstance(column, str) and names is not None and column in names:
            places.append(names.index(column))
        elif isinstance(column, int) and 0 <= column < n_features:
            places.append(column)
        else:
            raise ValueError(f"{what} names {column!r}, but X has no column of that name or number.")
    return places


def constraints_of(monotonic: Any, names: list[Any] | None, n_features: int) -> list[int] | None:
    """-1, 0 or 1 for every column, from a dict by name or place or from a sequence; None if there are none."""
    if monotonic is None:
        return None
    signs = [0] * n_features
    if isinstance(monotonic, Mapping):
        for key, sign in monotonic.items():
            signs[places_of("monotonic_cst", [key], names, n_features)[0]] = sign
    else:
        signs = list(monotonic)
    if len(signs) != n_features or not all(sign in (-1, 0, 1) for sign in signs):
        raise ValueError(
            f"monotonic_cst must be -1, 0 or 1 for each of the {n_features} columns, or a dict with some of them. "
            f"Got {monotonic!r} instead."
        )
    return [int(sign) for sign in signs] if any(signs) else None
