"""One fit: LightGBM's data and parameters, the number of rounds, and the trees that are kept."""

import re
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise._types import Floats
from rankwise.trees._objective import Objective
from rankwise.trees.arrays import Trees, require_columns
from rankwise.trees.growth import (
    N_FOLDS,
    EarlyStopping,
    Growth,
    RoundProgress,
    dealt,
    load_lightgbm,
    smallest_booster,
    translated,
    watch_folds,
)

FEW = 5000  # rows up to which early stopping uses folds
_OURS = {
    "objective", "metric", "num_class", "num_iterations", "num_threads", "verbosity", "linear_tree", "zero_as_missing",
    "use_missing", "boost_from_average", "early_stopping_round", "learning_rate", "num_leaves", "min_data_in_leaf",
    "lambda_l2", "max_bin", "bagging_fraction", "bagging_freq", "feature_fraction", "monotone_constraints", "seed",
    "categorical_feature", "pre_partition",
}  # fmt: skip
_NETWORK = {"num_machines", "machines", "machine_list_filename", "local_listen_port"}


@dataclass(frozen=True)
class TreeSettings:
    """Parameters of the estimator that matter for a fit."""

    name: str  # of the estimator, for messages
    max_iter: int
    patience: int  # rounds without an improvement after which to stop
    stopping: str  # validation rows: "none", "held out" or "folds"
    fraction: float  # share of the rows that "held out" takes
    params: dict[str, Any]  # LightGBM's
    verbose: bool | str


@dataclass(frozen=True)
class Fit:
    """Trees, and the thresholds that the labels determine."""

    trees: Trees  # all, with those that were continued
    stages: list[Floats]  # thresholds that belonged to 1, 2, ... of the new trees; the last in balance with all trees
    losses: list[float]  # mean loss of the validation rows for 0, 1, 2, ... trees; empty without them
    mean_score: float  # of all rows
    interrupted: bool = False  # by the user


def fit_trees(
    matrix: Any, categorical: list[int], objective: Objective, settings: TreeSettings, order_by: NDArray[Any],
    generator: np.random.RandomState, trees: Trees | None = None, thresholds: Floats | None = None,
) -> Fit:  # fmt: skip
    """Grow trees on all rows of an array or CSR matrix, in which NaN is a missing value.

    ``categorical`` are the columns that hold categories, as whole numbers. ``order_by`` has a number for each row that
    grows with its label, so that folds have labels as all rows have. ``trees`` and ``thresholds`` are what to continue.
    """
    team = objective.team
    settings = replace(settings, params={**settings.params, **team.params})
    progress = RoundProgress(settings.name, settings.verbose, team.tell)
    with translated():
        earlier = None if trees is None else trees.scores(matrix, n_threads=settings.params["num_threads"])
        data = _dataset(matrix, categorical, settings.params, earlier, sample=team.sample)
        start = objective.start() if thresholds is None else thresholds
        try:
            if data is None or start.size == 0:
                return Fit(Trees.of_one_leaf(), [start], [], 0.0) if trees is None else Fit(trees, [], [], 0.0)
            if settings.stopping == "none" or trees is not None:
                return _plain(data, objective, settings, settings.max_iter, progress, [], start, trees)
            if settings.stopping == "folds":
                n_folds = min(N_FOLDS, objective.n_rows)
                fold_of_row = dealt(order_by, n_folds, generator)
                watch = watch_folds(data, objective, settings.params, fold_of_row, n_folds, settings.patience)
                interrupted = _watched(watch, settings, "cross-validation", progress)
                fit = _plain(data, objective, settings, watch.best, progress, watch.losses, start)
                return replace(fit, interrupted=interrupted or fit.interrupted)
            fold_of_row = dealt(order_by, max(2, round(1.0 / settings.fraction)), generator)
            watch = watch_folds(data, objective, settings.params, fold_of_row, 1, settings.patience)
            interrupted = _watched(watch, settings, "boosting", progress)
            return _best_of(watch, matrix, objective, settings.params["num_threads"], interrupted)
        finally:
            progress.close()
            objective.blocks.close()


def check_engine_params(params: Any) -> None:
    """Refuse parameters that LightGBM does not know by this name or that the estimator sets itself."""
    if not isinstance(params, dict) or not all(isinstance(key, str) for key in params):
        raise ValueError(f"engine_params must be a dict with names of LightGBM's parameters. Got {params!r} instead.")
    for key in params:
        if key in _OURS:
            raise ValueError(f"engine_params must not hold {key!r}: the estimator sets it by its own parameters.")
        if key in _NETWORK:
            raise ValueError(f"engine_params must not hold {key!r}: rankwise.dask connects machines.")
    if type(params.get("max_depth", 0)) is not int:
        raise ValueError(f"engine_params: max_depth must be a whole number. Got {params['max_depth']!r} instead.")
    if params.get("boosting", "gbdt") != "gbdt":
        raise ValueError(f"engine_params: boosting must be 'gbdt'. Got {params['boosting']!r} instead.")
    with translated():
        text = smallest_booster().model_to_string()  # lists all parameters that LightGBM knows
    known = set(re.findall(r"^\[(\w+): ", text, re.MULTILINE))
    unknown = [key for key in params if key not in known]
    if unknown:
        raise ValueError(
            f"engine_params: LightGBM knows no parameter {unknown[0]!r}. Use its own names, not their aliases."
        )


def _dataset(
    matrix: Any, categorical: list[int], params: dict[str, Any], earlier: Floats | None, *, sample: Any
) -> Any:
    """Rows as LightGBM keeps them, with their scores by earlier trees; None if no column can be split."""
    require_columns(matrix.shape[1])
    lightgbm = load_lightgbm()
    keep = {
        "max_bin", "min_data_in_bin", "bin_construct_sample_cnt", "num_threads", "verbosity", "seed",
        "feature_pre_filter", "deterministic",
    }  # fmt: skip
    options: dict[str, Any] = {
        "categorical_feature": categorical or "auto",
        "params": {key: value for key, value in params.items() if key in keep},
    }
    bins = None if sample is None else lightgbm.Dataset(sample, **options)
    data = lightgbm.Dataset(matrix, reference=bins, init_score=earlier, **options).construct()
    return data if any(data.feature_num_bin(j) > 1 for j in range(matrix.shape[1])) else None


def _plain(
    data: Any, objective: Objective, settings: TreeSettings, n_rounds: int, progress: RoundProgress,
    losses: list[float], start: Floats, trees: Trees | None = None,
) -> Fit:  # fmt: skip
    """Grow ``n_rounds`` trees on all rows."""
    growth = Growth(data, objective, settings.params, start, trees=trees)
    interrupted = _until(
        growth.advance, n_rounds, lambda done: progress("boosting", done, n_rounds), objective.team.is_asked_to_stop
    )
    if interrupted:  # the stages tell which rounds are whole
        if len(growth.stages) < 2:
            raise KeyboardInterrupt
        stages, mean = growth.stages[1:], 0.0
    elif not growth.stages:  # no tree more
        return Fit(growth.trees(0), [], [], 0.0)
    else:
        scores = growth.scores()
        stages = [*growth.stages[1:], objective.balanced(scores, growth.thresholds)]
        mean = objective.mean(scores)
    return Fit(growth.trees(len(stages)), stages, losses, mean, interrupted)


def _best_of(watch: EarlyStopping, matrix: Any, objective: Objective, n_threads: int, interrupted: bool) -> Fit:
    """The trees of least loss, with thresholds in balance with them over all rows."""
    (growth,) = watch.growths
    best = watch.best
    trees = growth.trees(best)
    scores = trees.scores(matrix, n_threads=n_threads)
    stages = [*growth.stages[1:], growth.thresholds][:best]
    stages[-1] = objective.balanced(scores, stages[-1])
    return Fit(trees, stages, watch.losses, objective.mean(scores), interrupted)


def _watched(watch: EarlyStopping, settings: TreeSettings, what: str, progress: RoundProgress) -> bool:
    """Grow trees until the loss no longer falls; return whether the user interrupted."""
    try:
        interrupted = _until(
            watch.advance, settings.max_iter, lambda done: progress(what, done, settings.max_iter, watch.losses[-1]),
            watch.objectives[0].team.is_asked_to_stop,
        )  # fmt: skip
        if interrupted and len(watch.losses) < 2:
            raise KeyboardInterrupt
        if not interrupted:
            watch.finish()
    finally:
        for objective in (*watch.objectives, *(growth.objective for growth in watch.growths)):
            objective.blocks.close()
    return interrupted


def _until(
    advance: Callable[[], bool], n_rounds: int, show: Callable[[int], None], is_stopped: Callable[[], bool]
) -> bool:
    """Make rounds until ``advance`` says it was the last; return whether the user stopped them, here or elsewhere."""
    with noting_interrupts() as is_asked:
        try:
            for done in range(n_rounds):
                if advance() or is_asked() or is_stopped():
                    break
                show(done + 1)
        except KeyboardInterrupt:
            return True
        return is_asked() or is_stopped()


@contextmanager
def noting_interrupts() -> Iterator[Callable[[], bool]]:
    """Note the first SIGINT, to be checked between rounds; a second one interrupts at once.

    An exception raised inside a callback or a destructor of another package would be lost.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield lambda: False
        return
    noted: list[int] = []

    def note(number: int, frame: Any) -> None:
        if noted:
            raise KeyboardInterrupt
        noted.append(number)

    signal.signal(signal.SIGINT, note)
    try:
        yield lambda: bool(noted)
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
