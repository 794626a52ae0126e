"""Files are opened once a pass, and labels are read and encoded once a pass."""

import os

import numpy as np
import pyarrow as pa
import pytest
from sklearn.datasets import dump_svmlight_file

from rankwise.io import LabelColumns
from rankwise.labels import encoding
from tests.cli.commands import make_frame, succeed, write

N = 300
FEATURES = ["a", "b", "c", "colour", "fresh"]
SUFFIXES = ("csv", "parquet", "jsonl", "svm", "arrow")


class Counts:
    """How often the file was opened, and how many labels were read from columns and encoded, in files of N rows."""

    def __init__(self):
        self.opened, self.read, self.encoded = 0, 0, 0

    def take(self):
        found = self.opened, self.read / N, self.encoded / N
        self.__init__()
        return found


@pytest.fixture
def counts(monkeypatch):
    counts = Counts()
    open_file, values = pa.OSFile, LabelColumns._values
    read, read_cells = encoding.read, encoding.read_cells

    def counted_open(path, mode="r", **options):
        counts.opened += mode == "r" and os.path.basename(os.fsdecode(path)).startswith("rows.")
        return open_file(path, mode, **options)

    def counted_values(self, batch):
        counts.read += len(batch)
        return values(self, batch)

    def counted_read(y):
        raw = read(y)
        if type(raw).__name__ not in ("Encoded", "Texts") and len(raw) > 4:  # not the classes
            counts.encoded += len(raw)
        return raw

    def counted_read_cells(cells):
        counts.encoded += len(cells)  # what texts say
        return read_cells(cells)

    monkeypatch.setattr(pa, "OSFile", counted_open)
    monkeypatch.setattr(LabelColumns, "_values", counted_values)
    monkeypatch.setattr(encoding, "read", counted_read)
    monkeypatch.setattr(encoding, "read_cells", counted_read_cells)
    return counts


def written(folder, suffix):
    """A file, and the options that say where its labels are."""
    frame, path = make_frame(N), folder / f"rows.{suffix}"
    if suffix == "svm":
        dump_svmlight_file(frame[["a", "c"]].to_numpy(), frame["grade"], str(path), zero_based=False)
        return path, []
    if suffix == "arrow":
        frame[[*FEATURES, "grade"]].to_feather(path)
    else:
        write(frame[[*FEATURES, "grade"]], path)
    return path, ["--label", "grade"]


def texts(folder):
    """A column of texts, of which each distinct one is encoded once."""
    return write(make_frame(N)[[*FEATURES, "said"]], folder / "rows.csv"), ["--label", "said"]


CLASSES = ["--classes", "1..4"]


@pytest.mark.parametrize("suffix", SUFFIXES)
class TestEveryFormat:
    @pytest.mark.parametrize("declared", [[], CLASSES])
    def test_fit_in_memory(self, tmp_path, counts, suffix, declared):
        path, labels = written(tmp_path, suffix)
        succeed("fit", path, *labels, *declared, "--estimator", "SVOR", "-o", tmp_path / "m")
        opened, read, encoded = counts.take()
        assert (opened, read) == (1, 1)
        assert encoded <= 1

    @pytest.mark.parametrize("epochs", [1, 3])
    def test_fit_a_stream(self, tmp_path, counts, suffix, epochs):
        path, labels = written(tmp_path, suffix)
        command = ["fit", path, *labels, "--estimator", "PRIL", "--epochs", epochs, "-o", tmp_path / "m"]
        succeed(*command, *CLASSES)
        opened, read, encoded = counts.take()
        look = suffix == "svm"  # the number of features is known when all rows have been seen
        assert (opened, read) == (epochs + look, epochs)
        assert encoded <= epochs
        succeed(*command)
        opened, read, encoded = counts.take()
        assert (opened, read) == (epochs + 1, epochs + 1)  # all labels are read for the classes, in every format
        assert encoded <= epochs

    def test_models(self, tmp_path, counts, suffix):
        path, labels = written(tmp_path, suffix)
        succeed("fit", path, *labels, "--estimator", "PRIL", "-o", tmp_path / "m")
        counts.take()
        look = suffix == "svm"
        succeed("predict", tmp_path / "m", path, "-o", tmp_path / "out.csv")
        assert counts.take() == (1 + look, 0, 0)
        for method in ("holdout", "progressive", "cv"):
            succeed("evaluate", tmp_path / "m", path, *labels, "--method", method)
            opened, read, encoded = counts.take()
            assert (opened, read) == (1 + (look and method != "cv"), 1)
            assert encoded <= 1
        succeed("report", tmp_path / "m", path, *labels, "-o", tmp_path / "page.html")
        opened, read, encoded = counts.take()
        assert (opened, read) == (1 + look, 1)
        assert encoded <= 2  # the predictions, too

    def test_convert(self, tmp_path, counts, suffix):
        path, labels = written(tmp_path, suffix)
        succeed("convert", path, *labels, *CLASSES, "--to-lower", "lo", "--to-upper", "hi", "-o", tmp_path / "out.csv")
        opened, read, encoded = counts.take()
        assert (opened, read) == (1 + (suffix == "svm"), 1)
        assert encoded <= 1


def test_compare(tmp_path, counts):
    path, labels = written(tmp_path, "csv")
    contestants = ["--estimator", "PRIL", "--estimator", "PRank"]
    succeed("compare", path, *labels, *contestants)
    assert counts.take()[:2] == (1, 1)
    succeed("compare", path, *labels, *contestants, *CLASSES, "--method", "progressive")
    opened, read, encoded = counts.take()
    assert (opened, read) == (2, 2)
    assert encoded <= 2


def test_distinct_texts_are_encoded_once(tmp_path, counts):
    path, labels = texts(tmp_path)
    succeed("fit", path, *labels, *CLASSES, "--estimator", "PRIL", "--epochs", 3, "-o", tmp_path / "m")
    opened, read, encoded = counts.take()
    assert (opened, read) == (3, 3)
    assert encoded * N == 3 * make_frame(N)["said"].nunique()


def test_bad_rows_cost_no_further_pass(tmp_path, counts):
    frame = make_frame(N)[[*FEATURES, "grade"]].astype(object)
    frame.loc[7, "grade"] = 9
    frame.loc[9, "a"] = np.inf
    path = write(frame, tmp_path / "rows.csv")
    for estimator in ("PRIL", "SVOR"):
        options = ["--label", "grade", *CLASSES, "--on-error", "skip", "--estimator", estimator]
        succeed("fit", path, *options, "-o", tmp_path / "m")
        assert counts.take()[:2] == (1, 1)


def test_many_files_are_not_all_kept_open(tmp_path, counts):
    frame = make_frame(N)[[*FEATURES, "grade"]]
    for i in range(10):
        write(frame[30 * i : 30 * i + 30], tmp_path / f"rows.{i}.csv")
    succeed("fit", tmp_path, "--label", "grade", *CLASSES, "--estimator", "SVOR", "-o", tmp_path / "m")
    opened, read, _ = counts.take()
    assert read == 1
    assert opened == 10 + 2  # eight stay open, two are opened again
