"""Files written whole or not at all."""

import errno
import os
import subprocess
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from rankwise.io import Batch, TableError, TableWriter, append_column, open_table, write_table
from rankwise.io import writing as writing

NAMES = ("a.csv", "a.tsv.gz", "a.parquet", "a.arrow", "a.arrows", "a.arrow.gz", "a.jsonl", "a.jsonl.zst")


def batch_of(n=3):
    return pa.record_batch({"x": np.arange(n) / 2, "name": [f"row {i}" for i in range(n)]})


@pytest.mark.parametrize("name", NAMES)
def test_what_is_written_is_read(tmp_path, name, rows):
    assert write_table(tmp_path / name, [batch_of(3), batch_of(2)]) == 5
    assert [row for row, _ in rows(tmp_path / name)] == batch_of(3).to_pylist() + batch_of(2).to_pylist()
    assert os.listdir(tmp_path) == [name]
    umask = os.umask(0)
    os.umask(umask)
    assert (tmp_path / name).stat().st_mode & 0o777 == 0o666 & ~umask


@pytest.mark.parametrize("name", [name for name in NAMES if "json" not in name])
def test_no_rows_but_columns(tmp_path, name):
    assert write_table(tmp_path / name, [], schema=batch_of().schema) == 0
    opened = open_table(tmp_path / name)
    assert opened.schema.names == ["x", "name"]
    assert list(opened.batches()) == []


def test_svmlight_is_written_from_a_matrix(file, tmp_path):
    (batch,) = open_table(file("a.svm", "3,1 1:0.1 4:2\n2 2:-1\nnan 1:1\n")).batches()
    write_table(tmp_path / "b.svm.gz", [batch])
    (again,) = open_table(tmp_path / "b.svm.gz").batches()
    assert (again.data != batch.data).nnz == 0
    assert again.labels[:2] == batch.labels[:2]
    assert np.isnan(again.labels[2]).all()
    with pytest.raises(TableError, match=r"c.svm: a svmlight file is written from a matrix and labels"):
        write_table(tmp_path / "c.svm", [batch_of()])
    with pytest.raises(TableError, match=r"c.csv: a csv file is written from columns"):
        write_table(tmp_path / "c.csv", [batch])
    assert sorted(os.listdir(tmp_path)) == ["a.svm", "b.svm.gz"]


def test_json_has_no_nan(tmp_path):
    write_table(tmp_path / "a.jsonl", [pa.record_batch({"x": [np.nan, np.inf, 1.0], "l": [[1], [2, 3], None]})])
    lines = (tmp_path / "a.jsonl").read_text().splitlines()
    assert lines == ['{"x": null, "l": [1]}', '{"x": null, "l": [2, 3]}', '{"x": 1.0, "l": null}']


@pytest.mark.parametrize("name", [*NAMES, "a.svm"])
@pytest.mark.parametrize("failure", [RuntimeError, KeyboardInterrupt])
def test_an_interrupted_file_does_not_appear(tmp_path, name, failure):
    (tmp_path / name).write_text("the old one")

    def rows_until_it_fails():
        if name != "a.svm":
            yield batch_of()
        raise failure

    with pytest.raises(failure):
        write_table(tmp_path / name, rows_until_it_fails())
    assert os.listdir(tmp_path) == [name]
    assert (tmp_path / name).read_text() == "the old one"


class FullDisk:
    """A file on a disk that is full after some bytes."""

    room = 0

    def __init__(self, path, mode):
        self._file = open(path, mode)  # noqa: SIM115 - closed below
        self.closed = False

    def write(self, data):
        if len(data) > self.room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self.room -= len(data)
        return self._file.write(data)

    def flush(self):
        self._file.flush()

    def tell(self):
        return self._file.tell()

    def writable(self):
        return True

    def readable(self):
        return False

    def seekable(self):
        return False

    def close(self):
        self.closed = True
        self._file.close()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("room", [0, 10, 200])
def test_a_writer_without_space(tmp_path, name, room, monkeypatch):
    monkeypatch.setattr(writing.pa, "OSFile", lambda path, mode: pa.PythonFile(FullDisk(path, mode), "w"))
    monkeypatch.setattr(FullDisk, "room", room)
    with pytest.raises(TableError, match=rf"^file {tmp_path / name}: cannot write it: No space left on device.$"):
        write_table(tmp_path / name, [pa.record_batch({"x": np.random.default_rng(0).standard_normal(5000)})])
    assert os.listdir(tmp_path) == []


@pytest.fixture
def tiny_disk(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"no tmpfs can be mounted here: {mounted.stderr.decode().strip()}")
    yield disk
    subprocess.run(["umount", disk], check=True)


@pytest.mark.parametrize("name", NAMES)
def test_a_full_disk(tiny_disk, name):
    (tiny_disk / name).write_text("the old one")
    values = np.random.default_rng(0).standard_normal((20, 5000))
    with pytest.raises(TableError, match=r"cannot write it: .*No space left on device"):
        write_table(tiny_disk / name, [pa.record_batch({"x": part}) for part in values])
    assert os.listdir(tiny_disk) == [name]
    assert (tiny_disk / name).read_text() == "the old one"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_directory_that_is_read_only(tmp_path):
    tmp_path.chmod(0o555)
    with pytest.raises(TableError, match="no permission to write it"):
        write_table(tmp_path / "a.csv", [batch_of()])
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("name", "batches", "message"),
    [
        ("a.ods", [batch_of()], "its name does not say the format to write. Known suffixes are .csv, "),
        ("a.parquet.gz", [batch_of()], "a Parquet file is compressed inside. Leave out .gz."),
        ("none/a.csv", [batch_of()], "cannot write it: there is no directory "),
        ("folder.csv", [batch_of()], "cannot write it: there is a directory of that name"),
        ("a.csv", [], "no rows and no columns were given to write"),
        (
            "a.csv",
            [batch_of(), pa.record_batch({"z": [1]})],
            r"all rows must have the columns \['x', 'name'\]. Got \['z'\]",
        ),
        (
            "a.csv",
            [batch_of(), pa.record_batch({"x": ["no"], "name": ["a"]})],
            "cannot write it: Failed to parse string",
        ),
        ("a.csv", [pa.record_batch({"l": [[1, 2]]})], "cannot write it: "),
    ],
)
def test_what_cannot_be_written(tmp_path, name, batches, message):
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(TableError, match=rf"^file {tmp_path / name}: {message}"):
        write_table(tmp_path / name, batches)
    assert os.listdir(tmp_path) == ["folder.csv"]


def test_a_format_that_does_not_exist():
    with pytest.raises(ValueError, match="format must be one of csv, "):
        TableWriter("a.csv", format="ods")


def test_predictions_beside_raw_rows(file):
    (batch,) = open_table(file("a.csv", "x,grade\n1,?\n2,3-4\n")).batches()
    assert append_column(batch, "prediction", np.array([3, 4])).to_pylist() == [
        {"x": 1, "grade": "?", "prediction": 3},
        {"x": 2, "grade": "3-4", "prediction": 4},
    ]
    with pytest.raises(TableError, match=r"a.csv: has a column 'x' already"):
        append_column(batch, "x", [1, 2])
    (batch,) = open_table(file("a.svm", "1 1:1\n")).batches()
    assert append_column(batch, "prediction", ["low"]).to_pylist() == [{"label": 1.0, "prediction": "low"}]


@pytest.mark.parametrize("separator", [";", "|", "]", "^", "\\"])
def test_appended_cells_are_quoted_for_any_separator(file, separator):
    table = open_table(file("a.csv", f"x{separator}y\n1{separator}2\n"), separator=separator)
    (batch,) = table.batches()
    lines = writing.appended_lines(table, pa.record_batch({"guess": [f"a{separator}b"]}), batch).content
    assert lines.decode() == f'1{separator}2{separator}"a{separator}b"\n'


def test_a_table_may_be_replaced_while_it_is_read(tmp_path, rows):
    path = Path(tmp_path / "a.csv")
    write_table(path, [batch_of(100)])
    write_table(path, (Batch(b.data.slice(0, 1), b.file, 1) for b in open_table(path, batch_rows=10).batches()))
    assert len(rows(path)) == 10


def test_the_umask_of_other_threads_is_left_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "umask", lambda mask: pytest.fail("a file of another thread would be open to all"))
    write_table(tmp_path / "a.csv", [batch_of()])


def test_an_interrupt_at_the_first_moment_leaves_nothing_behind(tmp_path, monkeypatch):
    def interrupted(path, mode):
        Path(path).touch()
        raise KeyboardInterrupt

    monkeypatch.setattr("rankwise._files.open", interrupted, raising=False)
    with pytest.raises(KeyboardInterrupt):
        write_table(tmp_path / "a.csv", [batch_of()])
    assert os.listdir(tmp_path) == []
