"""Changes that happen as a whole or not at all, and readers that see the model before or after one, never between.

An estimator is changed by one thread at a time and may be read by many meanwhile. A writer works on a twin
(:meth:`AllOrNothing._afresh`), whose attributes become the estimator's at the end, so that no reader waits; or, where a
twin would cost too much, in place (:meth:`AllOrNothing._all_or_nothing`). If anything goes wrong, the attributes are
what they were. A change counts its beginning and its end, and a reader (:meth:`AllOrNothing._undisturbed`) whose count
was odd or has changed reads again. After some attempts in vain it waits for the writer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from functools import wraps
from threading import RLock
from typing import Any, Self, TypeVar, cast

from sklearn.utils.validation import check_is_fitted

Result = TypeVar("Result")
Method = TypeVar("Method", bound=Callable[..., Any])

_ATTEMPTS = 5  # reads that a writer may disturb before the reader waits for it


class Gate:
    """Number of beginnings and ends of changes so far, and the lock that lets one thread change at a time."""

    def __init__(self) -> None:
        self.lock = RLock()
        self.count = 0
        self.depth = 0  # changes inside a change are part of it

    def __enter__(self) -> Gate:
        self.lock.acquire()
        if not self.depth:
            self.count += 1
        self.depth += 1
        return self

    def __exit__(self, *_: object) -> None:
        self.depth -= 1
        if not self.depth:
            self.count += 1
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
                self.__dict__ = before
                raise

    @contextmanager
    def _afresh(self) -> Iterator[Self]:
        """A twin to change; what it is at the end becomes this estimator, at once, unless something goes wrong."""
        gate = self._writing
        with gate.lock:
            twin = copy(self)
            try:
                yield twin
            except BaseException:
                if gate.count == 0:  # the first change of all: if it fails, there is no trace of it
                    self.__dict__.pop("_gate", None)
                raise
            with gate:
                self.__dict__ = {**twin.__dict__, "_gate": gate}

    def _restorable(self) -> dict[str, Any]:
        """Attributes to put back; an estimator that changes one in place says here how to keep it."""
        return self.__dict__.copy()

    def _undisturbed(self, read: Callable[..., Result], *arguments: Any, **options: Any) -> Result:
        """What ``read`` finds when nobody changes the estimator meanwhile."""
        for _ in range(_ATTEMPTS):
            count = self._changes()
            if count % 2 == 0:
                try:
                    result = read(*arguments, **options)
                except Exception:
                    if self._changes() == count:
                        raise
                else:
                    if self._changes() == count:
                        return result
        with self._writing.lock:
            return read(*arguments, **options)

    def _changes(self) -> int:
        """Beginnings and ends of changes so far."""
        gate: Gate | None = self.__dict__.get("_gate")
        return 0 if gate is None else gate.count

    def __getstate__(self) -> dict[str, Any]:
        state: Any = super().__getstate__()  # scikit-learn's, a dict
        return {name: value for name, value in state.items() if name != "_gate"}


def reader(method: Method) -> Method:
    """Method that reads a fitted estimator: beside a writer it sees the model before or after the change."""

    @wraps(method)
    def read(self: AllOrNothing, *arguments: Any, **options: Any) -> Any:
        def whole() -> Any:
            check_is_fitted(self)
            return method(self, *arguments, **options)

        return self._undisturbed(whole)

    return cast("Method", read)
