"""Label rankings of some rows as lists, the relevant labels marked."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rankwise._drawing import FAINT, OKABE_ITO, QUIET, SMALL, axes, plain, quiet_frame
from rankwise.base.model import Model
from rankwise.labels import encode_rankings

Flags = NDArray[np.bool_]


@dataclass(kw_only=True, eq=False, repr=False)
class RankingDisplay:
    """The first labels of some rankings, best first; relevant labels are filled and bold, the others pale.

    Beside each row is the number of its relevant labels that are shown.

    Make it with :meth:`from_estimator` or :meth:`from_predictions`.

    Parameters
    ----------
    rankings : int ndarray of shape (n, k)
        Columns of ``relevant``, best first.
    relevant : bool ndarray of shape (n, k)
        Which labels are relevant.
    classes : ndarray of shape (k,)
        The labels.
    row_names : sequence of n str
        Names of the rows.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    boxes_ : list of list of Rectangle
        The labels of each row, best first.
    texts_ : list of list of Text
        Their names.
    """

    rankings: NDArray[np.integer[Any]]
    relevant: Flags
    classes: NDArray[Any]
    row_names: Sequence[str]

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, row_names: Any = None, **options: Any) -> Self:
        """Draw the rankings that a fitted label ranker gives some rows.

        Parameters
        ----------
        estimator : fitted estimator, pipeline or TableModel
            With ``decision_function`` and ``classes_``, such as :class:`rankwise.LabelRanker`.
        X, y : array-like
            Rows and their relevant labels: an indicator matrix or lists of labels.
        row_names : sequence of str, optional
            Names of the rows; their numbers by default.
        **options
            For :meth:`plot`, such as ``ax``.

        Examples
        --------
        >>> import numpy as np
        >>> import rankwise as rw
        >>> X = np.eye(3)
        >>> y = [["sport"], ["politics", "economy"], ["economy"]]
        >>> ranker = rw.LabelRanker(random_state=0).fit(X, y)
        >>> display = rw.plots.RankingDisplay.from_estimator(ranker, X, y)
        >>> display.texts_[0][0].get_text()
        'sport'
        """
        inside = Model.of(estimator).require(
            cls.__name__, "label ranker such as LabelRanker", "decision_function", "classes_"
        )
        scores = inside.final.decision_function(inside.rows(X))
        return cls.from_predictions(y, scores, classes=inside.final.classes_, row_names=row_names, **options)

    @classmethod
    def from_predictions(
        cls, relevant: Any, scores: Any, *, classes: Any = None, row_names: Any = None, **options: Any
    ) -> Self:
        """Draw given scores of the labels.

        Parameters
        ----------
        relevant : array, sparse matrix or list of label lists
            Relevant labels of each row.
        scores : array-like of shape (n, k)
            Score of every label, higher is better; of equal ones the first column comes first.
        classes : sequence of k labels, optional
            The label of each column; by default 0..k-1.
        row_names, **options
            As in :meth:`from_estimator`.
        """
        scores = np.asarray(scores, dtype=np.float64)
        if scores.ndim != 2:
            raise ValueError(f"scores must have the shape (n, k), a score for every label. Got {scores.shape} instead.")
        n, k = scores.shape
        labels = encode_rankings(relevant, range(k) if classes is None else classes, n_rows=n)
        if labels.has_preferences:
            raise ValueError("RankingDisplay marks relevant labels, and preferences do not say which are relevant.")
        names = [f"row {i}" for i in range(n)] if row_names is None else [str(name) for name in row_names]
        if len(names) != n:
            raise ValueError(f"row_names must name every row. Got {len(names)} names for {n} rows.")
        rankings = np.argsort(-scores, axis=1, kind="stable")
        flags = labels.indicator().toarray().astype(bool)
        return cls(rankings=rankings, relevant=flags, classes=labels.order.values, row_names=names).plot(**options)

    def plot(self, *, ax: Any = None, top: int = 5, n_rows: int = 12) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        top : int, default 5
            Labels to show of each ranking.
        n_rows : int, default 12
            Rows to show: the first ones.
        """
        for name, value in (("top", top), ("n_rows", n_rows)):
            if value < 1:
                raise ValueError(f"{name} must be a number >= 1. Got {value!r} instead.")
        shown, top = min(n_rows, len(self.rankings)), min(top, self.rankings.shape[1])
        self.figure_, self.ax_ = axes(ax, (1.6 + 1.25 * top, 0.8 + 0.36 * shown))
        names = [plain(c) for c in self.classes.tolist()]
        self.boxes_, self.texts_ = [], []
        for i in range(shown):
            drawn = [self._draw_label(i, place, names) for place in range(top)]
            self.boxes_.append([box for box, _ in drawn])
            self.texts_.append([text for _, text in drawn])
            hits = int(self.relevant[i, self.rankings[i, :top]].sum())
            self.ax_.text(
                top + 0.08, i, f"{hits} of {int(self.relevant[i].sum())}", va="center", fontsize=SMALL, color=QUIET
            )
        self._name_axes(shown, top)
        return self

    def _draw_label(self, i: int, place: int, names: list[str]) -> tuple[Any, Any]:
        from matplotlib.patches import Rectangle

        label = self.rankings[i, place]
        hit = bool(self.relevant[i, label])
        box = Rectangle((place + 0.04, i - 0.4), 0.92, 0.8, fc=OKABE_ITO[0] if hit else "none",
                        ec=OKABE_ITO[0] if hit else FAINT, lw=0.8)  # fmt: skip
        self.ax_.add_patch(box)
        text = self.ax_.text(
            place + 0.5, i, _shortened(names[label]), ha="center", va="center", fontsize=SMALL,
            color="white" if hit else QUIET, weight="bold" if hit else "normal",
        )  # fmt: skip
        return box, text

    def _name_axes(self, shown: int, top: int) -> None:
        self.ax_.set_xlim(0, top + 0.75)
        self.ax_.set_ylim(shown - 0.5, -0.5)
        self.ax_.set_yticks(range(shown), [plain(name) for name in self.row_names[:shown]])
        self.ax_.set_xticks([*(np.arange(top) + 0.5), top + 0.08], [*map(str, range(1, top + 1)), "relevant"])
        self.ax_.get_xticklabels()[-1].set_ha("left")
        self.ax_.xaxis.tick_top()
        quiet_frame(self.ax_, x="place in the ranking; relevant labels are filled")
        self.ax_.tick_params(length=0)


def _shortened(name: str, most: int = 14) -> str:
    return name if len(name) <= most else name[: most - 1] + "…"
