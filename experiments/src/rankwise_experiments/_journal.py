"""What a long experiment has finished: one line for each unit of work, so that a run that was stopped can go on."""

from __future__ import annotations

import hashlib
import json
import os
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from rankwise import __version__
from rankwise_experiments._report import write_text


class Journal:
    """Results of finished units, in a file of JSON lines.

    A unit is known by everything its result depends on (data, parameters, seeds, versions): when any of it changes, it
    is another unit. A line is on the disk before the next unit begins; a line that a crash cut off is dropped.

    Parameters
    ----------
    path : Path
        The file; made with the first result if there is none.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Journal(Path(folder) / "units.jsonl").put({"set": "abalone", "seed": 0}, {"mae": 0.25})
    ...     Journal(Path(folder) / "units.jsonl").get({"seed": 0, "set": "abalone"})
    {'mae': 0.25}
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._results: dict[str, dict[str, Any]] = {}
        text = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
        good = []
        for line in text.splitlines():
            try:
                entry = json.loads(line)
                self._results[entry["unit"]] = dict(entry["result"])
            except (ValueError, TypeError, KeyError):
                continue
            good.append(f"{line}\n")
        if "".join(good) != text:
            write_text(path, "".join(good))

    def get(self, unit: Mapping[str, Any]) -> dict[str, Any] | None:
        """Result of a unit, or None if it is not finished."""
        return self._results.get(digest(unit))

    def put(self, unit: Mapping[str, Any], result: dict[str, Any], **remarks: Any) -> None:
        """Keep the result of a unit; remarks are for those who read the file."""
        key = digest(unit)
        with open(self._path, "a", encoding="utf-8") as stream:
            stream.write(json.dumps({**remarks, "result": result, "unit": key}) + "\n")
            stream.flush()
            os.fsync(stream.fileno())
        self._results[key] = result


class Units:
    """Work that is kept when finished, in a file by which a run that was stopped goes on.

    Parameters
    ----------
    path : Path
        The file of finished units.
    """

    def __init__(self, path: Path) -> None:
        self._journal = Journal(path)

    def once(self, what: str, known_by: Mapping[str, Any], work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Result of a unit: from the file, or else found now, with its ``seconds`` and ``unconverged`` models."""
        unit = {"rankwise": __version__, **known_by}
        result = self._journal.get(unit)
        if result is None:
            with watched() as facts:
                result = work()
            result |= facts
            self._journal.put(unit, result, what=what)
        return result


@contextmanager
def watched() -> Iterator[dict[str, Any]]:
    """Dict that tells, afterwards, the processor's seconds and how many models had not converged.

    One thread: the matrices are small, and threads would only wait for each other.
    """
    facts: dict[str, Any] = {}
    start = time.process_time()
    with threadpool_limits(1), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield facts
    facts["seconds"] = round(time.process_time() - start, 3)
    facts["unconverged"] = sum(issubclass(warning.category, ConvergenceWarning) for warning in caught)


def digest(value: Any) -> str:
    """Fingerprint of a plain value."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def fingerprint(*arrays: NDArray[Any]) -> str:
    """Short text that tells arrays apart."""
    return digest([[a.dtype.str, a.shape, hashlib.sha256(a.tobytes()).hexdigest()] for a in arrays])
