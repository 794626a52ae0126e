"""svmlight files: a label (or several, with commas between them) and ``index:value`` pairs a line.

scikit-learn's reader parses them. What it needs to know beforehand so that every block gives a matrix of the same
shape, the largest index, whether indices begin at 0, and whether rows have several labels, a first pass finds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from io import BytesIO
from typing import Any

import numpy as np
import pyarrow as pa
from scipy import sparse
from sklearn.datasets import load_svmlight_file

from rankwise.io._batch import Quarantine
from rankwise.io._errors import TableError, place, shown
from rankwise.io._files import File
from rankwise.io._text import TextFile, plain_complaint, utf8_complaint

_LARGEST_INDEX = 2**31 - 1
_INDEX = re.compile(rb"(?<=\s)(\d+):")
_SEVERAL_LABELS = re.compile(rb"^[^\s#]*,", re.MULTILINE)


class SVMLightFile(TextFile):
    """An svmlight file.

    Parameters
    ----------
    file, quarantine
        As in :class:`TextFile`.
    shape : SVMLightShape
        What all files of the table have in common.
    """

    def __init__(self, file: File, quarantine: Quarantine | None, shape: SVMLightShape) -> None:
        super().__init__(file, quarantine)
        self.dialect = _DIALECT
        self.shape = shape
        self.schema = pa.schema([("label", pa.list_(pa.float64()) if shape.several_labels else pa.float64())])

    def parse(self, content: bytes) -> tuple[Any, Any]:
        matrix, labels = load_svmlight_file(
            BytesIO(content),
            n_features=self.shape.n_features,
            zero_based=self.shape.zero_based,
            multilabel=self.shape.several_labels,
        )
        return matrix, labels

    def n_parsed(self, data: Any) -> int:
        return int(data.shape[0])

    def joined(self, parts: list[tuple[Any, Any]]) -> tuple[Any, Any]:
        if not parts:
            return sparse.csr_matrix((0, self.shape.n_features)), np.empty(0)
        matrix = sparse.vstack([matrix for matrix, _ in parts], format="csr")
        if self.shape.several_labels:
            return matrix, [labels for _, part in parts for labels in part]
        return matrix, np.concatenate([labels for _, labels in parts])

    def complaint(self, record: bytes, error: BaseException) -> str:
        wrong_text = utf8_complaint(record)
        if wrong_text:
            return wrong_text
        return f"a row must be a label and index:value pairs. Got {shown(record.decode().strip())}: " + (
            plain_complaint(error)
        )


class SVMLightShape:
    """Number of columns, first index and number of labels, found in one pass over files.

    Parameters
    ----------
    files : list of File
        The files of a table.
    """

    def __init__(self, files: list[File]) -> None:
        largest, smallest, self.several_labels = 0, 1, False
        for file in files:
            for content in _contents(file):
                indices = _INDEX.findall(content)
                if indices:
                    numbers = np.array(indices, dtype="S20").astype(np.float64)
                    largest, smallest = max(largest, int(numbers.max())), min(smallest, int(numbers.min()))
                self.several_labels = self.several_labels or _SEVERAL_LABELS.search(content) is not None
            if largest > _LARGEST_INDEX:
                raise TableError(f"{place(file.name)}: an index must be at most {_LARGEST_INDEX}. Got {largest}.")
        self.zero_based = smallest == 0
        self.n_features = max(1, largest + self.zero_based)


_DIALECT = {"spaces_are_blank": True, "comment": ord("#")}


def _contents(file: File) -> Iterator[bytes]:
    plain = TextFile(file, None)
    plain.dialect = _DIALECT
    for block in plain.blocks():
        yield block.content
