"""Answers of raters in files: Label Studio, Argilla, potato, and tables with the columns item, rater and label."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from rankwise._errors import RowError
from rankwise._files import write_whole
from rankwise._words import either
from rankwise.io._argilla import read_records, write_records
from rankwise.io._potato import read_instances, write_instances
from rankwise.io.answer_controls import Answer, Controls, as_number
from rankwise.io.input_files import split_suffix
from rankwise.io.label_studio_files import read_tasks, write_tasks
from rankwise.io.table_errors import TableError, place
from rankwise.io.table_reader import open_table, read_columns
from rankwise.io.writing import write_table
from rankwise.labels import UnreadableLabelsError, declared_order, encode, is_missing
from rankwise.labels.formatting import labels_as_given, written_as_given


class _Tool(NamedTuple):
    mark: str  #: entry by which its JSON objects are recognised
    read: Callable[[Any, Controls], Iterator[Answer]]
    write: Callable[..., Any]


_WHOLE = re.compile(r"0|[1-9][0-9]{0,17}")
_TOOLS = {
    "label-studio": _Tool("data", read_tasks, write_tasks),
    "argilla": _Tool("fields", read_records, write_records),
    "potato": _Tool("label_annotations", read_instances, write_instances),
}

ANNOTATION_FORMATS = tuple(_TOOLS)
"""Formats of annotation tools."""


def read_answers(
    path: str | os.PathLike[str],
    format: str | None = None,
    *,
    question: str | None = None,
    ends: tuple[str, str] = ("lower", "upper"),
    predictions: bool = False,
) -> dict[str, list[Any]]:
    """Read the answers of raters from a file, as columns for :mod:`rankwise.raters`.

    Parameters
    ----------
    path : path
        File of an annotation tool, or a table (CSV, Parquet ...) with the columns item, rater and label.
    format : {"label-studio", "argilla", "potato"} or a table's, optional
        By default inferred from the content of JSON files, and from the suffix of others.
    question : str, optional
        Name of the question, or of the column of labels in a table. By default the only one, or "label".
    ends : pair of str, default ("lower", "upper")
        Names of the two questions that hold the ends of a range.
    predictions : bool, default False
        Return the predictions of models, with their version as rater, instead of people's answers.

    Returns
    -------
    dict of lists
        ``item``, ``rater``, ``label`` and ``seconds``; of predictions also ``score``.

    Examples
    --------
    >>> import json, tempfile, pathlib
    >>> from rankwise.io import read_answers
    >>> task = {"id": 7, "data": {"text": "fine"}, "annotations": [{"completed_by": 2, "lead_time": 3.5, "result": [
    ...     {"from_name": "lower", "to_name": "text", "type": "number", "value": {"number": 3}},
    ...     {"from_name": "upper", "to_name": "text", "type": "number", "value": {"number": 5}}]}]}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "export.json"
    ...     _ = path.write_text(json.dumps([task]))
    ...     read_answers(path)
    {'item': [7], 'rater': [2], 'label': [(3, 5)], 'seconds': [3.5]}
    """
    path = Path(path)
    content = None if format not in (None, *ANNOTATION_FORMATS) else _content(path, format)
    if content is None:
        return _read_table(path, format, question or "label")
    format = format or _format_of(content)
    if format is None:
        raise TableError(
            f"{path} is JSON of no annotation tool that is known ({', '.join(ANNOTATION_FORMATS)}): "
            f"{either('name its format', 'name it with --answers-from')}."
        )
    try:
        answers = list(_TOOLS[format].read(content, Controls(question, ends)))
    except TableError as error:
        raise TableError(f"{path}: {error}") from None
    except (AttributeError, TypeError, ValueError) as error:
        raise TableError(f"{path} is no {format} export: {error}.") from None
    chosen = [answer for answer in answers if answer.by_model == predictions]
    names = ("item", "rater", "label", "seconds", *(("score",) if predictions else ()))
    return {name: [getattr(answer, name) for answer in chosen] for name in names}


@contextmanager
def answers_located(path: Path, format: str | None, answers: Mapping[str, list[Any]], question: str) -> Iterator[None]:
    """Errors about the label of an answer of this file name the file and its row, or the item and the rater."""
    try:
        yield
    except RowError as error:
        if isinstance(error, TableError):
            raise
        at = _Places(path, format, answers)
        reason = error.told(at.within) if isinstance(error, UnreadableLabelsError) else error.reason
        raise TableError(f"{place(str(path))}, {at.within(error.row)}: {question!r}: {reason}") from None


@dataclass
class _Places:
    """Where the answers of a file are."""

    path: Path
    format: str | None
    answers: Mapping[str, list[Any]]

    def within(self, row: int) -> str:
        if self.format in ANNOTATION_FORMATS or _content(self.path, self.format) is not None:
            return f"item {self.answers['item'][row]!r}, rater {self.answers['rater'][row]!r}"
        first = 0
        for batch in open_table(self.path, format=self.format).batches():
            if row < first + len(batch):
                return batch.place(row - first).removeprefix(f"file {batch.file}, ")
            first += len(batch)
        return f"row {row + 1}"


def write_answers(
    table: Mapping[str, Any],
    path: str | os.PathLike[str],
    format: str | None = None,
    *,
    classes: Any = None,
    question: str = "label",
    ends: tuple[str, str] = ("lower", "upper"),
    items: Mapping[Any, Mapping[str, Any]] | None = None,
) -> int:
    """Write answers of raters to a file, whole or not at all; return how many.

    Parameters
    ----------
    table : dict of columns
        ``item``, ``rater`` and ``label``, in any form of :func:`rankwise.labels.encode`; ``seconds`` if known. With a
        column ``score`` the rows are predictions, and ``rater`` names the model. A column ``kind`` tells answers from
        decisions about items whose raters differ ("decision"), which are the ground truth for Label Studio.
    path : path
        File to write.
    format : {"label-studio", "argilla", "potato"} or a table's, optional
        Without it, the suffix must be that of a table; labels are then written as texts such as ``3-5``.
    classes : sequence, optional
        The classes, lowest first; by default as in :func:`rankwise.labels.encode`. A range of all of them stays one.
    question, ends
        As in :func:`read_answers`.
    items : mapping of item to dict, optional
        What to show for an item, as :func:`read_items` reads it: Label Studio's data, Argilla's fields.

    Notes
    -----
    Tasks for Label Studio fit a labelling configuration whose object is named ``item``, with a Rating, Number or
    Choices named as the question, Numbers for the ends of a range, and a TextArea ``rater``, which holds the rater:
    Label Studio takes only its own users as authors.
    """
    path = Path(path)
    if format in ANNOTATION_FORMATS and split_suffix(path)[0] not in (None, "jsonl"):
        raise TableError(f"{place(str(path))}: a file for {format} is JSON, so its name must end with .json.")
    columns = {name: _values(table[name]) for name in ("item", "rater")}
    labels = encode(table["label"], classes, n_rows=len(columns["item"]))
    n = len(labels)
    given = labels_as_given(table["label"], labels, classes_are_declared=classes is not None)
    optional = {name: _values(table[name]) for name in ("seconds", "score", "kind") if name in table}
    if format not in ANNOTATION_FORMATS:
        columns |= {question: written_as_given(given, labels.order), **optional}
        batch = pa.RecordBatch.from_pydict({name: _of_one_type(values) for name, values in columns.items()})
        return write_table(path, [batch], format=format)
    seconds, score, kind = (optional.get(name, [None] * n) for name in ("seconds", "score", "kind"))
    rows = zip(columns["item"], columns["rater"], given, seconds, score, kind, strict=True)
    answers = [Answer(i, r, label, s, p, "score" in table, k == "decision") for i, r, label, s, p, k in rows]
    order = declared_order(classes) if classes is not None else labels.order
    about = items or {}
    shown = {item: about.get(item, about.get(str(item))) for item in columns["item"]}
    shown = {item: columns for item, columns in shown.items() if columns is not None}
    content = _TOOLS[format].write(answers, Controls(question, ends, order), shown)
    lines = [json.dumps(line, allow_nan=False) for line in (content if format == "potato" else [content])]
    write_whole(path, ("\n".join(lines) + "\n").encode())
    return n


def read_items(path: str | os.PathLike[str]) -> dict[str, dict[str, Any]]:
    """Read a table of items, for :func:`write_answers`: the other columns of each by its name.

    Parameters
    ----------
    path : path
        Table with a column ``item`` or ``id`` that names items, and what to show for each in the others.
    """
    opened = open_table(path)
    name = next((name for name in ("item", "id") if name in opened.schema.names), None)
    if name is None:
        raise TableError(f"{path} has no column 'item' or 'id' that names the items.")
    if opened.format in ("csv", "tsv", "jsonl"):
        opened = open_table(path, types={name: "string"})
    columns = read_columns(opened, opened.schema.names)
    names = [None if is_missing(value) else str(value) for value in columns.pop(name)]
    rows: dict[str, dict[str, Any]] = {}
    for row, item in enumerate(names):
        if item is None or item in rows:
            raise TableError(f"{path}, row {row + 1}, column {name!r}: an item needs a name of its own. Got {item!r}.")
        rows[item] = {column: _plain(values[row]) for column, values in columns.items()}
    return rows


def _plain(value: Any) -> Any:
    """A value as JSON holds it; dates and the like as texts."""
    return None if is_missing(value) else value if isinstance(value, (bool, int, float, str)) else str(value)


def _values(column: Any) -> list[Any]:
    """Values of a column as JSON takes them: Python's own, None where one is missing."""
    values = column.tolist() if hasattr(column, "tolist") else list(column)
    return [None if is_missing(v) else v.item() if isinstance(v, np.generic) else v for v in values]


def _of_one_type(values: list[Any]) -> list[Any]:
    """Values of a column; as texts where numbers and texts are mixed."""
    kinds = {type(value) for value in values if value is not None}
    return values if kinds <= {int, float} or len(kinds) < 2 else [None if v is None else str(v) for v in values]


def _content(path: Path, format: str | None) -> Any:
    """Content of a file of an annotation tool; None if it is a table."""
    if format == "label-studio" and path.suffix.lower() in (".csv", ".tsv"):
        return _lines(path)
    if format is None and path.suffix.lower() not in (".json", ".jsonl", ".ndjson"):
        return None
    if not path.is_file():
        raise FileNotFoundError(f"no file at {path}.")
    text = path.read_bytes()
    try:
        if format == "potato" or (format is None and path.suffix.lower() != ".json"):
            lines = [json.loads(line) for line in text.splitlines() if line.strip()]
            return lines if format is not None or _format_of(lines) == "potato" else None
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise TableError(f"{path} is no JSON: {reason}.") from None


def _lines(path: Path) -> list[dict[str, Any]]:
    """Lines of Label Studio's CSV or TSV, as its JSON_MIN has them: controls are JSON in their cells."""
    opened = open_table(path)
    if "annotation_id" not in opened.schema.names:
        raise TableError(f"{path} has no column 'annotation_id': this is no export of Label Studio.")
    opened = open_table(path, types=dict.fromkeys(opened.schema.names, "string"))
    columns = read_columns(opened, opened.schema.names)
    rows = zip(*columns.values(), strict=True)
    return [
        {name: _cell(name, text) if text else None for name, text in zip(columns, row, strict=True)} for row in rows
    ]


def _cell(name: str, text: str) -> Any:
    """Value of a cell: numbers of Label Studio's own columns, and controls, which are JSON objects or lists of them."""
    if name in ("id", "annotator", "annotation_id", "lead_time"):
        return as_number(text)
    try:
        value = json.loads(text) if text[0] in "[{" else None
    except (ValueError, RecursionError):
        value = None
    return text if value is None else value


def _format_of(content: Any) -> str | None:
    first = content[0] if isinstance(content, list) and content else None
    if not isinstance(first, dict):
        return None
    if {"annotation_id", "annotator"} <= first.keys():  # Label Studio's JSON_MIN
        return "label-studio"
    return next((name for name, tool in reversed(_TOOLS.items()) if tool.mark in first), None)


def _read_table(path: Path, format: str | None, label: str) -> dict[str, list[Any]]:
    opened = open_table(path, format=format)
    missing = [name for name in ("item", "rater", label) if name not in opened.schema.names]
    if missing:
        raise TableError(f"{path} has no column {missing[0]!r}: answers need the columns item, rater and {label}.")
    more = [name for name in ("seconds", "score") if name in opened.schema.names]
    if opened.format in ("csv", "tsv"):  # 007 is a name
        opened = open_table(path, format=format, types={"item": "string", "rater": "string"})
    columns = read_columns(opened, ["item", "rater", label, *more])
    columns["label"] = columns.pop(label)
    return columns | {name: _names(columns[name]) for name in ("item", "rater")}


def _names(column: list[Any]) -> list[Any]:
    """Names, as numbers if all of them are whole numbers as Python writes them."""
    texts = [value for value in column if value is not None]
    if all(isinstance(text, str) and _WHOLE.fullmatch(text) for text in texts):
        return [value if value is None else int(value) for value in column]
    return column
