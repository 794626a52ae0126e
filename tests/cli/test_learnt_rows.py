"""A model file knows the rows it was learnt from, and `evaluate` and `report` say where they judge it on them."""

import json
import zlib

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import rankwise as rw
from rankwise.cli import _learnt_rows
from rankwise.cli._learnt_rows import LearntRows, RowOverlap, digests
from rankwise.persistence import read_notes
from tests.cli.commands import LINK, facts, fail, run, succeed

USED = "these rows were used for learning"


def make(seed, n=120):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n).round(4)
    when = pd.date_range("2024-01-01", periods=n) + pd.to_timedelta(rng.integers(0, 10**6, n), unit="s")
    colour = rng.choice(["red", "blue", "green"], n)
    return pd.DataFrame({"x": x, "when": when, "colour": colour, "stars": np.digitize(x, [-1, 0, 1])})


@pytest.fixture
def learnt(tmp_path):
    frame = make(0)
    frame.to_csv(tmp_path / "a.csv", index=False)
    succeed("fit", tmp_path / "a.csv", "--label", "stars", *LINK, "-o", tmp_path / "m.rankwise")
    return frame, tmp_path / "m.rankwise"


def first_line(model, path, *options):
    return succeed("evaluate", model, path, "--label", "stars", *options).splitlines()[0]


class TestEvaluate:
    def test_the_same_file(self, learnt, tmp_path):
        assert first_line(learnt[1], tmp_path / "a.csv").endswith(f"no holdout: {USED} (all 120)")

    def test_the_same_rows_in_other_files(self, learnt, tmp_path):
        """Other formats, orders of rows and columns, decimal marks and labels: the rows are the same."""
        frame, model = learnt
        turned = frame.iloc[::-1][["stars", "colour", "when", "x"]]
        turned.to_parquet(tmp_path / "b.parquet")
        turned.to_json(tmp_path / "c.jsonl", orient="records", lines=True, date_format="iso")
        turned.to_csv(tmp_path / "d.csv", sep=";", decimal=",", index=False)
        turned.assign(stars=turned["stars"].astype(str) + "-3").to_csv(tmp_path / "e.csv.gz", index=False)
        for name, options in (("b.parquet", []), ("c.jsonl", []), ("d.csv", ["--decimal", ","]), ("e.csv.gz", [])):
            assert first_line(model, tmp_path / name, *options).endswith(f"{USED} (all 120)"), name

    def test_excel(self, learnt, tmp_path):
        pytest.importorskip("openpyxl")
        learnt[0].to_excel(tmp_path / "b.xlsx", index=False)
        assert first_line(learnt[1], tmp_path / "b.xlsx").endswith(f"{USED} (all 120)")

    def test_some_rows(self, learnt, tmp_path):
        frame, model = learnt
        pd.concat([make(1), frame[:15]]).to_csv(tmp_path / "b.csv", index=False)
        line = first_line(model, tmp_path / "b.csv")
        assert line.endswith("no holdout: some of these rows were used for learning (15 of 135)")

    def test_new_rows(self, learnt, tmp_path):
        make(1).to_csv(tmp_path / "b.csv", index=False)
        assert first_line(learnt[1], tmp_path / "b.csv").split() == ["method", "holdout"]
        said = facts("evaluate", learnt[1], tmp_path / "b.csv", "--label", "stars")["learnt"]
        assert said["same"] == 0
        assert said["remark"] is None

    def test_rows_that_repeat_by_nature(self, tmp_path):
        """Answers to three questions have few values: new rows equal old ones, and nothing follows."""
        rng = np.random.default_rng(0)
        for name in ("a", "b"):
            values = rng.integers(1, 4, (300, 3))
            frame = pd.DataFrame(values, columns=list("uvw")).assign(stars=1 + (values.sum(axis=1) > 6))
            frame.to_csv(tmp_path / f"{name}.csv", index=False)
        succeed("fit", tmp_path / "a.csv", "--label", "stars", *LINK, "-o", tmp_path / "m.rankwise")
        assert "used for learning" not in first_line(tmp_path / "m.rankwise", tmp_path / "b.csv")
        assert first_line(tmp_path / "m.rankwise", tmp_path / "a.csv").endswith(f"{USED} (all 300)")  # the same file

    @pytest.mark.parametrize("options", ["", "--estimator PRIL", "--estimator PRIL --epochs 2"])
    def test_every_way_of_fitting(self, tmp_path, options):
        make(0).to_csv(tmp_path / "a.csv", index=False)
        succeed("fit", tmp_path / "a.csv", "--label", "stars", *options.split(), "-o", tmp_path / "m.rankwise")
        make(0).to_parquet(tmp_path / "b.parquet")
        assert first_line(tmp_path / "m.rankwise", tmp_path / "b.parquet").endswith(f"{USED} (all 120)")

    def test_svmlight(self, tmp_path):
        rows = [f"{1 + i % 3} 1:{i}.5 {2 + i % 4}:{i % 3}" for i in range(60)]
        (tmp_path / "a.svm").write_text("\n".join(rows))
        succeed("fit", tmp_path / "a.svm", *LINK, "--index-base", "1", "-o", tmp_path / "m.rankwise")
        (tmp_path / "b.svm").write_text("\n".join(reversed(rows)) + "\n")
        assert f"{USED} (all 60)" in succeed("evaluate", tmp_path / "m.rankwise", tmp_path / "b.svm").splitlines()[0]

    def test_fresh_models_are_not_concerned(self, learnt, tmp_path):
        assert first_line(learnt[1], tmp_path / "a.csv", "--method", "cv").split() == ["method", "cv"]

    def test_models_that_know_nothing_of_their_rows(self, learnt, tmp_path):
        rw.save(rw.load(learnt[1]), tmp_path / "n.rankwise")
        assert first_line(tmp_path / "n.rankwise", tmp_path / "a.csv").split() == ["method", "holdout"]


@pytest.mark.parametrize(
    ("name", "value"),
    [("columns", ["none"]), ("columns", None), ("key", "xyz"), ("bits", 99), ("bits", "x"), ("count", 3),
     ("repeated", "x"), ("digests", np.zeros(9, np.uint8)),
     ("digests", np.frombuffer(zlib.compress(bytes(10**8)), np.uint8))],
)  # fmt: skip
def test_forged_notes_are_one_error(learnt, tmp_path, name, value):
    notes = read_notes(learnt[1])
    notes["learnt_rows"][name] = value
    rw.save(rw.load(learnt[1]), tmp_path / "n.rankwise", notes=notes)
    assert "notes on the rows it learnt from are damaged" in fail(
        1, "evaluate", tmp_path / "n.rankwise", tmp_path / "a.csv", "--label", "stars"
    )


def test_the_report_says_so(learnt, tmp_path):
    pytest.importorskip("jinja2")
    said = succeed("report", learnt[1], tmp_path / "a.csv", "--label", "stars", "-o", tmp_path / "p.html")
    assert said.splitlines()[0].endswith(f"{USED} (all 120)")
    assert f"{USED} (all 120)." in (tmp_path / "p.html").read_text()
    make(1).to_csv(tmp_path / "b.csv", index=False)
    said = succeed("report", learnt[1], tmp_path / "b.csv", "--label", "stars", "-o", tmp_path / "q.html")
    assert "used for learning" not in said + (tmp_path / "q.html").read_text()


def test_info_names_files_and_digests(learnt):
    assert "120 rows of " in run("info", learnt[1]).stdout
    notes = facts("info", learnt[1])["notes"]
    assert notes["learnt_from"][0]["sha256"] in json.dumps(notes)
    assert "digests" not in notes["learnt_rows"]


def test_a_resumed_run_knows_all_its_rows(tmp_path):
    """The file is the same, to the byte, as that of a run without an interruption."""
    order = []
    for pieces in (1, 3):
        kept = LearntRows(["x"], b"key")
        for part in np.array_split(np.arange(100.0), pieces):
            state, kept = kept.state(), LearntRows(["x"], b"key")
            kept.restore(state)
            kept.add(pa.table({"x": part}))
        order.append({k: v.tolist() if k == "digests" else v for k, v in kept.to_plain().items()})
    assert order[0] == order[1]


class TestDigests:
    def test_many_rows_take_little_space_and_are_found(self, monkeypatch):
        monkeypatch.setattr(_learnt_rows, "MOST", 1000)
        rng = np.random.default_rng(0)
        learnt, new = (pa.table({"x": rng.normal(size=50_000), "y": rng.normal(size=50_000)}) for _ in range(2))
        kept = LearntRows(["x", "y"], b"key")
        kept.add(learnt)
        plain = kept.to_plain()
        assert plain["digests"].nbytes < 3000
        overlap = RowOverlap(plain)
        overlap.add(learnt.slice(0, 20_000))
        assert overlap.n_same == overlap.n_checked
        assert 300 < overlap.n_checked < 500  # a fiftieth
        assert f"{overlap.n_same:,} of {overlap.n_checked:,} that were checked" in overlap.sentence()
        overlap = RowOverlap(plain)
        overlap.add(new)
        assert overlap.n_same < 3
        assert overlap.sentence() == ""

    def test_the_error_rate_is_what_is_stated(self):
        rng = np.random.default_rng(1)
        kept = LearntRows(["x"], b"key")
        kept.add(pa.table({"x": rng.normal(size=100_000)}))
        overlap = RowOverlap(kept.to_plain())
        overlap.add(pa.table({"x": rng.normal(size=3_000_000)}))
        assert 0.5 / 65_536 - 1e-5 < overlap.n_same / overlap.n_rows < 1 / 65_536 + 1e-5

    def test_one_value_one_digest(self):
        forms = [
            pa.array([1, 2, None]), pa.array([1.0, 2.0, np.nan]), pa.array(["1", "2.0", "NA"]),
            pa.array([" 1,0", "2", ""]), pa.array(["1", "2", None]).dictionary_encode(),
        ]  # fmt: skip
        found = [digests(pa.table({"x": form}), ["x"], b"key").tolist() for form in forms]
        assert all(each == found[0] for each in found)
        assert len(set(found[0])) == 3
        seconds, micros = pa.array([0, 10**6], pa.timestamp("s")), pa.array([0, 10**12], pa.timestamp("us"))
        one, other = (digests(pa.table({"x": t}), ["x"], b"key") for t in (seconds, micros))
        np.testing.assert_array_equal(one, other)
        swapped = digests(pa.table({"a": [1, 2], "b": [2, 1]}), ["a", "b"], b"key")
        assert swapped[0] != swapped[1]

    def test_texts_that_look_like_dates(self):
        """A time that a file holds as text is the same; a day that does not exist is a text."""
        texts = pa.array(["2024-02-29T01:02:03.5", "2024-02-29 01:02:03.500"])
        one, other = digests(pa.table({"x": texts}), ["x"], b"key").tolist()
        assert one == other
        assert len(set(digests(pa.table({"x": ["2024-02-30", "2024-02-31"]}), ["x"], b"key").tolist())) == 2

    def test_what_has_no_rows(self):
        kept = LearntRows(["x"], b"key")
        overlap = RowOverlap(kept.to_plain())
        overlap.add(pa.table({"x": [1.0]}))
        assert overlap.sentence() == ""


class TestReport:
    UNKNOWN, NEW = "cannot know whether the model was fitted", "on new rows, with"

    def page(self, model, path):
        said = facts("report", model, path, "--label", "stars", "-o", path.with_suffix(".html"))
        return said["learnt"], path.with_suffix(".html").read_text(encoding="utf-8")

    def test_learnt_rows_allow_no_claim_about_new_ones(self, learnt, tmp_path):
        is_learnt, page = self.page(learnt[1], tmp_path / "a.csv")
        assert is_learnt is True
        assert f"{USED} (all 120)" in page
        assert self.UNKNOWN not in page
        assert self.NEW not in page
        assert "if the rows are independent" not in page

    def test_rows_that_are_known_to_be_new(self, learnt, tmp_path):
        make(1).to_csv(tmp_path / "b.csv", index=False)
        is_learnt, page = self.page(learnt[1], tmp_path / "b.csv")
        assert is_learnt is False
        assert self.UNKNOWN not in page
        assert self.NEW in page
        assert "The model was not fitted to these rows." in page

    def test_rows_of_which_nothing_is_known(self, learnt, tmp_path):
        rw.save(rw.load(learnt[1]), tmp_path / "n.rankwise")
        is_learnt, page = self.page(tmp_path / "n.rankwise", tmp_path / "a.csv")
        assert is_learnt is None
        assert self.UNKNOWN in page
        assert self.NEW in page
