"""What all displays share: colours, sizes, quiet axes, and matplotlib itself, loaded when first needed."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from rankwise._extras import require

OKABE_ITO = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00")
INK, QUIET, FAINT, ALARM = "#222222", "#6b6b6b", "#d9d9d9", "#d55e00"
FONT, SMALL = 10.0, 8.5

_LOSS_NAMES = {
    "mae": "average absolute error, ranks",
    "zero_one": "share of mistakes",
    "squared": "average squared error",
}


def ordered_colors(n: int, cmap: str = "viridis") -> list[Any]:
    """Colours for n ordered things, dark to light, without the palest end of the map, which is unreadable on white."""
    return list(load_matplotlib().colormaps[cmap](np.linspace(0.0, 0.82, n)))


def load_matplotlib() -> Any:
    return require("matplotlib", 'pictures need matplotlib: pip install "rankwise[plot]"')


def axes(ax: Any, size: tuple[float, float]) -> tuple[Any, Any]:
    """Figure and axes to draw on; names beside the axes need a layout that leaves space for them."""
    load_matplotlib()
    if ax is None:
        from matplotlib import pyplot

        _, ax = pyplot.subplots(figsize=size, layout="constrained")
    return ax.figure, ax


def quiet_frame(ax: Any, *, keep: tuple[str, ...] = (), x: str | None = None, y: str | None = None) -> None:
    """Set small grey tick labels, keep only the named sides of the frame, and name the axes."""
    ax.tick_params(labelsize=SMALL, colors=QUIET, which="both")
    for side, spine in ax.spines.items():
        spine.set_visible(side in keep)
        spine.set_color(FAINT)
    for set_label, name in ((ax.set_xlabel, x), (ax.set_ylabel, y)):
        if name is not None:
            set_label(name, fontsize=FONT, color=INK)


def curve_frame(ax: Any, *, x: str | None = None, y: str | None = None) -> None:
    """Frame of curves, with faint horizontal lines behind them."""
    ax.grid(axis="y", color=FAINT, lw=0.6)
    ax.set_axisbelow(True)
    quiet_frame(ax, keep=("left", "bottom"), x=x, y=y)


def plain(name: Any) -> str:
    """Text with escaped dollar signs, which would begin a formula."""
    return str(name).replace("$", r"\$")


def ticks(names: Sequence[Any], most: int = 25) -> tuple[list[int], list[str]]:
    """Places and texts of the ticks of an axis of names, at most so many.

    >>> ticks("abcde", most=3)
    ([0, 2, 4], ['a', 'c', 'e'])
    """
    places = list(range(0, len(names), -(-len(names) // most)))
    return places, [plain(names[i]) for i in places]


def loss_name(loss: Any) -> str:
    """Name of the axis of a loss."""
    return _LOSS_NAMES.get(loss, "average loss") if isinstance(loss, str) else "average loss"
