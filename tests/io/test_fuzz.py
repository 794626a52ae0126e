"""Files of any bytes: rows, or one clear line, never anything else."""

import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankwise.io import LabelColumns, TableError, open_table, write_table
from rankwise.io import text_files as text_files
from rankwise.labels import OrderWarning
from tests.strategies import times

FOLDER = tempfile.TemporaryDirectory(prefix="rankwise-fuzz-")
TEXT_FORMATS = ("csv", "tsv", "jsonl", "svm", "csv.gz", "jsonl.zst")

csv_like = st.text(st.sampled_from('ab12.-?|<>=", \t\n\n\r;:#éx'), max_size=60).map(str.encode)
json_like = st.text(st.sampled_from('{}[]:,"ab12.-e nulltrue\n'), max_size=60).map(str.encode)
json_objects = st.lists(
    st.dictionaries(st.sampled_from("abc"), st.one_of(st.none(), st.integers(), st.floats(), st.text(max_size=3))),
    max_size=5,
).map(lambda rows: "\n".join(map(str, rows)).replace("'", '"').replace("None", "null").encode())
svm_like = st.text(st.sampled_from("0123:.,- #\nqid"), max_size=60).map(str.encode)
texts = st.one_of(csv_like, json_like, json_objects, svm_like, st.binary(max_size=60))


def written(name: str, content: bytes) -> Path:
    path = Path(FOLDER.name) / name
    path.write_bytes(content)
    return path


def read_all(path, **options):
    """Number of rows and rows left out, or the error, which must be one line that names the file."""
    left_out, rows, message = [], [], None
    try:
        table = open_table(path, quarantine=lambda *row: left_out.append(row), **options)
        rows = [(batch.row_number(i), batch.place(i)) for batch in table.batches() for i in range(len(batch))]
    except TableError as error:
        message = str(error)
    if message is not None:
        assert message.startswith(f"file {path}")
        assert "\n" not in message
        return None, left_out
    numbers = sorted([number for number, _ in rows] + [row[1] for row in left_out])
    assert numbers == list(range(1, len(numbers) + 1))
    return rows, left_out


@times(7)
@given(texts, st.sampled_from(TEXT_FORMATS))
def test_any_text(content, suffix):
    if suffix.endswith((".gz", ".zst")) and len(content) % 2:  # every other one is properly compressed
        codec = "gzip" if suffix.endswith(".gz") else "zstd"
        with pa.BufferOutputStream() as buffer, pa.CompressedOutputStream(buffer, codec) as stream:
            stream.write(content)
            stream.close()
            content = buffer.getvalue().to_pybytes()
    path = written(f"a.{suffix}", content)
    stopped, _ = read_all(path)
    skipped, left_out = read_all(path, on_error="skip")
    if stopped is not None:
        assert skipped == stopped
        assert not left_out
    elif skipped is not None:
        assert left_out


@times(3)
@given(csv_like, st.integers(1, 20))
def test_blocks_do_not_show(content, block):
    path = written("b.csv", b"a,b\n" + content)
    options = dict(types={"a": "string", "b": "string"}, on_error="skip")
    whole = read_all(path, **options)
    size = text_files.BLOCK_BYTES
    try:
        text_files.BLOCK_BYTES = block
        assert read_all(path, **options) == whole
    finally:
        text_files.BLOCK_BYTES = size


@pytest.fixture(scope="module")
def damaged():
    """Content of good files, for tests that damage them."""
    rng = np.random.default_rng(0)
    table = pa.table({"x": rng.standard_normal(300), "k": rng.integers(0, 5, 300), "t": rng.choice(["a", "bc"], 300)})
    contents = {}
    for suffix in ("parquet", "arrow", "arrows", "arrow.zst", "csv.gz"):
        write_table(Path(FOLDER.name) / f"good.{suffix}", table.to_batches(max_chunksize=100))
        contents[suffix] = (Path(FOLDER.name) / f"good.{suffix}").read_bytes()
    return contents


somewhere = st.integers(0, 1 << 16)


@times(7)
@given(
    suffix=st.sampled_from(["parquet", "arrow", "arrows", "arrow.zst", "csv.gz"]),
    changes=st.lists(st.tuples(somewhere, st.integers(0, 255)), min_size=1, max_size=3),
    cut=st.none() | somewhere,
)
def test_damaged_files(damaged, suffix, changes, cut):
    content = bytearray(damaged[suffix])
    for place, byte in changes:
        content[place % len(content)] = byte
    read_all(written(f"c.{suffix}", bytes(content if cut is None else content[: cut % len(content)])))


@times(2)
@given(st.lists(st.text(st.sampled_from("0123.-|<>=? ab"), max_size=6), min_size=1, max_size=6), st.booleans())
def test_any_labels(labels, with_classes):
    path = written("d.csv", ("x,y\n" + "".join(f'1,"{label}"\n' for label in labels)).encode())
    where, classes = LabelColumns("y"), [0, 1, 2, 3] if with_classes else None
    (batch,) = open_table(path, types=where.csv_types).batches()
    left_out = []
    kept = where.without_bad_rows(batch, classes, lambda *row: left_out.append(row))
    assert len(kept) + len(left_out) == len(labels)
    where.read(kept, classes)
    if left_out:
        with pytest.raises(TableError, match=rf"^file {path}, row \d+ \(line \d+\): 'y': [^\n]*$"):
            where.read(batch, classes)


@pytest.mark.filterwarnings("ignore", category=OrderWarning)
@settings(max_examples=60)
@given(
    st.lists(st.sampled_from(["1", "2-4", ">=3", "<9", "?", "2|5", "low", "1.5", "high-low"]), min_size=1, max_size=5)
)
def test_classes_do_not_depend_on_batches(labels):
    path = written("e.csv", ("y\n" + "".join(f'"{label}"\n' for label in labels)).encode())
    where = LabelColumns("y")
    found = []
    for batch_rows in (1, 2, 100):
        try:
            table = open_table(path, types=where.csv_types, batch_rows=batch_rows)
            found.append(where.find_classes(table).values.tolist())
        except ValueError:
            found.append("refused")
    assert found[0] == found[1] == found[2]
