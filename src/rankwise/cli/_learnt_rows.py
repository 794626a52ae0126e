"""Which rows a model learnt from: short digests in its file, so that rows it knows do not pass for new ones.

A row has a digest of 64 bits of the values in the columns that the model uses, whatever the format of the file, the
order of its columns and the label. Of all distinct digests a file keeps the smallest, at most :data:`MOST`, cut such
that one in 65,536 rows that were not learnt is taken for one that was. The key, the digest of the files, differs from
data set to data set.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as compute
from numpy.typing import NDArray
from scipy import sparse

from rankwise.features.arrow_columns import is_numeric, is_text, written_number
from rankwise.io import Table
from rankwise.io.csv_files import NULLS
from rankwise.persistence import ModelFileError
from rankwise.table_model import TableModel, table_encoder

MOST = 1 << 17  # digests that are kept
_EXTRA_BITS = 16  # of a digest, beyond those that tell apart as many rows as were learnt
_RARELY = 1e-3  # the share of new rows that equal a learnt one, up to which those that do not are known to be new
_MISSING = np.uint64(0x9E3779B97F4A7C15)
_AT_ONCE = 1 << 16  # rows
_TIME = r"^[12]\d{3}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])([T ]([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,6})?Z?)?$"

Words = NDArray[np.uint64]


@dataclass
class LearntRows:
    """Digests of rows, in memory that does not grow with their number."""

    columns: list[str] | None  # None for svmlight rows
    key: bytes
    kept: Words = field(default_factory=lambda: np.empty(0, np.uint64))
    times: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))  # that each was met
    _new: list[Words] = field(default_factory=list)

    @classmethod
    def of(cls, model: TableModel, key: str) -> LearntRows:
        """No rows yet of what this model learns from."""
        return cls(_used_columns(model), bytes.fromhex(key)[:16])

    def add(self, X: Any) -> None:
        """Take some rows that were learnt."""
        for start in range(0, int(X.shape[0]), _AT_ONCE):
            self._new.append(self._below(digests(_some(X, start), self.columns, self.key)))
            if sum(map(len, self._new)) > 2 * MOST:
                self._settle()

    def _below(self, found: Words) -> Words:
        return found[found <= self.kept[-1]] if len(self.kept) >= MOST else found

    def _settle(self) -> None:
        """Forget all but the smallest digests. What is kept to the end was never forgotten, and is counted fully."""
        both = np.concatenate([self.kept, *self._new])
        times = np.concatenate([self.times, np.ones(len(both) - len(self.kept), np.int64)])
        self._new = []
        distinct, place = np.unique(both, return_inverse=True)
        self.kept, self.times = distinct[:MOST], np.bincount(place, times).astype(np.int64)[:MOST]

    def to_plain(self) -> dict[str, Any]:
        """What a model file keeps."""
        self._settle()
        is_sample = len(self.kept) >= MOST
        top = float(self.kept[-1]) / 2.0**64 if is_sample else 1.0  # the share of all digests that are kept if met
        n_distinct = max(1.0, len(self.kept) / top)
        bits = min(64, int(np.ceil(np.log2(n_distinct))) + _EXTRA_BITS)
        cut = np.unique(self.kept >> np.uint64(64 - bits))
        steps = np.diff(cut, prepend=np.uint64(0)).astype("<u8").view(np.uint8).reshape(-1, 8)
        return {
            "columns": self.columns, "key": self.key.hex(), "bits": bits, "count": len(cut), "sample": is_sample,
            # Good and Turing: the share of new rows that equal a learnt one is that of learnt rows that have an equal.
            "repeated": 1.0 - np.count_nonzero(self.times == 1) / max(1, int(self.times.sum())),
            "digests": np.frombuffer(zlib.compress(steps.T.tobytes(), 9), dtype=np.uint8),
        }  # fmt: skip

    def state(self) -> dict[str, Any]:
        """All that is needed to go on, for a checkpoint."""
        self._settle()
        return {"kept": self.kept.view(np.int64), "times": self.times}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.kept = np.asarray(state["kept"], dtype=np.int64).view(np.uint64)
        self.times = np.asarray(state["times"], dtype=np.int64)


class RowOverlap:
    """How many of the rows that a model is judged on it learnt from."""

    def __init__(self, plain: Mapping[str, Any]) -> None:
        self._is_same_file = False
        self._columns, self._key = plain["columns"], bytes.fromhex(plain["key"])[:16]
        self._shift, self._is_sample = np.uint64(64 - plain["bits"]), bool(plain["sample"])
        self._chance = float(plain["repeated"]) + 2.0**-_EXTRA_BITS
        packed = np.asarray(plain["digests"], dtype=np.uint8).tobytes()
        steps = np.frombuffer(zlib.decompressobj().decompress(packed, 8 * MOST), dtype=np.uint8)
        self._known = np.cumsum(steps.reshape(8, -1).T.copy().view("<u8").ravel(), dtype=np.uint64)
        if len(self._known) != plain["count"]:
            raise ValueError(f"must hold {plain['count']} digests. Got {len(self._known)}")
        self.n_rows = self.n_checked = self.n_same = 0

    @classmethod
    def of(cls, notes: Mapping[str, Any], table: Table) -> RowOverlap | None:
        """From the notes of a model file, if it knows its rows, for the rows of a table."""
        plain = notes.get("learnt_rows")
        if plain is None:
            return None
        try:
            learnt = {file["sha256"]: file["bytes"] for file in notes["learnt_from"]}
            found = cls(plain)
            is_svmlight = table.format == "svmlight"
            if (found._columns is None) != is_svmlight or not {*(found._columns or ())} <= {*table.schema.names}:
                raise ValueError("they name other columns")
        except (KeyError, TypeError, ValueError, OverflowError, AttributeError, zlib.error) as error:
            raise ModelFileError(f"the model file's notes on the rows it learnt from are damaged: {error}.") from None
        if {size for _, size in table.file_sizes()} <= {*learnt.values()}:
            found._is_same_file = all(file["sha256"] in learnt for file in table.digests())
        return found

    def add(self, X: Any) -> None:
        """Take some rows that are judged."""
        for start in range(0, int(X.shape[0]), _AT_ONCE):
            found = digests(_some(X, start), self._columns, self._key) >> self._shift
            self.n_rows += len(found)
            if self._is_sample:
                found = found[found <= self._known[-1]]
            self.n_checked += len(found)
            place = np.minimum(np.searchsorted(self._known, found), len(self._known) - 1)
            self.n_same += int(np.count_nonzero(self._known[place] == found)) if len(self._known) else 0

    @property
    def facts(self) -> dict[str, Any]:
        """Numbers for machines."""
        return {"rows": self.n_rows, "checked": self.n_checked, "same": self.n_same, "by_chance": self.expected}

    @property
    def expected(self) -> float:
        """Rows that would be the same if they were new: rows repeat, and digests are short."""
        return float(self.n_checked * self._chance)

    @property
    def is_more_than_chance(self) -> bool:
        """Whether far more rows are the same than new ones would be, or they are in a file that was learnt."""
        if self._is_same_file:
            return True
        return self.n_same > self.expected + 4 * np.sqrt(self.expected + 1e-9) and self.n_same > 0

    def tells(self) -> bool | None:
        """Whether rows were learnt; None where nothing shows it, and not all can be checked or rows repeat."""
        if self.is_more_than_chance:
            return True
        return False if self.n_checked == self.n_rows and self._chance < _RARELY else None

    def sentence(self) -> str:
        """What to say of the rows; empty if nothing shows that they were learnt."""
        if not self.is_more_than_chance:
            return ""
        if self._is_same_file or self.n_same == self.n_checked:
            return f"these rows were used for learning ({self._how_many})"
        return f"some of these rows were used for learning ({self._how_many})"

    @property
    def _how_many(self) -> str:
        if self.n_same == self.n_rows:
            return f"all {self.n_rows:,}"
        return f"{self.n_same:,} of {self.n_checked:,}" + (" that were checked" if self.n_checked < self.n_rows else "")


def digests(X: Any, columns: Sequence[str] | None, key: bytes) -> Words:
    """Digest of every row of a pyarrow table, or of a CSR matrix."""
    with np.errstate(over="ignore"):
        if columns is None:
            return _mixed(_of_sparse(X, key))
        total = np.zeros(X.shape[0], np.uint64)
        for name in columns:
            total += _mixed(_of_column(X.column(name).combine_chunks(), key) ^ np.uint64(_hash(name, key)))
        return _mixed(total)


def _of_sparse(X: Any, key: bytes) -> Words:
    X = sparse.csr_matrix(X)
    where = np.full(1, _hash("entry", key), np.uint64)
    entries = _mixed(_of_numbers(X.data) ^ _mixed(where + X.indices.astype(np.uint64)))
    entries[X.data == 0] = 0
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(entries, dtype=np.uint64)])
    return np.asarray(sums[X.indptr[1:]] - sums[X.indptr[:-1]])


def _of_column(column: Any, key: bytes) -> Words:
    """Hash of every value: equal for a number and its text, for a date in every unit, for every missing value."""
    if isinstance(column, pa.ChunkedArray):
        column = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
    kind = column.type
    if pa.types.is_null(kind):
        return np.full(len(column), _MISSING)
    if is_numeric(kind):
        return _of_numbers(column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False))
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        column = column.cast(pa.timestamp("us", getattr(kind, "tz", None)), safe=False)
        return _of_times(column)
    coded = column if pa.types.is_dictionary(kind) else column.dictionary_encode()
    known = coded.dictionary
    if not is_text(known.type):
        known = pa.array([None if v is None else str(v).lower() for v in known.to_pylist()], pa.large_string())
    hashes = np.append(_of_texts(known.cast(pa.large_string()), key), _MISSING)
    return np.asarray(hashes[coded.indices.fill_null(len(known)).to_numpy(zero_copy_only=False)])


def _of_texts(texts: Any, key: bytes) -> Words:
    pointed = compute.replace_substring_regex(compute.utf8_trim_whitespace(texts), r"^([+-]?\d*),(\d+)$", r"\1.\2")
    is_number = compute.match_substring_regex(pointed, written_number("."))
    numbers = compute.if_else(is_number, pointed, None).cast(pa.float64()).to_numpy(zero_copy_only=False)
    hashed = np.array([_hash(text or "", key) for text in pointed.to_pylist()], dtype=np.uint64)
    hashed[compute.is_in(pointed, value_set=NULLS.cast(pa.large_string())).to_numpy(zero_copy_only=False)] = _MISSING
    hashed[pointed.is_null().to_numpy(zero_copy_only=False)] = _MISSING
    is_time = compute.match_substring_regex(pointed, _TIME)
    with suppress(pa.ArrowInvalid):  # a day that does not exist: they stay texts
        times = compute.if_else(is_time, compute.replace_substring(pointed, "Z", ""), None).cast(pa.timestamp("us"))
        hashed = np.where(times.is_valid().to_numpy(zero_copy_only=False), _of_times(times), hashed)
    return np.where(np.isnan(numbers), hashed, _of_numbers(numbers))


def _of_times(column: Any) -> Words:
    values = column.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False).view(np.uint64)
    return np.where(column.is_null().to_numpy(zero_copy_only=False), _MISSING, _mixed(values + np.uint64(1)))


def _of_numbers(values: NDArray[np.float64]) -> Words:
    plain = np.where(values == 0, 0.0, values).astype(np.float64)  # -0.0 is 0
    return np.where(np.isnan(plain), _MISSING, _mixed(plain.view(np.uint64)))


def _hash(text: str, key: bytes) -> int:
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8, key=key).digest(), "little")


def _mixed(values: Words) -> Words:
    """Finalizer of SplitMix64: every bit depends on every other."""
    with np.errstate(over="ignore"):
        values = values + np.uint64(0x9E3779B97F4A7C15)
        values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return np.asarray(values ^ (values >> np.uint64(31)))


def _some(X: Any, start: int) -> Any:
    return X.slice(start, _AT_ONCE) if isinstance(X, pa.Table) else X[start : start + _AT_ONCE]


def _used_columns(model: TableModel) -> list[str] | None:
    """Names of the columns that a model uses, without those that its encoder leaves out."""
    if model.encoder_ is None:
        return None
    encoder = table_encoder(model.encoder_)
    if encoder is None:
        return [str(name) for name in model.feature_names_in_]
    return [name for name, kind in encoder.kinds_.items() if kind != "ignore"]
