"""Matrix products of some thousand numbers in one thread.

A BLAS wakes its threads for them too, and waits for all. On a machine whose cores are busy, with another fit say, a
product then takes as long as the scheduler lets the others run: measured, 0.25 s instead of 0.3 ms.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from threading import Lock
from typing import Any, ParamSpec, TypeVar

from threadpoolctl import ThreadpoolController

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class _Limit:
    """One thread for BLAS while anybody wants it so: the number is the process's, and fits may run side by side."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._inside = 0
        self._libraries: ThreadpoolController | None = None  # looking for them takes a millisecond
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

    @wraps(function)
    def limited(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        with _limit():
            return function(*args, **kwargs)

    return limited
