"""JSON lines: an object a line; types of columns from the first block, or as given."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.json as arrow_json

from rankwise.io._records import nesting
from rankwise.io.table_errors import TableError, place, shown
from rankwise.io.text_files import BadRecordError, TextFile, one_batch, plain_complaint, utf8_complaint

_DEEPEST = 100
_MOST_SPACES = 1000  # before an object in its line


class JSONLinesFile(TextFile):
    """A file of JSON objects, one a line; parameters as in :class:`TextFile`."""

    dialect = MappingProxyType({"spaces_are_blank": True})
    header = b""

    def tells_columns(self, content: bytes) -> bool:
        return any(_is_object(line) for line in content.splitlines())

    def look(self, content: bytes) -> None:
        types: dict[str, Any] = {}
        for schema in _schemas([line for line in content.splitlines() if _is_object(line)]):
            for field in schema:
                known = types.setdefault(field.name, field.type)
                if pa.types.is_null(known) or (known == pa.int64() and field.type == pa.float64()):
                    types[field.name] = field.type
        if not types:
            raise TableError(f"{place(self.file.name)}: holds no JSON object, so its columns are not known.")
        self.fields = {name: pa.field(name, kind) for name, kind in types.items()}

    def kept_as_text(self, names: Sequence[str]) -> set[str]:
        return {name for name in names if pa.types.is_temporal(self.fields[name].type)}  # texts that look like dates

    def parse(self, content: bytes) -> tuple[Any, Any]:
        starts = self.records(content)[0]
        odd = starts[np.frombuffer(content, np.uint8)[starts] != ord("{")].tolist()
        if not all(_is_object(content[start : start + _MOST_SPACES]) for start in odd):
            raise BadRecordError("every line must hold one object")
        # With columns=None a field that the first rows do not have is an error, not silently lost.
        data = _read(content, self.schema, "error" if self.columns is None else "ignore")
        if data.num_rows != starts.size:
            raise BadRecordError("every line must hold one object")
        return data, None

    def complaint(self, record: bytes, error: BaseException) -> str:
        wrong = utf8_complaint(record) or _too_deep(record)
        if wrong:
            return wrong
        try:
            row = json.loads(record)
        except (ValueError, RecursionError) as wrong:
            return f"every line must hold one JSON object. Got {shown(record.decode().strip())}: {wrong}."
        if not isinstance(row, dict):
            return f"every line must hold one JSON object. Got {shown(row)}."
        for name, value in row.items():
            if name not in self.schema.names:
                if self.columns is None:
                    return f"a row must have the columns of the first rows, {shown(self.schema.names)}. Got {name!r}."
                continue
            try:
                _read(json.dumps({name: value}).encode(), pa.schema([self.schema.field(name)]), "error")
            except Exception:
                return (
                    f"column {name!r} holds {self.schema.field(name).type} values. Got {shown(value)}. If the column "
                    f"is of another type, say so: types={{{name!r}: ...}}."
                )
        return plain_complaint(error)


def _is_object(line: bytes) -> bool:
    """Whether a line can be an object; others must not reach pyarrow, whose reader crashes at a line ``null``."""
    return line.lstrip().startswith(b"{")


def _too_deep(content: bytes) -> str | None:
    """Error message for values nested so deep that pyarrow's recursive reader runs out of stack, else None."""
    depth = nesting(content)
    return None if depth <= _DEEPEST else f"values must be nested at most {_DEEPEST} deep. Got {depth} levels."


def _schemas(lines: list[bytes]) -> Iterator[Any]:
    """Columns of the lines, which are halved until each half can be read; bad lines are reported when they are read."""
    try:
        yield _read(b"\n".join(lines), None, "infer").schema
    except Exception:
        if len(lines) > 1:
            yield from _schemas(lines[: len(lines) // 2])
            yield from _schemas(lines[len(lines) // 2 :])


def _read(content: bytes, schema: Any, unexpected: str) -> Any:
    too_deep = _too_deep(content)
    if too_deep:
        raise BadRecordError(too_deep)
    table = arrow_json.read_json(
        pa.BufferReader(content),
        read_options=arrow_json.ReadOptions(use_threads=False, block_size=len(content) + 1),
        parse_options=arrow_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior=unexpected),
    )
    return one_batch(table if schema is None else table.select(schema.names))
