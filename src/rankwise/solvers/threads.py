"""Matrix products of some thousand numbers in one thread.

BLAS wakes all its threads even for these, and waits for them. If another fit keeps the cores busy, a product then takes
as long as the scheduler lets the others run: measured, 0.25 s instead of 0.3 ms.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any, ParamSpec, TypeVar

from threadpoolctl import ThreadpoolController

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class _Limit:
    """One thread for BLAS while any fit needs it: the number belongs to the process, and fits may run in parallel."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._inside = 0
        self._libraries: ThreadpoolController | None = None  # finding them takes a millisecond
        self._limiter: Any = None

    @contextmanager
    def __call__(self) -> Iterator[None]:
        with self._lock:
            if self._inside == 0:
                self._libraries = self._libraries or ThreadpoolController()
                self._limiter = self._libraries.limit(limits=1, user_api="blas")
            self._inside += 1
        try:
            yield
        finally:
            with self._lock:
                self._inside -= 1
                if self._inside == 0:
                    self._limiter.restore_original_limits()


_limit = _Limit()


def in_one_thread(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Let BLAS use one thread while the function runs."""
    return _limit()(function)
