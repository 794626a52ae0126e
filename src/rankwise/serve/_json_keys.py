"""JSON objects with a key that comes twice: readers take the first value or the last one, so they are refused."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from rankwise.serve.problems import Problem


def require_unique_keys(text: bytes | bytearray, n_known: int = 0) -> None:
    """Refuse a JSON text, which was read already, with a key that comes twice in one object.

    ``n_known`` is how many different keys were read. A text without further colons has no other keys, and is not read
    again.
    """
    if text.count(b":") > n_known:
        json.loads(text, object_pairs_hook=_unique)


def _unique(pairs: list[tuple[str, Any]]) -> None:
    if len({key for key, _ in pairs}) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise Problem(422, f"the key {twice[:100]!r} comes twice in one object.")


def n_keys(value: Any) -> int:
    """Keys that surely stood in the text of a value: of a dict, or fields of a struct that differ from defaults."""
    if isinstance(value, dict):
        return len(value)
    if not isinstance(value, msgspec.Struct):
        return 0
    total = 0
    fields, defaults = value.__struct_fields__, value.__struct_defaults__
    n_required = len(fields) - len(defaults)
    for i, name in enumerate(fields):
        given = getattr(value, name)
        if i < n_required or given != defaults[i - n_required]:
            total += 1 + (len(given) if isinstance(given, dict) else 0)
    return total
