"""Contributions of columns to the score of each row, in numbers, words and pictures."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rankwise._extras import require
from rankwise._types import Floats
from rankwise.decisions import ranks
from rankwise.explanations import _additive, _explanation_plots
from rankwise.explanations._changes import Change, smallest_changes
from rankwise.explanations._exchangeable_rows import RawRows
from rankwise.explanations._scored_model import Target
from rankwise.features import TableEncoder
from rankwise.features.contributions import word_contributions


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """What each column adds to the score of each row; made by :func:`rankwise.explain`.

    Attributes
    ----------
    values : ndarray of shape (n, d)
        Contribution of every column to the score of every row.
    base : float
        Score without any: ``base + values.sum(axis=1)`` are the scores.
    columns : list of d str
        Names of the columns.
    scores : ndarray of shape (n,)
        Scores of the rows.
    score_name : str
        "score" on the axis of the thresholds; "expected rank" for models without one that have probabilities; "rank".
    thresholds : ndarray of shape (K-1,)
        A score at or above the k-th one is class k+1 (counted from 0) or higher.
    classes : ndarray of shape (K,)
        The classes, lowest first.
    method : str
        "linear", "trees" or "sampled".
    """

    values: Floats
    base: float
    columns: list[str]
    scores: Floats
    method: str
    _target: Target
    _rows: RawRows | None  # None for sparse rows
    _background: RawRows | None

    @property
    def score_name(self) -> str:
        """What the score is called."""
        return self._target.kind

    @property
    def thresholds(self) -> Floats:
        """Where classes begin on the axis of the score."""
        return self._target.thresholds

    @property
    def classes(self) -> NDArray[Any]:
        """The classes, lowest first."""
        return self._target.classes

    def __len__(self) -> int:
        return int(self.scores.size)

    def __repr__(self) -> str:
        return (
            f"<Explanation of {len(self):,} rows by {len(self.columns)} columns: contributions to the "
            f"{self.score_name} ({self.method})>"
        )

    def importances(self) -> Floats:
        """Mean absolute contribution of every column to the scores of these rows, (d,)."""
        return np.asarray(np.abs(self.values).mean(axis=0))

    def at_least(self, row: int) -> tuple[Any, Floats] | None:
        """How each column changes the probability of the class whose threshold is nearest to the score of the row.

        Returns
        -------
        (class, ndarray of shape (d, 2)) or None
            The class, and ``P(at least this class)`` without and with the contribution of each column. None for models
            without a link between score and probabilities, or with one class.
        """
        row = self._checked(row)
        if not self.thresholds.size:
            return None
        k = int(np.argmin(np.abs(self.thresholds - self.scores[row])))
        without = self._target.at_least(self.scores[row] - self.values[row])
        now = self._target.at_least(self.scores[row])
        if without is None or now is None:
            return None
        return self.classes[k + 1], np.column_stack([without[:, k], np.full(len(self.columns), now[k])])

    def sentences(self, row: int, top: int = 5) -> list[str]:
        """Describe the strongest contributions to the score of a row in words.

        Parameters
        ----------
        row : int
            Which of the rows, from 0.
        top : int, default 5
            Maximum number of columns.
        """
        row = self._checked(row)
        moves = self.at_least(row)
        sentences = []
        for j in self._strongest(row, top):
            if self.values[row, j] == 0.0:
                continue
            what = self._named(row, j)
            if moves is None:
                sentences.append(f"{what} moves the {self.score_name} by {self.values[row, j]:+.3g}")
            else:
                before, after = moves[1][j]
                sentences.append(f"{what} moves P(at least {moves[0]}) from {before:.2f} to {after:.2f}")
        return sentences

    def words(self, row: int, top: int = 10) -> list[tuple[str, str, float]]:
        """Column, word and contribution of the strongest words of a row of a linear table model.

        Unlike ``values``, contributions of words are not relative to the background: an absent word adds nothing.

        Parameters
        ----------
        row, top
            As in :meth:`sentences`.
        """
        row = self._checked(row)
        if self.method != "linear" or not isinstance(self._target.model.before, TableEncoder) or self._rows is None:
            raise ValueError("contributions of words need a linear estimator in a TableModel.")
        weights = self._target.factor * np.asarray(self._target.model.final.coef_)
        return word_contributions(self._target.model.before, self._rows.take([row]).given(True), weights)[:top]

    def changes(self, row: int) -> list[Change]:
        """The smallest changes of single columns that would change the prediction of a row, the smallest one first.

        Parameters
        ----------
        row : int
            Which of the rows, from 0.

        Returns
        -------
        list of Change
            With ``column``, ``old``, ``new``, ``old_class``, ``new_class`` and ``size``, in standard deviations of the
            column. Only values within the range of the background are proposed.
        """
        row = self._checked(row)
        if self._rows is None or self._background is None:
            raise ValueError("changes need dense rows, and a background of several of them.")
        return smallest_changes(self._target, self._rows, row, self._background)

    def to_frame(self) -> Any:
        """The contributions as a pandas table, with the score as the last column."""
        pandas = require("pandas", "a table of contributions needs pandas: pip install 'rankwise[io]'.")
        return pandas.DataFrame(self.values, columns=self.columns).assign(**{self.score_name: self.scores})

    def plot(self, row: int | None = None, *, column: str | None = None, top: int = 10, ax: Any = None) -> Any:
        """Draw the reasons for one row, the curve of one column, or the mean size of all contributions.

        Parameters
        ----------
        row : int, optional
            Draw how the columns lead from the base to the score of this row, beside the thresholds.
        column : str, optional
            Draw the contribution of this column against its values.
        top : int, default 10
            Maximum number of columns; the others are drawn as one.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        matplotlib Axes
        """
        if row is not None and column is not None:
            raise ValueError("give a row or a column, not both.")
        if row is not None:
            return _explanation_plots.draw_row(self, self._checked(row), top, ax)
        if column is not None:
            return _explanation_plots.draw_column(self, self._place(column), ax)
        what = f"mean size of contributions, {self.score_name}"
        return _explanation_plots.draw_bars(self.columns, self.importances(), top, ax, what)

    def predicted(self, row: int) -> Any:
        """Class that the thresholds give to the score of a row."""
        return self.classes[int(ranks(self.scores[[row]], self.thresholds)[0])]

    def _strongest(self, row: int, top: int) -> list[int]:
        return [int(j) for j in np.argsort(-np.abs(self.values[row]), kind="stable")[:top]]

    def _named(self, row: int, j: int) -> str:
        """Name of a column and, where it is one of the raw ones, the row's value."""
        name = self.columns[j]
        if self._rows is None or name not in self._rows.names:
            return name
        return f"{name} = {self._rows.shown(row, name)}"

    def _place(self, column: str) -> int:
        if column not in self.columns:
            raise ValueError(f"there is no column {column!r}. There are {', '.join(map(repr, self.columns[:12]))}.")
        return self.columns.index(column)

    def _checked(self, row: int) -> int:
        if not 0 <= row < len(self):
            raise IndexError(f"row must be between 0 and {len(self) - 1}. Got {row} instead.")
        return int(row)


def explain(model: Any, X: Any, *, background: Any = None, n_samples: int = 20, random_state: Any = 0) -> Explanation:
    """Compute what each column adds to the score of each row.

    Contributions are exact for linear models, for tables as for matrices, and for boosted trees (TreeSHAP). Those of
    other models are Shapley values, sampled. In all cases ``base + values.sum(axis=1)`` are the scores.

    Parameters
    ----------
    model : fitted estimator, pipeline or TableModel
        With one score a row (``project``), class probabilities, or predictions only.
    X : table or matrix
        Rows to explain, as the model takes them.
    background : table or matrix, optional
        Rows to compare with: contributions are relative to their mean. By default X; a single row is compared with
        zero features, which is the mean of the rows of ``fit`` for scaled numbers.
    n_samples : int, default 20
        Background rows of sampled Shapley values. Time grows linearly with it, accuracy with its square root.
    random_state : int, RandomState or None, default 0
        Seed of the sample.

    Returns
    -------
    Explanation

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> import rankwise as rw
    >>> rng = np.random.default_rng(0)
    >>> wines = pd.DataFrame({"alcohol": rng.normal(11, 1, 200), "colour": rng.choice(["red", "white"], 200)})
    >>> grades = np.digitize(wines["alcohol"] + (wines["colour"] == "red"), [11, 12]) + 1
    >>> model = rw.TableModel(rw.CumulativeLink(alpha=0.01)).fit(wines, grades)
    >>> reasons = rw.explain(model, wines)
    >>> reasons.columns
    ['alcohol', 'colour']
    >>> bool(np.allclose(reasons.base + reasons.values.sum(axis=1), model.project(wines)))
    True
    >>> reasons.sentences(0)
    ['colour = white moves P(at least 2) from 0.93 to 0.69', 'alcohol = 11.13 moves P(at least 2) from 0.58 to 0.69']
    """
    target = Target.of(model)
    scores = target.scores(X)
    if scores.size == 0:
        raise ValueError("there are no rows to explain.")
    rows = _raw(X, target)
    others = rows if background is None else _raw(background, target)
    if background is None and scores.size > 1:
        background = X
    if _additive.is_linear(target):
        method, (values, columns) = "linear", _additive.linear(target, X, background)
    elif target.kind == "score" and target.model.can("trees_"):
        method, (values, columns) = "trees", _additive.trees(target, X)
    else:
        if rows is None or others is None:
            raise ValueError("sampled contributions need dense rows: give X as an array.")
        if background is None:
            raise ValueError(
                f"{target.model.name} is explained by comparing with other rows: give several as background."
            )
        values, base = _additive.sampled(target, rows, others, n_samples, random_state)
        return Explanation(values, base, rows.names, scores, "sampled", target, rows, others)
    base = float((scores - values.sum(axis=1)).mean())  # the same for all rows, except for rounding
    return Explanation(values, base, columns, scores, method, target, rows, others)


def _raw(X: Any, target: Target) -> RawRows | None:
    if sparse.issparse(X):
        return None
    names = target.model.learnt("feature_names_in_") if target.model.before is None else None
    return RawRows(X, None if names is None else [str(name) for name in names])
