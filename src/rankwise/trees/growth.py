"""Rounds of boosting on LightGBM, and how many of them to keep.

A round is one call of ``Booster.update`` with the objective of :mod:`rankwise.trees._objective`. It also moves the
thresholds, by the scores that the trees had before it, so ``stages[r]`` are those that belong to r trees.

Early stopping looks at the mean loss of rows that grow no tree, after every round: rows held out from large data, or
all rows, each in the fold that leaves it out, of small data. The folds grow side by side, and all rows then get the
number of rounds that was best for the folds.
"""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise._extras import require
from rankwise._types import Floats, Places
from rankwise.trees._lightgbm_text import trees_of_text
from rankwise.trees._objective import Objective
from rankwise.trees.arrays import Trees

N_FOLDS = 5
_PATIENCE_TO_SHOW = 2.0  # seconds before progress is shown


def load_lightgbm() -> Any:
    """Return the package lightgbm, or say how to get it."""
    return require("lightgbm", 'BoostedThresholds needs LightGBM: pip install "rankwise[trees]"')


def smallest_booster() -> Any:
    """A booster of eight rows, for what any booster can do."""
    lightgbm = load_lightgbm()
    rows = lightgbm.Dataset(np.arange(8.0)[:, None], params={"verbosity": -1, "min_data_in_bin": 1})
    return lightgbm.Booster({"verbosity": -1, "num_threads": 1}, rows)


class EngineError(ValueError):
    """LightGBM refused the data or the parameters."""


@contextmanager
def translated() -> Iterator[None]:
    """Raise LightGBM's errors as :class:`EngineError`."""
    lightgbm = load_lightgbm()
    try:
        yield
    except lightgbm.basic.LightGBMError as error:
        raise EngineError(
            f"LightGBM cannot grow trees from these rows with these parameters: {' '.join(str(error).split())}."
        ) from None


class Growth:
    """Trees and thresholds that grow on the rows of LightGBM's ``data``, from some thresholds or further trees on.

    The scores of the rows in ``watched`` are wanted after every round.
    """

    def __init__(
        self, data: Any, objective: Objective, params: dict[str, Any], thresholds: Floats, watched: Any = None,
        trees: Trees | None = None,
    ) -> None:  # fmt: skip
        n_rows = objective.n_rows
        if int(params.get("bagging_fraction", 1.0) * n_rows) < 1:  # of no rows LightGBM makes an error
            params = {**params, "bagging_fraction": min(1.0, 1.5 / n_rows)}  # one row, also if rounded
        self.data, self.objective, self.params, self.earlier = data, objective, params, trees
        self.stages: list[Floats] = []
        self.thresholds = thresholds
        self.watched = watched
        self.booster: Any = None
        self.grew = False  #: whether the last round added a tree
        self._blank = 0  # trees at the beginning that do not count
        self._samples = any(params.get(part, 1.0) < 1.0 for part in ("bagging_fraction", "feature_fraction"))

    def advance(self) -> bool:
        """Try to grow one more tree; return whether further rounds cannot find a split either.

        LightGBM drops a tree without a split, unless it is the first of its own; that one does not count if it follows
        others. Other rows or columns may have a split in the next round.
        """
        if self.booster is None:
            self.booster = load_lightgbm().Booster({**self.params, "objective": "none"}, self.data)
            if self.watched is not None:
                self.booster.add_valid(self.watched, "watched")
        n_before = self.booster.current_iteration()
        no_split = bool(self.booster.update(fobj=self._derivatives))
        self.grew = self.booster.current_iteration() > n_before
        if self.grew and no_split and self.earlier is not None:
            self.grew, self._blank = False, 1
        if not self.grew:
            self.stages.pop()
        return no_split and not self._samples

    def trees(self, count: int) -> Trees:
        """Earlier trees, and the first ones of this growth."""
        if count == 0 and self.earlier is not None:
            return self.earlier
        grown = trees_of_text(self.booster.model_to_string(num_iteration=self._blank + count), self.data.num_feature())
        grown = grown.part(self._blank, count)
        return grown if self.earlier is None else Trees.joined([self.earlier, grown])

    def _derivatives(self, scores: Floats, data: Any) -> tuple[Any, Any]:
        self.thresholds = self.objective.step(scores, self.thresholds)
        self.stages.append(self.thresholds)
        return self.objective.gradient, self.objective.curvature

    def scores(self, *, watched: bool = False) -> Floats:
        """Scores of the training rows, or of the watched rows, as LightGBM hands them to a metric."""
        captured: list[Floats] = []

        def metric(scores: Floats, data: Any) -> tuple[str, float, bool]:
            captured.append(scores.copy())
            return "rows", 0.0, False

        (self.booster.eval_valid if watched else self.booster.eval_train)(metric)
        return captured[0]


class EarlyStopping:
    """Mean losses of watched rows by the number of trees, over one growth or the folds of several.

    The objectives are those of the rows that each growth watches; ``patience`` counts the rounds without an improvement
    after which to stop.
    """

    def __init__(self, growths: Sequence[Growth], objectives: Sequence[Objective], patience: int) -> None:
        self.growths, self.objectives, self.patience = growths, objectives, patience
        self.losses: list[float] = []
        self._scores = [np.zeros(objective.n_rows) for objective in objectives]

    @property
    def best(self) -> int:
        """Number of trees of the least loss, at least one."""
        return int(np.argmin(self.losses[1:])) + 1 if len(self.losses) > 1 else 1

    def advance(self) -> bool:
        """Grow a tree everywhere, and look at the loss before it; return whether to stop."""
        finished = [growth.advance() for growth in self.growths]
        if not any(growth.grew for growth in self.growths):
            return all(finished)
        self._look([growth.thresholds for growth in self.growths])
        self._scores = [growth.scores(watched=True) for growth in self.growths]
        return all(finished) or len(self.losses) - 1 - self.best >= self.patience

    def finish(self) -> None:
        """Look at the loss with all trees."""
        self._look([growth.objective.step(growth.scores(), growth.thresholds) for growth in self.growths])

    def _look(self, thresholds: Sequence[Floats]) -> None:
        weights = np.array([objective.n_of_team for objective in self.objectives], dtype=np.float64)
        folds = zip(self.objectives, self._scores, thresholds, strict=True)
        losses = [objective.loss(scores, t) for objective, scores, t in folds]
        self.losses.append(float(weights @ losses / weights.sum()))


class RoundProgress:
    """A line on a terminal that shows the progress of a long fit; ``tell`` is always called, at once."""

    def __init__(self, name: str, wanted: bool | str, tell: Callable[..., None]) -> None:
        self.tell = tell
        self.shown = wanted is True or (wanted == "auto" and sys.stderr.isatty())
        self.name, self.began, self.width = name, time.monotonic(), 0

    def __call__(self, what: str, done: int, total: int, loss: float | None = None) -> None:
        """Show the progress, once the fit has taken some seconds."""
        self.tell(what, done, total, loss)
        if self.shown and time.monotonic() - self.began > _PATIENCE_TO_SHOW:
            line = f"{self.name}: {what}, round {done} of {total}" + ("" if loss is None else f", loss {loss:.4f}")
            print("\r" + line.ljust(self.width), end="", file=sys.stderr, flush=True)
            self.width = len(line)

    def close(self) -> None:
        """Wipe the line."""
        if self.width:
            print("\r" + " " * self.width, end="\r", file=sys.stderr, flush=True)


def dealt(order_by: NDArray[Any], n_folds: int, generator: np.random.RandomState) -> NDArray[np.intp]:
    """Fold of every row, 0..n_folds-1: folds of equal size, with labels as in all rows."""
    order = np.lexsort((generator.permutation(order_by.size), order_by))
    fold = np.empty(order_by.size, dtype=np.intp)
    fold[order] = (np.arange(order_by.size) + generator.randint(n_folds)) % n_folds
    return fold


def watch_folds(
    data: Any, objective: Objective, params: dict[str, Any], fold_of_row: Places, n_folds: int, patience: int
) -> EarlyStopping:
    """Early stopping by the first ``n_folds`` folds, side by side: each watches a growth on all other rows."""
    growths, watching = [], []
    for fold in range(n_folds):
        inside, outside = np.flatnonzero(fold_of_row != fold), np.flatnonzero(fold_of_row == fold)
        rows, watched = (data.subset(index.tolist()) for index in (inside, outside))
        grown = objective.take(inside)
        growths.append(Growth(rows, grown, params, grown.start(), watched))
        watching.append(objective.take(outside))
    return EarlyStopping(growths, watching, patience)
