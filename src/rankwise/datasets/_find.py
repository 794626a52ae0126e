"""Find a data set in a directory or on OpenML, and read it into columns."""

import csv
import gzip
import os
import re
import warnings
import zlib
from collections.abc import Callable, Iterable, Sequence
from http.client import HTTPException
from pathlib import Path
from typing import Any, TextIO, cast

import numpy as np
from numpy.typing import NDArray

from rankwise.datasets._sources import TableSource

VARIABLE = "RANKWISE_DATA"
_BESIDE = "shared/data beside the checkout"

Table = dict[str, NDArray[Any]]
"""Columns by name: float64 with NaN where missing, or objects (str) with None where missing."""


class DatasetNotFoundError(FileNotFoundError):
    """A data set is in no data directory and cannot be downloaded; the message tells how to get it."""


class DatasetDamagedError(ValueError):
    """A data set exists, but with wrong content; the message names the file and the place."""


def key(column: str) -> str:
    """Return the form in which column names are compared: ``Education-Num`` is ``education_num``."""
    return re.sub(r"\W+", "_", column).strip("_").lower()


def read(name: str, source: TableSource, data_dir: str | os.PathLike[str] | None) -> tuple[Table, str]:
    """Return the columns of a set, and where they come from."""
    paths, tried = locate(source.files, data_dir)
    if paths:
        tables = [read_csv(path, source.text) for path in paths]
        if any(list(table) != list(tables[0]) for table in tables):
            raise DatasetDamagedError(f"{paths[-1]} is damaged: its columns are not those of {paths[0]}.")
        return {c: np.concatenate([table[c] for table in tables]) for c in tables[0]}, " and ".join(map(str, paths))

    label = "{} (version {})".format(*source.openml)
    try:
        bunch = _download(*source.openml)
    except (OSError, HTTPException, ValueError) as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise DatasetNotFoundError(
            f"{_advice(name, source.files)}, or go online, so that it can be downloaded from OpenML as {label}. "
            f"Tried: {'; '.join([*tried, f'OpenML: {reason}'])}"
        ) from error
    return _from_bunch(bunch, source.text, f"OpenML's {label}"), f"OpenML: {label}"


def read_offline(name: str, file: str, text: Iterable[str], data_dir: str | os.PathLike[str] | None) -> Table:
    """Return the columns of a file that OpenML does not have."""
    return read_csv(locate_offline(name, file, data_dir), text)


def locate_offline(name: str, file: str, data_dir: str | os.PathLike[str] | None) -> Path:
    """Return the path of a file that OpenML does not have."""
    paths, tried = locate((file,), data_dir)
    if not paths:
        raise DatasetNotFoundError(f"{_advice(name, (file,))}; OpenML does not have it. Tried: {'; '.join(tried)}")
    return paths[0]


def read_rows(path: Path, rows: Callable[[TextIO], list[list[str]]], encoding: str) -> list[list[str]]:
    """Read a plain or gzipped text file with a function that splits it into rows."""
    try:
        with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding=encoding, newline="") as stream:
            return rows(cast(TextIO, stream))
    except (csv.Error, UnicodeDecodeError, EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DatasetDamagedError(f"{path} is damaged: {error}") from error


def locate(files: Sequence[str], data_dir: str | os.PathLike[str] | None) -> tuple[list[Path], list[str]]:
    """Return the paths of all files in the first directory that has them, and why earlier directories do not count."""
    places = {"data_dir": data_dir, VARIABLE: os.environ.get(VARIABLE) or None, _BESIDE: _beside_checkout()}
    tried = []
    for label, place in places.items():
        if place is None:
            tried.append(f"{label}: no directory")
            continue
        directory = Path(place).expanduser()
        if not directory.is_dir():
            raise DatasetNotFoundError(f"{label} must be a directory that holds data sets. Got {str(place)!r} instead.")
        paths = {file: _plain_or_gzipped(directory / file) for file in files}
        missing = [file for file, path in paths.items() if path is None]
        if not missing:
            return [path for path in paths.values() if path], tried
        tried.append(f"{label}: no {' and '.join(missing)} in {directory}")
    return [], tried


def read_csv(path: Path, text: Iterable[str]) -> Table:
    """Read a CSV file with one header row; ``text`` names the columns that hold strings, all others hold numbers."""
    rows = read_rows(path, lambda stream: [row for row in csv.reader(stream, strict=True) if row], "utf-8-sig")
    if not rows:
        raise DatasetDamagedError(f"{path} is damaged: it is empty.")
    header = rows.pop(0)
    if len(set(header)) < len(header):
        raise DatasetDamagedError(f"{path} is damaged: a column name occurs twice.")
    for i, row in enumerate(rows, start=1):
        if len(row) != len(header):
            raise DatasetDamagedError(f"{path} is damaged: row {i} has {len(row)} cells, not {len(header)}.")
    strings = {key(column) for column in text}
    columns = zip(*rows, strict=True) if rows else ((),) * len(header)
    return {
        column: _column(cells, key(column) in strings, f"{path} is damaged: column {column!r}")
        for column, cells in zip(header, columns, strict=True)
    }


def _column(cells: Sequence[str], is_text: bool, place: str) -> NDArray[Any]:
    """Convert the cells of a column; an empty one is missing."""
    if is_text:
        return np.array([cell or None for cell in cells], dtype=object)
    numbers = []
    for i, cell in enumerate(cells, start=1):
        try:
            numbers.append(float(cell or "nan"))
        except ValueError:
            raise DatasetDamagedError(f"{place} has {cell!r} in row {i}, which is not a number.") from None
    return np.array(numbers, dtype=np.float64)


def _download(name: str, version: int) -> Any:
    from sklearn.datasets import fetch_openml  # slow to import, and only needed here

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="A network error occurred")  # the final error says it
        return fetch_openml(
            name=name, version=version, target_column=None, as_frame=False, parser="liac-arff", n_retries=1
        )


def _from_bunch(bunch: Any, text: Iterable[str], label: str) -> Table:
    """Undo scikit-learn's coding of categories: OpenML declares some numbers categorical."""
    strings = {key(column) for column in text}
    categories = bunch.categories or {}
    table = {}
    for j, column in enumerate(bunch.feature_names):
        values = bunch.data[:, j]
        if column in categories:
            cells = ["" if np.isnan(code) else str(categories[column][int(code)]) for code in values]
            values = _column(cells, key(column) in strings, f"{label}, column {column!r},")
        table[column] = values
    return table


def _advice(name: str, files: Sequence[str]) -> str:
    return (
        f"The data set {name!r} was not found. Give a directory that holds {' and '.join(files)} (plain or .gz) "
        f"as data_dir or in the environment variable {VARIABLE}"
    )


def _plain_or_gzipped(path: Path) -> Path | None:
    return next((p for p in (path, path.with_name(path.name + ".gz")) if p.is_file()), None)


def _beside_checkout() -> Path | None:
    """Return ``shared/data`` beside the checkout of this file, if both exist."""
    checkout = Path(__file__).resolve().parents[3]
    directory = checkout.parent / "shared" / "data"
    return directory if (checkout / "pyproject.toml").is_file() and directory.is_dir() else None
