"""Changes that happen as a whole or not at all, and readers that see the model before or after one, never in between.

One thread at a time may change an estimator while any number of threads read it. A writer works on a twin, whose
attributes become the estimator's by one assignment, ``self.__dict__ = twin.__dict__``: any failure before that, also an
interrupt at any instruction, leaves the estimator as it was. A reader takes ``self.__dict__`` once, so it never mixes
the arrays of two models.

Arrays that are too large to copy change in place, in compiled passes, which no interrupt can divide. Meanwhile the
count of the gate is odd. A reader whose count was odd or has changed reads again; after some attempts it waits for the
writer.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from threading import RLock
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from sklearn.utils.validation import check_is_fitted

P = ParamSpec("P")
Estimator = TypeVar("Estimator", bound="AllOrNothing")
Result = TypeVar("Result")

_ATTEMPTS = 5  # reads that a writer may disturb before the reader waits for it


class Gate:
    """The lock that lets one thread change at a time, a count that is odd while arrays change in place, and caches."""

    __slots__ = ("count", "lock", "prepared", "view")

    def __init__(self) -> None:
        self.lock = RLock()
        self.count = 0
        self.view: Any = None  # the last view, for the next reader
        self.prepared: Any = None  # what learning from single rows computes from the attributes, until one is set


_QUIET = Gate()  # gate of views, which nobody changes


class AllOrNothing:
    """Estimator whose changes are transactions; see the module's docstring."""

    __slots__ = ("__dict__", "_gate")  # the gate is not among the attributes, which are exchanged as a whole

    _gate: Gate

    def __new__(cls, *_: Any, **__: Any) -> Self:
        self = super().__new__(cls)
        self._gate = Gate()
        return self

    @contextmanager
    def _afresh(self) -> Iterator[Self]:
        """Yield a twin to change; this estimator takes over its attributes at the end, at once, unless it fails."""
        with self._gate.lock:
            twin = self._twin()
            yield twin
            self._become(twin)

    def _twin(self) -> Self:
        """An estimator with the same attributes, to be changed before this one becomes it."""
        twin = object.__new__(type(self))
        twin._gate = Gate()
        twin.__dict__ = self.__dict__.copy()
        return twin

    def _become(self, twin: Self) -> None:
        self.__dict__ = twin.__dict__
        self._gate.view = None  # or it would keep the former model in memory

    def _view(self) -> Self:
        """Snapshot of the estimator for a reader: a writer replaces the attributes of the estimator, not of this."""
        view: Self | None = self._gate.view
        if view is None or view.__dict__ is not self.__dict__:
            view = object.__new__(type(self))
            view._gate = _QUIET
            view.__dict__ = self.__dict__
            self._gate.view = view
        return view

    def _undisturbed(
        self, read: Callable[Concatenate[Any, P], Result], *arguments: P.args, **options: P.kwargs
    ) -> Result:  # fmt: skip
        """Result of ``read`` on this estimator, without changes by others meanwhile."""
        gate = self._gate
        for _ in range(_ATTEMPTS):
            count = gate.count
            if count & 1:
                continue
            try:
                result = read(self._view(), *arguments, **options)
            except Exception:
                if gate.count == count:
                    raise
            else:
                if gate.count == count:
                    return result
        with gate.lock:
            gate.count += gate.count & 1  # nobody writes now: it is odd only if a writer was interrupted
            return read(self, *arguments, **options)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__.copy()


def require_fitted(estimator: Any) -> None:
    """scikit-learn's ``check_is_fitted`` without its look at the tags, which takes longer than a prediction."""
    is_fitted = getattr(estimator, "__sklearn_is_fitted__", None)
    if is_fitted is None or not is_fitted():
        check_is_fitted(estimator)


def reader(method: Callable[Concatenate[Estimator, P], Result]) -> Callable[Concatenate[Estimator, P], Result]:
    """Decorate a method that reads a fitted estimator: it sees the model before or after a concurrent change."""

    def read_fitted(self: Estimator, /, *arguments: P.args, **options: P.kwargs) -> Result:
        require_fitted(self)
        return method(self, *arguments, **options)

    @wraps(method)
    def read(self: Estimator, /, *arguments: P.args, **options: P.kwargs) -> Result:
        return self._undisturbed(read_fitted, *arguments, **options)

    return read
