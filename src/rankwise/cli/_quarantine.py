"""Rows that were skipped: counted, and put aside in a file if there is one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer

from rankwise._files import naming
from rankwise.cli._exit import MANY_SKIPPED, complain

_MOST_REASONS, _MOST_TOLD, _LONGEST_REASON = 1000, 5, 100


def shortened(reason: str) -> str:
    """The beginning of a reason, which names the value."""
    return reason.rstrip(".") if len(reason) <= _LONGEST_REASON else reason[:_LONGEST_REASON] + "..."


class Quarantine:
    """Counts rows that were skipped, and writes them to a file of JSON lines if there is one.

    A reader may find bad rows ahead of the batch that it hands out. A run that goes on from a checkpoint finds them
    again: it knows which, and takes no row twice. With ``strict``, many skipped rows end the command with an exit code
    of its own.
    """

    def __init__(self, path: Path | None, *, strict: bool = False) -> None:
        self.path, self.strict = path, strict
        self.count = 0
        self._reasons: dict[str, tuple[int, str]] = {}  # with how many rows there are of each, and the first
        self._file: Any = None
        self._silent = False
        self._ahead: set[tuple[str, int]] = set()  # rows behind those that were learnt, taken already
        self._known: set[tuple[str, int]] = set()  # the same, taken before the run went on
        self._file_reached: str | None = None

    def __call__(self, file: str, row: int, text: str, reason: str) -> None:
        """Take one row, as the functions of rankwise.io hand it over."""
        if self._silent:
            return
        self._ahead.add((file, row))
        if (file, row) in self._known:
            return
        self.count += 1
        if reason in self._reasons or len(self._reasons) < _MOST_REASONS:
            count, first = self._reasons.get(reason, (0, f"{file}, row {row}"))
            self._reasons[reason] = count + 1, first
        if self._file is not None:
            entry = {"file": file, "row": row, "reason": reason, "text": text}
            line = json.dumps(entry, ensure_ascii=False).encode("utf-8", errors="backslashreplace")
            with naming(self._file.name):
                self._file.write(line + b"\n")

    def open(self, state: Mapping[str, Any] | None = None) -> None:
        """Begin, or go on from what :meth:`state` said; what was written behind that is dropped."""
        size = 0
        if state is not None:
            self.count, size = state["count"], state["size"]
            self._known = {(file, row) for file, row in state["ahead"]}
        if self.path is not None:
            self._file = open(self.path, "ab")  # noqa: SIM115 - closed by close()
            self._file.truncate(size)

    def passed(self, file: str, row: int) -> None:
        """All rows of a file up to this one, and of the file before it, are done: forget those among them."""
        before, self._file_reached = self._file_reached, file
        done = {before} - {file}
        self._ahead = {(f, r) for f, r in self._ahead if f not in done and (f != file or r > row)}

    def state(self) -> dict[str, Any]:
        """All that is needed to go on, as plain values."""
        size = 0
        if self._file is not None:
            with naming(self._file.name):
                self._file.flush()
            size = self._file.tell()
        return {"count": self.count, "size": size, "ahead": sorted(self._ahead)}

    def judge(self, n_kept: int) -> None:
        """Warn if more than a twentieth of the rows were skipped: how many, and the most common reasons."""
        n = self.count + n_kept
        if 20 * self.count <= n:
            return
        common = sorted(self._reasons.items(), key=lambda item: -item[1][0])[:_MOST_TOLD]
        reasons = [f"{count:,} from {first} on: {shortened(reason)}" for reason, (count, first) in common]
        more = f"; and for {len(self._reasons) - len(common)} other reasons" if len(self._reasons) > len(common) else ""
        skipped = f"{self.count:,} of {n:,} rows were skipped, more than a twentieth."
        complain(f"{skipped} {'; '.join(reasons)}{more}.", "warning")
        if self.strict:
            raise typer.Exit(MANY_SKIPPED)

    def silence(self) -> None:
        """Take no more rows: those to come have been taken before."""
        self.close()
        self._silent = True

    def __enter__(self) -> None:
        self.open()

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            with naming(file.name):
                file.close()
