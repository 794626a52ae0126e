"""Rows that were skipped: counted, and written to a file if there is one."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer

from rankwise._files import naming
from rankwise.cli._exit import MANY_SKIPPED, complain

_MOST_REASONS, _MOST_SHOWN, _LONGEST_REASON = 1000, 5, 100


class Quarantine:
    """Counts rows that were skipped, and writes them to a file of JSON lines if there is one.

    A reader may find bad rows beyond the current batch. A run that resumes from a checkpoint finds them again; they are
    remembered and not counted twice. With ``strict``, many skipped rows end the command with an exit code of their own.
    """

    def __init__(self, path: Path | None, *, strict: bool = False) -> None:
        self.path, self.strict = path, strict
        self.count = 0
        self._reasons: dict[str, tuple[int, str]] = {}  # number of rows and the first row of each reason
        self._file: Any = None
        self._silent = False
        self._ahead: set[tuple[str, int]] = set()  # rows after the learnt ones, counted already
        self._known: set[tuple[str, int]] = set()  # the same, counted before the run resumed
        self._file_reached: str | None = None

    def __call__(self, file: str, row: int, text: str, reason: str) -> None:
        """Count and write one row; the functions of rankwise.io call this."""
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
        """Begin, or resume from a :meth:`state`; what was written after it is dropped."""
        size = 0
        if state is not None:
            self.count, size = state["count"], state["size"]
            self._known = {(file, row) for file, row in state["ahead"]}
        if self.path is not None:
            self._file = open(self.path, "ab")  # noqa: SIM115 - closed by close()
            self._file.truncate(size)

    def passed(self, file: str, row: int) -> None:
        """Forget rows up to this one of a file, and those of the file before it: they are done."""
        before, self._file_reached = self._file_reached, file
        done = {before} - {file}
        self._ahead = {(f, r) for f, r in self._ahead if f not in done and (f != file or r > row)}

    def state(self) -> dict[str, Any]:
        """All that is needed to resume, as plain values."""
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
        reasons = []
        for reason, (count, first) in sorted(self._reasons.items(), key=lambda item: -item[1][0])[:_MOST_SHOWN]:
            short = reason.rstrip(".") if len(reason) <= _LONGEST_REASON else reason[:_LONGEST_REASON] + "..."
            reasons.append(f"{count:,} from {first} on: {short}")
        if len(self._reasons) > len(reasons):
            reasons.append(f"and for {len(self._reasons) - len(reasons)} other reasons")
        skipped = f"{self.count:,} of {n:,} rows were skipped, more than a twentieth."
        complain(f"{skipped} {'; '.join(reasons)}.", "warning")
        if self.strict:
            raise typer.Exit(MANY_SKIPPED)

    def silence(self) -> None:
        """Ignore further rows: they have been counted before."""
        self.close()
        self._silent = True

    def __enter__(self) -> None:
        self.open()

    def __exit__(self, error: object, *_: object) -> None:
        self.close(refused=error is not None)

    def close(self, *, refused: bool = False) -> None:
        """End; a command that was ``refused`` leaves no empty file."""
        file, self._file = self._file, None
        if file is not None:
            with naming(file.name):
                is_empty = file.tell() == 0
                file.close()
                if refused and is_empty:
                    os.unlink(file.name)
