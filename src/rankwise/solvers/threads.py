"""Matrix products of some thousand numbers in one thread.

A BLAS wakes its threads for them too, and waits for all. On a machine whose cores are busy, with another fit say, a
product then takes as long as the scheduler lets the others run: measured, 0.25 s instead of 0.3 ms.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from typing import ParamSpec, TypeVar

from threadpoolctl import ThreadpoolController

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


@cache
def _libraries() -> ThreadpoolController:
    """The loaded libraries with threads of their own; looking for them takes a millisecond."""
    return ThreadpoolController()


def in_one_thread(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Let BLAS use one thread while the function runs."""

    @wraps(function)
    def limited(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        with _libraries().limit(limits=1, user_api="blas"):
            return function(*args, **kwargs)

    return limited
