"""Displays of probabilities: their reliability, the sizes of prediction sets, and the distribution for one row."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rankwise._drawing import (
    ALARM,
    FAINT,
    INK,
    OKABE_ITO,
    QUIET,
    SMALL,
    axes,
    curve_frame,
    ordered_colors,
    plain,
    ticks,
)
from rankwise._types import Floats
from rankwise.base.model import Model
from rankwise.labels import encode
from rankwise.metrics import Reliability, reliability, set_coverage

_LEGEND_UP_TO = 10  # events


@dataclass(kw_only=True, eq=False, repr=False)
class ReliabilityDisplay:
    """Reliability diagram of the events ``y <= k``: observed frequency against predicted probability.

    One line for each threshold; on the diagonal the probabilities are right. Where labels are imprecise, bars show the
    range of the frequencies that they allow, and the line runs through the middle.

    Make it with :meth:`from_estimator` or :meth:`from_predictions`.

    Parameters
    ----------
    found : Reliability
        Predicted and observed frequencies, see :func:`rankwise.metrics.reliability`.
    classes : ndarray of shape (K,)
        The classes, lowest first.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    lines_ : list of Line2D
        The events, lowest threshold first.
    """

    found: Reliability
    classes: NDArray[Any]

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, n_bins: int = 10, sample_weight: Any = None, **options: Any
    ) -> Self:
        """Draw the probabilities of a fitted model on some rows, which it should not have seen.

        Parameters
        ----------
        estimator : fitted estimator, pipeline or TableModel
            With ``predict_proba``, such as :class:`rankwise.CumulativeLink`.
        X, y, sample_weight : array-like
            Rows, their labels, of any form, and their weights.
        n_bins : int, default 10
            Bins of the probability.
        **options
            For :meth:`plot`, such as ``ax``.

        Examples
        --------
        >>> import rankwise as rw
        >>> X, y = rw.datasets.make_ordinal(500, 3, 4, noise=0.5, random_state=0)
        >>> model = rw.CumulativeLink().fit(X[:250], y[:250])
        >>> display = rw.plots.ReliabilityDisplay.from_estimator(model, X[250:], y[250:])
        >>> len(display.lines_)
        3
        """
        inside = Model.of(estimator).require(cls.__name__, "estimator with probabilities", "predict_proba", "classes_")
        P = estimator.predict_proba(X)
        return cls.from_predictions(y, P, n_bins=n_bins, classes=inside.classes, sample_weight=sample_weight, **options)

    @classmethod
    def from_predictions(
        cls, y_true: Any, probabilities: Any, *, n_bins: int = 10, classes: Any = None, sample_weight: Any = None,
        **options: Any,
    ) -> Self:  # fmt: skip
        """Draw given probabilities; arguments as in :func:`rankwise.metrics.reliability`, options for :meth:`plot`."""
        diagram = reliability(y_true, probabilities, n_bins=n_bins, classes=classes, sample_weight=sample_weight)
        return cls(found=diagram, classes=encode(y_true, classes).classes).plot(**options)

    def plot(self, *, ax: Any = None, cmap: str = "viridis") -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        cmap : str, default "viridis"
            An ordered colour map.
        """
        self.figure_, self.ax_ = axes(ax, (4.6, 4.4))
        self.ax_.plot([0, 1], [0, 1], color=QUIET, lw=1.0, ls=(0, (4, 2)), zorder=1)
        predicted, least, most = self.found.frequencies()
        colors = ordered_colors(len(predicted), cmap)
        self.lines_ = []
        for k, color in enumerate(colors):
            used = self.found.weight[k] > 0
            x, low, high = predicted[k][used], least[k][used], most[k][used]
            (line,) = self.ax_.plot(
                x, (low + high) / 2, "o-", color=color, ms=3.5, lw=1.3, label=f"y ≤ {plain(self.classes[k])}", zorder=3
            )
            self.lines_.append(line)
            if (high - low > 1e-9).any():
                self.ax_.vlines(x, low, high, color=color, lw=2.5, alpha=0.35, zorder=2)
        if len(colors) <= _LEGEND_UP_TO:
            self.ax_.legend(frameon=False, fontsize=SMALL, loc="upper left")
        self.ax_.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
        curve_frame(self.ax_, x="predicted probability", y="observed frequency")
        return self


@dataclass(kw_only=True, eq=False, repr=False)
class SetSizeDisplay:
    """Sizes of prediction sets, and the coverage of the sets of each size.

    Bars are shares of the rows. Dots are the coverage of the sets of one size; where labels are imprecise, lines show
    the range from "holds all admitted classes" to "holds one of them". Make it with :meth:`from_estimator` or
    :meth:`from_predictions`.

    Parameters
    ----------
    shares : ndarray of shape (K+1,)
        Share of the rows whose set has 0, 1, ... K classes.
    least, most : ndarrays of shape (K+1,)
        Range of the coverage of these sets; NaN where there are none.
    level : float or None
        Nominal coverage.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    bars_ : BarContainer
        Shares of the rows.
    """

    shares: Floats
    least: Floats
    most: Floats
    level: float | None = None

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, **options: Any) -> Self:
        """Draw the sets of a fitted model on some rows, which it should not have seen.

        Parameters
        ----------
        estimator : fitted estimator
            With ``predict_set``, such as :class:`rankwise.ConformalOrdinal`.
        X, y : array-like
            Rows and their labels, of any form.
        **options
            For :meth:`plot`, such as ``ax``.

        Examples
        --------
        >>> import rankwise as rw
        >>> X, y = rw.datasets.make_ordinal(500, 3, 4, noise=0.5, random_state=0)
        >>> model = rw.ConformalOrdinal(rw.CumulativeLink(), level=0.8).fit(X[:250], y[:250])
        >>> display = rw.plots.SetSizeDisplay.from_estimator(model, X[250:], y[250:])
        >>> round(float(display.shares.sum()), 6)
        1.0
        """
        inside = Model.of(estimator).require(
            cls.__name__, "estimator with sets such as ConformalOrdinal", "predict_set", "classes_"
        )
        sets, level = estimator.predict_set(X), inside.learnt("level")
        return cls.from_predictions(y, sets, classes=inside.classes, level=level, **options)

    @classmethod
    def from_predictions(
        cls, y_true: Any, sets: Any, *, classes: Any = None, level: float | None = None, **options: Any
    ) -> Self:
        """Draw given sets, a mask of shape (n, K); other arguments as in :class:`SetSizeDisplay` and :meth:`plot`."""
        labels, held = encode(y_true, classes), np.asarray(sets)
        set_coverage(labels, held)  # checks the mask
        size, k = held.sum(axis=1), held.shape[1] + 1
        labelled, admitted = ~labels.is_missing, labels.admissible()
        holds_all, holds_one = (held | ~admitted).all(axis=1), (held & admitted).any(axis=1)
        rows = np.bincount(size, labelled, k)
        with np.errstate(invalid="ignore"):
            least, most = (np.bincount(size, labelled & covers, k) / rows for covers in (holds_all, holds_one))
        shares = np.bincount(size, minlength=k) / len(size)
        return cls(shares=shares, least=least, most=most, level=level).plot(**options)

    def plot(self, *, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        """
        self.figure_, self.ax_ = axes(ax, (5.2, 3.6))
        used = np.flatnonzero(self.shares)
        sizes = np.arange(min(1, used[0]), used[-1] + 1)
        self.bars_ = self.ax_.bar(sizes, self.shares[sizes], color=OKABE_ITO[4], alpha=0.6, label="share of rows")
        known = sizes[np.isfinite(self.most[sizes])]
        self.ax_.vlines(known, self.least[known], self.most[known], color=INK, lw=2.0)
        middle = (self.least[known] + self.most[known]) / 2
        self.ax_.plot(known, middle, "o", color=INK, ms=4.5, label="coverage")
        if self.level is not None:
            self.ax_.axhline(self.level, color=ALARM, lw=1.1, ls=(0, (4, 2)), label=f"level {self.level:g}")
        self.ax_.set_ylim(0, 1.05)
        self.ax_.xaxis.get_major_locator().set_params(integer=True)
        self.ax_.legend(frameon=False, fontsize=SMALL, loc="upper left", bbox_to_anchor=(1.0, 1.0))
        curve_frame(self.ax_, x="classes in the set", y="share")
        return self


@dataclass(kw_only=True, eq=False, repr=False)
class DistributionDisplay:
    """Prediction for one row: the probability of every class, an interval, and the predicted class.

    Make it with :meth:`from_estimator`.

    Parameters
    ----------
    probabilities, classes : ndarrays of shape (K,)
        Probability of every class, and the classes, lowest first.
    interval : tuple of int
        Codes of the lowest and the highest class of the interval.
    level : float
        Probability that the interval was asked for.
    predicted : int
        Code of the predicted class.
    admitted : ndarray of shape (K,), optional
        Which classes the row's label admits.

    Attributes
    ----------
    ax_, figure_
        As in :class:`ReliabilityDisplay`.
    bars_ : BarContainer
        The classes.
    """

    probabilities: Floats
    classes: NDArray[Any]
    interval: tuple[int, int]
    level: float
    predicted: int
    admitted: NDArray[np.bool_] | None = None

    @classmethod
    def from_estimator(cls, estimator: Any, x: Any, *, y: Any = None, level: float = 0.9, **options: Any) -> Self:
        """Draw the prediction of a fitted model for one row.

        Parameters
        ----------
        estimator : fitted estimator, pipeline or TableModel
            With ``predict_proba`` and ``predict_interval``, such as :class:`rankwise.CumulativeLink`.
        x : array-like with one row
            The row.
        y : label, optional
            Label of the row.
        level : float, default 0.9
            Probability of the interval.
        **options
            For :meth:`plot`, such as ``ax``.

        Examples
        --------
        >>> import rankwise as rw
        >>> X, y = rw.datasets.make_ordinal(500, 3, 4, noise=0.5, random_state=0)
        >>> display = rw.plots.DistributionDisplay.from_estimator(rw.CumulativeLink().fit(X, y), X[:1], y=(2, 3))
        >>> round(float(display.probabilities.sum()), 6)
        1.0
        """
        needed = "predict_proba", "predict_interval", "classes_"
        inside = Model.of(estimator).require(cls.__name__, "estimator with probabilities", *needed)
        model, rows, classes = inside.final, inside.rows(x), inside.classes
        P = model.predict_proba(rows)
        if len(P) != 1:
            raise ValueError(f"{cls.__name__} draws one row. Got {len(P)} rows.")
        ends = encode(model.predict_interval(rows, level), classes)
        return cls(
            probabilities=P[0], classes=classes, interval=(int(ends.lower[0]), int(ends.upper[0])), level=level,
            predicted=int(encode(model.predict(rows), classes).lower[0]),
            admitted=None if y is None else encode([y], classes).admissible()[0],
        ).plot(**options)  # fmt: skip

    def plot(self, *, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        """
        k = len(self.classes)
        self.figure_, self.ax_ = axes(ax, (float(np.clip(0.3 * k + 2.5, 4.5, 9.0)), 3.4))
        low, high = self.interval
        inside = (np.arange(k) >= low) & (np.arange(k) <= high)
        self.bars_ = self.ax_.bar(range(k), self.probabilities, color=[OKABE_ITO[0] if i else FAINT for i in inside])
        self.bars_[self.predicted].set_edgecolor(INK)
        self.bars_[self.predicted].set_linewidth(1.6)
        top = float(self.probabilities.max())
        self.ax_.plot([low - 0.4, high + 0.4], [1.1 * top] * 2, color=INK, lw=1.4, marker="|", ms=7)
        mass = float(self.probabilities[inside].sum())
        title = f"{plain(self.classes[low])} to {plain(self.classes[high])}: {mass:.0%} (asked for {self.level:.0%})"
        self.ax_.set_title(title, fontsize=SMALL, color=INK, loc="left")
        if self.admitted is not None:
            marked = np.flatnonzero(self.admitted)
            self.ax_.plot(marked, np.full(marked.size, -0.05 * top), "^", color=ALARM, ms=5, clip_on=False)
            self.ax_.annotate("label", (marked[-1] + 0.5, -0.05 * top), color=ALARM, fontsize=SMALL, va="center")
        self.ax_.set_ylim(-0.1 * top, 1.2 * top)
        self.ax_.set_xticks(*ticks(self.classes.tolist()))
        curve_frame(self.ax_, x="class", y="probability")
        return self
