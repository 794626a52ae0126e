"""svmlight files: a label (or several, with commas between them) and ``index:value`` pairs a line.

scikit-learn's reader parses them. All rows must be read once before blocks get the same shape: only then the largest
index, whether indices begin at 0, and whether rows have several labels are known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from io import BytesIO
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy import sparse
from sklearn.datasets import load_svmlight_file

from rankwise._words import setting
from rankwise.io.input_files import File
from rankwise.io.row_batch import Batch, Quarantine
from rankwise.io.table_errors import shown
from rankwise.io.text_files import BadRecordError, TextFile, TextStyle, plain_complaint, utf8_complaint

MAX_FEATURES = 10_000_000
_LARGEST_INDEX = 2**31 - 1  # of scikit-learn's reader
_INDEX = re.compile(rb"(?<=\s)(\d{10,}):")  # those that may be larger
_COMMENT = re.compile(rb"#[^\r\n]*")
_SEVERAL_LABELS = re.compile(rb"^[^\s#]*,", re.MULTILINE)


class SVMLightShape:
    """Number of columns, first index and number of labels of all files of a table, as far as they have been read."""

    def __init__(self, index_base: int | None, max_features: int) -> None:
        self.declared, self.max_features = index_base, max_features
        self.largest, self.smallest, self.several_labels = 0, 1, False
        self.is_known = False  #: whether all rows have been read

    def include(self, batch: Batch) -> None:
        """Include rows as they were read, with their indices as columns."""
        indices = batch.data.indices
        if indices.size:
            self.largest, self.smallest = max(self.largest, int(indices.max())), min(self.smallest, int(indices.min()))
        self.several_labels = self.several_labels or isinstance(batch.labels, list)

    def check(self, indices: NDArray[np.int32]) -> None:
        """Raise for indices outside the limits."""
        base = 1 if self.declared is None else self.declared
        if indices.size and indices.max() - base >= self.max_features:
            raise BadRecordError(
                f"an index must be at most {self.max_features - 1 + base}, so that a model does not take all "
                f"memory. Got {indices.max()}. If it is right, raise the limit, "
                f"{setting('max_features', self.max_features)}."
            )
        if self.declared == 1 and indices.size and indices.min() < 1:
            raise BadRecordError("an index must be at least 1, where indices begin. Got 0.")

    @property
    def index_base(self) -> int:
        """Index of the first column: as declared, else 0 if any row has it."""
        return min(1, self.smallest) if self.declared is None else self.declared

    @property
    def n_features(self) -> int:
        return max(1, self.largest + 1 - self.index_base)

    @property
    def schema(self) -> Any:
        """The column of labels."""
        return pa.schema([("label", pa.list_(pa.float64()) if self.several_labels else pa.float64())])

    def applied(self, batch: Batch) -> Batch:
        """Convert rows to the shape of all rows."""
        matrix, labels = batch.data, batch.labels
        indices = matrix.indices - self.index_base
        matrix = sparse.csr_matrix((matrix.data, indices, matrix.indptr), shape=(len(batch), self.n_features))
        if self.several_labels and not isinstance(labels, list):
            labels = [(label,) for label in labels.tolist()]
        return replace(batch, data=matrix, labels=labels)


class SVMLightFile(TextFile):
    """An svmlight file; its batches have the indices as columns; all files of the table share ``shape``."""

    dialect = MappingProxyType({"spaces_are_blank": True, "comment": ord("#")})

    def __init__(
        self, file: File, quarantine: Quarantine | None, keep: bool, style: TextStyle, shape: SVMLightShape
    ) -> None:
        self.shape = shape
        super().__init__(file, quarantine, keep, style)

    def batches(self, skip: int) -> Iterator[Batch]:
        for batch in super().batches(skip):
            self.shape.include(batch)
            yield batch

    def parse(self, content: bytes) -> tuple[Any, Any]:
        content = _COMMENT.sub(b"", content) if b"#" in content else content
        largest = max(map(int, _INDEX.findall(content)), default=0)
        if largest > _LARGEST_INDEX:
            raise BadRecordError(f"an index must be at most {_LARGEST_INDEX}. Got {largest}.")
        several = _SEVERAL_LABELS.search(content) is not None
        matrix, labels = load_svmlight_file(BytesIO(content), zero_based=True, multilabel=several)
        self.shape.check(matrix.indices)
        return matrix, labels

    def joined(self, pieces: list[tuple[Any, Any]]) -> tuple[Any, Any]:
        width = max((matrix.shape[1] for matrix, _ in pieces), default=1)
        for matrix, _ in pieces:
            matrix.resize((matrix.shape[0], width))
        matrix = sparse.vstack([sparse.csr_matrix((0, width)), *(matrix for matrix, _ in pieces)], format="csr")
        labels = [labels for _, labels in pieces]
        if any(isinstance(some, list) for some in labels):
            return matrix, [row for some in labels for row in (some if isinstance(some, list) else zip(some.tolist()))]
        return matrix, np.concatenate([np.empty(0), *labels])

    def complaint(self, record: bytes, error: BaseException) -> str:
        complaint = utf8_complaint(record)
        if complaint or isinstance(error, BadRecordError):
            return complaint or str(error)
        text = shown(record.decode().strip())
        return f"a row must be a label and index:value pairs. Got {text}: {plain_complaint(error)}"
