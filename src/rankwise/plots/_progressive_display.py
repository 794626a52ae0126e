"""Average loss after each round, of several models."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import cycle
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression
from sklearn.base import clone

from rankwise._drawing import OKABE_ITO, SMALL, axes, curve_frame, loss_name, ordered_colors, plain
from rankwise._types import Floats
from rankwise.evaluation import Progress, progressive
from rankwise.labels import encode
from rankwise.labels.encoding import encode_ordered
from rankwise.losses import interval_insensitive
from rankwise.metrics.comparison import needs_order

_DASHES = ("-", (0, (5, 2)), (0, (1, 1.5)), (0, (5, 2, 1, 2)))  # where there are more models than colours


@dataclass(kw_only=True, eq=False, repr=False)
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

    curves: Mapping[str, Floats]
    rounds: NDArray[np.integer[Any]]
    spread: Mapping[str, Floats] | None = None
    loss_name: str = "average loss"

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, truth: Any = None, loss: Any = "mae", classes: Any = None,
        sample_weight: Any = None, **options: Any,
    ) -> Self:  # fmt: skip
        """Run clones of one online estimator, or of a mapping of names to estimators, over a stream and draw them.

        Parameters
        ----------
        estimator : estimator or mapping of str to estimator
            Online estimators; they are left as they are.
        X, y, truth, loss, classes, sample_weight
            As in :func:`rankwise.evaluation.progressive`.
        **options
            For :meth:`plot`, such as ``ax``.

        Examples
        --------
        >>> import rankwise as rw
        >>> X, y = rw.datasets.make_ordinal(500, 3, 4, random_state=0)
        >>> models = {"PRank": rw.PRank(), "Widrow-Hoff": rw.WidrowHoff()}
        >>> display = rw.plots.ProgressiveDisplay.from_estimator(models, X, y)
        >>> list(display.lines_)
        ['PRank', 'Widrow-Hoff']
        """
        models = estimator if isinstance(estimator, Mapping) else {type(estimator).__name__: estimator}
        results = {
            name: progressive(clone(model), X, y, truth=truth, loss=loss, classes=classes, sample_weight=sample_weight)
            for name, model in models.items()
        }
        return cls.from_results(results, loss_name=loss_name(loss), **options)

    @classmethod
    def from_predictions(
        cls, y_true: Any, predictions: Any, *, loss: Any = "mae", classes: Any = None, **options: Any
    ) -> Self:
        """Draw the average loss of predictions that were made round by round.

        Parameters
        ----------
        y_true : array-like
            Labels of the rounds, of any form; rounds without a label are left out.
        predictions : array-like of shape (n,) or mapping of str to such
            Class that each model predicted in each round.
        loss, classes, **options
            As in :meth:`from_estimator`.
        """
        if needs_order(loss):
            labels = encode_ordered(y_true, classes, "the average loss")
        else:
            labels = encode(y_true, classes, ordered=False)
        counted = np.where(labels.is_missing, 0.0, 1.0)
        several = predictions if isinstance(predictions, Mapping) else {"model": predictions}
        results = {}
        for name, predicted in several.items():
            codes = encode(predicted, labels.order, n_rows=len(labels)).lower
            losses = counted * interval_insensitive(labels, codes, loss)
            results[name] = Progress(np.asarray(predicted), losses, counted)
        return cls.from_results(results, loss_name=loss_name(loss), **options)

    @classmethod
    def from_results(cls, results: Mapping[str, Progress], *, loss_name: str = "average loss", **options: Any) -> Self:
        """Draw results of :func:`rankwise.evaluation.progressive`, by the names of the models.

        Parameters
        ----------
        results : mapping of str to Progress
            All over the same number of rounds.
        loss_name : str, default "average loss"
            Name of the loss axis.
        **options
            As in :meth:`from_estimator`.
        """
        curves = {name: result.average for name, result in results.items()}
        lengths = {curve.size for curve in curves.values()}
        if len(lengths) != 1 or 0 in lengths:
            raise ValueError(f"all models must have seen the same rounds, at least one. Got {sorted(lengths)} rounds.")
        return cls(curves=curves, rounds=np.arange(1, lengths.pop() + 1), loss_name=loss_name).plot(**options)

    def plot(
        self, *, ax: Any = None, log_x: bool = True, first_round: int = 10, ordered: bool = False,
        cmap: str = "viridis", colors: Mapping[str, Any] | None = None,
    ) -> Self:  # fmt: skip
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        log_x : bool, default True
            Logarithmic axis of rounds.
        first_round : int, default 10
            Where the picture begins if there are more rounds: the average over the first few is noise.
        ordered : bool, default False
            The models have an order: colours from ``cmap`` instead of a palette.
        cmap : str, default "viridis"
            An ordered colour map.
        colors : mapping of str to colour, optional
            Colours of some of the models.
        """
        self.figure_, self.ax_ = axes(ax, (7.2, 4.2))
        palette = ordered_colors(len(self.curves), cmap) if ordered else cycle(OKABE_ITO)
        color_of = dict(zip(self.curves, palette, strict=False)) | dict(colors or {})
        shown = self.rounds >= (first_round if first_round < self.rounds[-1] else 1)
        self.lines_ = {}
        for i, (name, curve) in enumerate(self.curves.items()):
            x, y = self.rounds[shown], np.asarray(curve)[shown]
            dashes = "-" if ordered else _DASHES[i // len(OKABE_ITO) % len(_DASHES)]
            self.lines_[name] = self.ax_.plot(x, y, color=color_of[name], lw=1.7, ls=dashes, label=name)[0]
            if self.spread and name in self.spread:
                half = np.nan_to_num(np.asarray(self.spread[name])[shown])
                self.ax_.fill_between(x, y - half, y + half, color=color_of[name], alpha=0.18, lw=0)
        if log_x:
            self.ax_.set_xscale("log")
            self.ax_.xaxis.set_major_formatter("{x:,.0f}")
        if np.count_nonzero(shown) > 1:  # a single round has no extent to fill the axis with
            self.ax_.margins(x=0)
        curve_frame(self.ax_, x="round", y=self.loss_name)
        self._name_lines()
        return self

    def _name_lines(self) -> None:
        """Write every name beside the end of its curve, moved up or down only as far as needed to avoid overlaps."""
        low, high = self.ax_.get_ylim()
        ends = np.array([line.get_ydata()[-1] for line in self.lines_.values()])
        height = self.ax_.get_window_extent().height / self.figure_.dpi * 72
        places = _spread_out((ends - low) / (high - low), 1.25 * SMALL / height)
        for (name, line), place in zip(self.lines_.items(), places, strict=True):
            self.ax_.annotate(
                plain(name), (1.0, place), xycoords="axes fraction", xytext=(5, 0), textcoords="offset points",
                va="center", fontsize=SMALL, color=line.get_color(), annotation_clip=False,
            )  # fmt: skip


def _spread_out(places: Floats, gap: float) -> Floats:
    """Places in [0, 1] with neighbours at least ``gap`` apart, in the same order.

    The sum of squared moves is minimal, except for places that would leave [0, 1] and are pushed back.
    """
    order = np.argsort(places, kind="stable")
    steps = gap * np.arange(places.size)
    moved = np.empty_like(places)
    moved[order] = np.minimum(np.maximum(isotonic_regression(places[order] - steps).x, 0.0) + steps, 1.0 - steps[::-1])
    return moved
