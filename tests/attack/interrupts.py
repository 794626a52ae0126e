"""Ctrl-C at any line: a call that was interrupted has happened or has not, and nothing between.

The interrupt comes before a line of the package that is chosen by chance, as a signal would let it come.
"""

from __future__ import annotations

import copy
import sys
from pathlib import Path
from typing import Any

import numpy as np

import rankwise as rw
from tests.attack.harness import FaultError
from tests.test_contract import NAMES, attributes, bits, case_of, make, streaming

STREAMS = ("PRIL", "CuSumRank", "MultiplicativePRIL", "KernelPRIL", "LabelRanker", "ImportanceWeightedPerceptron")
STREAMS += ("OnlineCumulativeLink",)
#: Ctrl-C ends these searches early: they keep the rounds, or the best model, that they have by then.
KEEP_WHAT_IS_DONE = {"AutoOrdinal", "BoostedThresholds"}
PACKAGE = str(Path(rw.__file__).parent)


class Interrupter:
    """Counts the lines of the package that run, and raises KeyboardInterrupt before one of them."""

    def __init__(self, at: int = -1) -> None:
        self.at, self.lines = at, 0

    def _trace(self, frame: Any, event: str, argument: Any) -> Any:
        if not frame.f_code.co_filename.startswith(PACKAGE):
            return None
        if event == "line":
            self.lines += 1
            if self.lines == self.at:
                sys.settrace(None)
                raise KeyboardInterrupt
        return self._trace

    def run(self, call: Any) -> bool:
        """Whether the call came to its end."""
        sys.settrace(self._trace)
        try:
            call()
        except KeyboardInterrupt:
            return False
        finally:
            sys.settrace(None)
        return True


def setup() -> list[tuple[str, Any, Any, dict[str, tuple[Any, ...]]]]:
    """Fitted models, rows, and calls that change them; the streams learn names and classes on the way."""
    found = []
    for name in (name for name in NAMES if name not in KEEP_WHAT_IS_DONE):
        case, model = case_of(name), streaming(name)
        first, second = case.data(0, n=12), case.data(1, n=12)
        if model is None:
            found.append((name, make(name).fit(*first), first[0], {"fit": second}))
        else:
            calls = {"fit": second, "partial_fit": second}
            found.append((name, model.partial_fit(*first, **case.stream), first[0], calls))
    for name in STREAMS:
        stream = getattr(rw, name)()
        for i in range(4):
            stream.learn_one({"a": float(i), "b": 1.0 - i}, i % 3)
        calls = {"learn_one": ({"a": 2.0, "new": -1.0, 7: 0.5}, 5)}
        found.append((name, stream, None, calls))
        found.append((name, stream, None, {"learn_one": ({"a": -3.0, "b": 1.0}, 1)}))
    return found


def state(model: Any, streams: bool) -> Any:
    """All that a model has learnt, and what it answers."""
    plain = bits(model.to_plain()) if hasattr(model, "to_plain") else attributes(model)
    return plain, bits(model.predict_one({"a": 1.0, "new": 1.0})) if streams else None


def case(shared: list[tuple[str, Any, Any, Any]], rng: np.random.Generator) -> str:
    """Interrupt one call once."""
    name, fitted, X, calls = shared[rng.integers(len(shared))]
    what = str(rng.choice(list(calls)))
    whole, model = copy.deepcopy(fitted), copy.deepcopy(fitted)
    counter = Interrupter()
    counter.run(lambda: getattr(whole, what)(*calls[what]))
    before, after = state(fitted, X is None), state(whole, X is None)
    done = Interrupter(int(rng.integers(1, counter.lines + 1))).run(lambda: getattr(model, what)(*calls[what]))
    left = state(model, X is None)
    if left not in (before, after):
        raise FaultError(f"{what} of {name}: neither the model before nor the one after")
    if X is not None:
        try:
            (model.predict if hasattr(model, "predict") else model.transform)(X)
        except Exception as error:
            raise FaultError(f"{what} of {name}: cannot be used any more, {error!r}") from None
    getattr(model, what)(*calls[what])  # no lock is left behind
    return "answer" if done or left == after else "refused"
