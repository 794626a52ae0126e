"""Pictures of the page: plain SVG in a square that the page stretches and zooms.

Lines keep their width (``vector-effect``), dots are strokes of length zero with round ends, and all text is HTML beside
the picture, so that it stays readable at every width. Colours are classes of the style sheet. Elements are built with
:mod:`xml.etree`, which escapes data.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any
from xml.etree import ElementTree

import numpy as np

from rankwise._types import Floats
from rankwise.decisions import ranks
from rankwise.metrics import Reliability
from rankwise.plots.confusion_display import row_shares
from rankwise.plots.score_axis import densities, evenly_spread, score_limits
from rankwise.report._counts import Curve, Sample

SIDE = 1000.0  # of the square
_GRID = 300
_BARS = 12
_LARGEST_KEY = 12  # classes with a colour of their own
_VIRIDIS = bytes.fromhex("440154 482475 414487 355f8d 2a788e 21918c 22a884 44bf70 7ad151 bddf26 fde725")


@dataclass(frozen=True)
class Picture:
    """A zoomable picture."""

    svg: str  # safe to put into the page
    low: float  # ends of the horizontal axis
    high: float
    x_ticks: list[tuple[float, str]]  # places in per cent of the axis, and texts
    y_ticks: list[tuple[float, str]] = field(default_factory=list)
    bands: list[tuple[float, float, str]] = field(default_factory=list)  # named stretches of the horizontal axis
    hover: dict[str, Any] = field(default_factory=dict)  # what the page's script shows under the pointer


def class_colors(n: int) -> list[tuple[str, str]]:
    """Colours of n ordered classes on a light and on a dark background; none if there are too many to tell apart."""
    if n > _LARGEST_KEY:
        return []
    places = np.linspace(0.0, 1.0, n) if n > 1 else np.array([0.4])
    return [(_viridis(0.82 * place), _viridis(0.28 + 0.72 * place)) for place in places]


def score_picture(sample: Sample, thresholds: Floats, names: list[str]) -> Picture:
    """Densities of the classes on the score axis, the thresholds, and some partial labels as bars with their scores."""
    scores = sample["scores"]
    low, high = score_limits(scores, thresholds, margin=0.04)
    partial = np.flatnonzero((sample["admissible"].sum(axis=1) > 1) & ~sample["missing"])
    bars = evenly_spread(partial, scores, _BARS)
    floor = 640.0 if bars.size else 980.0
    drawing = _drawing("Density of the scores of each class, with thresholds between the classes.")
    ends = np.concatenate([[low], np.clip(thresholds, low, high), [high]])
    _draw_densities(drawing, sample, np.linspace(low, high, _GRID), floor, len(names))
    for threshold in thresholds:
        crowded = "" if len(names) <= _LARGEST_KEY else " crowded"
        _path(drawing, f"M{_x(threshold, low, high)} 0V{SIDE:g}", f"threshold{crowded}")
    _path(drawing, f"M0 {floor:g}H{SIDE:g}", "baseline")
    codes = ranks(scores, thresholds)
    for place, row in enumerate(bars):
        _draw_bar(drawing, sample, int(row), codes[row], ends, (low, high), names, floor + 30.0 + 27.5 * place)
    bands = [(float(a), float(b), name) for a, b, name in zip(ends[:-1], ends[1:], names, strict=True)]
    return _picture(drawing, low, high, bands=bands, hover={"kind": "bands", "name": "score"})


def n_stretches(curve: Curve) -> int:
    """Stretches in the picture of the loss: at most 50, of at least 20 rows or so, since smaller means are noise."""
    return max(1, min(50, curve.n_rows // 20))


def loss_picture(curve: Curve, name: str) -> Picture:
    """Mean loss of stretches of rows, in their order, and the mean of all rows so far."""
    ends, means, _ = curve.points(n_stretches(curve))
    fine_ends, _, running = curve.points(400)
    n = float(curve.n_rows)
    # The running mean of the first few rows is noise that would flatten the rest.
    calm = running[fine_ends >= min(20, n / 2)]
    top = 1.08 * max(float(means.max()), float(calm.max())) or 1.0
    drawing = _drawing(f"{name} along the rows: mean of stretches and mean so far.")
    ticks = _draw_grid(drawing, top)
    starts = [0, *ends[:-1].tolist()]
    steps = [f"{_x(a, 0.0, n)} {_y(m, top)}H{_x(b, 0.0, n)}" for a, b, m in zip(starts, ends, means, strict=True)]
    line = [f"{_x(x, 0.0, n)} {_y(min(m, top), top)}" for x, m in zip(fine_ends, running, strict=True)]
    _path(drawing, f"M{'L'.join(steps)}", "stretch")
    _path(drawing, f"M{'L'.join(line)}", "running")
    series = [
        {"name": "mean so far", "x": fine_ends.tolist(), "y": _rounded(running)},
        {"name": "mean of the stretch", "x": ends.tolist(), "y": _rounded(means)},
    ]
    return _picture(drawing, 0.0, n, y_ticks=ticks, hover={"kind": "series", "name": "row", "series": series})


def reliability_picture(reliability: Reliability, names: list[str]) -> Picture:
    """Observed frequency of the events ``y <= k`` against their probability, with the range that labels allow."""
    drawing = _drawing("Observed frequency against predicted probability of the events y <= k.")
    ticks = _draw_grid(drawing, 1.0)
    _path(drawing, f"M0 {SIDE:g}L{SIDE:g} 0", "threshold")
    series = []
    for k, (predicted, least, most) in enumerate(zip(*reliability.frequencies(), strict=True)):
        used = np.isfinite(predicted)
        x, low, high = predicted[used], least[used], most[used]
        middle = (low + high) / 2
        name = f"y ≤ {names[k]}"
        for place, bottom, top in zip(x, low, high, strict=True):
            if top > bottom:
                _path(drawing, f"M{_x(place, 0.0, 1.0)} {_y(bottom, 1.0)}V{_y(top, 1.0)}", "stretch", name)
        points = [f"{_x(a, 0.0, 1.0)} {_y(b, 1.0)}" for a, b in zip(x, middle, strict=True)]
        color = f"k{k}" if len(names) <= _LARGEST_KEY else "all"
        _path(drawing, f"M{'L'.join(points)}", f"line {color}", name)
        series.append({"name": name, "x": _rounded(x), "y": _rounded(middle)})
    hover = {"kind": "series", "name": "probability", "series": series}
    return _picture(drawing, 0.0, 1.0, y_ticks=ticks, hover=hover if len(names) <= _LARGEST_KEY else {})


def heat_map(table: Floats, names: list[str]) -> str:
    """Confusion matrix of many classes: shades are shares of the row, neighbours are joined beyond 100 classes."""
    group = -(-len(names) // 100)
    starts = list(range(0, len(names), group))
    cells = np.add.reduceat(np.add.reduceat(table, starts, axis=0), starts, axis=1)
    labels = [names[a] if group == 1 else f"{names[a]}–{names[min(a + group, len(names)) - 1]}" for a in starts]
    shares = row_shares(cells)
    darkest = float(shares.max()) or 1.0
    size = SIDE / len(starts)
    drawing = _drawing("Confusion matrix: labels from bottom to top, predictions from left to right.")
    for row, column in np.argwhere(cells > 0):
        count, share = cells[row, column], shares[row, column]
        place = {"x": column * size, "y": SIDE - (row + 1) * size, "width": size, "height": size}
        cell = {name: f"{value:.2f}" for name, value in place.items()} | {"class": "heat"}
        cell["fill-opacity"] = f"{0.08 + 0.92 * share / darkest:.3f}"
        cell["data-tip"] = f"label {labels[row]}, predicted {labels[column]}: {count:,.6g} ({share:.1%})"
        ElementTree.SubElement(drawing, "rect", cell)
    return ElementTree.tostring(drawing, encoding="unicode")


def _draw_grid(drawing: Any, top: float) -> list[tuple[float, str]]:
    """Draw horizontal lines at the ticks of the vertical axis, and return the ticks."""
    ticks = _ticks(0.0, top)
    for place, _ in ticks:
        _path(drawing, f"M0 {SIDE * (1 - place / 100):.1f}H{SIDE:g}", "grid")
    return ticks


def _draw_densities(drawing: Any, sample: Sample, grid: Floats, floor: float, n_classes: int) -> None:
    joint = n_classes > _LARGEST_KEY
    heights = densities(sample["scores"], sample["admissible"], sample["missing"], grid, joint=joint)
    for code, height in enumerate(heights):
        color = "all" if joint else f"k{code}"
        ys = floor - (floor - 20) * height
        points = [f"{_x(a, grid[0], grid[-1])} {y:.1f}" for a, y in zip(grid, ys, strict=True)]
        _path(drawing, f"M0 {floor:g}L{'L'.join(points)}L{SIDE:g} {floor:g}Z", f"area {color}")
        _path(drawing, f"M{'L'.join(points)}", f"line {color}")


def _draw_bar(
    drawing: Any, sample: Sample, row: int, code: int, ends: Floats, limits: tuple[float, float], names: list[str],
    y: float,
) -> None:  # fmt: skip
    admitted = np.flatnonzero(sample["admissible"][row])
    first, last = int(admitted[0]), int(admitted[-1])
    fits = bool(sample["admissible"][row, code])
    gaps = admitted.size <= last - first
    label = f"one of {', '.join(names[i] for i in admitted)}" if gaps else f"{names[first]} to {names[last]}"
    score = float(sample["scores"][row])
    tip = f"label {label}; score {score:.4g}, predicted {names[code]}{'' if fits else ': outside'}"
    kind = "fits" if fits else "outside"
    path = f"M{_x(ends[first], *limits)} {y:.1f}H{_x(ends[last + 1], *limits)}"
    _path(drawing, path, f"bar {kind}", tip)
    _path(drawing, f"M{_x(min(max(score, limits[0]), limits[1]), *limits)} {y:.1f}h0.01", f"dot {kind}", tip)


def _picture(drawing: Any, low: float, high: float, **more: Any) -> Picture:
    svg = ElementTree.tostring(drawing, encoding="unicode")
    return Picture(svg=svg, low=low, high=high, x_ticks=_ticks(low, high), **more)


def _drawing(what: str) -> Any:
    box = f"0 0 {SIDE:g} {SIDE:g}"
    attributes = {"viewBox": box, "preserveAspectRatio": "none", "role": "img", "aria-label": what}
    return ElementTree.Element("svg", attributes)


def _path(drawing: Any, path: str, kind: str, tip: str | None = None) -> None:
    ElementTree.SubElement(drawing, "path", {"d": path, "class": kind} | ({} if tip is None else {"data-tip": tip}))


def _x(value: float, low: float, high: float) -> str:
    return f"{SIDE * (value - low) / (high - low):.2f}"


def _y(value: float, top: float) -> str:
    return f"{SIDE * (1 - value / top):.1f}"


def _ticks(low: float, high: float, about: int = 6) -> list[tuple[float, str]]:
    """Round numbers on an axis, about so many at most; the page's script uses the same rule."""
    step = 10.0 ** math.floor(math.log10((high - low) / about))
    for factor in (1, 2, 5, 10):
        if (high - low) / (step * factor) <= about:
            step *= factor
            break
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    return [(100 * (i * step - low) / (high - low), f"{i * step + 0.0:,.{digits}f}") for i in range(first, last + 1)]


def _rounded(values: Floats) -> list[float]:
    return [float(f"{value:.6g}") for value in values]


def _viridis(place: float) -> str:
    """Colour of the map between those of its evenly spaced knots."""
    knots = np.frombuffer(_VIRIDIS, np.uint8).reshape(-1, 3)
    mixed = [np.interp(place, np.linspace(0.0, 1.0, len(knots)), channel) for channel in knots.T]
    return "#" + "".join(f"{round(v):02x}" for v in mixed)
