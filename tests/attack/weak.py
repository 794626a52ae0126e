"""An attack that succeeds, to see that the harness notices."""

from __future__ import annotations

import os
import signal
import time

import numpy as np

from tests.attack import harness
from tests.attack.harness import require_own


def setup() -> None:
    """Nothing is shared."""
    harness.SECONDS_OF_A_CASE = 1


def case(shared: None, rng: np.random.Generator) -> str:
    """Crash, fail, hang, or keep the promise."""
    kind = rng.integers(4)
    if kind == 0:
        os.kill(os.getpid(), signal.SIGSEGV)
    if kind == 1:
        require_own(IndexError("an index"))
    if kind == 2:
        time.sleep(60)
    return "answer"
