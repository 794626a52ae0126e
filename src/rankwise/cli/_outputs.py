"""Files that a command reads and writes: an output that would destroy something is refused before any file is opened.

Annotations ``Reads`` and ``Writes`` of the parameters of a command tell how it uses a file; ``grouped`` then calls
``check_files`` before the command runs.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from rankwise._files import SUFFIXES, replacing, require_writable

_HEAD = 65_536  # bytes of a file that show its format
_MAGIC = {
    ".gz": b"\x1f\x8b", ".zst": b"\x28\xb5\x2f\xfd", ".parquet": b"PAR1", ".pq": b"PAR1", ".arrow": b"ARROW1",
    ".feather": b"ARROW1", ".ipc": b"ARROW1", ".arrows": b"\xff\xff\xff\xff", ".png": b"\x89PNG", ".pdf": b"%PDF",
    ".jsonl": b"{", ".ndjson": b"{",
}  # fmt: skip
_BINARY_TABLES = tuple(_MAGIC[suffix] for suffix in (".gz", ".zst", ".parquet", ".arrow", ".arrows"))


@dataclass(frozen=True)
class Reads:
    """A file, or several, or directories of files, that a command reads."""

    what: str


@dataclass(frozen=True)
class Writes:
    """A file that a command writes; an existing file may be replaced if ``is_one``."""

    what: str
    is_one: Callable[[Path], bool]
    makes_directory: bool = False


def check_files(roles: Mapping[str, Reads | Writes], values: Mapping[str, Any]) -> None:
    """Refuse an output that is an input or another output, cannot be written, or would replace another kind of file."""
    taken: dict[Any, str] = {}
    for name, role in roles.items():
        if isinstance(role, Reads):
            given = values[name] if isinstance(values[name], list) else [values[name]] if values[name] else []
            taken |= {_identity(file): role.what for path in given for file in _files(path, values.get("format"))}
    for name, role in roles.items():
        path, option = values[name], f"--{name.replace('_', '-')}"
        if isinstance(role, Reads) or path is None:
            continue
        try:
            if not role.makes_directory or path.parent.is_dir():
                require_writable(path)
            owner = taken.setdefault(_identity(path), option)
            if owner != option:
                raise typer.BadParameter(f"{option} {path} is also {owner}, and would overwrite it. Give another file.")
            if not values["overwrite"] and path.exists() and path.stat().st_size and not role.is_one(path):
                raise typer.BadParameter(f"{option} {path} is there and is not {role.what}: --overwrite replaces it.")
        except OSError as error:
            raise typer.BadParameter(f"{option} {path}: {error.strerror}.") from None


def _files(path: Path, format: Any) -> list[Path]:
    """The file, or the files read from a directory: all if a format was given, else those with a known suffix."""
    if not path.is_dir():
        return [path]
    inside = path.rglob("*")
    return [file for file in inside if format or any(suffix.lower() in SUFFIXES for suffix in file.suffixes[-2:])]


def _identity(path: Path) -> Any:
    """A key that all names of a file share, whatever links, relative paths and letter case they use."""
    try:
        status = path.stat()
    except OSError:
        return os.path.realpath(path).casefold()  # on some systems, names that differ only in case are one file
    return status.st_dev, status.st_ino


def _is_model(path: Path) -> bool:
    from rankwise.persistence import ModelFileError, read_notes

    try:
        return "state" not in read_notes(path)
    except (ModelFileError, OSError):
        return False


def _is_quarantine(path: Path) -> bool:
    with path.open("rb") as file:
        try:
            return set(json.loads(file.readline(_HEAD))) == {"file", "row", "reason", "text"}
        except (ValueError, TypeError):
            return False


def _is_page(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(_HEAD).lstrip().lower().startswith(b"<!doctype html")


def _is_as_named(path: Path) -> bool:
    """Whether the head of a table or picture fits its suffix; texts have no zero bytes, and are not HTML pages."""
    with path.open("rb") as file:
        head = file.read(_HEAD)
    suffix = path.suffix.lower()
    if suffix in _MAGIC:
        return head.startswith(_MAGIC[suffix])
    if suffix not in SUFFIXES and head.startswith(_BINARY_TABLES):  # --output-format says what the name does not
        return True
    return b"\0" not in head and not _is_page(path)


def save_picture(figure: Any, path: Path) -> None:
    """Write a matplotlib figure, completely or not at all; PNG if there is no suffix."""
    with replacing(path) as temporary:
        figure.savefig(temporary, dpi=150, format=path.suffix.lower().lstrip(".") or "png")


INPUTS, MODEL, COSTS = Reads("an input"), Reads("the model"), Reads("the table of costs")
NEW_MODEL, NEW_PAGE = Writes("a model", _is_model), Writes("a page", _is_page)
NEW_TABLE = Writes("a table of that format", _is_as_named)
NEW_PICTURE = Writes("a picture of that format", _is_as_named, makes_directory=True)
NEW_QUARANTINE = Writes("a quarantine of rankwise", _is_quarantine)
#: The command reads an existing checkpoint first, and refuses other files.
NEW_CHECKPOINT = Writes("a checkpoint", lambda path: True)
