"""Pictures of explanations: the way from the base to a row's score, the curve of a column, the mean contributions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rankwise.plots._style import (
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


def draw_row(found: Explanation, row: int, top: int, ax: Any) -> Any:
    """Bars that lead from the base to the score, the strongest column first, beside the thresholds."""
    strongest = found._strongest(row, top)
    steps = [(found._named(row, j), float(found.values[row, j])) for j in strongest]
    others = len(found.columns) - len(strongest)
    if others:
        steps.append((f"{others} others", float(found.values[row].sum() - sum(step for _, step in steps))))
    _, ax = axes(ax, (7.2, 1.7 + 0.36 * len(steps)))
    place, reached = found.base, [found.base]
    moves = found.at_least(row)
    for k, (_, step) in enumerate(steps):
        color = UP if step >= 0 else DOWN
        ax.barh(k, step, left=place, height=0.6, color=color, alpha=0.9, zorder=3, hatch=None if step >= 0 else "///",
                edgecolor="white", lw=0.0)  # fmt: skip
        ax.plot(
            [place + step] * 2, [k - 0.3, k + 1.3 if k + 1 < len(steps) else k + 0.45], color=QUIET, lw=0.7, zorder=4
        )
        note = f"{step:+.2f}"
        if moves is not None and k < len(strongest):
            note += f"   {moves[1][strongest[k]][0]:.2f} → {moves[1][strongest[k]][1]:.2f}"
        right = step >= 0
        ax.annotate(note, (place + step, k), xytext=(5 if right else -5, 0), textcoords="offset points",
                    ha="left" if right else "right", va="center", fontsize=SMALL, color=INK, zorder=5,
                    bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 0.8})  # fmt: skip
        place += step
        reached.append(place)
    low, high = min(reached), max(reached)
    near = found.thresholds[(found.thresholds > low - (high - low)) & (found.thresholds < high + (high - low))]
    low, high = min([low, *near]), max([high, *near])
    space = 0.34 * (high - low) or 1.0  # for the numbers beside the bars
    ax.set_xlim(low - space, high + space)
    _draw_thresholds(found, ax, len(steps))
    ax.plot(found.scores[row], len(steps) - 0.42, marker="v", color=INK, ms=7, zorder=6, clip_on=False)
    ax.set_yticks(range(len(steps)), [plain(name) for name, _ in steps])
    ax.set_ylim(len(steps) - 0.4, -1.2)
    quiet_frame(ax, keep=("bottom",), x=found.score_name)
    ax.tick_params(axis="y", length=0, labelcolor=INK)
    title = f"predicted {found.predicted(row)}: {found.score_name} {found.scores[row]:.2f}, base {found.base:.2f}"
    if moves is not None:
        title += f"\n→ P(at least {moves[0]}) without and with the column"
    ax.set_title(plain(title), fontsize=FONT, color=INK, loc="left")
    return ax


def _draw_thresholds(found: Explanation, ax: Any, n_steps: int) -> None:
    """Dashed lines where classes begin, with the names of the classes above."""
    left, right = ax.get_xlim()
    ends = np.concatenate([[left], np.clip(found.thresholds, left, right), [right]])
    colors = ordered_colors(len(found.classes))
    for t in found.thresholds:
        if left < t < right:
            ax.plot([t, t], [-0.75, n_steps - 0.4], color=QUIET, lw=1.0, ls=(0, (4, 2)), zorder=1)
    for k, name in enumerate(found.classes):
        if ends[k + 1] - ends[k] > 0.03 * (right - left) and len(found.classes) <= 4 * _MOST_NAMES:
            ax.plot(ends[k : k + 2], [-0.75, -0.75], color=colors[k], lw=4, solid_capstyle="butt", zorder=2)
            middle = 0.5 * (ends[k] + ends[k + 1])
            ax.text(middle, -0.9, plain(name), ha="center", va="bottom", fontsize=SMALL, color=INK, clip_on=True)


def draw_column(found: Explanation, j: int, ax: Any) -> Any:
    """Contribution of a column against its values: a curve for numbers, a dot for each category."""
    name = found.columns[j]
    rows = found._rows
    numbers = rows.as_numbers(name) if rows is not None and name in rows.names else None
    if numbers is not None:
        _, ax = axes(ax, (6.4, 3.8))
        ax.axhline(0.0, color=QUIET, lw=0.8, zorder=1)
        order = np.argsort(numbers, kind="stable")
        order = order[np.isfinite(numbers[order])]
        exact = found.method == "linear"
        style: dict[str, Any] = dict(color=OKABE_ITO[0], zorder=3)
        ax.plot(numbers[order], found.values[order, j], **style, ls="none", marker="o", ms=3 if exact else 4, alpha=0.5)
        low = ax.get_ylim()[0]
        ax.plot(numbers[order], np.full(order.size, low), ls="none", marker="|", color=QUIET, ms=6, alpha=0.4)
        ax.set_ylim(bottom=low)
        curve_frame(ax, x=plain(name), y=f"contribution to the {found.score_name}")
        return ax
    texts = [found._named(i, j).partition(" = ")[2] or name for i in range(len(found))]
    means = {text: found.values[[t == text for t in texts], j].mean() for text in dict.fromkeys(texts)}
    shown = sorted(sorted(means, key=lambda text: -abs(means[text]))[:20], key=lambda text: means[text])
    _, ax = axes(ax, (6.4, 1.0 + 0.34 * len(shown)))
    ax.plot([means[t] for t in shown], range(len(shown)), ls="none", marker="o", ms=7, color=OKABE_ITO[0], zorder=3)
    ax.hlines(range(len(shown)), 0.0, [means[t] for t in shown], color=FAINT, lw=2, zorder=2)
    ax.axvline(0.0, color=QUIET, lw=0.8, zorder=1)
    ax.set_yticks(range(len(shown)), [plain(t) for t in shown])
    ax.set_ylim(-0.6, len(shown) - 0.4)
    quiet_frame(ax, keep=("bottom",), x=f"mean contribution to the {found.score_name}", y=plain(name))
    return ax


def draw_importances(found: Explanation, top: int, ax: Any) -> Any:
    """Mean absolute contributions, the largest first."""
    sizes = found.importances()
    shown = np.argsort(-sizes, kind="stable")[:top]
    return draw_bars(
        [found.columns[j] for j in shown], sizes[shown], ax, f"mean size of contributions, {found.score_name}"
    )


def draw_bars(names: list[str], sizes: Any, ax: Any, what: str, errors: Any = None) -> Any:
    """Bars with names, the first on top."""
    _, ax = axes(ax, (6.4, 1.0 + 0.34 * len(names)))
    ax.barh(range(len(names)), sizes, height=0.62, color=UP, zorder=3, xerr=errors, error_kw={"ecolor": INK, "lw": 1.0})
    ax.set_yticks(range(len(names)), [plain(name) for name in names])
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.grid(axis="x", color=FAINT, lw=0.6)
    ax.set_axisbelow(True)
    quiet_frame(ax, keep=("bottom",), x=what)
    ax.tick_params(axis="y", length=0, labelcolor=INK)
    return ax
