"""How an attack runs: cases in a process of their own, so that a crash is a result too and the next case goes on.

`python -m tests.attack.harness NAME FIRST CASES SEED PROGRESS` is that process. An attack is a module with two
functions: ``setup()`` makes what all cases share; ``case(shared, rng)`` returns one word for a promise that was kept,
"answer" or "refused", or raises :class:`FaultError`. A case is made from (seed, number) alone: it can be run again.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[2]
SECONDS_OF_A_CASE = int(os.environ.get("RANKWISE_ATTACK_SECONDS", 60))  # a busy machine needs more
MOST_MEMORY = 500 * 2**20  # that small hostile inputs may take, over all cases


class FaultError(AssertionError):
    """A promise that was broken."""


class TooLongError(BaseException):
    """A case that does not end."""


@dataclass
class Outcome:
    """What became of the cases of an attack."""

    name: str
    cases: int = 0
    counts: Counter = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    seconds: float = 0.0


#: What numpy, Python and others say of a mistake of ours: no message for a user.
INSIDE = re.compile(
    r"object is not|not supported between|unhashable type|invalid literal|could not broadcast|object has no attribute|"
    r"unsupported operand|takes \d+ positional|unexpected keyword|setting an array element|cannot unpack|only integer|"
    r"not enough values|too many values|must be real number|ambiguous|cannot be interpreted|out of bounds|list index|"
    r"maximum recursion|inhomogeneous|dictionary update|can't convert|cannot convert float|int too large"
)


def require_own(error: BaseException) -> None:
    """Raise a fault unless an error is one of the package's own kind, in its own words."""
    if not isinstance(error, (ValueError, TypeError, FileNotFoundError)) or INSIDE.search(str(error)[:50]):
        places = traceback.extract_tb(error.__traceback__)
        where = f"{Path(places[-1].filename).name}:{places[-1].lineno}" if places else "?"
        raise FaultError(f"{type(error).__name__} at {where}: {' '.join(str(error).split())[:160]}") from None


def attack(name: str, n_cases: int, seed: int = 16, seconds: float = 3600.0) -> Outcome:
    """Run an attack; crashes are faults, and the case after one goes on in a new process."""
    outcome, start, first = Outcome(name), time.monotonic(), 0
    with tempfile.TemporaryDirectory() as folder:
        progress = Path(folder) / "progress"
        while first < n_cases:
            progress.write_text("")
            command = [sys.executable, "-m", "tests.attack.harness", name, first, n_cases - first, seed, progress]
            with open(Path(folder) / "errors", "w+") as errors:
                process = subprocess.Popen(list(map(str, command)), stdout=errors, stderr=errors, cwd=ROOT)
                while process.poll() is None:
                    time.sleep(0.1)
                    about = progress.stat()
                    stuck = about.st_size > 0 and time.time() - about.st_mtime > SECONDS_OF_A_CASE + 30
                    if stuck or time.monotonic() - start > seconds:  # in compiled code, where no alarm is heard
                        process.kill()
                errors.seek(0)
                said = errors.read()
            code = process.returncode
            lines = [json.loads(line) for line in progress.read_text().splitlines()]
            begun = [line["begins"] for line in lines if "begins" in line]
            outcome.faults += [line["fault"] for line in lines if "fault" in line]
            outcome.counts.update(line["kept"] for line in lines if "kept" in line)
            outcome.cases += len(begun)
            if time.monotonic() - start > seconds:
                outcome.faults.append(f"not finished after {seconds:.0f} s")
                break
            if code != 0:
                if not begun:
                    raise RuntimeError(f"the attack {name!r} did not begin: {said[-2000:]}")
                outcome.faults.append(f"case {begun[-1]} of seed {seed}: the process ended with {code}")
                first = begun[-1] + 1
            else:
                first = n_cases
    outcome.seconds = time.monotonic() - start
    return outcome


def main(name: str, first: int, n_cases: int, seed: int, progress: Path) -> None:
    """Run cases one after the other, and write down what becomes of each."""
    module = importlib.import_module(f"tests.attack.{name}")
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    shared = module.setup()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    def too_long(*_: Any) -> None:
        raise TooLongError

    signal.signal(signal.SIGALRM, too_long)
    with open(progress, "a", buffering=1) as file:

        def say(**what: Any) -> None:
            file.write(json.dumps(what) + "\n")

        for case in range(first, first + n_cases):
            say(begins=case)
            signal.alarm(SECONDS_OF_A_CASE)
            try:
                say(kept=module.case(shared, np.random.default_rng((seed, case))))
            except TooLongError:
                say(fault=f"case {case} of seed {seed}: does not end")
            except BaseException as error:
                text = (
                    str(error) if isinstance(error, FaultError) else "".join(traceback.format_exception(error))[-600:]
                )
                say(fault=f"case {case} of seed {seed}: {text}")
            finally:
                signal.alarm(0)
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
        if grown > MOST_MEMORY:
            say(fault=f"memory grew by {grown / 2**20:.0f} MB")


if __name__ == "__main__":
    os.environ.setdefault("MPLBACKEND", "Agg")
    from tests.attack import harness  # not this one, whose errors are of another class

    harness.main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), Path(sys.argv[5]))
