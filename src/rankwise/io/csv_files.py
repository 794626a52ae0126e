"""CSV and TSV files: a header, then rows; types of columns from the first block, or as given."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence, Set
from io import StringIO
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv

from rankwise.io.input_files import File
from rankwise.io.row_batch import Quarantine
from rankwise.io.table_errors import TableError, place, shown, translated
from rankwise.io.text_files import TextFile, TextStyle, one_batch, plain_complaint, utf8_complaint

#: Texts that are read as missing values.
NULLS = pa.array(arrow_csv.ConvertOptions().null_values, pa.string())
_QUOTE = ord('"')
_GROUPED = r"^\s*[+-]?\d{1,3}(\.\d{3})*(,\d+)?\s*$"
#: The same where no decimal mark is declared: a point behind a leading zero cannot stand between thousands.
_MAYBE_GROUPED = r"^\s*[+-]?(\d+|[1-9]\d{0,2}(\.\d{3})+)(,\d+)?\s*$"
_COMMA_DECIMAL = r"^\s*[+-]?(\d*,(\d{1,2}|\d{4,})|0,\d+|[1-9]\d{0,2}(\.\d{3})+,\d+)\s*$"  # not 1,234
_NEARLY_ALL = 0.95  # as in the columns of numbers of a table
#: Bytes that are not UTF-8 are an error in their row, not a type.
_READ_AS = {pa.binary(): pa.string()}


class CSVFile(TextFile):
    """A CSV or TSV file; parameters as in :class:`TextFile`."""

    def __init__(self, file: File, quarantine: Quarantine | None, keep: bool, style: TextStyle) -> None:
        self.names: list[str] = []
        self.header = b""  #: the line of the names, unchanged
        self.grouped: dict[str, str] = {}  #: columns with points between thousands, and an example of each
        self._usual = style.separator or ("\t" if file.format == "tsv" else ",")
        self._separate(self._usual)
        super().__init__(file, quarantine, keep, style)

    def _separate(self, separator: str) -> None:
        self.delimiter = separator
        self.dialect = {"delimiter": ord(separator), "quote": _QUOTE}

    def begin(self, content: bytes) -> None:
        """Find the separator: if the header lacks the usual one, another separator in it cannot be part of a name."""
        names = content.lstrip().partition(b"\n")[0].decode(errors="replace")
        separator = self._usual
        if self.style.separator is None and separator not in names:
            separator = next((other for other in (";", "\t", "|") if other in names), separator)
        self._separate(separator)
        self.remarks["separator"] = "" if separator == self._usual else f"columns are separated by {separator!r}"

    def look(self, content: bytes) -> None:
        if not self.names:  # the header is read on the way to the first block
            raise TableError(
                f"{place(self.file.name)}: a CSV file begins with a header that names its columns. It is empty."
            )
        types = self._inferred(content)
        self.fields = {name: pa.field(name, types.get(name, pa.null())) for name in self.names}
        numbers = [name for name, kind in types.items() if pa.types.is_string(kind) or pa.types.is_floating(kind)]
        self.grouped = self._grouped(content, types, numbers)
        for name in self.grouped:  # 1.234 would be a little more than one
            self.fields[name] = pa.field(name, pa.string())

    def _grouped(self, content: bytes, types: Mapping[str, Any], names: Sequence[str]) -> dict[str, str]:
        """Columns that are all numbers with points between thousands, each with an example.

        The points are told by a decimal comma, declared or written in one of the columns.
        """
        texts = [name for name in names if pa.types.is_string(types[name])]
        if not texts:
            return {}
        try:
            known = self._texts(content, texts)
            pattern = _GROUPED
            if self.style.decimal != ",":
                pattern = _MAYBE_GROUPED
                if not any(_has_decimal_commas(column) for column in known.values()):
                    return {}
                known = self._texts(content, names)
        except Exception:  # bad rows are reported when they are read
            return {}
        pointed = {name: column.filter(pc.match_substring(column, ".")) for name, column in known.items()}
        return {
            name: column[0].as_py()
            for name, column in pointed.items()
            if len(column) and pc.all(pc.match_substring_regex(known[name], pattern)).as_py()
        }

    def _texts(self, content: bytes, names: Sequence[str]) -> dict[str, Any]:
        """Texts of columns that are not missing."""
        batch = self._read(content, names, dict.fromkeys(names, pa.string()))
        return {name: batch.column(name).drop_null() for name in names}

    def header_size(self, content: bytes) -> tuple[int, int]:
        starts, lines, end, n_lines = self.records(content)
        if not len(starts):
            return 0, 0
        stop = int(starts[1]) if len(starts) > 1 else end
        header = content[int(starts[0]) : stop]
        names = self._values(header)
        complaint = utf8_complaint(header)
        if complaint is None and not names:
            complaint = f"the names of the columns cannot be told apart. Got {shown(header.decode())}."
        elif complaint is None and not all(name.strip() for name in names):
            complaint = f"every column needs a name. Got {shown(names)}."
        elif complaint is None and len(set(names)) < len(names):
            complaint = f"the names of columns must be distinct. Got {shown(names)}."
        if complaint is not None:
            raise TableError(f"{place(self.file.name, line=1 + int(lines[0]))}: {complaint}")
        self.names, self.header = names, header.rstrip(b"\r\n")
        return stop, int(lines[1]) if len(starts) > 1 else n_lines

    def parse(self, content: bytes) -> tuple[Any, Any]:
        types = {field.name: field.type for field in self.schema}
        if not self.as_written:
            return self._read(content, self.schema.names, types), None
        columns: dict[str, Any] = {}
        for written in (False, True):
            names = [name for name in self.schema.names if (name in self.as_written) == written]
            if names:
                columns.update(zip(names, self._read(content, names, types, written).columns, strict=True))
        return pa.record_batch([columns[name] for name in self.schema.names], schema=self.schema), None

    def complaint(self, record: bytes, error: BaseException) -> str:
        wrong_text = utf8_complaint(record)
        if wrong_text:
            return wrong_text
        values = self._values(record)
        if not values:
            return plain_complaint(error)
        if len(values) != len(self.names):
            return f"a row must have {len(self.names)} columns as the header has. Got {len(values)}."
        for field in self.schema:
            try:
                self._read(record, [field.name], {field.name: field.type})
            except Exception:
                value = values[self.names.index(field.name)]
                return (
                    f"column {field.name!r} holds {field.type} values. Got {shown(value)}. If the column is of another "
                    f"type, say so: types={{{field.name!r}: '{_type_for(value)}'}}."
                )
        return plain_complaint(error)

    def _inferred(self, content: bytes) -> dict[str, Any]:
        """Types of the columns, inferred from the first rows."""
        try:
            schema = self._read(content, self.names, {}).schema if content else ()
        except Exception:
            # Bad rows among the first: infer from the others. The bad ones are reported when they are read.
            starts, _, _, _ = self.records(content)
            bounds = [*starts.tolist(), len(content)]
            records = [content[i:j] for i, j in pairwise(bounds)]
            content = b"".join(record for record in records if len(self._values(record)) == len(self.names))
            with translated(self.file.name, "find the types of its columns"):
                schema = self._read(content, self.names, {}).schema if content else ()
        return {field.name: _READ_AS.get(field.type, field.type) for field in schema}

    def _values(self, record: bytes) -> list[str]:
        """The fields of a record; an empty list if it cannot be split."""
        try:
            lines = StringIO(record.decode("utf-8"), newline="")
            return next(csv.reader(lines, delimiter=self.delimiter, strict=True))
        except (UnicodeDecodeError, csv.Error, StopIteration):
            return []

    def _read(self, content: bytes, columns: Sequence[str], types: Mapping[str, Any], as_written: bool = False) -> Any:
        options = arrow_csv.ConvertOptions(column_types=dict(types), include_columns=list(columns))
        options.decimal_point = self.style.decimal
        if as_written:  # NA is a text, and "" differs from an empty field
            options.null_values, options.strings_can_be_null, options.quoted_strings_can_be_null = [""], True, False
        table = arrow_csv.read_csv(
            pa.BufferReader(content),
            read_options=arrow_csv.ReadOptions(use_threads=False, block_size=len(content) + 1, column_names=self.names),
            parse_options=arrow_csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True),
            convert_options=options,
        )
        if as_written:
            return one_batch(table)
        return with_nulls(one_batch(table), {name for name, kind in types.items() if kind == pa.large_string()})


def with_nulls(batch: Any, as_they_stand: Set[str]) -> Any:
    """Texts such as NA become missing values, except in columns where they may be meant literally."""
    for k, field in enumerate(batch.schema):
        if pa.types.is_string(field.type) and field.name not in as_they_stand:
            column = batch.column(k)
            missing = pc.is_in(column, value_set=NULLS)
            if pc.any(missing).as_py():
                batch = batch.set_column(k, field, pc.if_else(missing, pa.scalar(None, field.type), column))
    return batch


def _has_decimal_commas(texts: Any) -> bool:
    """Whether nearly all texts are numbers and one of them has a comma that can only stand before decimals."""
    n_numbers = pc.sum(pc.match_substring_regex(texts, _MAYBE_GROUPED)).as_py() or 0
    is_told = pc.any(pc.match_substring_regex(texts, _COMMA_DECIMAL)).as_py()
    return bool(is_told) and n_numbers >= _NEARLY_ALL * len(texts)


def _type_for(text: str) -> str:
    try:
        float(text)
    except ValueError:
        return "string"
    return "float64"
