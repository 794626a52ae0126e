"""JSON lines: an object a line; types of columns from the first block, or as given."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.json as arrow_json

from rankwise.io._batch import Quarantine
from rankwise.io._csv import one_batch, require_columns
from rankwise.io._errors import TableError, place, shown
from rankwise.io._files import File
from rankwise.io._text import BadRecordError, TextFile, plain_complaint, utf8_complaint


class JSONLinesFile(TextFile):
    """A file of JSON objects, one a line; parameters as in :class:`rankwise.io._csv.CSVFile`."""

    def __init__(
        self,
        file: File,
        quarantine: Quarantine | None,
        columns: Sequence[str] | None,
        types: Mapping[str, Any],
    ) -> None:
        super().__init__(file, quarantine)
        self.dialect = {"spaces_are_blank": True}
        self.columns = columns
        self.schema = self._inferred(columns, types)

    def parse(self, content: bytes) -> tuple[Any, Any]:
        # With columns=None a field that the first rows do not have is an error rather than lost in silence.
        data = _read(content, self.schema, "error" if self.columns is None else "ignore")
        if data.num_rows != len(self.records(content)[0]):
            raise BadRecordError("every line must hold one object")
        return data, None

    def n_parsed(self, data: Any) -> int:
        return int(data.num_rows)

    def joined(self, parts: list[tuple[Any, Any]]) -> tuple[Any, Any]:
        return one_batch(pa.Table.from_batches([data for data, _ in parts], self.schema)), None

    def complaint(self, record: bytes, error: BaseException) -> str:
        wrong_text = utf8_complaint(record)
        if wrong_text:
            return wrong_text
        try:
            found = json.loads(record)
        except (ValueError, RecursionError) as wrong:
            return f"every line must hold one JSON object. Got {shown(record.decode().strip())}: {wrong}."
        if not isinstance(found, dict):
            return f"every line must hold one JSON object. Got {shown(found)}."
        for name, value in found.items():
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

    def _inferred(self, columns: Sequence[str] | None, types: Mapping[str, Any]) -> Any:
        block = next((block for block in self.blocks() if block.content.strip()), None)
        found: dict[str, Any] = {}
        for schema in _schemas(block.content.splitlines() if block else []):
            for field in schema:
                known = found.setdefault(field.name, field.type)
                if pa.types.is_null(known) or (known == pa.int64() and field.type == pa.float64()):
                    found[field.name] = field.type
        wanted = list(columns) if columns is not None else list(found)
        require_columns(self.file, [*wanted, *types], list(found))
        if not wanted:
            raise TableError(f"{place(self.file.name)}: holds no JSON object, so its columns are not known.")
        return pa.schema([(name, types.get(name, found[name])) for name in wanted])


def _schemas(lines: list[bytes]) -> Iterator[Any]:
    """Columns that the lines have; those that cannot be read together are halved, bad ones met again in their turn."""
    try:
        yield _read(b"\n".join(lines), None, "infer").schema
    except Exception:
        if len(lines) > 1:
            yield from _schemas(lines[: len(lines) // 2])
            yield from _schemas(lines[len(lines) // 2 :])


def _read(content: bytes, schema: Any, unexpected: str) -> Any:
    table = arrow_json.read_json(
        pa.BufferReader(content),
        read_options=arrow_json.ReadOptions(use_threads=False, block_size=len(content) + 1),
        parse_options=arrow_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior=unexpected),
    )
    return one_batch(table if schema is None else table.select(schema.names))
