"""Text files, one record a line: read in blocks of whole records, each block parsed at once.

A block that does not parse is halved until its bad records are alone, so that every error names the row, the line and
the text, whatever the parser reports.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rankwise._words import option, setting
from rankwise.io._records import find_records
from rankwise.io.input_files import ByteStream, File
from rankwise.io.row_batch import Batch, Quarantine
from rankwise.io.table_errors import TableError, TableRowError, place, tidy_message

BLOCK_BYTES = 2 << 20
_LONGEST_RECORD = 16 << 20
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")  # byte order marks


@dataclass(frozen=True)
class TextStyle:
    """How text files are written, as far as declared."""

    separator: str | None = None
    decimal: str = "."
    encoding: str | None = None

    def __post_init__(self) -> None:
        if self.separator is not None and (len(self.separator.encode()) != 1 or self.separator in '"\r\n'):
            raise ValueError(
                f"{option('separator')} must be one ASCII character other than a quote. Got {self.separator!r} instead."
            )
        if self.decimal not in (".", ",") or self.decimal == self.separator:
            raise ValueError(
                f"{option('decimal')} must be '.' or ',' and not the separator. Got {self.decimal!r} instead."
            )
        if self.encoding is not None:
            try:
                "".encode(self.encoding)
            except (LookupError, UnicodeError):
                raise ValueError(
                    f"{option('encoding')} must be the name of an encoding, such as 'cp1252'. "
                    f"Got {self.encoding!r} instead."
                ) from None


class BadRecordError(Exception):
    """Why a record cannot be read."""


@dataclass(frozen=True)
class TextBlock:
    """Whole records of a text file."""

    content: bytes
    first_line: int  #: line in the file, from 1, of the first byte
    position: int  #: bytes of the file read so far


class TextFile:
    """A text file of one record a line. Formats define how records are located, parsed and reported as wrong.

    The first block is read at once; with ``keep`` it and the open file are kept for the first pass, which continues
    there. The quarantine gets every record that cannot be read; without one the first of them is an error.
    """

    dialect: Mapping[str, Any]  #: options of :func:`rankwise.io._records.find_records`
    n_rows: int | None = None
    fields: dict[str, Any]  #: columns of the first rows
    schema: Any  #: columns to read

    def __init__(self, file: File, quarantine: Quarantine | None, keep: bool, style: TextStyle) -> None:
        self.file, self.style = file, style
        self.remarks: dict[str, str] = {}  #: what the first bytes revealed, for the user
        self.is_marked = False  #: whether the file begins with a byte-order mark of UTF-8
        self.quarantine = quarantine
        self.n_rows_seen = 0  #: rows of the file, once :meth:`batches` has reached its end
        self.columns: list[str] | None = None  #: requested columns
        self.as_written: set[str] = set()  #: columns that are text, every character as in the file
        self._begun: list[Iterator[TextBlock]] = []  # shared with copies: the first reader continues from it
        blocks, seen = self._blocks_from_the_start(), []
        for block in blocks:
            seen.append(block)
            if self.tells_columns(block.content):
                break
        self.look(seen[-1].content if seen else b"")
        if keep:
            self._begun.append(chain(seen, blocks))

    def kept_as_text(self, names: Sequence[str]) -> set[str]:
        """Which of the columns must be read as text to keep every character."""
        return set(names)

    def tells_columns(self, content: bytes) -> bool:
        """Whether some record of a block determines the columns."""
        return bool(content.strip())

    def look(self, content: bytes) -> None:
        """Determine the columns from the first records that do."""

    def parse(self, content: bytes) -> tuple[Any, Any]:
        """Data and labels (None but for svmlight) of whole records; any exception means that some are bad."""
        raise NotImplementedError  # each format has its own

    def joined(self, pieces: list[tuple[Any, Any]]) -> tuple[Any, Any]:
        """Data and labels of several pieces; no rows if there are none."""
        return one_batch(pa.Table.from_batches([data for data, _ in pieces], self.schema)), None

    def complaint(self, record: bytes, error: BaseException) -> str:
        """Error message for one record that does not parse: the rule and the wrong value."""
        raise NotImplementedError  # each format has its own

    def begin(self, content: bytes) -> None:
        """Inspect the first bytes of the file, before records are located."""

    def header_size(self, content: bytes) -> tuple[int, int]:
        """Bytes and lines before the first record of the file; 0, 0 without a header."""
        return 0, 0

    def records(self, content: bytes, *, at_end: bool = True) -> tuple[NDArray[np.int64], NDArray[np.int64], int, int]:
        """First bytes and lines of the records, end of the last complete one, and lines up to there."""
        return find_records(content, at_end=at_end, **self.dialect)

    def blocks(self) -> Iterator[TextBlock]:
        """Blocks of whole records, the header left out."""
        return self._begun.pop() if self._begun else self._blocks_from_the_start()

    def _blocks_from_the_start(self) -> Iterator[TextBlock]:
        with ByteStream(self.file) as stream:
            read = self._utf8(stream)
            rest, line, at_start = b"", 1, True
            while True:
                more = read(max(BLOCK_BYTES, len(rest)))
                if more.endswith(b"\r"):
                    more += read(1)  # so that "\r\n" is never split
                content = rest + more
                if at_start and content:
                    self.is_marked = content.startswith(codecs.BOM_UTF8)
                    content = content.removeprefix(codecs.BOM_UTF8)
                    self.begin(content)
                cut, n_lines = self._cut(content, at_end=not more)
                block, rest = content[:cut], content[cut:]
                if block:
                    skip, skip_lines = self.header_size(block) if at_start else (0, 0)
                    at_start = False
                    yield TextBlock(block[skip:], line + skip_lines, stream.position)
                line += n_lines
                if len(rest) > _LONGEST_RECORD or (rest and not more):
                    raise TableError(
                        f"{place(self.file.name, line=line)}: the record that begins here does not end within "
                        f"{len(rest)} bytes. Is there a quote that is not closed?"
                    )
                if not more:
                    break

    def batches(self, skip: int) -> Iterator[Batch]:
        """Parsed blocks after the first ``skip`` rows; ``end`` counts the rows of this file."""
        row = 0  # rows before the block
        for block in self.blocks():
            if row < skip:
                starts, _, _, _ = self.records(block.content)
                if row + len(starts) <= skip:
                    row += len(starts)
                    continue
            batch = self._parsed(block, row)
            first, row = row, batch.end
            if first < skip:
                numbers = np.arange(len(batch)) + first + 1 if batch.rows is None else batch.rows
                batch = batch.keep(numbers > skip)
            if len(batch):
                yield batch
        self.n_rows_seen = row

    def _parsed(self, block: TextBlock, row: int) -> Batch:
        def line_of(number: int) -> int:
            return block.first_line + int(self.records(block.content)[1][number - row - 1])

        def texts_of(numbers: NDArray[np.int64]) -> list[bytes]:
            bounds = np.append(self.records(block.content)[0], len(block.content)).tolist()
            return [block.content[bounds[k] : bounds[k + 1]].rstrip(b"\r\n") for k in (numbers - row - 1).tolist()]

        try:
            data, labels = self.parse(block.content)
            n, rows = int(data.shape[0]), None
        except TableError:
            raise
        except Exception:
            (data, labels), rows, n = self._salvaged(block, row)
        first_row = row + 1 if rows is None or not rows.size else int(rows[0])
        return Batch(data, self.file.name, first_row, row + n, block.position, labels, rows, line_of, texts_of)

    def _salvaged(self, block: TextBlock, row: int) -> tuple[tuple[Any, Any], NDArray[np.int64], int]:
        """Parse the good records of a block; bad ones go to the quarantine, or the first one is an error."""
        starts, lines, _, _ = self.records(block.content)
        bounds = np.append(starts, len(block.content))
        pieces: list[tuple[Any, Any]] = []
        good = np.zeros(len(starts), dtype=bool)
        open_ranges = [(0, len(starts))]
        while open_ranges:
            first, last = open_ranges.pop()
            if first == last:
                continue
            content = block.content[bounds[first] : bounds[last]]
            try:
                data, labels = self.parse(content)
                if data.shape[0] != last - first:
                    raise BadRecordError(f"it must hold one row. Got {data.shape[0]}")
                pieces.append((data, labels))
                good[first:last] = True
            except Exception as error:
                if last - first > 1:
                    middle = (first + last) // 2
                    open_ranges += [(middle, last), (first, middle)]  # the earlier half comes first
                    continue
                reason = self.complaint(content, error)
                number, line = row + first + 1, block.first_line + int(lines[first])
                if self.quarantine is None:
                    raise TableRowError(self.file.name, number, line, reason) from None
                text = content.decode("utf-8", errors="replace").rstrip("\r\n")
                self.quarantine(self.file.name, number, text, reason)
        return self.joined(pieces), row + 1 + np.flatnonzero(good), len(starts)

    def _cut(self, content: bytes, *, at_end: bool) -> tuple[int, int]:
        """End of the last whole record, and the lines up to there."""
        quote = self.dialect.get("quote", 0)
        if b"\r" in content or (quote and bytes([quote]) in content):
            _, _, end, n_lines = self.records(content, at_end=at_end)
            return end, n_lines
        end = len(content) if at_end else content.rfind(b"\n") + 1
        return end, content.count(b"\n", 0, end)

    def _utf8(self, stream: ByteStream) -> Callable[[int], bytes]:
        """A function that reads bytes of the text as UTF-8, whatever its encoding; never empty before the end."""
        first, encoding = stream.read(2), self.style.encoding
        if encoding is None and first in _UTF_16:
            encoding = "utf-16"
            self.remarks["encoding"] = "the file is UTF-16"
        decoder = None if encoding is None else codecs.getincrementaldecoder(encoding)()

        def read(n: int) -> bytes:
            nonlocal first
            while True:
                raw, first = first + stream.read(n), b""
                if decoder is None:
                    return raw
                try:
                    content = decoder.decode(raw, final=not raw).encode()
                except UnicodeDecodeError as error:
                    around = error.object[max(0, error.start - 10) : error.end + 10].decode("ascii", "backslashreplace")
                    raise TableError(f"{place(self.file.name)}: text must be {encoding}. Got '{around}'.") from None
                if content or not raw:
                    return content

        return read


def one_batch(table: Any) -> Any:
    """The rows of a table as one record batch."""
    batches = table.combine_chunks().to_batches()
    return batches[0] if batches else pa.RecordBatch.from_pylist([], schema=table.schema)


def utf8_complaint(record: bytes) -> str | None:
    """Error message for a record that is not UTF-8, else None."""
    try:
        record.decode("utf-8")
    except UnicodeDecodeError as error:
        around = record[max(0, error.start - 10) : error.end + 10].strip().decode("utf-8", "replace")
        return (
            f"text must be UTF-8, unless another encoding is given ({setting('encoding', 'cp1252')}, say). "
            f"Got the byte 0x{record[error.start]:02x} in '{around}'."
        )
    return None


def plain_complaint(error: BaseException) -> str:
    """Error message of the parser itself."""
    return f"cannot be read: {tidy_message(error)}"
