"""Bodies of requests as types, which msgspec reads and checks in one pass."""

from __future__ import annotations

import io
from collections.abc import Iterator
from itertools import chain
from typing import Annotated, Any

import msgspec

from rankwise._errors import RowError
from rankwise.features.arrow_columns import is_text, load_pyarrow, text_of
from rankwise.serve._json_keys import n_keys, require_unique_keys
from rankwise.serve.problems import Problem

Value = float | int | str | bool | None
Id = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
Level = Annotated[float, msgspec.Meta(gt=0.0, lt=1.0)]
Weight = Annotated[float, msgspec.Meta(ge=0.0, le=1e12)]


class PredictBody(msgspec.Struct, forbid_unknown_fields=True):
    """Rows to predict."""

    rows: list[dict[str, Value]]
    ids: list[Id] | None = None
    remember: bool = False
    level: Level = 0.9


class FeedbackRow(msgspec.Struct, forbid_unknown_fields=True):
    """Label of a row, with its features or the id of its prediction."""

    label: str | int | float | None
    id: Id | None = None
    prediction_id: Id | None = None
    features: dict[str, Value] | None = None
    weight: Weight = 1.0
    context: dict[str, Value] | None = None


class FeedbackBody(msgspec.Struct, forbid_unknown_fields=True):
    """Rows of feedback."""

    rows: list[FeedbackRow]


class CorrectionBody(msgspec.Struct, forbid_unknown_fields=True):
    """New label and weight of an earlier feedback."""

    label: str | int | float | None
    weight: Weight | None = None


class RollbackBody(msgspec.Struct, forbid_unknown_fields=True):
    """A version to go back to, and a place of the log."""

    version: int
    seq: int | None = None


class PromoteBody(msgspec.Struct, forbid_unknown_fields=True):
    """A challenger to serve."""

    challenger: Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]


class _RawPredictBody(PredictBody):
    rows: list[msgspec.Raw]  # type: ignore[assignment]


class _RawFeedbackBody(FeedbackBody):
    rows: list[msgspec.Raw]  # type: ignore[assignment]


class RowsDecoder:
    """Decoder of a body with rows, at once or row by row; ``raw_body`` leaves its rows unread."""

    def __init__(self, body: Any, raw_body: Any, row: Any) -> None:
        self._whole, self._raw, self._row = map(msgspec.json.Decoder, (body, raw_body, row))

    def decode(self, body: bytes | bytearray) -> Any:
        """Read a body at once, while all other threads stand still."""
        decoded = self._whole.decode(body)
        require_unique_keys(body, n_keys(decoded) + sum(map(n_keys, decoded.rows)))
        return decoded

    def decode_row_by_row(self, body: bytes | bytearray) -> Any:
        """Read a long body in a thread: other threads run between two rows."""
        try:
            decoded = self._raw.decode(body)
            n_colons, rows = 0, []
            for text in map(bytes, decoded.rows):
                row = self._row.decode(text)
                require_unique_keys(text, n_keys(row))
                n_colons += text.count(b":")
                rows.append(row)
            require_unique_keys(body, n_keys(decoded) + n_colons)
            decoded.rows = rows
        except msgspec.DecodeError:
            return self.decode(body)  # whose message names the row
        return decoded


PREDICT = RowsDecoder(PredictBody, _RawPredictBody, dict[str, Value])
FEEDBACK = RowsDecoder(FeedbackBody, _RawFeedbackBody, FeedbackRow)
CORRECTION = msgspec.json.Decoder(CorrectionBody)
ROLLBACK = msgspec.json.Decoder(RollbackBody)
PROMOTE = msgspec.json.Decoder(PromoteBody)
_SORTED = msgspec.json.Encoder(order="sorted")


def label_text(label: str | float | None, row: int = 0) -> str:
    """A label as it is logged."""
    if label is None:
        return "?"
    if isinstance(label, bool):
        raise RowError("a label must be a text, a number or null. Got a boolean.", row, "label")
    text = text_of(label)
    if len(text) > 1000:
        raise RowError("a label has at most 1,000 characters.", row, "label")
    return text


def level_in(query: dict[str, list[str]]) -> float:
    """Level of the intervals, from the parameters of a query."""
    text = query.get("level", ["0.9"])[0]
    try:
        return float(msgspec.convert(text, Level, strict=False))
    except msgspec.ValidationError:
        raise Problem(422, f"level must be a number between 0 and 1, both excluded. Got {text[:40]!r}.") from None


def features_text(features: Any) -> str:
    """Features as they are logged; equal values give equal texts."""
    return _SORTED.encode(features).decode()


def read_arrow(body: bytes | bytearray) -> Any:
    """Table of a body in Arrow's stream format; values of types that JSON cannot hold are refused."""
    pa = load_pyarrow()
    try:
        with pa.ipc.open_stream(pa.py_buffer(body)) as reader:
            table = reader.read_all()
        table.validate(full=True)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise Problem(400, f"the body is not an Arrow IPC stream: {str(error)[:200]}.") from None
    names = table.column_names
    if len(set(names)) < len(names):
        raise Problem(422, "a column occurs twice.")
    return table


def arrow_stream(tables: Iterator[Any]) -> bytes:
    """Tables of one schema in Arrow's stream format; each is written before the next is made."""
    pa = load_pyarrow()
    first = next(tables)
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, first.schema) as writer:
        for table in chain([first], tables):
            writer.write_table(table)
    return sink.getvalue()


def arrow_rows(table: Any) -> list[dict[str, Any]]:
    """Rows of a table as JSON would hold them: NaN is null, decimals are numbers."""
    pa = load_pyarrow()
    types, compute = pa.types, pa.compute
    columns = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        kind = column.type.value_type if types.is_dictionary(column.type) else column.type
        if types.is_decimal(kind) or types.is_float16(kind):
            column, kind = column.cast(pa.float64()), pa.float64()
        if types.is_floating(kind):
            column = compute.if_else(compute.is_nan(column), None, column)
        elif not (types.is_integer(kind) or types.is_boolean(kind) or types.is_null(kind) or is_text(kind)):
            raise Problem(422, f"column {name!r} holds {kind}: a column holds numbers, booleans or texts.")
        columns[name] = column
    return pa.table(columns).to_pylist() if columns else []
