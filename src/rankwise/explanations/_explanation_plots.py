"""Pictures of explanations: the way from the base to a row's score, the curve of a column, the mean contributions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rankwise._drawing import (
    FAINT,
    FONT,
    INK,
    OKABE_ITO,
    QUIET,
    SMALL,
    axes,
    curve_frame,
    ordered_colors,
    plain,
    quiet_frame,
)

if TYPE_CHECKING:
    from rankwise.explanations._explanation import Explanation

UP, DOWN = OKABE_ITO[0], OKABE_ITO[1]
_MOST_NAMES = 12  # classes whose names fit beside each other


def draw_row(explanation: Explanation, row: int, top: int, ax: Any) -> Any:
    """Bars that lead from the base to the score, the strongest column first, beside the thresholds."""
    strongest = explanation._strongest(row, top)
    steps = [(explanation._named(row, j), float(explanation.values[row, j])) for j in strongest]
    others = len(explanation.columns) - len(strongest)
    if others:
        steps.append((f"{others} others", float(explanation.values[row].sum() - sum(step for _, step in steps))))
    _, ax = axes(ax, (7.2, 1.7 + 0.36 * len(steps)))
    place, reached = explanation.base, [explanation.base]
    moves = explanation.at_least(row)
    for k, (_, step) in enumerate(steps):
        rises = step >= 0
        ax.barh(k, step, left=place, height=0.6, color=UP if rises else DOWN, alpha=0.9, zorder=3,
                hatch=None if rises else "///", edgecolor="white", lw=0.0)  # fmt: skip
        place += step
        reached.append(place)
        ax.plot([place] * 2, [k - 0.3, k + 1.3 if k + 1 < len(steps) else k + 0.45], color=QUIET, lw=0.7, zorder=4)
        note = f"{step:+.2f}"
        if moves is not None and k < len(strongest):
            before, after = moves[1][strongest[k]]
            note += f"   {before:.2f} → {after:.2f}"
        ax.annotate(note, (place, k), xytext=(5 if rises else -5, 0), textcoords="offset points",
                    ha="left" if rises else "right", va="center", fontsize=SMALL, color=INK, zorder=5,
                    bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 0.8})  # fmt: skip
    low, high = min(reached), max(reached)
    thresholds = explanation.thresholds
    near = thresholds[(thresholds > low - (high - low)) & (thresholds < high + (high - low))]
    low, high = min([low, *near]), max([high, *near])
    space = 0.34 * (high - low) or 1.0  # for the numbers beside the bars
    ax.set_xlim(low - space, high + space)
    _draw_thresholds(explanation, ax, len(steps))
    ax.plot(explanation.scores[row], len(steps) - 0.42, marker="v", color=INK, ms=7, zorder=6, clip_on=False)
    ax.set_yticks(range(len(steps)), [plain(name) for name, _ in steps])
    ax.set_ylim(len(steps) - 0.4, -1.2)
    quiet_frame(ax, keep=("bottom",), x=explanation.score_name)
    ax.tick_params(axis="y", length=0, labelcolor=INK)
    title = f"predicted {explanation.predicted(row)}: {explanation.score_name} {explanation.scores[row]:.2f}"
    title += f", base {explanation.base:.2f}"
    if moves is not None:
        title += f"\n→ P(at least {moves[0]}) without and with the column"
    ax.set_title(plain(title), fontsize=FONT, color=INK, loc="left")
    return ax


def _draw_thresholds(explanation: Explanation, ax: Any, n_steps: int) -> None:
    """Dashed lines where classes begin, with the names of the classes above."""
    left, right = ax.get_xlim()
    ends = np.concatenate([[left], np.clip(explanation.thresholds, left, right), [right]])
    colors = ordered_colors(len(explanation.classes))
    for t in explanation.thresholds:
        if left < t < right:
            ax.plot([t, t], [-0.75, n_steps - 0.4], color=QUIET, lw=1.0, ls=(0, (4, 2)), zorder=1)
    for k, name in enumerate(explanation.classes):
        if ends[k + 1] - ends[k] > 0.03 * (right - left) and len(explanation.classes) <= 4 * _MOST_NAMES:
            ax.plot(ends[k : k + 2], [-0.75, -0.75], color=colors[k], lw=4, solid_capstyle="butt", zorder=2)
            middle = 0.5 * (ends[k] + ends[k + 1])
            ax.text(middle, -0.9, plain(name), ha="center", va="bottom", fontsize=SMALL, color=INK, clip_on=True)


def draw_column(explanation: Explanation, j: int, ax: Any) -> Any:
    """Contribution of a column against its values: a dot for each row, or for each category."""
    name = explanation.columns[j]
    rows = explanation._rows
    numbers = rows.as_numbers(name) if rows is not None and name in rows.names else None
    if numbers is not None:
        _, ax = axes(ax, (6.4, 3.8))
        ax.axhline(0.0, color=QUIET, lw=0.8, zorder=1)
        known = np.flatnonzero(np.isfinite(numbers))
        size = 3 if explanation.method == "linear" else 4
        ax.plot(
            numbers[known], explanation.values[known, j], ls="none", marker="o", ms=size, color=UP, alpha=0.5, zorder=3
        )
        low = ax.get_ylim()[0]
        ax.plot(numbers[known], np.full(known.size, low), ls="none", marker="|", color=QUIET, ms=6, alpha=0.4)
        ax.set_ylim(bottom=low)
        curve_frame(ax, x=plain(name), y=f"contribution to the {explanation.score_name}")
        return ax
    texts = [explanation._named(i, j).partition(" = ")[2] or name for i in range(len(explanation))]
    means = {text: explanation.values[[t == text for t in texts], j].mean() for text in dict.fromkeys(texts)}
    shown = sorted(sorted(means, key=lambda text: -abs(means[text]))[:20], key=lambda text: means[text])
    _, ax = axes(ax, (6.4, 1.0 + 0.34 * len(shown)))
    ax.plot([means[t] for t in shown], range(len(shown)), ls="none", marker="o", ms=7, color=UP, zorder=3)
    ax.hlines(range(len(shown)), 0.0, [means[t] for t in shown], color=FAINT, lw=2, zorder=2)
    ax.axvline(0.0, color=QUIET, lw=0.8, zorder=1)
    ax.set_yticks(range(len(shown)), [plain(t) for t in shown])
    ax.set_ylim(-0.6, len(shown) - 0.4)
    quiet_frame(ax, keep=("bottom",), x=f"mean contribution to the {explanation.score_name}", y=plain(name))
    return ax


def draw_bars(columns: list[str], sizes: Any, top: int, ax: Any, what: str, errors: Any = None) -> Any:
    """Bars of the largest sizes with the names of their columns, the largest on top."""
    shown = np.argsort(-sizes, kind="stable")[:top]
    names, errors = [columns[j] for j in shown], None if errors is None else errors[shown]
    _, ax = axes(ax, (6.4, 1.0 + 0.34 * len(names)))
    style = {"height": 0.62, "color": UP, "zorder": 3, "error_kw": {"ecolor": INK, "lw": 1.0}}
    ax.barh(range(len(names)), sizes[shown], xerr=errors, **style)
    ax.set_yticks(range(len(names)), [plain(name) for name in names])
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.grid(axis="x", color=FAINT, lw=0.6)
    ax.set_axisbelow(True)
    quiet_frame(ax, keep=("bottom",), x=what)
    ax.tick_params(axis="y", length=0, labelcolor=INK)
    return ax
