"""Pictures in scikit-learn's Display style: ``from_estimator`` or ``from_predictions`` draws, ``ax_`` and ``figure_`` hold it.

Colours of ordered things come from an ordered map that is safe for colour-blind readers, those of models from the
palette of Okabe and Ito. Nothing here touches matplotlib's global settings or shows a window.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter1d
from sklearn.base import clone

from rankwise.evaluation import Progress, progressive
from rankwise.labels import Labels, encode
from rankwise.losses import interval_insensitive
from rankwise.models import ranks

__all__ = ["ProgressiveDisplay", "ThresholdDisplay", "ordered_colors"]

Floats = NDArray[np.float64]

_OKABE_ITO = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00")
_INK, _QUIET, _FAINT, _ALARM = "#222222", "#6b6b6b", "#d9d9d9", "#d55e00"
_FONT, _SMALL = 10.0, 8.5
_GRID = 512


def ordered_colors(n: int, cmap: str = "viridis") -> list[Any]:
    """Colours for n ordered things, dark to light; the palest end of the map, unreadable on white, is left out."""
    return list(_matplotlib().colormaps[cmap](np.linspace(0.0, 0.82, n)))


class ThresholdDisplay:
    """Scores of the classes, the thresholds that part them, and some interval labels as bars.

    Every class is drawn as the density of its rows on the score axis, scaled by its share of the rows; a row whose
    label admits several classes counts in equal parts for each. Below, each bar spans the stretch of the axis that one
    interval label admits, and its dot is the row's score: inside, the model agrees with the annotator.

    Make it with :meth:`from_estimator` or :meth:`from_predictions`.

    Parameters
    ----------
    scores : ndarray of shape (n,)
        Score of every row.
    thresholds : ndarray of shape (K-1,)
        Thresholds, ascending.
    labels : Labels
        What the annotator said: the bars.
    truth : Labels or None
        Labels behind the densities; None: the same ones.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    lines_ : list of Line2D
        The thresholds.
    densities_ : list of PolyCollection
        The classes, lowest first.
    bars_ : list of Line2D
        The interval labels.
    """

    def __init__(self, *, scores: Floats, thresholds: Floats, labels: Labels, truth: Labels | None = None) -> None:
        self.scores = scores
        self.thresholds = thresholds
        self.labels = labels
        self.truth = truth

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, truth: Any = None, ax: Any = None, **options: Any
    ) -> Self:
        """Draw a fitted threshold estimator on some rows.

        Parameters
        ----------
        estimator : fitted estimator
            With ``project``, ``thresholds_`` and ``classes_``, such as :class:`rankwise.PRIL`.
        X, y : array-like
            Rows and their labels, of any form.
        truth : array-like, optional
            Exact labels of the rows, for the densities, where ``y`` has intervals.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        **options
            For :meth:`plot`.

        Examples
        --------
        >>> from rankwise import PRIL
        >>> from rankwise.datasets import make_ordinal
        >>> from rankwise.plots import ThresholdDisplay
        >>> X, y = make_ordinal(500, 3, 4, random_state=0)
        >>> display = ThresholdDisplay.from_estimator(PRIL(random_state=0).fit(X, y), X, y)
        >>> len(display.lines_)
        3
        """
        missing = [name for name in ("project", "thresholds_", "classes_") if not hasattr(estimator, name)]
        if missing:
            raise TypeError(
                f"ThresholdDisplay needs a fitted threshold estimator such as PRIL. {type(estimator).__name__} has no "
                f"{' and no '.join(missing)}."
            )
        return cls.from_predictions(
            estimator.project(X), y, estimator.thresholds_, classes=estimator.classes_, truth=truth, ax=ax, **options
        )

    @classmethod
    def from_predictions(
        cls,
        scores: Any,
        y: Any,
        thresholds: Any,
        *,
        classes: Any = None,
        truth: Any = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw scores and thresholds that a model gave.

        Parameters
        ----------
        scores : array-like of shape (n,)
            Scores of the rows.
        y : array-like
            Their labels, of any form.
        thresholds : array-like of shape (K-1,)
            Ascending thresholds.
        classes : sequence, optional
            All K classes, lowest first.
        truth, ax, **options
            As in :meth:`from_estimator`.
        """
        scores = np.asarray(scores, dtype=np.float64)
        thresholds = np.asarray(thresholds, dtype=np.float64)
        labels = encode(y, classes, n_rows=scores.size)
        if len(labels.order) != thresholds.size + 1:
            raise ValueError(
                f"{thresholds.size} thresholds part {thresholds.size + 1} classes, and there are {len(labels.order)}: "
                f"give them all as classes, lowest first."
            )
        exact = None if truth is None else encode(truth, labels.order, n_rows=scores.size)
        return cls(scores=scores, thresholds=thresholds, labels=labels, truth=exact).plot(ax=ax, **options)

    def plot(self, *, ax: Any = None, n_bars: int = 12, cmap: str = "viridis", xlabel: str = "score") -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        n_bars : int, default 12
            At most so many interval labels are drawn, spread evenly over the scores.
        cmap : str, default "viridis"
            An ordered colour map.
        xlabel : str, default "score"
            Name of the axis.
        """
        self.figure_, self.ax_ = _axes(ax, (7.2, 4.2))
        rows = self._rows_with_bars(n_bars)
        left, right = self._limits()
        self.ax_.set_xlim(left, right)
        colors = ordered_colors(len(self.labels.order), cmap)
        self._draw_densities(np.linspace(left, right, _GRID), colors)
        self._draw_bars(rows, left, right)
        floor = -0.1 - 0.055 * rows.size if rows.size else 0.0
        self.lines_ = [
            self.ax_.plot([t, t], [floor, 1.06], color=_INK, lw=1.1, ls=(0, (4, 2)), zorder=3)[0]
            for t in self.thresholds
        ]
        self._name_classes(left, right, colors)
        self.ax_.set_ylim(floor, 1.16)
        self._name_strips(floor)
        self.ax_.axhline(0.0, color=_QUIET, lw=0.8)
        self.ax_.set_xlabel(xlabel, fontsize=_FONT, color=_INK)
        self.ax_.set_yticks([])
        self.ax_.tick_params(labelsize=_SMALL, colors=_QUIET)
        for side in ("left", "top", "right"):
            self.ax_.spines[side].set_visible(False)
        self.ax_.spines["bottom"].set_color(_FAINT)
        return self

    def _limits(self) -> tuple[float, float]:
        """Stretch of the axis with all thresholds and nearly all scores: a few far rows shall not squeeze the rest."""
        low, high = np.quantile(self.scores, [0.005, 0.995])
        if self.thresholds.size:
            low, high = min(low, self.thresholds[0]), max(high, self.thresholds[-1])
        room = 0.06 * (high - low) or 1.0
        return float(low - room), float(high + room)

    def _draw_densities(self, grid: Floats, colors: Sequence[Any]) -> None:
        shown = self.labels if self.truth is None else self.truth
        parts = shown.admissible() / shown.admissible().sum(axis=1, keepdims=True)
        parts[shown.is_missing] = 0.0
        heights = np.array([_density(self.scores, part, grid) for part in parts.T])
        heights /= heights.max() or 1.0
        self.densities_ = []
        for height, color in zip(heights, colors, strict=True):
            self.densities_.append(self.ax_.fill_between(grid, height, color=color, alpha=0.3, lw=0, zorder=1))
            self.ax_.plot(grid, height, color=color, lw=1.4, zorder=2)

    def _rows_with_bars(self, n_bars: int) -> NDArray[np.intp]:
        """Rows with an interval, in the order of their scores, evenly spread over the ranks of the scores."""
        partial = np.flatnonzero(~self.labels.is_exact & ~self.labels.is_missing)
        partial = partial[np.argsort(self.scores[partial], kind="stable")]
        if partial.size <= n_bars:
            return partial
        return partial[np.linspace(0, partial.size - 1, n_bars + 2).round().astype(int)[1:-1]]

    def _draw_bars(self, rows: NDArray[np.intp], left: float, right: float) -> None:
        ends = np.concatenate([[left], np.clip(self.thresholds, left, right), [right]])
        codes = ranks(self.scores, self.thresholds)
        self.bars_ = []
        for place, row in enumerate(rows):
            low, high = self.labels.lower[row], self.labels.upper[row]
            y = -0.1 - 0.055 * place
            color = _QUIET if low <= codes[row] <= high else _ALARM
            span = [ends[low], ends[high + 1]]
            self.bars_ += self.ax_.plot(span, [y, y], color=color, alpha=0.35, lw=4.5, solid_capstyle="butt")
            dot = np.clip(self.scores[row], left, right)
            self.ax_.plot(dot, y, "o", ms=4.5, mfc=color, mec="white", mew=0.6, zorder=4)

    def _name_strips(self, floor: float) -> None:
        strips = {"density": 0.5, "interval labels": floor / 2} if self.bars_ else {"density": 0.5}
        for name, middle in strips.items():
            self.ax_.annotate(
                name, (0.0, middle), xycoords=("axes fraction", "data"), xytext=(-6, 0), textcoords="offset points",
                rotation=90, ha="right", va="center", fontsize=_SMALL, color=_QUIET,
            )  # fmt: skip

    def _name_classes(self, left: float, right: float, colors: Sequence[Any]) -> None:
        """Names in their intervals; where one is too narrow for its name, a legend for all."""
        names = [str(c) for c in self.labels.classes.tolist()]
        ends = np.concatenate([[left], np.clip(self.thresholds, left, right), [right]])
        points = self.ax_.get_window_extent().width / self.figure_.dpi * 72
        room = np.diff(ends) / (right - left) * points
        if np.all(room >= [0.62 * _FONT * len(name) + 4 for name in names]):
            for name, middle, color in zip(names, (ends[:-1] + ends[1:]) / 2, colors, strict=True):
                self.ax_.text(middle, 1.07, name, ha="center", va="bottom", fontsize=_FONT, color=color, weight="bold")
        else:
            self.ax_.legend(
                self.densities_, names, loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize=_SMALL
            )


class ProgressiveDisplay:
    """Average loss after each round, of one model or of several.

    Make it with :meth:`from_estimator`, :meth:`from_predictions` or :meth:`from_results`.

    Parameters
    ----------
    curves : mapping of str to ndarray of shape (r,)
        Average loss of each model.
    rounds : ndarray of shape (r,)
        The rounds they belong to, ascending, counted from 1.
    spread : mapping of str to ndarray of shape (r,), optional
        Half width of a band around each curve, such as a standard error.
    loss_name : str
        Name of the loss axis.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    lines_ : dict of str to Line2D
        The curve of each model.
    """

    def __init__(
        self,
        *,
        curves: Mapping[str, Floats],
        rounds: NDArray[np.integer[Any]],
        spread: Mapping[str, Floats] | None = None,
        loss_name: str = "average loss",
    ) -> None:
        self.curves = dict(curves)
        self.rounds = rounds
        self.spread = dict(spread or {})
        self.loss_name = loss_name

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        truth: Any = None,
        loss: Any = "mae",
        classes: Any = None,
        sample_weight: Any = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Run clones of one online estimator, or of a mapping of names to estimators, over a stream and draw them.

        Parameters
        ----------
        estimator : estimator or mapping of str to estimator
            Online estimators; they are left as they are.
        X, y, truth, loss, classes, sample_weight
            As in :func:`rankwise.evaluation.progressive`.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        **options
            For :meth:`plot`.

        Examples
        --------
        >>> from rankwise import PRank, WidrowHoff
        >>> from rankwise.datasets import make_ordinal
        >>> from rankwise.plots import ProgressiveDisplay
        >>> X, y = make_ordinal(500, 3, 4, random_state=0)
        >>> display = ProgressiveDisplay.from_estimator({"PRank": PRank(), "Widrow-Hoff": WidrowHoff()}, X, y)
        >>> list(display.lines_)
        ['PRank', 'Widrow-Hoff']
        """
        models = estimator if isinstance(estimator, Mapping) else {type(estimator).__name__: estimator}
        results = {
            name: progressive(clone(model), X, y, truth=truth, loss=loss, classes=classes, sample_weight=sample_weight)
            for name, model in models.items()
        }
        return cls.from_results(results, loss_name=_loss_name(loss), ax=ax, **options)

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        predictions: Any,
        *,
        loss: Any = "mae",
        classes: Any = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw the average loss of predictions that were made round by round.

        Parameters
        ----------
        y_true : array-like
            Labels of the rounds, of any form; rounds without a label are left out.
        predictions : array-like of shape (n,) or mapping of str to such
            Class that each model predicted in each round.
        loss, classes, ax, **options
            As in :meth:`from_estimator`.
        """
        labels = encode(y_true, classes)
        counted = np.where(labels.is_missing, 0.0, 1.0)
        several = predictions if isinstance(predictions, Mapping) else {"model": predictions}
        results = {}
        for name, predicted in several.items():
            codes = encode(predicted, labels.order, n_rows=len(labels)).lower
            losses = counted * interval_insensitive(labels, codes, loss)
            results[name] = Progress(np.asarray(predicted), losses, counted)
        return cls.from_results(results, loss_name=_loss_name(loss), ax=ax, **options)

    @classmethod
    def from_results(
        cls, results: Mapping[str, Progress], *, loss_name: str = "average loss", ax: Any = None, **options: Any
    ) -> Self:
        """Draw results of :func:`rankwise.evaluation.progressive`, by the names of the models.

        Parameters
        ----------
        results : mapping of str to Progress
            All over the same number of rounds.
        loss_name : str, default "average loss"
            Name of the loss axis.
        ax, **options
            As in :meth:`from_estimator`.
        """
        curves = {name: result.average for name, result in results.items()}
        lengths = {curve.size for curve in curves.values()}
        if len(lengths) != 1:
            raise ValueError(f"all models must have seen the same rounds. Got {sorted(lengths)} rounds.")
        return cls(curves=curves, rounds=np.arange(1, lengths.pop() + 1), loss_name=loss_name).plot(ax=ax, **options)

    def plot(
        self,
        *,
        ax: Any = None,
        log_x: bool = True,
        first_round: int = 10,
        ordered: bool = False,
        cmap: str = "viridis",
        colors: Mapping[str, Any] | None = None,
    ) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        log_x : bool, default True
            Logarithmic axis of rounds.
        first_round : int, default 10
            Where the picture begins: the average over the first few rounds is noise.
        ordered : bool, default False
            The models have an order: colours from ``cmap`` instead of a palette.
        cmap : str, default "viridis"
            An ordered colour map.
        colors : mapping of str to colour, optional
            Colours of some of the models.
        """
        self.figure_, self.ax_ = _axes(ax, (7.2, 4.2))
        palette = ordered_colors(len(self.curves), cmap) if ordered else cycle(_OKABE_ITO)
        color_of = dict(zip(self.curves, palette, strict=False)) | dict(colors or {})
        shown = self.rounds >= min(first_round, self.rounds[-1])
        self.lines_ = {}
        for name, curve in self.curves.items():
            x, y = self.rounds[shown], np.asarray(curve)[shown]
            self.lines_[name] = self.ax_.plot(x, y, color=color_of[name], lw=1.7, label=name)[0]
            if name in self.spread:
                half = np.nan_to_num(np.asarray(self.spread[name])[shown])
                self.ax_.fill_between(x, y - half, y + half, color=color_of[name], alpha=0.18, lw=0)
        if log_x:
            self.ax_.set_xscale("log")
            self.ax_.xaxis.set_major_formatter("{x:,.0f}")
        self.ax_.margins(x=0)
        self.ax_.set_xlabel("round", fontsize=_FONT, color=_INK)
        self.ax_.set_ylabel(self.loss_name, fontsize=_FONT, color=_INK)
        self.ax_.grid(axis="y", color=_FAINT, lw=0.6)
        self.ax_.set_axisbelow(True)
        self.ax_.tick_params(labelsize=_SMALL, colors=_QUIET, which="both")
        for side in ("top", "right"):
            self.ax_.spines[side].set_visible(False)
        for side in ("left", "bottom"):
            self.ax_.spines[side].set_color(_FAINT)
        self._name_lines()
        return self

    def _name_lines(self) -> None:
        """Every name beside the end of its curve, moved up or down only as far as names would overlap."""
        low, high = self.ax_.get_ylim()
        ends = np.array([line.get_ydata()[-1] for line in self.lines_.values()])
        height = self.ax_.get_window_extent().height / self.figure_.dpi * 72
        places = _spread_out((ends - low) / (high - low), 1.25 * _SMALL / height)
        for (name, line), place in zip(self.lines_.items(), places, strict=True):
            self.ax_.annotate(
                name, (1.0, place), xycoords="axes fraction", xytext=(5, 0), textcoords="offset points",
                va="center", fontsize=_SMALL, color=line.get_color(), annotation_clip=False,
            )  # fmt: skip


def _matplotlib() -> Any:
    try:
        import matplotlib
    except ImportError:
        raise ImportError('pictures need matplotlib: pip install "rankwise[plot]"') from None
    return matplotlib


def _axes(ax: Any, size: tuple[float, float]) -> tuple[Any, Any]:
    """Figure and axes to draw on; names beside the axes need a layout that makes room for them."""
    _matplotlib()
    if ax is None:
        from matplotlib import pyplot

        _, ax = pyplot.subplots(figsize=size, layout="constrained")
    return ax.figure, ax


def _loss_name(loss: Any) -> str:
    names = {
        "mae": "average absolute error, ranks",
        "zero_one": "share of mistakes",
        "squared": "average squared error",
    }
    return names.get(loss, "average loss") if isinstance(loss, str) else "average loss"


def _density(scores: Floats, weight: Floats, grid: Floats) -> Floats:
    """Gaussian density of weighted scores on an even grid, times their total weight (binned: linear in their number)."""
    step = grid[1] - grid[0]
    edges = np.append(grid - step / 2, grid[-1] + step / 2)
    total = weight.sum()
    if total == 0:
        return np.zeros_like(grid)
    heights = np.histogram(scores, edges, weights=weight)[0] / step
    mean = np.average(scores, weights=weight)
    spread = np.sqrt(np.average((scores - mean) ** 2, weights=weight))
    width = 0.9 * spread * (total**2 / np.sum(weight**2)) ** -0.2  # Silverman's rule with the effective number of rows
    return np.asarray(gaussian_filter1d(heights, max(width / step, 1.0), mode="constant"))


def _spread_out(places: Floats, gap: float) -> Floats:
    """Places in [0, 1] moved as little as need be such that neighbours are at least ``gap`` apart, order kept.

    The squares of the moves are smallest, but for places that would leave [0, 1] and are pushed back.
    """
    order = np.argsort(places, kind="stable")
    blocks: list[tuple[float, int]] = []  # mean and size of runs that touch: pool adjacent violators
    for wanted in places[order] - gap * np.arange(places.size):
        mean, size = float(wanted), 1
        while blocks and blocks[-1][0] > mean:
            other, count = blocks.pop()
            mean, size = (other * count + mean * size) / (count + size), count + size
        blocks.append((mean, size))
    moved = np.empty_like(places)
    steps = gap * np.arange(places.size)
    means = np.repeat([mean for mean, _ in blocks], [size for _, size in blocks])
    moved[order] = np.minimum(np.maximum(means, 0.0) + steps, 1.0 - steps[::-1])
    return moved
