"""From counts to facts, and from facts to the page.

The page is a jinja2 template with autoescape: data become text, never markup. A content security policy allows only
its one script, by digest: nothing else runs and nothing is fetched.
"""

from __future__ import annotations

import base64
import hashlib
import math
from dataclasses import asdict
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from rankwise._extras import require
from rankwise._version import __version__
from rankwise.base.model import Model
from rankwise.plots.confusion_display import row_shares
from rankwise.plots.weights_display import largest
from rankwise.report._card import card
from rankwise.report._counts import COUNTINGS, RowCounts
from rankwise.report._pictures import (
    class_colors,
    heat_map,
    loss_picture,
    n_stretches,
    reliability_picture,
    score_picture,
)
from rankwise.report._quality import Bootstrap, by_class, claims, measures

_LARGEST_TABLE = 20  # classes of a confusion matrix with numbers
_MOST_PARTS = 12  # columns of the table of weights
_MOST_WIDTHS = 16  # bars of the histogram of widths


def facts_of(
    model: Model,
    counts: RowCounts,
    bootstrap: Bootstrap,
    *,
    title: str | None,
    data: str | None,
    command: str,
    top: int,
) -> dict[str, Any]:
    """Everything on the page that is not a picture, as plain values; None where a number does not exist."""
    facts = {
        "title": title or model.name,
        "estimator": model.name,
        "version": __version__,
        "ordered": model.ordered,
        "rows": {"all": counts.n_rows, "judged": counts.n_judged, "weightless": counts.n_weightless},
        "weighted": counts.weighted,
        "partial": counts.has_partial,
        "labels": dict(counts.kinds),
        "widths": counts.widths.tolist(),
        "quality": [asdict(measure) for measure in measures(counts, bootstrap, ordered=model.ordered)],
        "probabilities": counts.probabilities.results() or None,
        "sets": counts.sets.results().get("sets"),
        "claims": [asdict(claim) for claim in claims(counts, bootstrap, ordered=model.ordered)],
        "classes": by_class(counts, model.classes, bootstrap.confidence, ordered=model.ordered),
        # Sums of fractions depend on the batches in their last digits: rounding hides that.
        "confusion": {counting: counts.confusion[counting].round(9).tolist() for counting in COUNTINGS},
        "thresholds": None if model.thresholds is None else model.thresholds.tolist(),
        "weights": _weights(model, top),
        "card": card(model, counts, data),
        "command": command,
        "confidence": bootstrap.confidence,
        "n_resamples": bootstrap.n_resamples,
        "random_state": bootstrap.random_state,
    }
    return {name: _without_nan(value) for name, value in facts.items()}


def render(model: Model, counts: RowCounts, facts: dict[str, Any]) -> str:
    names = [line["class"] for line in facts["classes"]]
    script, style = _asset("page.js"), _asset("page.css")
    scores = None
    if model.thresholds is not None and len(names) > 1 and np.isfinite(model.thresholds).all():
        scores = score_picture(counts.sample, model.thresholds, names)
    reliability = counts.probabilities.reliability if facts["probabilities"] else None
    context = {
        **facts,
        "names": names,
        "colors": class_colors(len(names)) if scores or facts["probabilities"] else [],
        "shown": len(counts.sample),
        "scores": scores,
        "losses": loss_picture(counts.curve, facts["quality"][0]["name"]) if counts.curve.n_rows > 1 else None,
        "stretch": counts.curve.rows_in_stretch(n_stretches(counts.curve)),
        "reliability": reliability and reliability_picture(reliability, names),
        "level": f"{100 * facts['confidence']:.4g}%",
        "matrices": _matrices(facts, names),
        "width_bars": _width_bars(facts["widths"]),
        "style": style,
        "script": script,
        "script_digest": base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    }
    return str(_template().render(context))


def load_jinja() -> Any:
    return require("jinja2", 'a report needs jinja2: pip install "rankwise[report]"')


def number(value: float | None, digits: int = 3) -> str:
    """A number with ``digits`` significant digits, without an exponent unless it is very small or large; – for None."""
    if value is None:
        return "–"
    if value == 0:
        return "0"
    size = math.floor(math.log10(abs(value)))
    if size < -4 or size >= 7:
        return f"{value:.{digits - 1}e}"
    return f"{value:,.{max(0, digits - 1 - size)}f}".replace("-", "−")


def exact(value: float | None) -> str:
    """All digits of a number, for the script."""
    return "nan" if value is None else repr(value)


def percent(value: float | None) -> str:
    return "–" if value is None else f"{value:.1%}"


def count(value: float) -> str:
    """A number of rows, or a sum of weights."""
    return f"{value:,.0f}" if float(value).is_integer() else number(value)


def _weights(model: Model, top: int) -> dict[str, Any] | None:
    weights = model.weights
    if weights is None:
        return None
    chosen, sizes = largest(weights, top)
    several, parts, names = weights.ndim == 2, None, model.feature_names()
    if several and len(weights) <= _MOST_PARTS:
        parts = [f"part {i + 1}" for i in range(len(weights))]
        if len(weights) == len(model.classes):
            parts = [str(c) for c in model.classes.tolist()]
    values = np.atleast_2d(weights).T
    return {
        "n_features": weights.shape[-1],
        "parts": parts,
        "several": several,
        "largest": float(sizes.max()) if sizes.size else 0.0,
        "lines": [{"name": names[j], "size": float(sizes[j]), "values": values[j].tolist()} for j in chosen],
    }


def _matrices(facts: dict[str, Any], names: list[str]) -> list[dict[str, Any]]:
    """The confusion matrix for each way of counting; without partial labels all are the same."""
    matrices = []
    for counting in COUNTINGS if facts["partial"] else COUNTINGS[:1]:
        table = np.array(facts["confusion"][counting])
        shown = {"table": table.tolist()} if len(names) <= _LARGEST_TABLE else {"picture": heat_map(table, names)}
        blank = {"table": None, "picture": None}
        matrices.append({"counting": counting, "shares": row_shares(table).tolist(), **blank, **shown})
    return matrices


def _width_bars(widths: list[int]) -> list[tuple[str, int]]:
    """Histogram of the widths of labels, in bins where there are many."""
    last = max((width for width, rows in enumerate(widths) if rows), default=0)
    bin_size = -(-(last + 1) // _MOST_WIDTHS)
    if bin_size == 1:
        return [(str(width), widths[width]) for width in range(last + 1)]
    # Exact labels keep a bar of their own.
    bars = [("0", widths[0])]
    for first in range(1, last + 1, bin_size):
        end = min(first + bin_size - 1, last)
        bars.append((f"{first}–{end}" if end > first else str(first), sum(widths[first : end + 1])))
    return bars


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_nan(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_nan(inner) for inner in value]
    return None if isinstance(value, float) and math.isnan(value) else value


def _asset(name: str) -> str:
    return (files("rankwise.report") / "templates" / name).read_text(encoding="utf-8")


@cache
def _template() -> Any:
    jinja2 = load_jinja()
    tidy = {"trim_blocks": True, "lstrip_blocks": True}
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, **tidy)
    environment.filters |= {"number": number, "exact": exact, "percent": percent, "count": count}
    return environment.from_string(_asset("page.html"))
