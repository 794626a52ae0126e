"""Which files a table consists of, their format and compression, and their bytes."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from rankwise._files import FORMATS, SUFFIXES
from rankwise._words import either
from rankwise.io.table_errors import TableError, place, translated

Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]

_COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}


@dataclass(frozen=True)
class File:
    """One file of a table."""

    path: Path
    format: str
    compression: str | None
    shown: str = ""  #: name in errors instead of the path
    held: Any = None  #: object that must live as long as the file is needed

    @property
    def name(self) -> str:
        """The path as errors show it."""
        return self.shown or str(self.path)

    @property
    def n_bytes(self) -> int:
        """Size on the disk."""
        with translated(self.name, "open it"):
            return self.path.stat().st_size


def open_file(file: File) -> Any:
    """The one place where files are opened for reading."""
    with translated(file.name, "open it"):
        return pa.OSFile(os.fsencode(file.path))  # names need not be UTF-8


class ByteStream:
    """The bytes of a file, decompressed, with the position in the file on the disk."""

    def __init__(self, file: File) -> None:
        self._file = file
        self.raw = open_file(file)
        #: For pyarrow to read from.
        self.arrow_stream: Any = self.raw
        if file.compression is not None:
            self.arrow_stream = pa.CompressedInputStream(self.raw, file.compression)

    def read(self, n: int) -> bytes:
        """Up to n bytes; empty at the end."""
        with translated(self._file.name, "read it"):
            return bytes(self.arrow_stream.read(n))

    @property
    def position(self) -> int:
        """Bytes read from the disk so far."""
        return int(self.raw.tell())

    def __enter__(self) -> ByteStream:
        return self

    def __exit__(self, *_: object) -> None:
        self.raw.close()


def find_files(paths: Paths, format: str | None) -> list[File]:
    """Files of one table, sorted by name; a directory means the files below it that are not hidden."""
    if format is not None and format not in FORMATS:
        raise ValueError(f"format must be one of {', '.join(FORMATS)} or None. Got {format!r} instead.")
    given = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    if not given:
        raise TableError("a table needs at least one file. Got none.")
    if [str(path) for path in given] == ["-"]:
        return [_standard_input(format or "csv")]
    existing: set[Path] = set()
    for path in map(Path, given):
        with translated(str(path), "open it"):
            existing.update(_below(path, format) if path.is_dir() else [_required(path)])
    files = [_described(path, format) for path in sorted(existing)]
    for file in files:
        if file.format != files[0].format:
            raise TableError(
                f"{place(file.name)}: all files of a table must have one format. "
                f"This one is {file.format}, {files[0].name} is {files[0].format}."
            )
    return files


def split_suffix(path: Path) -> tuple[str | None, str | None]:
    """Format and compression by a file's suffixes."""
    compression = _COMPRESSIONS.get(path.suffix.lower())
    inner = path.with_suffix("") if compression else path
    return SUFFIXES.get(inner.suffix.lower()), compression


def _standard_input(format: str) -> File:
    """The standard input, copied to a temporary file: tables are read more than once."""
    with translated("standard input", "read it"):
        copy = tempfile.NamedTemporaryFile(prefix="rankwise-", suffix=f".{format}")  # noqa: SIM115 - goes with the File
        shutil.copyfileobj(sys.stdin.buffer, copy)
        copy.flush()
    return File(Path(copy.name), format, None, "standard input", copy)


def _required(path: Path) -> Path:
    path.stat()
    if not path.is_file():
        raise TableError(f"{place(str(path))}: is neither a file nor a directory.")
    return path


def _below(folder: Path, format: str | None) -> list[Path]:
    inside = [p for p in folder.rglob("*") if p.is_file()]
    inside = [p for p in inside if not any(name.startswith((".", "_")) for name in p.relative_to(folder).parts)]
    if format is None:
        inside = [p for p in inside if split_suffix(p)[0] is not None]
    if not inside:
        raise TableError(f"directory {folder}: holds no file with one of the suffixes {', '.join(SUFFIXES)}.")
    return inside


def _described(path: Path, format: str | None) -> File:
    by_name, compression = split_suffix(path)
    format = format or by_name
    if format is None:
        raise TableError(
            f"{place(str(path))}: its name does not say its format. "
            f"Known suffixes are {', '.join(SUFFIXES)}, each alone or with .gz or .zst; or give "
            f"{either('format=', '--format')}."
        )
    if format in ("parquet", "xlsx") and compression is not None:
        kind = "a Parquet" if format == "parquet" else "an Excel"
        raise TableError(
            f"{place(str(path))}: {kind} file is compressed inside and cannot be read through {compression}. "
            f"Decompress it first."
        )
    return File(path, format, compression)
