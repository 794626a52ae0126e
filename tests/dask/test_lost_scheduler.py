"""A scheduler that dies during a fit: a clear error, also where another client could take over and must not."""

import subprocess
import sys
import time

import pytest

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")

import dask.array as da

import rankwise.dask as rd
from rankwise.dask._blocks import Blocks
from rankwise.datasets import make_ordinal


def test_a_lost_scheduler_is_a_clear_error(tmp_path, monkeypatch):
    X, y = make_ordinal(2000, 3, 3, random_state=0)
    file = tmp_path / "scheduler.json"
    start = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "0", "--no-dashboard"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    scheduler = subprocess.Popen([*start, "--scheduler-file", str(file)], **quiet)
    worker = None
    try:
        _wait_for(file.exists)
        start = [sys.executable, "-m", "distributed.cli.dask_worker", "--scheduler-file", str(file), "--no-dashboard"]
        worker = subprocess.Popen([*start, "--nthreads", "1", "--no-nanny"], **quiet)
        with dask.config.set({"distributed.comm.timeouts.connect": "2s"}):
            client = distributed.Client(scheduler_file=str(file), timeout="20s")
            client.wait_for_workers(1, timeout=60)
            _at_round(monkeypatch, 5, scheduler.kill)
            model = rd.SVOR(alpha=0.01)
            with pytest.raises(
                ConnectionError, match=r"the Dask scheduler at tcp.* cannot be reached any more .* Nothing was learnt"
            ):
                model.fit(da.from_array(X, chunks=(1000, -1)), y)
            assert not model.__sklearn_is_fitted__()
            client.close(timeout=1)
    finally:
        for process in (worker, scheduler):
            if process is not None:
                process.kill()
                process.wait()


def _wait_for(condition):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "the scheduler did not start"
        time.sleep(0.05)


def _at_round(monkeypatch, number, action):
    """Do something when the solver asks for its n-th sum over all rows."""
    rounds, plain_sum = [], Blocks.sum

    def disturbed(self, *arguments):
        rounds.append(None)
        if len(rounds) == number:
            action()
        return plain_sum(self, *arguments)

    monkeypatch.setattr(Blocks, "sum", disturbed)
