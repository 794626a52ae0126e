"""A model for rows of plain values, as JSON brings them: dicts of numbers, texts, booleans and null.

Each row is encoded by itself: its features do not depend on the rows that come with it. Rows that are learnt in one
group and replayed in another give the same bits.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rankwise._errors import RowError
from rankwise._types import Floats
from rankwise.base.model import Model, layer_of
from rankwise.features.arrow_columns import load_pyarrow, text_of, written_number
from rankwise.features.number_rows import NumberRows
from rankwise.labels import Labels, declared_order, encode, require_support
from rankwise.persistence import ModelFileError, load
from rankwise.table_model import TableModel, table_encoder

Values = Mapping[str, Any]

_PLAIN = {float, int, bool, type(None)}
_NUMBERS = _PLAIN - {bool}
_NOT_FILLED = ("refuse", "keep")  # what an encoder may do with missing values that takes more than a kernel
_MOST_LABELS = 10_000  # distinct texts of labels that are kept


def model_content(model: Path, store: Path) -> bytes:
    """Content of a model file; for a new store it is checked first, so that a damaged one leaves no store behind."""
    if not store.exists():
        RowModel(load(model))
    return model.read_bytes()


@dataclass(frozen=True)
class RowAnswers:
    """What a model predicts for some rows."""

    classes: NDArray[Any]
    probabilities: Floats | None
    intervals: NDArray[Any] | None


class RowModel:
    """A fitted model of ordered classes that takes rows of plain values.

    ``columns`` are those that a row needs: x0, x1, ... for an estimator without names; ``learns`` is whether the model
    learns row by row.
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        table = next((layer for layer in Model.of(model).layers if isinstance(layer, TableModel)), None)
        encoder: Any = None if table is None else table.encoder_
        #: What predicts and learns from encoded rows.
        self.estimator = model.estimator_ if isinstance(model, TableModel) else model
        self.opened = Model(model, self.estimator)
        self.estimator_name = self.opened.name
        if not self.opened.can("predict", "classes_"):
            raise ModelFileError(f"a {type(model).__name__} gives rows no class: it cannot be served.")
        if not self.opened.label_kinds and layer_of(self.estimator) is None:
            raise ModelFileError(f"a {self.estimator_name} does not learn ordered classes: cannot serve it.")
        self.order = declared_order(self.opened.classes)
        self.classes: list[Any] = self.order.values.tolist()
        self.learns = self.opened.can("partial_fit")
        self._labels: dict[str, Labels] = {}
        if encoder is None:
            self._is_named = self.opened.can("feature_names_in_")
            self.columns = self.opened.feature_names()
            self.kinds = dict.fromkeys(self.columns, "number")
            self._decimals = dict.fromkeys(self.columns, ".")
            # Names are checked by scikit-learn: rows of an estimator that has some must bring theirs.
            self._encode: Callable[[list[tuple[Any, ...]]], Any]
            self._encode = self._named_numbers if self._is_named else self._plain_numbers
        else:
            self._is_named = True
            reads = table_encoder(encoder)
            if reads is None:
                raise ModelFileError(
                    f"columns that a {type(encoder).__name__} reads are not known by name: the encoder of a model that "
                    f"is served must be a TableEncoder, or a pipeline that begins with one."
                )
            described = reads.to_plain()["columns"]
            self.columns = [column["name"] for column in described]
            self.kinds = {column["name"]: column["kind"] for column in described}
            self._decimals = {column["name"]: column.get("decimal", ".") for column in described}
            if not isinstance(model, TableModel):  # something around a model of tables
                self._encode = self._table
            else:
                takes_numbers = encoder is reads and self._takes_numbers(encoder)
                self._encode = self._encoded_numbers if takes_numbers else self._encoded_table
        self._encoder = encoder
        self._number_columns = [name for name in self.columns if self.kinds[name] == "number"]
        getter = itemgetter(*self.columns) if len(self.columns) > 1 else None
        self._values = getter or (lambda row: (row[self.columns[0]],))

    def _takes_numbers(self, encoder: Any) -> bool:
        """Whether an encoder only fills, scales and bends numbers, which takes no table."""
        numbers = encoder._numbers
        plain = all(kind in ("number", "boolean") for kind in self.kinds.values())
        if not plain or encoder.n_features_out_ != sum(c.width for c in numbers) or encoder.missing in _NOT_FILLED:
            return False
        self._number_rows = NumberRows(numbers, encoder.dtype)
        self._encoder, fill = encoder, self._number_rows.fill
        tried = [tuple(fill + 0.37), tuple([None] * len(fill)), tuple(fill * 1.7), tuple(fill - 1e3)]
        return bool((self._encoded_numbers(tried) == self._encoded_table(tried)).all())

    # -- rows --------------------------------------------------------------------------------------------------------

    def require_numbers(self, rows: Sequence[Values]) -> None:
        """Refuse new rows with a boolean, or with digits of other scripts in a text, where a number is needed.

        Logs may hold such rows, from versions that took them, and are learnt as they were.
        """
        for i, row in enumerate(rows):
            if set(map(type, row.values())) <= _NUMBERS:
                continue
            for name in self._number_columns:
                value = row.get(name)
                if value is True or value is False:
                    raise RowError(f"a number is needed. Got {str(value).lower()}.", i, name)
                if value.__class__ is str and not value.isascii():
                    raise RowError(f"a number is needed. Got the text {value[:60]!r}.", i, name)

    def encode(self, rows: Sequence[Values]) -> Any:
        """Encoded rows; a row that cannot be encoded raises a :class:`rankwise.RowError`."""
        try:
            tuples = list(map(self._values, rows))
        except KeyError:
            row, name = next((i, n) for i, values in enumerate(rows) for n in self.columns if n not in values)
            raise RowError("the column is not there; a missing value is null.", row, name) from None
        return self._encode(tuples)

    def raw(self, rows: Sequence[Values]) -> Any:
        """Rows as ``model`` itself takes them: a table, or an array if it knows no names."""
        return self.table(rows) if self._is_named else self.encode(rows)

    def table(self, rows: Sequence[Values]) -> Any:
        """Rows as a pyarrow table, for what works on raw columns."""
        return self._table([tuple(row.get(name) for name in self.columns) for row in rows])

    def encode_table(self, table: Any) -> Any:
        """Encoded rows of a pyarrow table."""
        absent = [name for name in self.columns if name not in table.column_names]
        if absent:
            raise RowError("the column is not there.", 0, absent[0])
        for name in self._number_columns:
            if len(table) and load_pyarrow().types.is_boolean(table.column(name).type):
                raise RowError("a number is needed. Got a column of booleans.", 0, name)
        if self._encoder is not None:
            return self._encoder.transform(table) if isinstance(self.model, TableModel) else table
        numbers = np.column_stack([table.column(name).to_numpy().astype(np.float64) for name in self.columns])
        return self._encode([tuple(row) for row in numbers.tolist()]) if self._is_named else self._finite(numbers)

    def _plain_numbers(self, tuples: list[tuple[Any, ...]]) -> Any:
        return self._finite(self._numbers(tuples))

    def _named_numbers(self, tuples: list[tuple[Any, ...]]) -> Any:
        columns = np.ascontiguousarray(self._plain_numbers(tuples).T)
        return load_pyarrow().table(dict(zip(self.columns, columns, strict=True)))

    def _finite(self, numbers: Floats) -> Floats:
        if not np.isfinite(numbers).all():
            row, column = np.argwhere(~np.isfinite(numbers))[0].tolist()
            raise RowError("a finite number is needed; it is missing or infinite.", row, self.columns[column])
        return numbers

    def _encoded_numbers(self, tuples: list[tuple[Any, ...]]) -> Any:
        numbers = self._numbers(tuples)
        encoded, is_finite = self._number_rows(numbers)
        if not is_finite:
            row, column = np.argwhere(np.isinf(numbers))[0].tolist()
            raise RowError("a number must be finite.", row, self.columns[column])
        return encoded

    def _encoded_table(self, tuples: list[tuple[Any, ...]]) -> Any:
        return self._encoder.transform(self._table(tuples))

    def _table(self, tuples: list[tuple[Any, ...]]) -> Any:
        """Rows as a table whose types follow from the columns alone, never from the values."""
        pa = load_pyarrow()
        columns = {}
        for name, values in zip(self.columns, zip(*tuples, strict=True), strict=True):
            if self.kinds[name] in ("number", "boolean"):
                columns[name] = pa.array(self._column(values, name))
            else:
                columns[name] = pa.array([self._text(v, i, name) for i, v in enumerate(values)], pa.string())
        return pa.table(columns)

    def _column(self, values: tuple[Any, ...], name: str) -> Floats:
        if set(map(type, values)) <= _PLAIN:
            try:
                return np.array(values, dtype=np.float64)
            except OverflowError:  # a whole number of hundreds of digits: the slow way finds it
                pass
        return np.array([self._number(v, i, name) for i, v in enumerate(values)], np.float64)

    def _numbers(self, tuples: list[tuple[Any, ...]]) -> Floats:
        if set(map(type, chain.from_iterable(tuples))) <= _PLAIN:
            try:
                return np.array(tuples, dtype=np.float64).reshape(len(tuples), len(self.columns))
            except OverflowError:
                pass
        columns = zip(self.columns, zip(*tuples, strict=True), strict=True)
        return np.column_stack([self._column(values, name) for name, values in columns])

    def _number(self, value: Any, row: int, name: str) -> float:
        if value is None:
            return np.nan
        if isinstance(value, str):
            text = value.strip()
            if not text:
                return np.nan
            if not re.match(written_number(self._decimals[name]), text):
                raise RowError(f"a number is needed. Got the text {value[:60]!r}.", row, name)
            return float(text.replace(self._decimals[name], "."))
        if not isinstance(value, (int, float)):
            raise RowError(f"a number is needed. Got a {type(value).__name__}.", row, name)
        try:
            return float(value)
        except OverflowError:
            raise RowError("a number is needed that fits 64 bits.", row, name) from None

    @staticmethod
    def _text(value: Any, row: int, name: str) -> str | None:
        if value is None or isinstance(value, str):
            return value
        if isinstance(value, (bool, int, float)):
            return text_of(value)
        raise RowError(f"a text or a number is needed. Got a {type(value).__name__}.", row, name)

    # -- labels ------------------------------------------------------------------------------------------------------

    def labels(self, texts: Sequence[str]) -> Labels:
        """Labels of rows, from texts in every notation; a text that cannot be read raises a ``RowError``."""
        known = self._labels
        labels = []
        for row, text in enumerate(texts):
            label = known.get(text)
            if label is None:
                label = self._read(text, row)
                if len(known) < _MOST_LABELS:
                    known[text] = label
            labels.append(label)
        if len(labels) == 1:
            return labels[0]
        mask = None
        if any(label.mask is not None for label in labels):
            mask = np.concatenate([label.admissible() for label in labels])
        lower = np.fromiter((label.lower[0] for label in labels), np.int32, len(labels))
        upper = np.fromiter((label.upper[0] for label in labels), np.int32, len(labels))
        return Labels(self.order, lower, upper, mask)

    def _read(self, text: str, row: int) -> Labels:
        try:
            label = encode([text], self.order)
            require_support(label, self.estimator_name, self.opened.label_kinds or ("exact", "interval"))
        except RowError as error:
            raise RowError(error.reason, row, "label") from None
        except ValueError as error:
            raise RowError(str(error), row, "label") from None
        return label

    # -- answers -----------------------------------------------------------------------------------------------------

    def answers(self, encoded: Any, level: float = 0.9) -> RowAnswers:
        """Class of every row, with probabilities and interval if the model has them."""
        estimator = self.estimator
        classes = np.asarray(estimator.predict(encoded))
        probabilities = estimator.predict_proba(encoded) if self.opened.can("predict_proba") else None
        return RowAnswers(classes, probabilities, self.intervals(encoded, level))

    def intervals(self, encoded: Any, level: float = 0.9) -> NDArray[Any] | None:
        """Lowest and highest class of each row's interval; None if the model has none."""
        return self.opened.intervals(encoded, level) if self.opened.can("predict_interval") else None

    def learn(self, encoded: Any, labels: Labels, weight: Floats) -> NDArray[Any]:
        """Learn from rows in their order; return the classes predicted before each was learnt."""
        estimator = self.estimator
        if not self.learns:
            return np.asarray(estimator.predict(encoded))
        if self.opened.can("progressive_predict"):
            return np.asarray(estimator.progressive_predict(encoded, labels, sample_weight=weight))
        predicted = np.asarray(estimator.predict(encoded))
        estimator.partial_fit(encoded, labels, sample_weight=weight)
        return predicted


def warm_up(model: Any) -> None:
    """Answer and learn a row with a copy of a model, so that its kernels are loaded before the first request."""
    copy = RowModel(deepcopy(model))
    row = {name: 0.0 if kind in ("number", "boolean") else "0" for name, kind in copy.kinds.items()}
    with suppress(ValueError):  # a row that this model refuses has loaded them as well
        encoded = copy.encode([row])
        copy.answers(encoded)
        copy.learn(encoded, encode(copy.classes[:1], copy.order), np.ones(1))


def take(encoded: Any, rows: Any) -> Any:
    """Some rows of encoded rows."""
    if isinstance(rows, slice) and hasattr(encoded, "slice"):
        start, stop, _ = rows.indices(encoded.num_rows)
        return encoded.slice(start, stop - start)
    return encoded.take(rows) if hasattr(encoded, "num_rows") else encoded[rows]


def stack(blocks: Sequence[Any]) -> Any:
    """Encoded rows of several blocks, one after the other."""
    if len(blocks) == 1:
        return blocks[0]
    if sparse.issparse(blocks[0]):
        return sparse.vstack(blocks, format="csr")
    return np.concatenate(blocks) if isinstance(blocks[0], np.ndarray) else load_pyarrow().concat_tables(blocks)
