"""Files of raw rows: tables of any size read in batches, label columns, and files written whole or not at all.

CSV, TSV, Parquet, Arrow IPC, JSON lines, svmlight and Excel; one file, several or a directory; plain, gzip or zstd.
Rows come in a fixed order, all but Excel's in constant memory, and every error names the file and the row.
Answers of raters can also be read from and written for Label Studio, Argilla and potato.

This package needs pyarrow. Without it: ``pip install 'rankwise[io]'``.
"""

try:
    import pyarrow as _pyarrow  # noqa: F401
except ModuleNotFoundError as error:
    if error.name != "pyarrow":  # pyarrow is there, but misses a module that its own message names
        raise
    raise ImportError("rankwise.io needs pyarrow: pip install 'rankwise[io]'") from None

from rankwise.io.answer_files import ANNOTATION_FORMATS, read_answers, read_items, write_answers
from rankwise.io.conversion import convert
from rankwise.io.label_columns import LabelColumns
from rankwise.io.row_batch import Batch, numeric_matrix
from rankwise.io.table_errors import TableError, TableRowError
from rankwise.io.table_reader import Table, open_table
from rankwise.io.writing import TableWriter, append_column, write_table

__all__ = [
    "ANNOTATION_FORMATS",
    "Batch",
    "LabelColumns",
    "Table",
    "TableError",
    "TableRowError",
    "TableWriter",
    "append_column",
    "convert",
    "numeric_matrix",
    "open_table",
    "read_answers",
    "read_items",
    "write_answers",
    "write_table",
]
