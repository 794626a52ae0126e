"""A file that one process holds, with a short note in it."""

from __future__ import annotations

import os
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

fcntl: Any
try:
    import fcntl
except ImportError:  # Windows
    fcntl = None


class FileLock:
    """Lock that lasts until it is released or the process ends, in any way; the file stays.

    ``BlockingIOError`` is raised if another process holds it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            if fcntl is not None:
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            else:
                _lock_on_windows(self._descriptor)
            if not os.path.samestat(os.fstat(self._descriptor), os.stat(path)):
                raise BlockingIOError  # another process removed the file meanwhile, and may hold a new one
        except OSError:
            os.close(self._descriptor)
            raise BlockingIOError(str(path)) from None

    def read(self) -> str:
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        return os.read(self._descriptor, 200).decode(errors="replace").strip()

    def write(self, note: str) -> None:
        """Replace the note, in one call; spaces cover what is left of a longer one."""
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        os.write(self._descriptor, f"{note:<140}\n".encode())

    def remove(self) -> None:
        """Remove the file while it is held; where that is not possible, as on Windows, it stays."""
        with suppress(OSError):
            self._path.unlink()

    def release(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def _lock_on_windows(descriptor: int) -> None:
    api: Any = import_module("msvcrt")
    os.lseek(descriptor, 1000, os.SEEK_SET)  # behind the note, which others may read
    api.locking(descriptor, api.LK_NBLCK, 1)
