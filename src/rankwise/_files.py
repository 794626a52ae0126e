"""Formats that tables are read from and written in, and files that appear whole or not at all.

These are written beside their place, flushed to the disk, then renamed.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

#: Format of every suffix, behind which .gz or .zst may stand.
SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".arrows": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".svm": "svmlight",
    ".svmlight": "svmlight",
    ".libsvm": "svmlight",
    ".xlsx": "xlsx",
}
FORMATS = tuple(dict.fromkeys(SUFFIXES.values()))


def write_whole(path: Path, content: bytes) -> None:
    """Write a file; what was there is replaced only when the new one is complete."""
    if not path.parent.is_dir():
        raise FileNotFoundError(f"cannot write {path}: there is no directory {path.parent}.")
    with replacing(path) as temporary:
        temporary.write_bytes(content)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Temporary file that takes the place of ``path`` if all goes well, and goes away otherwise."""
    temporary = temporary_beside(path)
    try:
        yield temporary
        put_in_place(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def temporary_beside(path: Path) -> Path:
    """An empty file in the same directory: renaming it is one step for the file system."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    os.close(descriptor)
    return Path(name)


def put_in_place(temporary: Path, path: Path) -> None:
    """Flush a file to the disk, with the mode of any new file, and give it its name."""
    with open(temporary, "rb+") as file:
        os.fsync(file.fileno())
    temporary.chmod(0o666 & ~_umask())  # mkstemp makes files that only their owner may read
    os.replace(temporary, path)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
