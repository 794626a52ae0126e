"""What imprecise labels cost in accuracy and save in money."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

from rankwise._drawing import INK, SMALL, axes, curve_frame, loss_name, ordered_colors
from rankwise.evaluation import Annotated, annotation_tradeoff, error_range
from rankwise.losses import Loss

Axis = Literal["portion", "width", "cost"]

_MARKERS = "osD^vPX*"
_NAMES = {
    "portion": "share of the rows with an interval label",
    "width": "width of the intervals, ranks",
    "cost": "cost of the labels",
}


@dataclass(kw_only=True, eq=False, repr=False)
class AnnotationDisplay:
    """Error against the portion of interval labels, their width, or the cost of all labels.

    One line for each width (for each portion if the axis shows the width), with error bars for the confidence limits.
    Markers differ, so that lines can be told apart in grey.

    Make it with :meth:`from_estimator`, :meth:`from_predictions` or :meth:`from_results`.

    Parameters
    ----------
    results : sequence of Annotated
        Results of :func:`rankwise.evaluation.annotation_tradeoff`.
    loss_name : str
        Name of the axis of errors.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    lines_ : dict of number to Line2D
        The line of each width, or of each portion.
    """

    results: Sequence[Annotated]
    loss_name: str = "average loss"

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, X_test: Any, y_test: Any, *, x: Axis | None = None, ax: Any = None,
        **options: Any,
    ) -> Self:  # fmt: skip
        """Annotate rows ever less precisely, learn from them, and draw the errors on test rows.

        Parameters
        ----------
        estimator : estimator
            Clones of it learn from exact and interval labels.
        X, y, X_test, y_test : array-like
            Training and test rows with exact labels.
        x : {"portion", "width", "cost"}, optional
            What the axis shows; by default the cost if there are prices, else the portion.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        **options
            For :func:`rankwise.evaluation.annotation_tradeoff`: ``widths``, ``portions``, ``prices``, ``loss`` ...

        Examples
        --------
        >>> import rankwise as rw
        >>> X, y = rw.datasets.make_ordinal(600, 3, 5, noise=0.3, random_state=0)
        >>> display = rw.plots.AnnotationDisplay.from_estimator(
        ...     rw.PRIL(random_state=0), X[:300], y[:300], X[300:], y[300:], widths=[1, 2], portions=[0, 0.5, 1]
        ... )
        >>> list(display.lines_)
        [1, 2]
        """
        results = annotation_tradeoff(estimator, X, y, X_test, y_test, **options)
        return cls.from_results(results, loss_name=loss_name(options.get("loss", "mae")), x=x, ax=ax)

    @classmethod
    def from_predictions(
        cls, y_true: Any, predictions: Mapping[tuple[int, float], Any], *,
        costs: Mapping[tuple[int, float], float] | None = None, loss: Loss = "mae", classes: Any = None,
        confidence: float = 0.95, random_state: Any = 0, **options: Any,
    ) -> Self:  # fmt: skip
        """Draw predictions of models that learnt from annotations of several kinds.

        Parameters
        ----------
        y_true : array-like
            Labels of the test rows.
        predictions : mapping of (width, portion) to array-like
            Predicted classes of the test rows, by the width and the portion of the interval labels learnt from.
        costs : mapping of (width, portion) to float, optional
            Cost of those labels.
        loss, classes, confidence, random_state
            As in :func:`rankwise.evaluation.annotation_tradeoff`.
        **options
            For :meth:`plot`, such as ``x`` and ``ax``.
        """
        judged = {"loss": loss, "classes": classes, "confidence": confidence, "random_state": random_state}
        results = []
        for (width, portion), predicted in predictions.items():
            errors = error_range(y_true, predicted, limits="bootstrap", **judged)
            cost = None if costs is None else costs[width, portion]
            results.append(Annotated(width, portion, cost, errors.lower, errors.lower_limit, errors.upper_limit))
        return cls.from_results(results, loss_name=loss_name(loss), **options)

    @classmethod
    def from_results(cls, results: Sequence[Annotated], *, loss_name: str = "average loss", **options: Any) -> Self:
        """Draw results of :func:`rankwise.evaluation.annotation_tradeoff`.

        Parameters
        ----------
        results : sequence of Annotated
            At least one.
        loss_name : str, default "average loss"
            Name of the axis of errors.
        **options
            For :meth:`plot`, such as ``x`` and ``ax``.
        """
        return cls(results=list(results), loss_name=loss_name).plot(**options)

    def plot(self, *, x: Axis | None = None, ax: Any = None, cmap: str = "viridis") -> Self:
        """Draw.

        Parameters
        ----------
        x : {"portion", "width", "cost"}, optional
            What the axis shows; by default the cost if it is known, else the portion.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        cmap : str, default "viridis"
            An ordered colour map.
        """
        if not self.results:
            raise ValueError("results must hold at least one result. Got none.")
        priced = all(result.cost is not None for result in self.results)
        axis = x or ("cost" if priced else "portion")
        if axis not in _NAMES or (axis == "cost" and not priced):
            given = f"{axis!r}{' and no prices' if axis == 'cost' else ''}"
            raise ValueError(f"x must be 'portion', 'width' or, for results with prices, 'cost'. Got {given} instead.")
        self.figure_, self.ax_ = axes(ax, (7.2, 4.2))
        by = "portion" if axis == "width" else "width"
        groups = sorted({getattr(result, by) for result in self.results})
        self.lines_ = {}
        for i, (group, color) in enumerate(zip(groups, ordered_colors(len(groups), cmap), strict=True)):
            chosen = sorted((r for r in self.results if getattr(r, by) == group), key=lambda r: getattr(r, axis))
            places, errors = [getattr(r, axis) for r in chosen], [r.error for r in chosen]
            below = [max(0.0, r.error - r.lower_limit) for r in chosen]
            above = [max(0.0, r.upper_limit - r.error) for r in chosen]
            name = f"{group:.0%} intervals" if by == "portion" else f"width {group}"
            style = {"color": color, "marker": _MARKERS[i % len(_MARKERS)], "ms": 5.5, "lw": 1.5, "elinewidth": 0.9}
            self.lines_[group] = self.ax_.errorbar(places, errors, yerr=[below, above], label=name, **style)[0]
        if axis == "portion":
            self.ax_.xaxis.set_major_formatter("{x:.0%}")
        elif axis == "width":
            self.ax_.set_xticks(sorted({r.width for r in self.results}))
        self.ax_.legend(frameon=False, fontsize=SMALL, labelcolor=INK)
        curve_frame(self.ax_, x=_NAMES[axis], y=self.loss_name)
        return self
