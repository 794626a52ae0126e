"""Workers that grow the same trees: LightGBM's network between them, and the sums that are ours.

LightGBM adds up the histograms of all workers itself, so that all grow the same tree. Our own sums, such as derivatives
by the thresholds, losses and weights of classes, go through a :class:`Meeting`, a Dask actor: each worker brings its
sums and gets the total when all have come. It is added in the order of the workers' ranks, so it does not depend on who
was faster. Some kilobytes go to the meeting and back, once or twice a round.

A lost worker would leave the others waiting. The client (:mod:`rankwise.dask._trees`) then ends the meeting, and those
who wait there get an error. The meeting may be on the lost worker itself; a worker that hears nothing from it for a
while asks whether it is still there.
"""

import asyncio
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from distributed.comm import get_address_host
from distributed.worker import get_worker

from rankwise.dask._blocks import added
from rankwise.solvers.row_sums import Sums
from rankwise.trees.growth import smallest_booster
from rankwise.trees.tree_rows import Team

_MINUTES = 2  # that LightGBM waits for the others to connect
_NO_MEETING = "the worker where the sums of all workers are added is lost"
_QUIET = 0.5  # seconds between meetings of a single worker, which only ask whether to stop
_SILENCE = 5.0  # seconds after which a worker asks whether the meeting is still there


class MeetingError(RuntimeError):
    """The other workers will not come."""


class Meeting:
    """Where so many workers of one fit add up their sums; methods run in the event loop of one worker."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._brought: dict[int, dict[int, Sums]] = {}
        self._totals: dict[int, tuple[Sums, bool]] = {}
        self._changed = asyncio.Condition()
        self._ended = ""
        self._stop = False
        self._progress: tuple[Any, ...] = ("boosting", 0, 0)

    async def meet(self, rank: int, turn: int, sums: Sums, progress: tuple[Any, ...]) -> tuple[Sums, bool]:
        """Total of all sums of this turn, and whether the user wants no more rounds."""
        async with self._changed:
            self._progress = progress if rank == 0 else self._progress
            brought = self._brought.setdefault(turn, {})
            brought[rank] = sums
            if len(brought) == self.size:
                self._totals[turn] = added(*(brought[r] for r in range(self.size))), self._stop
                self._changed.notify_all()
            await self._changed.wait_for(lambda: turn in self._totals or self._ended)
            if self._ended:
                raise MeetingError(self._ended)
            total = self._totals[turn]
            del brought[rank]
            if not brought:  # the last one takes the total with it
                del self._brought[turn], self._totals[turn]
            return total

    async def end(self, why: str) -> None:
        """End all waiting."""
        async with self._changed:
            self._ended = why
            self._changed.notify_all()

    async def progress(self, *, stop: bool = False) -> tuple[Any, ...]:
        """Progress of the fit; with ``stop`` it ends after this round."""
        self._stop = self._stop or stop
        return self._progress


class MachineTeam(Team):
    """One worker's view of the workers that grow the same trees; ``meeting`` is an actor."""

    def __init__(self, meeting: Any, rank: int, size: int, sample: Any) -> None:
        super().__init__()
        self.meeting, self.rank, self.size, self.sample = meeting, rank, size, sample
        self._turn, self._stop, self._quiet_until = 0, False, 0.0
        self._progress: tuple[Any, ...] = ("boosting", 0, 0)

    def total(self, sums: Sums) -> Sums:
        """See :class:`rankwise.trees.tree_rows.Team`, as for the other methods."""
        if self.size == 1 and time.monotonic() < self._quiet_until:
            return sums
        self._quiet_until = time.monotonic() + _QUIET
        self._turn += 1
        promise = self.meeting.meet(self.rank, self._turn, sums, self._progress)
        while True:
            try:
                total, self._stop = promise.result(timeout=_SILENCE)
                break
            except TimeoutError:
                self._require_meeting()
            except OSError as error:
                raise MeetingError(_NO_MEETING) from error
        # What comes over the network may be read only.
        return tuple(np.array(value) if isinstance(value, np.ndarray) else value for value in total)

    def is_asked_to_stop(self) -> bool:
        """Whether the last meeting asked to stop."""
        return self._stop

    def tell(self, *progress: Any) -> None:
        """Send the progress with the next sums."""
        self._progress = progress

    def _require_meeting(self) -> None:
        try:
            self.meeting.progress().result(timeout=_SILENCE)
        except Exception as error:
            raise MeetingError(_NO_MEETING) from error

    @contextmanager
    def connected(self) -> Iterator[None]:
        """LightGBM's network, in this thread alone."""
        if self.size == 1:
            yield
            return
        port = _free_port()
        host = socket.gethostbyname(get_address_host(get_worker().address))
        (machines,) = self.total(([f"{host}:{port}"],))
        opener = smallest_booster()  # opens the network of its thread, which other boosters use
        opener.set_network(machines, local_listen_port=port, listen_time_out=_MINUTES, num_machines=self.size)
        self.params = {"tree_learner": "data", "num_machines": self.size}
        try:
            yield
        finally:
            opener.free_network()


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("", 0))
        return int(one.getsockname()[1])
