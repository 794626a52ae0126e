"""Boosted trees and thresholds whose rows stay on the workers.

One long task on every worker runs the boosting loop of one machine (:mod:`rankwise.trees`) on the worker's own rows.
LightGBM adds up the workers' histograms, and :mod:`rankwise.dask._team` everything else that is a sum over rows, so all
workers grow the same trees and move the same thresholds. All find the bins of the columns in the same sample of rows.

Which partitions go together depends on their lengths and the number of workers alone: a fit can be repeated. Partitions
move to the worker of their group where they are not there already. Tasks leave the worker's pool of threads, so that
fits at the same time cannot wait for each other.

A worker that is lost ends the fit with an error: LightGBM cannot go on without it. Others may then hang inside
LightGBM, which does not notice every closed connection; these are restarted.
"""

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from dask.delayed import delayed
from distributed import futures_of, secede, wait
from distributed.worker import get_worker
from sklearn.utils import check_random_state

from rankwise._warn import warn_user
from rankwise.dask._lazy import OnDask, lazily
from rankwise.dask._loading import Partitions
from rankwise.dask._team import MachineTeam, Meeting, MeetingError
from rankwise.dask._tree_parts import TreeRows, describe, encoded, groups_of, merged_columns, stacked
from rankwise.dask.parts import is_partitioned
from rankwise.labels import ClassOrder
from rankwise.trees import BoostedThresholds as Plain
from rankwise.trees.boosted_thresholds import BINNED
from rankwise.trees.fitting import check_engine_params, noting_interrupts
from rankwise.trees.growth import EngineError, RoundProgress
from rankwise.trees.tree_model import WithLikelihood
from rankwise.trees.tree_rows import ALONE

_LEAST = 5000  # rows of a worker that takes part: with fewer, the network takes longer than the trees
_SAMPLE_BYTES = 1 << 27  # of the rows that bins are made from, which go to every worker
_POLL = 0.5  # seconds between looks at the workers
_GRACE = 15.0  # seconds for workers to end a fit that failed
_NOT_HERE = {
    "tree_learner", "num_machines", "machines", "machine_list_filename", "local_listen_port", "time_out",
    "forcedsplits_filename", "forcedbins_filename", "histogram_pool_size",
}  # fmt: skip


class WorkerLostError(RuntimeError):
    """A worker was lost while trees grew on it."""


class InterruptedFitError(RuntimeError):
    """The user stopped the fit, and there is nothing to keep."""


class TreesOnDask(OnDask, Plain):
    """Base of the estimator on Dask; see the module's docstring."""

    predict_proba: Any = WithLikelihood(lazily(Plain, "predict_proba"))
    predict_quantile: Any = WithLikelihood(lazily(Plain, "predict_quantile"))
    predict_interval: Any = WithLikelihood(lazily(Plain, "predict_interval"))

    def _learn(self, X: Any, y: Any, sample_weight: Any) -> None:
        if not is_partitioned(X):
            super()._learn(X, y, sample_weight)
            return
        if self.engine_params:
            check_engine_params(self.engine_params)
            self._refuse_engine_params(self.engine_params)
        goes_on = self.warm_start and self.__sklearn_is_fitted__()
        model = self.to_local() if goes_on else self._as_local()
        partitions = Partitions(self._as_local(), X, y, sample_weight, describe, model.classes is not None)
        order = partitions.order(self.classes, (columns.classes for columns in partitions.described.values()))
        self._set_features(partitions.features)
        raw, values = merged_columns(partitions.described)
        if goes_on:
            self.classes_ = order.values
            self._require_same(model.__dict__)
        else:
            model._raw, model._values, model.n_features_in_ = raw, values, self.n_features_in_
            if hasattr(self, "feature_names_in_"):
                model.feature_names_in_ = self.feature_names_in_
        if not isinstance(model.random_state, (int, np.integer)):
            model.random_state = int(check_random_state(model.random_state).randint(2**31 - 1))
        self._check_decision(len(order))
        plain, remarks = TreeFit(partitions, model, order).run()
        self.from_plain(plain)
        for remark in remarks:
            warn_user(f"{type(self).__name__}: {remark}")

    def _refuse_engine_params(self, params: dict[str, Any]) -> None:
        """Refuse what LightGBM passes over, or cannot do, where rows are on several machines."""
        refused = sorted(_NOT_HERE & set(params))
        if refused:
            raise ValueError(f"engine_params must not hold {refused[0]!r} on Dask.")
        if params.get("monotone_constraints_method", "basic") != "basic":
            raise ValueError(
                f"engine_params: monotone_constraints_method must be 'basic' on Dask. Got "
                f"{params['monotone_constraints_method']!r} instead."
            )


class TreeFit:
    """One fit: rows shared out to workers, and the tasks there.

    The model has parameters and columns; it is fitted if its trees are to be continued.
    """

    def __init__(self, partitions: Partitions, model: Plain, order: ClassOrder) -> None:
        self.engine, self.model = partitions.engine, model
        shared = delayed(model, traverse=False)
        task = delayed(encoded, pure=False)
        blocks = self.engine.kept([task(p, loaded, shared, order) for p, loaded in partitions.loaded.items()])
        sizes = self.engine.computed([block.size() for block in blocks])
        self.blocks = [block for block, (n, _) in zip(blocks, sizes, strict=True) if n]
        self.lengths = [n for n, _ in sizes if n]
        self.nbytes = sum(size for _, size in sizes)
        if not self.blocks:
            by_class = isinstance(model.class_weight, Mapping)
            what = "class_weight gives every row the weight" if by_class else "every label is missing, or its weight is"
            raise ValueError(f"{what} zero: there is nothing to learn from.")

    def run(self) -> tuple[dict[str, Any], list[str]]:
        """The fitted model as plain values, and what the user should know."""
        client = self.engine.client
        if client is None:
            return _grown(self.model, TreeRows.joined(self.engine.computed(self.blocks)), ALONE)
        least = max(_LEAST, round(1.0 / self.model.validation_fraction))
        with self.engine.clear_errors():
            groups = groups_of(self.lengths, len(client.nthreads()), least)
            futures = [futures_of(block)[0] for block in self.blocks]
            workers = self._workers(groups, futures)
            meeting = client.submit(Meeting, len(groups), actor=True, workers=[workers[0]], pure=False).result()
            sample = self._sample() if len(groups) > 1 else None
            name, verbose = type(self.model).__name__, self.model.verbose
            self.model.verbose = False
            tasks = [
                client.submit(
                    _grow_on_worker, rank, len(groups), meeting, [futures[b] for b in group], sample, self.model,
                    workers=[worker], pure=False,
                )
                for rank, (group, worker) in enumerate(zip(groups, workers, strict=True))
            ]  # fmt: skip
            watched = Tasks(client, tasks, workers, meeting)
            progress = RoundProgress(name, verbose, lambda *_: None)
            try:
                watched.wait(progress)
            except BaseException:
                watched.end("the fit was interrupted")
                raise
            finally:
                progress.close()
            result: tuple[dict[str, Any], list[str]] = tasks[0].result()
            return result

    def _workers(self, groups: Sequence[Sequence[int]], futures: Sequence[Any]) -> list[str]:
        """A worker for every group, where most of its rows are."""
        client = self.engine.client
        where = client.who_has(futures)
        free = sorted(client.nthreads())
        chosen = []
        for group in groups:
            here = [sum(self.lengths[b] for b in group if worker in where.get(futures[b].key, ())) for worker in free]
            chosen.append(free.pop(int(np.argmax(here))))
        return chosen

    def _sample(self) -> Any:
        """Future of rows drawn from all blocks; all rows, if they are few."""
        n = sum(self.lengths)
        wanted = (self.model.engine_params or {}).get("bin_construct_sample_cnt", BINNED)
        count = min(n, wanted, max(10_000, _SAMPLE_BYTES * n // max(self.nbytes, 1)))
        seed = int(self.model.random_state) % 2**32
        counts = np.random.default_rng(seed).multivariate_hypergeometric(self.lengths, count, method="marginals")
        drawn = [block.drawn(int(k), (seed, b)) for b, (block, k) in enumerate(zip(self.blocks, counts, strict=True))]
        return futures_of(self.engine.kept([delayed(stacked, pure=False)(drawn)])[0])[0]


def _grow_on_worker(
    rank: int, size: int, meeting: Any, blocks: list[TreeRows], sample: Any, model: Plain
) -> tuple[dict[str, Any], list[str]] | None:
    """The fit of one worker; the first worker returns the result."""
    model = model._twin()  # workers that are threads of one process share it
    if model.n_jobs is None:
        model.n_jobs = get_worker().state.nthreads
    secede()
    team = MachineTeam(meeting, rank, size, sample)
    try:
        with team.connected():
            result = _grown(model, TreeRows.joined(blocks), team)
    except KeyboardInterrupt:  # which would end the worker
        raise InterruptedFitError("the fit was interrupted before the first round was finished") from None
    return result if rank == 0 else None


def _grown(model: Plain, rows: TreeRows, team: Any) -> tuple[dict[str, Any], list[str]]:
    before = model.__dict__.copy() if model.warm_start and model.__sklearn_is_fitted__() else None
    remarks = model._grow(rows.matrix, rows.labels, rows.weight, before, team)
    return model.to_plain(), remarks


class Tasks:
    """The workers' tasks of one fit, one for each address, supervised by the client."""

    def __init__(self, client: Any, tasks: list[Any], workers: list[str], meeting: Any) -> None:
        self.client, self.tasks, self.workers, self.meeting = client, tasks, workers, meeting

    def wait(self, progress: RoundProgress) -> None:
        """Wait until all are done; an error of one, or a lost worker, ends all."""
        with noting_interrupts() as is_asked:
            while not all(task.done() for task in self.tasks):
                self._pause()
                if any(task.status == "error" for task in self.tasks) or self._lost():
                    break
                if progress.shown or is_asked():
                    with suppress(Exception):  # the meeting may be lost with its worker: the next look tells
                        progress(*self.meeting.progress(stop=is_asked()).result(timeout=_GRACE))
        if any(task.status != "finished" for task in self.tasks):
            self._fail()

    def end(self, why: str) -> list[str]:
        """Let the tasks end; return the workers that had to be restarted because they did not."""
        if self.workers[0] not in self._lost():
            with suppress(Exception):  # the meeting may be lost meanwhile: whoever waits for it notices
                self.meeting.end(why).result(timeout=_GRACE)
        until = time.monotonic() + _GRACE
        while time.monotonic() < until and self._running():
            self._pause()
        hanging = self._running()
        self.client.cancel(self.tasks, force=True)
        if hanging:
            self.client.restart_workers(hanging, raise_for_error=False)
        return hanging

    def _pause(self) -> None:
        with suppress(TimeoutError):
            wait([task for task in self.tasks if not task.done()], timeout=_POLL, return_when="FIRST_COMPLETED")

    def _lost(self) -> list[str]:
        there = self.client.nthreads()
        return [worker for worker in self.workers if worker not in there]

    def _errors(self) -> list[BaseException]:
        return [task.exception() for task in self.tasks if task.status == "error"]

    def _running(self) -> list[str]:
        lost = self._lost()
        pairs = zip(self.tasks, self.workers, strict=True)
        return [worker for task, worker in pairs if not task.done() and worker not in lost]

    def _fail(self) -> None:
        """Raise the error of the task that failed first, not of those that failed because of it."""
        until = time.monotonic() + _GRACE / 3
        while all(map(_is_of_others, self._errors())) and not self._lost() and time.monotonic() < until:
            time.sleep(_POLL)
        lost, errors = self._lost(), self._errors()
        hanging = self.end("another worker failed")
        if lost:
            restarted = f" {', '.join(hanging)} hung inside LightGBM and had to be restarted, too." if hanging else ""
            raise WorkerLostError(
                f"the worker {', '.join(lost)} was lost while trees grew on it, and the fit cannot go on without it."
                f"{restarted} Nothing was learnt, and the estimator is as it was: call fit again."
            )
        if not errors:
            raise RuntimeError(
                "the tasks of the fit were cancelled. Nothing was learnt, and the estimator is as it was."
            )
        error = sorted(errors, key=_is_of_others)[0]
        raise KeyboardInterrupt if isinstance(error, InterruptedFitError) else error


def _is_of_others(error: BaseException) -> bool:
    """Whether an error only follows from another worker's."""
    return isinstance(error, MeetingError) or (isinstance(error, EngineError) and "ocket" in str(error))
