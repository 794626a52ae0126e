"""Models from files, with the rows that they predict."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import typer
from sklearn.base import clone

from rankwise.auto import AutoOrdinal, BlendedOrdinal, PathCV
from rankwise.calibration import CalibratedOrdinal, ConformalOrdinal
from rankwise.cli import _estimators
from rankwise.cli._labelled_files import LabelledFiles, Rows
from rankwise.cli._options import LabelOptions, RowOptions
from rankwise.features import TableEncoder
from rankwise.labels import ClassOrder
from rankwise.persistence import ModelFileError, load, read_notes
from rankwise.table_model import TableModel, table_encoder


def open_with_model(
    path: Path, files: Sequence[Path], rows: RowOptions, labels: LabelOptions | None = None
) -> tuple[TableModel, LabelledFiles]:
    """A model that takes raw rows, and files with its columns; without ``labels``, files need no labels."""
    model = load_model(path)
    notes = read_notes(path)
    rows = rows.as_learnt(model, notes, files)
    labels = None if labels is None else labels.as_learnt(notes)
    source = LabelledFiles(files, rows, labels, features=known_columns(model), texts=text_columns(model))
    model = for_columns(model, source.features, is_svmlight=source.is_svmlight)
    source.order = ClassOrder(model.classes_)
    source.say_guess()
    return model, source


def first_rows(source: LabelledFiles, most: int, row: int | None) -> tuple[Rows, Rows | None]:
    """The first rows of the files, and the row of a number, counted from 1."""
    first: list[Rows] = []
    wanted, done = None, 0
    for batch in source.table(source.features, counts=True).batches():
        rows = source.rows_of(batch)
        if row is not None and done < row <= done + len(rows):
            wanted = rows.take(np.array([row - 1 - done]))
        if done < most:
            first.append(rows.take(np.arange(min(len(rows), most - done))))
        done += len(rows)
        if done >= most and (row is None or wanted is not None):
            break
    if row is not None and wanted is None:
        raise typer.BadParameter(f"--row {row}: the files have {done:,} rows.")
    return source.joined(first), wanted


def load_model(path: Path) -> Any:
    """Model of ordered classes from a file; for a search, the model that it chose."""
    loaded = load(path)
    model = loaded.best_estimator_ if isinstance(loaded, (AutoOrdinal, PathCV)) else loaded
    inner = model
    if isinstance(model, (CalibratedOrdinal, ConformalOrdinal)):
        inner = model.estimator_
    elif isinstance(model, BlendedOrdinal):
        inner = model.estimators_[0]
    outer, kind = type(model).__name__, type(inner).__name__
    if inner is not model and kind not in _estimators.names():
        raise ModelFileError(
            f"{path} holds a {outer} around a {kind}, which only Python reads; "
            f"the commands read TableModel({outer}(...))."
        )
    if not isinstance(inner, TableModel) and kind not in _estimators.names():
        raise ModelFileError(f"{path} holds a {kind}, which does not give a row of a table one of several classes.")
    return model


def known_columns(model: Any) -> list[str] | None:
    """Names of the columns that a model needs, if it has them."""
    names = getattr(model, "feature_names_in_", None)
    if names is None or (isinstance(model, TableModel) and model.encoder_ is None):
        return None
    return [str(name) for name in names]


def text_columns(model: Any) -> list[str]:
    """Columns that must be read as text."""
    encoder = table_encoder(getattr(model, "encoder_", None))
    columns = [] if encoder is None else encoder.to_plain()["columns"]
    return [c["name"] for c in columns if c["kind"] in ("category", "ordered", "text") or c.get("decimal") == ","]


def decimal_of(model: Any) -> str | None:
    """A decimal comma, if the model learnt from a column of numbers with it."""
    encoder = table_encoder(getattr(model, "encoder_", None))
    columns = [] if encoder is None else encoder.to_plain()["columns"]
    return "," if any(column.get("decimal") == "," for column in columns) else None


def for_columns(model: Any, columns: Sequence[str], *, is_svmlight: bool) -> TableModel:
    """Model that takes raw rows; a bare estimator gets the columns as numbers, in their order."""
    if isinstance(model, TableModel):
        if is_svmlight and model.encoder_ is not None:
            raise ModelFileError("the model was learnt from columns with names, and svmlight files have none.")
        if not is_svmlight and model.encoder_ is None:
            raise ModelFileError("the model was learnt from an svmlight file, and takes no columns with names.")
        return model
    if is_svmlight:
        whole = TableModel(model, "none")
        whole.encoder_ = None
    else:
        if len(columns) != model.n_features_in_:
            raise ModelFileError(
                f"the model takes {model.n_features_in_} features without names, and the files have {len(columns)} "
                f"columns besides the labels."
            )
        encoder = TableEncoder(scaling="none", missing="refuse")
        whole = TableModel(model, clone(encoder))
        numbers = [{"name": name, "kind": "number"} for name in columns]
        encoder.from_plain({"kinds": [(name, "number") for name in columns], "columns": numbers})
        whole.encoder_ = encoder
    whole.estimator_ = model
    return whole
