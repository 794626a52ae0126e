"""The model card: what the model and the rows tell, and what they do not."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwise._version import __version__
from rankwise.base.model import Model
from rankwise.report._counts import RowCounts

_MOST = 24  # names of classes or features that are spelled out


def card(model: Model, counts: RowCounts, data: str | None) -> list[tuple[str, str]]:
    """Terms and descriptions, in the order to show them."""
    final, ordered, names = model.final, model.ordered, model.feature_names()
    parameters = ", ".join(f"{name}={_short(value)}" for name, value in final.get_params(deep=False).items())
    kinds = model.label_kinds
    rows = f"{counts.n_judged:,} labelled rows of {counts.n_rows:,}"
    lines = [
        ("estimator", " → ".join(model.path) + "".join(f", chosen by {name}" for name in reversed(model.choosers))),
        ("what it is", _first_sentence(final)),
        ("what it predicts", f"one of {len(model.classes)} {'ordered ' if ordered else ''}classes"),
        ("classes" + (", lowest first" if ordered else ""), _some(model.classes.tolist())),
        ("features", f"{len(names):,}: {_some(names)}" if names else ""),
        ("parameters", parameters or "none"),
        ("learns from", ", ".join(name for kind, name in _KINDS.items() if kind in kinds) + " labels" if kinds else ""),
        *_learnt(model),
        ("judged on", f"{rows}: {data}" if data else rows),
        ("weights of rows", "given" if counts.weighted else "none: every row counts the same"),
        ("software", f"rankwise {__version__}"),
        ("not known to this page", _UNKNOWN),
    ]
    return [(term, description) for term, description in lines if description]


_UNKNOWN = (
    "where the rows come from, whether the model was fitted to them, whom its predictions concern and how mistakes "
    "would harm them: whoever passes the page on should add this"
)
_KINDS = {"exact": "exact", "interval": "interval", "candidates": "candidate-set", "missing": "missing"}


def _learnt(model: Model) -> list[tuple[str, str]]:
    lines, final = [], model.final
    if model.can("n_updates_"):
        lines.append(("updates", f"{final.n_updates_:,} rounds changed the model"))
    if model.can("gap_"):
        if np.isfinite(final.lower_bound_):
            proof = f"proven to be within a relative gap of {final.gap_:.2g} of the optimum"
        else:
            proof = "without a proof of how far the optimum is"
        lines.append(("certificate", f"objective {final.objective_:.6g}, {proof}, after {final.n_iter_:,} iterations"))
    if model.can("thresholds_"):
        lines.append(("thresholds", _some([f"{t:.4g}".replace("-", "−") for t in final.thresholds_])))
    return lines


def _first_sentence(final: Any) -> str:
    lines = (type(final).__doc__ or "").strip().splitlines()
    return lines[0].strip() if lines else type(final).__name__


def _some(values: list[Any]) -> str:
    shown = ", ".join(map(str, values[:_MOST]))
    return shown if len(values) <= _MOST else f"{shown}, … and {len(values) - _MOST:,} more"


def _short(value: Any) -> str:
    text = repr(value.tolist() if isinstance(value, np.ndarray) else value)
    return text if len(text) <= 80 else f"{text[:77]}..."
