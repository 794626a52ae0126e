"""Rows of a table from the leaf pages of an SQLite file themselves, for where the tree above them is damaged.

The format of the file is documented by SQLite ("Database File Format", sections 1.6 and 2.1). Pages that are none of a
table, or damaged, are passed over.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_LEAF = 13  # first byte of a leaf page of a table
_SIZES = (0, 1, 2, 3, 4, 6, 8)  # bytes of NULL and of whole numbers, by their type


def leaf_rows(path: Path, columns: range) -> Iterator[tuple[int, list[Any]]]:
    """Number and values of every row in any leaf page that has so many columns; the same row may come twice."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        (size,) = struct.unpack(">H", data[16:18])
        size = 65536 if size == 1 else size if 512 <= size <= 32768 and not size & (size - 1) else 4096
        for start in range(0, len(data) - size + 1, size):
            header = 100 if start == 0 else 0
            if data[start + header] == _LEAF:
                (n_cells,) = struct.unpack(">H", data[start + header + 3 : start + header + 5])
                for i in range(min(n_cells, size // 4)):
                    try:
                        number, payload = _cell(data, start, size, start + header + 8 + 2 * i)
                        values = _values(payload, columns)
                    except (IndexError, struct.error, ValueError):
                        continue
                    if values is not None:
                        yield number, values


def _varint(data: Any, at: int) -> tuple[int, int]:
    """A number of one to nine bytes, and the place behind it."""
    value = 0
    for i in range(8):
        byte = data[at + i]
        value = value << 7 | byte & 127
        if byte < 128:
            return value, at + i + 1
    return value << 8 | data[at + 8], at + 9


def _cell(data: Any, start: int, size: int, pointer: int) -> tuple[int, bytes]:
    """Number and content of a row; what does not fit into its page is in a chain of others."""
    at = start + struct.unpack(">H", data[pointer : pointer + 2])[0]
    length, at = _varint(data, at)
    number, at = _varint(data, at)
    if length > len(data) or number >= 2**63:
        raise ValueError
    local, least = length, (size - 12) * 32 // 255 - 23
    if length > size - 35:
        local = least + (length - least) % (size - 4)
        local = local if local <= size - 35 else least
    payload = bytearray(data[at : at + local])
    at += local
    while len(payload) < length:
        (page,) = struct.unpack(">I", data[at : at + 4])
        if not page:
            raise ValueError
        at = (page - 1) * size
        payload += data[at + 4 : at + 4 + min(size - 4, length - len(payload))]
    return number, bytes(payload)


def _values(payload: bytes, columns: range) -> list[Any] | None:
    end, at = _varint(payload, 0)
    types = []
    while at < end:
        kind, at = _varint(payload, at)
        types.append(kind)
        if len(types) >= columns.stop:
            return None
    if len(types) not in columns:
        return None
    values: list[Any] = []
    for kind in types:
        size = _SIZES[kind] if kind < len(_SIZES) else 8 if kind == 7 else 0 if kind < 12 else (kind - 12) // 2
        raw, end = payload[end : end + size], end + size
        if len(raw) < size:
            raise ValueError
        if kind == 0:
            values.append(None)
        elif kind < 7:
            values.append(int.from_bytes(raw, "big", signed=True))
        elif kind == 7:
            values.append(struct.unpack(">d", raw)[0])
        elif kind < 12:
            values.append(kind - 8)  # 0 and 1 take no bytes
        else:
            values.append(raw.decode() if kind % 2 else raw)
    return values
