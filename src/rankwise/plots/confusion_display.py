"""Ordered confusion matrix, of labels of any form."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rankwise._drawing import FAINT, INK, SMALL, axes, plain, quiet_frame, ticks
from rankwise._types import Floats
from rankwise.base.model import Model
from rankwise.evaluation import interval_confusion
from rankwise.evaluation.confusion import Counting
from rankwise.labels import encode
from rankwise.metrics.comparison import common_order

_COUNTED = {
    "nearest": "partial ones as the class nearest to the prediction",
    "shared": "partial ones in equal parts",
    "farthest": "partial ones as the class farthest from the prediction",
}
_NUMBERS_UP_TO = 15  # classes; with more the numbers would overlap


def row_shares(table: Floats) -> Floats:
    """Every cell as a share of its row; zero in rows that are empty."""
    total = table.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(table, total, out=np.zeros_like(table), where=total > 0))


@dataclass(kw_only=True, eq=False, repr=False)
class ConfusionDisplay:
    """Confusion matrix in the order of the classes, the lowest at the left and at the bottom.

    Shades are shares of the row, that is of the class of the label; numbers are counts, or sums of weights. How labels
    that admit several classes are counted is set by ``counting``, see :func:`rankwise.evaluation.interval_confusion`,
    and shown on the axis.

    Make it with :meth:`from_estimator` or :meth:`from_predictions`.

    Parameters
    ----------
    table : ndarray of shape (K, K)
        Row = class of the label, column = predicted class.
    classes : ndarray of shape (K,)
        The classes, lowest first.
    counting : {"nearest", "shared", "farthest"} or None
        How partial labels were counted; None: there were none.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    image_ : AxesImage
        The shades.
    texts_ : list of Text
        The numbers; none for more than 15 classes.
    """

    table: Floats
    classes: NDArray[Any]
    counting: Counting | None = None

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, counting: Counting = "nearest", sample_weight: Any = None,
        **options: Any,
    ) -> Self:  # fmt: skip
        """Draw the predictions of a fitted classifier.

        Parameters
        ----------
        estimator : fitted estimator, pipeline or TableModel
            With ``predict`` and ``classes_``.
        X, y, sample_weight : array-like
            Rows, their labels, of any form, and their weights.
        counting : {"nearest", "shared", "farthest"}, default "nearest"
            How labels that admit several classes are counted.
        **options
            For :meth:`plot`, such as ``ax``.

        Examples
        --------
        >>> import rankwise as rw
        >>> X, y = rw.datasets.make_ordinal(500, 3, 4, random_state=0)
        >>> display = rw.plots.ConfusionDisplay.from_estimator(rw.PRIL(random_state=0).fit(X, y), X, y)
        >>> int(display.table.sum())
        500
        """
        classes = Model.of(estimator).require(cls.__name__, "classifier", "predict", "classes_").classes
        return cls.from_predictions(
            y, estimator.predict(X), counting=counting, classes=classes, sample_weight=sample_weight, **options
        )

    @classmethod
    def from_predictions(
        cls, y_true: Any, y_pred: Any, *, counting: Counting = "nearest", classes: Any = None,
        sample_weight: Any = None, **options: Any,
    ) -> Self:  # fmt: skip
        """Draw given predictions.

        Parameters
        ----------
        y_true, y_pred : array-like
            Labels, of any form, and predicted classes.
        classes : sequence, optional
            All classes, lowest first.
        counting, sample_weight, **options
            As in :meth:`from_estimator`.
        """
        if classes is None:
            classes = common_order(y_true, y_pred, "the confusion matrix", counts_ranks=True)
        labels = encode(y_true, classes)
        table = interval_confusion(y_true, y_pred, counting=counting, classes=labels.order, sample_weight=sample_weight)
        partial = bool((~labels.is_exact & ~labels.is_missing).any())
        return cls(table=table, classes=labels.classes, counting=counting if partial else None).plot(**options)

    def plot(self, *, ax: Any = None, cmap: str = "Blues", numbers: bool | None = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        cmap : str, default "Blues"
            A colour map from light to dark.
        numbers : bool, optional
            Write the counts; by default for up to 15 classes.
        """
        k = len(self.classes)
        side = float(np.clip(0.62 * k + 1.4, 3.6, 8.0))
        self.figure_, self.ax_ = axes(ax, (side, side))
        shares = row_shares(self.table)
        # With many classes no share is large: the darkest shade is then the largest share.
        most = 1.0 if k <= _NUMBERS_UP_TO else float(shares.max()) or 1.0
        self.image_ = self.ax_.imshow(shares, cmap=cmap, vmin=0.0, vmax=most, origin="lower", aspect="equal")
        self.texts_: list[Any] = []
        if k <= _NUMBERS_UP_TO if numbers is None else numbers:
            self._write_numbers(shares)
        self._name_axes(k)
        return self

    def _write_numbers(self, shares: Floats) -> None:
        for (row, column), value in np.ndenumerate(self.table):
            if value == 0:  # the cell stays empty
                continue
            red, green, blue, _ = self.image_.cmap(self.image_.norm(shares[row, column]))
            dark = 0.2126 * red + 0.7152 * green + 0.0722 * blue < 0.5
            text = f"{value:,.0f}" if float(value).is_integer() else f"{value:.3g}"
            style = {"ha": "center", "va": "center", "fontsize": SMALL, "color": "white" if dark else INK}
            self.texts_.append(self.ax_.text(column, row, text, **style))

    def _name_axes(self, k: int) -> None:
        for axis in (self.ax_.xaxis, self.ax_.yaxis):
            axis.set_ticks(*ticks(self.classes.tolist()))
        length = max(len(plain(name)) for name in self.classes.tolist()) * k
        if length > 60:
            self.ax_.tick_params(axis="x", rotation=90 if length > 160 else 45)
        how = f"label, {_COUNTED[self.counting]}" if self.counting else "label"
        quiet_frame(self.ax_, x="prediction", y=how)
        self.ax_.tick_params(length=0)
        if k <= _NUMBERS_UP_TO:
            edges = np.arange(k + 1) - 0.5
            self.ax_.hlines(edges, -0.5, k - 0.5, color=FAINT, lw=0.6)
            self.ax_.vlines(edges, -0.5, k - 0.5, color=FAINT, lw=0.6)
