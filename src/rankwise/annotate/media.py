"""Images and sounds of items: files of one folder, and nothing outside it."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath, PureWindowsPath

from rankwise.serve.problems import Problem

#: Types of files that are served, by suffix. Others are refused: the folder may hold more than is meant for raters.
TYPES = {
    ".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp",
    ".avif": "image/avif", ".bmp": "image/bmp", ".svg": "image/svg+xml",
    ".mp3": "audio/mpeg", ".wav": "audio/wav", ".ogg": "audio/ogg", ".oga": "audio/ogg", ".opus": "audio/ogg",
    ".m4a": "audio/mp4", ".flac": "audio/flac", ".weba": "audio/webm",
}  # fmt: skip
_LARGEST = 64 * 2**20


class MediaFolder:
    """Files that items name, relative to a folder.

    A name that is absolute, has ``..``, or leads through a link is refused, wherever it would end.
    """

    def __init__(self, path: Path) -> None:
        if not path.is_dir():
            raise NotADirectoryError(20, "the folder of images and sounds (--media) is not there", str(path))
        self.path = path.resolve()

    def read(self, name: str) -> tuple[bytes, str]:
        """Content and type of a file."""
        path = self._inside(name)
        media_type = TYPES.get(path.suffix.lower())
        if media_type is None:
            raise Problem(415, f"files that end with {path.suffix[:20]!r} are not shown; {', '.join(TYPES)} are.")
        try:
            descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0))
            with open(descriptor, "rb") as file:
                if os.fstat(descriptor).st_size > _LARGEST:
                    raise Problem(413, f"the file is larger than {_LARGEST} bytes.")
                return file.read(_LARGEST), media_type
        except (OSError, ValueError):
            raise Problem(404, "the file of this item cannot be read.") from None

    def _inside(self, name: str) -> Path:
        parts = PurePosixPath(name.replace("\\", "/")).parts
        is_absolute = name.startswith(("/", "\\")) or bool(PureWindowsPath(name).drive)
        if is_absolute or not parts or ".." in parts or "\0" in name:
            raise Problem(403, "the file of this item is not shown: its name leads out of the folder.")
        path = self.path.joinpath(*parts)
        try:
            if path.resolve() != path:
                raise Problem(403, "the file of this item is not shown: its name leads through a link.")
            if path.is_file():
                return path
        except (OSError, RuntimeError):  # a loop of links, or a name that is too long
            pass
        raise Problem(404, "the file of this item is not in the folder, or cannot be read.")
