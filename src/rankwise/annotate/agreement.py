"""How far raters agree: on the whole, in pairs, and on which items they differ.

Two answers differ if no class is possible by both: "3" and "2-4" do not. A decision is about an item whose raters
differ. It is no answer of a rater, and agreement does not count it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import combinations
from math import isfinite
from typing import Any

import numpy as np

from rankwise.annotate.project import logged_answers, project_of
from rankwise.labels import ClassOrder, Labels, declared_order, encode
from rankwise.metrics import quadratic_weighted_kappa
from rankwise.raters import agreement
from rankwise.serve.replica import latest
from rankwise.serve.store import Store, StoreError

_MOST_PAIRS = 200  # of raters, those with most items in common


@dataclass(frozen=True)
class Given:
    """An answer of a rater about an item, or a decision."""

    id: str
    item: str
    rater: str
    said: str
    note: str


def agreement_facts(answers: Sequence[Given], decisions: Sequence[Given], order: ClassOrder) -> dict[str, Any]:
    """Agreement, raters, pairs of raters, and items on which raters differ or that were decided, as plain values."""
    if not answers:
        return {"alpha": None, "overlap": None, "raters": [], "pairs": [], "differences": []}
    labels = encode([answer.said for answer in answers], order)
    names = [answer.rater for answer in answers]
    found = agreement(_table(answers), order)
    raters = [
        {
            "rater": str(name),
            "answers": int(n),
            "bias": _number(bias),
            "width": _number(width),
            "missing": _number(missing),
        }
        for name, n, bias, width, missing in zip(
            found.raters.tolist(), found.n_answers, found.bias, found.width, found.missing, strict=True
        )
    ]
    of_pair = found.pairs
    most = np.argsort(-of_pair.n_items, kind="stable")[:_MOST_PAIRS]
    pairs = [
        {"first": str(found.raters[of_pair.first[k]]), "second": str(found.raters[of_pair.second[k]]),
         "items": int(of_pair.n_items[k]), "overlap": _number(of_pair.overlap[k])}
        for k in most
    ]  # fmt: skip
    for pair in pairs:
        pair |= _coefficients(answers, labels, names, (str(pair["first"]), str(pair["second"])))
    return {"alpha": _number(found.alpha), "overlap": _number(found.overlap), "raters": raters, "pairs": pairs,
            "differences": _differences(answers, labels, decisions)}  # fmt: skip


def _coefficients(answers: Sequence[Given], labels: Labels, names: list[str], pair: tuple[str, str]) -> dict[str, Any]:
    """Alpha of two raters, and their quadratic weighted kappa on items where both are exact; None where undefined."""
    mine = [k for k, name in enumerate(names) if name in pair]
    alpha = agreement(_table([answers[k] for k in mine]), labels.order).alpha
    exact: dict[Any, dict[str, int]] = {}
    for k in mine:
        if labels.lower[k] == labels.upper[k]:
            exact.setdefault(answers[k].item, {})[names[k]] = int(labels.lower[k])
    both = [(codes[pair[0]], codes[pair[1]]) for codes in exact.values() if len(codes) == 2]
    classes = range(len(labels.order))
    kappa = quadratic_weighted_kappa(*map(list, zip(*both, strict=True)), classes=classes) if both else float("nan")
    return {"alpha": _number(alpha), "kappa": _number(kappa), "exact": len(both)}


def _differences(answers: Sequence[Given], labels: Labels, decisions: Sequence[Given]) -> list[dict[str, Any]]:
    """Items on which raters differ, or that were decided: the undecided ones first, those farthest apart before."""
    of_item: dict[Any, list[int]] = {}
    for k, answer in enumerate(answers):
        of_item.setdefault(answer.item, []).append(k)
    decided = {decision.item: decision for decision in decisions}
    admits = labels.admissible()
    lines = []
    for item, places in of_item.items():
        apart = [_ranks_apart(admits[a], admits[b]) for a, b in combinations(places, 2)]
        if item in decided or max(apart, default=0) > 0:
            decision = decided.get(item)
            lines.append(
                {
                    "item": item,
                    "ranks": max(apart, default=0),
                    "answers": [_shown(answers[k]) for k in places],
                    "decision": None if decision is None else {**_shown(decision), "id": decision.id},
                }
            )
    return sorted(lines, key=lambda line: (line["decision"] is not None, -line["ranks"]))


def _shown(answer: Given) -> dict[str, str]:
    return {"rater": answer.rater, "label": answer.said, "note": answer.note}


def _ranks_apart(one: Any, other: Any) -> int:
    """Ranks between the nearest classes that two labels admit."""
    first, second = np.flatnonzero(one), np.flatnonzero(other)
    return int(np.abs(first[:, None] - second).min())


def _table(answers: Sequence[Given]) -> dict[str, list[Any]]:
    return {"item": [a.item for a in answers], "rater": [a.rater for a in answers], "label": [a.said for a in answers]}


def _number(value: Any) -> float | None:
    return round(float(value), 6) if isfinite(value) else None


def agreement_in(store: Store) -> dict[str, Any]:
    """Agreement in the store of a project, which may be served meanwhile."""
    if project_of(store) is None:
        raise StoreError(f"{store.path} holds no annotations.")
    order = declared_order(latest(store, store.current()).rows.classes)
    names = [field.name for field in fields(Given)]
    kept = [answer for answer, undone in logged_answers(store) if not undone]
    answers, decisions = (
        [Given(**{name: answer[name] for name in names}) for answer in kept if answer["kind"] == kind]
        for kind in ("answer", "decision")
    )
    return agreement_facts(answers, decisions, order)


def in_lines(facts: dict[str, Any]) -> Iterator[str]:
    """Agreement as lines of text."""

    def number(value: float | None) -> str:
        return "-" if value is None else f"{value:.3f}"

    yield f"alpha {number(facts['alpha'])}, overlap {number(facts['overlap'])}, {len(facts['raters'])} raters"
    for one in facts["raters"]:
        yield f"{one['rater']}: {one['answers']} answers, bias {number(one['bias'])}, width {number(one['width'])}"
    for pair in facts["pairs"]:
        measured = ", ".join(f"{what} {number(pair[what])}" for what in ("overlap", "alpha", "kappa"))
        yield f"{pair['first']} and {pair['second']}: {pair['items']} items, {measured}"
    for line in facts["differences"]:
        said = ", ".join(f"{answer['rater']} {answer['label']}" for answer in line["answers"])
        decision = line["decision"]
        yield f"{line['item']}: {said}" + (f"; decided by {decision['rater']}: {decision['label']}" if decision else "")
