"""Thresholds on the score axis, with the densities of the classes and interval labels as bars."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rankwise._drawing import ALARM, FONT, INK, QUIET, SMALL, axes, ordered_colors, plain, quiet_frame
from rankwise._types import Floats
from rankwise.base.model import Model
from rankwise.decisions import ranks
from rankwise.labels import Labels, encode
from rankwise.plots.score_axis import densities, evenly_spread, score_limits

_GRID = 512
_FIRST_BAR, _BAR_STEP = 0.1, 0.055  # below the densities, whose peak is at 1


@dataclass(kw_only=True, eq=False, repr=False)
class ThresholdDisplay:
    """Scores of the classes, the thresholds between them, and some interval labels as bars.

    Every class is drawn as the density of its rows on the score axis, scaled by its share of the rows; a row whose
    label admits several classes counts in equal parts for each. Below, each bar spans the scores that one interval
    label admits, and its dot is the row's score: inside, the model agrees with the annotator.

    Make it with :meth:`from_estimator` or :meth:`from_predictions`.

    Parameters
    ----------
    scores : ndarray of shape (n,)
        Score of every row.
    thresholds : ndarray of shape (K-1,)
        Thresholds, ascending.
    labels : Labels
        Labels of the annotator, drawn as bars.
    truth : Labels or None
        Labels for the densities; None: the same labels.

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

    scores: Floats
    thresholds: Floats
    labels: Labels
    truth: Labels | None = None

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, truth: Any = None, **options: Any) -> Self:
        """Draw a fitted threshold estimator on some rows.

        Parameters
        ----------
        estimator : fitted estimator, pipeline or TableModel
            With ``project``, ``thresholds_`` and ``classes_``, such as :class:`rankwise.PRIL`.
        X, y : array-like
            Rows and their labels, of any form.
        truth : array-like, optional
            Exact labels of the rows, for the densities, where ``y`` has intervals.
        **options
            For :meth:`plot`, such as ``ax``.

        Examples
        --------
        >>> import rankwise as rw
        >>> X, y = rw.datasets.make_ordinal(500, 3, 4, random_state=0)
        >>> display = rw.plots.ThresholdDisplay.from_estimator(rw.PRIL(random_state=0).fit(X, y), X, y)
        >>> len(display.lines_)
        3
        """
        inside = Model.of(estimator).require(
            cls.__name__, "threshold estimator such as PRIL", "project", "thresholds_", "classes_"
        )
        model, scores = inside.final, inside.final.project(inside.rows(X))
        return cls.from_predictions(scores, y, model.thresholds_, classes=model.classes_, truth=truth, **options)

    @classmethod
    def from_predictions(
        cls, scores: Any, y: Any, thresholds: Any, *, classes: Any = None, truth: Any = None, **options: Any
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
        truth, **options
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
        if scores.size == 0 or not np.isfinite(scores).all():
            raise ValueError("scores must be finite numbers, at least one.")
        exact = None if truth is None else encode(truth, labels.order, n_rows=scores.size)
        return cls(scores=scores, thresholds=thresholds, labels=labels, truth=exact).plot(**options)

    def plot(self, *, ax: Any = None, n_bars: int = 12, cmap: str = "viridis", xlabel: str = "score") -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        n_bars : int, default 12
            Maximum number of interval labels to draw, spread evenly over the scores.
        cmap : str, default "viridis"
            An ordered colour map.
        xlabel : str, default "score"
            Name of the axis.
        """
        self.figure_, self.ax_ = axes(ax, (7.2, 4.2))
        partial = np.flatnonzero(~self.labels.is_exact & ~self.labels.is_missing)
        rows = evenly_spread(partial, self.scores, n_bars)
        left, right = score_limits(self.scores, self.thresholds, margin=0.06)
        self.ax_.set_xlim(left, right)
        colors = ordered_colors(len(self.labels.order), cmap)
        self._draw_densities(np.linspace(left, right, _GRID), colors)
        self._draw_bars(rows, left, right)
        floor = -_FIRST_BAR - _BAR_STEP * rows.size if rows.size else 0.0
        self.lines_ = [
            self.ax_.plot([t, t], [floor, 1.06], color=INK, lw=1.1, ls=(0, (4, 2)), zorder=3)[0]
            for t in self.thresholds
        ]
        self._name_classes(left, right, colors)
        self.ax_.set_ylim(floor, 1.16)
        self._name_strips(floor)
        self.ax_.axhline(0.0, color=QUIET, lw=0.8)
        self.ax_.set_yticks([])
        quiet_frame(self.ax_, keep=("bottom",), x=xlabel)
        return self

    def _draw_densities(self, grid: Floats, colors: Sequence[Any]) -> None:
        shown = self.labels if self.truth is None else self.truth
        heights = densities(self.scores, shown.admissible(), shown.is_missing, grid, joint=False)
        self.densities_ = []
        for height, color in zip(heights, colors, strict=True):
            self.densities_.append(self.ax_.fill_between(grid, height, color=color, alpha=0.3, lw=0, zorder=1))
            self.ax_.plot(grid, height, color=color, lw=1.4, zorder=2)

    def _draw_bars(self, rows: NDArray[np.intp], left: float, right: float) -> None:
        ends = np.concatenate([[left], np.clip(self.thresholds, left, right), [right]])
        outside = self.labels.distance(ranks(self.scores, self.thresholds)) > 0
        self.bars_ = []
        for place, row in enumerate(rows):
            low, high = self.labels.lower[row], self.labels.upper[row]
            y = -_FIRST_BAR - _BAR_STEP * place
            color = ALARM if outside[row] else QUIET
            span = [ends[low], ends[high + 1]]
            self.bars_ += self.ax_.plot(span, [y, y], color=color, alpha=0.35, lw=4.5, solid_capstyle="butt")
            dot = np.clip(self.scores[row], left, right)
            self.ax_.plot(dot, y, "o", ms=4.5, mfc=color, mec="white", mew=0.6, zorder=4)

    def _name_strips(self, floor: float) -> None:
        strips = {"density": 0.5, "interval labels": floor / 2} if self.bars_ else {"density": 0.5}
        for name, middle in strips.items():
            self.ax_.annotate(
                name, (0.0, middle), xycoords=("axes fraction", "data"), xytext=(-6, 0), textcoords="offset points",
                rotation=90, ha="right", va="center", fontsize=SMALL, color=QUIET,
            )  # fmt: skip

    def _name_classes(self, left: float, right: float, colors: Sequence[Any]) -> None:
        """Names in their intervals; where one is too narrow for its name, a legend for all."""
        names = [plain(c) for c in self.labels.classes.tolist()]
        ends = np.concatenate([[left], np.clip(self.thresholds, left, right), [right]])
        points = self.ax_.get_window_extent().width / self.figure_.dpi * 72
        widths = np.diff(ends) / (right - left) * points
        if np.all(widths >= [0.62 * FONT * len(name) + 4 for name in names]):
            for name, middle, color in zip(names, (ends[:-1] + ends[1:]) / 2, colors, strict=True):
                self.ax_.text(middle, 1.07, name, ha="center", va="bottom", fontsize=FONT, color=color, weight="bold")
        else:
            self.ax_.legend(
                self.densities_, names, loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize=SMALL
            )
