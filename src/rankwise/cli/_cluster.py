"""``fit`` on a Dask cluster: each file is a partition, which the worker that learns from it reads and encodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

from rankwise._threads import at_most_cores
from rankwise.cli import _estimators
from rankwise.cli._exit import complain
from rankwise.cli._print import rich_progress

if TYPE_CHECKING:
    from rankwise.cli._labelled_files import LabelledFiles
    from rankwise.features import TableEncoder
    from rankwise.table_model import TableModel

_CONNECT = "10s"  # how long to wait for a scheduler that may not be there


def make(name: str, parameters: Mapping[str, Any], epochs: int | None) -> Any:
    """Estimator on Dask; online ones have a parameter ``mode``, and take rows in the order of the files."""
    import rankwise.dask

    if not hasattr(rankwise.dask, name):
        able = ", ".join(known for known in _estimators.names() if hasattr(rankwise.dask, known))
        raise typer.BadParameter(f"{name} does not learn on a cluster. Those that do: {able}.")
    mode = {k: v for k, v in parameters.items() if k == "mode"}
    plain = _estimators.make(name, {k: v for k, v in parameters.items() if k != "mode"})
    estimator = getattr(rankwise.dask, name)(**plain.get_params(deep=False))
    if _estimators.is_online(name):
        estimator.set_params(n_epochs=epochs or 1, shuffle=False, **mode)
    elif mode:
        raise typer.BadParameter(f"{name} has no parameter 'mode'.")
    _estimators.validate(estimator)
    return estimator


@contextmanager
def connected(address: str | None, n_workers: int | None) -> Iterator[Any]:
    """Client of the cluster at an address, or of workers on this machine; prints the address of its dashboard."""
    import distributed

    if address is None:
        n_workers = at_most_cores(n_workers)
        with (
            distributed.LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address=":0") as cluster,
            distributed.Client(cluster) as client,
        ):
            complain(f"{n_workers} workers, dashboard at {client.dashboard_link}", "note")
            yield client
        return
    try:
        client = distributed.Client(address, timeout=_CONNECT)
    except (OSError, TimeoutError, ValueError) as error:
        raise ConnectionError(f"there is no Dask scheduler at {address}: {error}") from None
    with client:
        complain(f"connected to {address}, dashboard at {client.dashboard_link}", "note")
        yield client


def fit_on_cluster(model: TableModel, estimator: Any, source: LabelledFiles, address: str | None, n: int | None) -> int:
    """Fit the estimator of a model whose encoder is fitted; return the number of rows."""
    from dask.delayed import delayed

    from rankwise.dask.parts import PartitionError, TaskEngine
    from rankwise.io import TableError
    from rankwise.table_model import name_categories

    estimator.set_params(classes=source.order.values.tolist())
    name_categories(estimator, model.encoder_)
    with connected(address, n), _rounds_shown():
        engine, read = TaskEngine(), delayed(_read, pure=False)
        rows = engine.kept([read(source.file(path), model.encoder_) for path in source.paths])
        X, y, weights = ([task[k] for task in rows] for k in range(3))
        try:
            estimator.fit(X, y, weights if source.labels.weight is not None else None)
        except PartitionError as error:
            raise TableError(f"file {source.paths[error.partition]}: {error.complaint}") from None
        model.estimator_ = estimator.to_local()
        return int(sum(engine.computed([task[3] for task in rows])))


def _read(source: LabelledFiles, encoder: TableEncoder | None) -> tuple[Any, Any, Any, int]:
    """Encoded rows of one file, their labels, weights and number."""
    rows = source.load()
    with rows.named():
        return rows.X if encoder is None else encoder.transform(rows.X), rows.y, rows.weight, len(rows)


@contextmanager
def _rounds_shown() -> Iterator[None]:
    """Show a bar that moves with every round of tasks; silent when stderr is not a terminal."""
    from rich.progress import BarColumn, TimeElapsedColumn

    from rankwise.dask.parts import watched

    with rich_progress("{task.description}", BarColumn(), TimeElapsedColumn()) as bars:
        task, rounds = bars.add_task("reading", total=None), 0

        def show() -> None:
            nonlocal rounds
            rounds += 1
            bars.update(task, description=f"round {rounds}")

        with watched(show):
            yield
