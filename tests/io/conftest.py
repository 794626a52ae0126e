"""Files for the tests of reading and writing."""

import gzip

import pyarrow as pa
import pytest

from rankwise.io import open_table


@pytest.fixture
def file(tmp_path):
    """Write a file: file("a.csv", "x,y\n1,2\n"); the suffixes .gz and .zst compress."""

    def write(name, content):
        raw = content.encode() if isinstance(content, str) else content
        path = tmp_path / name
        if path.suffix == ".gz":
            raw = gzip.compress(raw, mtime=0)
        elif path.suffix == ".zst":
            raw = pa.compress(raw, codec="zstd", asbytes=True)
        path.write_bytes(raw)
        return path

    return write


@pytest.fixture
def rows():
    """All rows of a table with their places: rows(path, **options)."""

    def read(paths, start_row=0, **options):
        batches = list(open_table(paths, **options).batches(start_row))
        return [(row, batch.row_number(i)) for batch in batches for i, row in enumerate(batch.data.to_pylist())]

    return read
