"""Changes that happen as a whole or not at all, and readers that see the model before or after one, never between.

An estimator is changed by one thread at a time and may be read by many meanwhile. A writer works inside
:meth:`AllOrNothing._all_or_nothing`: if anything goes wrong, the attributes are what they were. It counts its beginning
and its end, and a reader (:meth:`AllOrNothing._undisturbed`) whose count was odd or has changed reads again, so that
neither waits for the other in the common case. After some attempts in vain it waits for the writer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import RLock
from typing import Any, TypeVar

Result = TypeVar("Result")

_ATTEMPTS = 5  # reads that a writer may disturb before the reader waits for it


class Gate:
    """Number of beginnings and ends of changes so far, and the lock that lets one thread change at a time."""

    def __init__(self) -> None:
        self.lock = RLock()
        self.count = 0
        self.depth = 0  # changes inside a change are part of it

    def __enter__(self) -> Gate:
        self.lock.acquire()
        self.depth += 1
        self.count += self.depth == 1
        return self

    def __exit__(self, *_: object) -> None:
        self.count += self.depth == 1
        self.depth -= 1
        self.lock.release()


class AllOrNothing:
    """Estimator whose changes are transactions; see the module's docstring."""

    @property
    def _writing(self) -> Gate:
        """Gate of the writers; the first of them makes it, so that reading an estimator never changes it."""
        gate: Gate | None = self.__dict__.get("_gate")
        return self.__dict__.setdefault("_gate", Gate()) if gate is None else gate

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Whatever goes wrong inside, the estimator is what it was."""
        with self._writing as gate:
            before = self._restorable()
            if gate.count == 1:  # the first change of all: if it fails, there is no trace of it
                before.pop("_gate")
            try:
                yield
            except BaseException:
                self.__dict__.clear()
                self.__dict__.update(before)
                raise

    def _restorable(self) -> dict[str, Any]:
        """Attributes to put back; an estimator that changes one in place says here how to keep it."""
        return self.__dict__.copy()

    def _undisturbed(self, read: Callable[..., Result], *arguments: Any) -> Result:
        """What ``read`` finds when nobody changes the estimator meanwhile."""
        gate: Gate | None = self.__dict__.get("_gate")
        if gate is None:
            return read(*arguments)
        for _ in range(_ATTEMPTS):
            count = gate.count
            if count % 2 == 0:
                try:
                    result = read(*arguments)
                except Exception:
                    if gate.count == count:
                        raise
                else:
                    if gate.count == count:
                        return result
        with gate.lock:
            return read(*arguments)

    def __getstate__(self) -> dict[str, Any]:
        state: Any = super().__getstate__()  # scikit-learn's, a dict
        return {name: value for name, value in state.items() if name != "_gate"}
