"""Formats of tables, and files that are written whole or not at all.

A file is written under a temporary name in the same directory, flushed to the disk, then renamed. Links are followed.
"""

from __future__ import annotations

import errno
import os
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

#: Format of every suffix, which may be followed by .gz or .zst.
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
    """Write a file; an existing one is replaced only when the new one is complete."""
    with replacing(path) as temporary:
        temporary.write_bytes(content)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Temporary file that replaces ``path`` on success and is removed otherwise."""
    with naming(path):
        final = destination(path)
        # In the same directory, so that renaming is atomic.
        temporary = final.with_name(f".{final.name[:50]}.{secrets.token_hex(8)}.tmp")
        try:
            open(temporary, "xb").close()  # inside "try", so that an interrupt at any moment removes it
            yield temporary
            with open(temporary, "rb+") as file:
                os.fsync(file.fileno())
            os.replace(temporary, final)
        finally:
            temporary.unlink(missing_ok=True)


@contextmanager
def naming(path: Path | str) -> Iterator[None]:
    """Make system errors inside name this file: that of a full disk names none."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from None


def destination(path: Path) -> Path:
    """The file behind all links; an error if no file can be written there."""
    final = Path(os.path.realpath(path))
    reason = None
    if final.is_dir():
        reason = errno.EISDIR, "it is a directory"
    elif final.is_symlink():
        reason = errno.ELOOP, "it is a link to itself"
    elif final.exists() and not final.is_file():
        reason = errno.EINVAL, "it is no regular file"
    elif not final.parent.is_dir():
        reason = errno.ENOENT, f"there is no directory {final.parent}"
    if reason is not None:
        raise OSError(*reason, str(path))
    return final


def require_writable(path: Path) -> None:
    """Raise before the work if the file cannot be written after it."""
    with tempfile.TemporaryFile(dir=destination(path).parent):
        pass
