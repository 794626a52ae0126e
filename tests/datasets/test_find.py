import gzip
import sys

import numpy as np
import pytest

from rankwise import datasets
from rankwise.datasets import DatasetDamagedError, DatasetNotFoundError


def write_diabetes43(directory, first="5.2,-8.1,4.8", n_rows=43, name="diabetes43.csv"):
    path = directory / "diabetes43" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "\n".join(["age,deficit,c_peptide", first, *(f"{i},-1,{3 + i / 10}" for i in range(n_rows - 1)), ""])
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return path


class TestFinding:
    def test_names(self):
        assert len(datasets.names()) == 23
        with pytest.raises(ValueError, match=r"'name' parameter of load must be one of 'abalone', .* Got 'nothing'"):
            datasets.load("nothing")

    def test_missing_set_says_both_ways_and_all_reasons(self, nowhere, tmp_path, monkeypatch):
        other = tmp_path / "other"
        other.mkdir()
        monkeypatch.setenv("RANKWISE_DATA", str(other))
        with pytest.raises(FileNotFoundError) as caught:
            datasets.load("isolet", data_dir=tmp_path)
        message = str(caught.value)
        assert isinstance(caught.value, DatasetNotFoundError)
        assert "\n" not in message
        for part in (
            "isolet/isolet1234.csv and isolet/isolet5.csv",
            "as data_dir or in the environment variable RANKWISE_DATA",
            "go online, so that it can be downloaded from OpenML as isolet (version 1)",
            f"data_dir: no isolet/isolet1234.csv and isolet/isolet5.csv in {tmp_path}",
            f"RANKWISE_DATA: no isolet/isolet1234.csv and isolet/isolet5.csv in {other}",
            "OpenML: URLError: <urlopen error no network in tests>",
        ):
            assert part in message

    def test_missing_partitions_are_not_sought_on_openml(self, nowhere):
        with pytest.raises(DatasetNotFoundError, match=r"chu_partitions/stocks_5bins.csv .* OpenML does not have it"):
            datasets.load_chu_partitions("stocks", 5)

    @pytest.mark.parametrize("values", ["0.5,", ",1"])
    def test_partitions_must_be_complete(self, tmp_path, values):
        (tmp_path / "chu_partitions").mkdir()
        rows = [f"{p},{split},0.5,1" for p in range(1, 21) for split in ("train", "test")]
        rows[3] = f"2,test,{values}"
        (tmp_path / "chu_partitions" / "stocks_5bins.csv").write_text("\n".join(["partition,split,x,y", *rows, ""]))
        with pytest.raises(DatasetDamagedError, match="a feature or a label is missing"):
            datasets.load_chu_partitions("stocks", 5, tmp_path)

    def test_a_given_directory_must_exist(self, nowhere, tmp_path, monkeypatch):
        with pytest.raises(DatasetNotFoundError, match=r"data_dir must be a directory .* Got '.*absent' instead"):
            datasets.load("stock", data_dir=tmp_path / "absent")
        monkeypatch.setenv("RANKWISE_DATA", str(tmp_path / "absent"))
        with pytest.raises(DatasetNotFoundError, match="RANKWISE_DATA must be a directory"):
            datasets.load("stock")

    def test_environment_variable_and_precedence(self, nowhere, tmp_path, monkeypatch):
        first, second = tmp_path / "first", tmp_path / "second"
        write_diabetes43(first, first="1,1,1")
        write_diabetes43(second, first="2,2,2", name="diabetes43.csv.gz")
        monkeypatch.setenv("RANKWISE_DATA", str(second))
        assert datasets.load("diabetes43").y[0] == 2
        assert datasets.load("diabetes43", data_dir=first).y[0] == 1
        assert datasets.load("diabetes43", data_dir=str(first)).source == str(first / "diabetes43" / "diabetes43.csv")
        assert datasets.load("diabetes43", data_dir=tmp_path).y[0] == 2  # not there, so the next place
        monkeypatch.setenv("RANKWISE_DATA", "")
        with pytest.raises(DatasetNotFoundError, match="RANKWISE_DATA: no directory"):
            datasets.load("diabetes43")

    def test_directory_beside_the_checkout_is_for_checkouts_only(self, tmp_path, monkeypatch):
        find = datasets._find
        module = tmp_path / "checkout" / "src" / "rankwise" / "datasets" / "_find.py"
        module.parent.mkdir(parents=True)
        write_diabetes43(tmp_path / "shared" / "data", first="3,3,3")
        monkeypatch.delenv("RANKWISE_DATA", raising=False)
        monkeypatch.setattr(find, "__file__", str(module))
        assert find._beside_checkout() is None
        (tmp_path / "checkout" / "pyproject.toml").touch()
        assert datasets.load("diabetes43").y[0] == 3

    def test_works_without_pandas(self, nowhere, tmp_path, monkeypatch):
        monkeypatch.setitem(sys.modules, "pandas", None)
        write_diabetes43(tmp_path)
        assert datasets.load("diabetes43", data_dir=tmp_path).X.shape == (43, 2)


class TestReading:
    def test_missing_cells_are_nan(self, nowhere, tmp_path):
        write_diabetes43(tmp_path, first="5.2,,4.8")
        assert np.isnan(datasets.load("diabetes43", tmp_path).X[0]).tolist() == [False, True]

    @pytest.mark.parametrize(
        ("first", "message"),
        [
            ("5.2,oops,4.8", r"diabetes43.csv is damaged: column 'deficit' has 'oops' in row 1, which is not a number"),
            ("5.2,4.8", r"diabetes43.csv is damaged: row 1 has 2 cells, not 3"),
            ('5.2,"4.8', r"diabetes43.csv is damaged: unexpected end of data"),
            ("5.2,1,", r"diabetes43.csv does not hold .* its target has missing or odd values"),
        ],
    )
    def test_damaged_cells(self, nowhere, tmp_path, first, message):
        write_diabetes43(tmp_path, first=first)
        with pytest.raises(DatasetDamagedError, match=message) as caught:
            datasets.load("diabetes43", tmp_path)
        assert "\n" not in str(caught.value)
        assert not isinstance(caught.value, FileNotFoundError)

    def test_damaged_files(self, nowhere, tmp_path):
        path = write_diabetes43(tmp_path, n_rows=40)
        with pytest.raises(DatasetDamagedError, match="it has 40 rows and 3 columns, not 43 and 3"):
            datasets.load("diabetes43", tmp_path)
        for content, message in [
            (b"", "it is empty"),
            (b"age,deficit,c_peptide\n", "it has 0 rows"),
            (b"age,deficit,value\n1,2,3\n", "it has no column 'c_peptide'"),
            (b"age,age,c_peptide\n1,2,3\n", "a column name occurs twice"),
            (b"age\xff\n1\n", "utf-8"),
        ]:
            path.write_bytes(content)
            with pytest.raises(DatasetDamagedError, match=f"diabetes43.csv .*{message}"):
                datasets.load("diabetes43", tmp_path)

    @pytest.mark.parametrize("spoil", [lambda b: b[:-20], lambda b: b"plain text", lambda b: b[:30] + b"xxxx" + b[34:]])
    def test_damaged_gzip(self, nowhere, tmp_path, spoil):
        path = write_diabetes43(tmp_path, name="diabetes43.csv.gz")
        path.write_bytes(spoil(path.read_bytes()))
        with pytest.raises(DatasetDamagedError, match=r"diabetes43.csv.gz is damaged"):
            datasets.load("diabetes43", tmp_path)

    def test_unknown_class_is_damage(self, nowhere, tmp_path):
        (tmp_path / "car").mkdir()
        rows = ["vhigh,vhigh,2,2,small,low,unacc"] * 1727 + ["vhigh,vhigh,2,2,small,low,superb"]
        text = "\n".join(["buying,maint,doors,persons,lug_boot,safety,class", *rows])
        (tmp_path / "car" / "car.csv").write_text(text)
        with pytest.raises(DatasetDamagedError, match="odd values"):
            datasets.load("car", tmp_path)
