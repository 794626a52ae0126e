"""The command ``explain``."""

import json

import numpy as np
import pytest

import rankwise as rw
from tests.cli.commands import facts, fail, make_frame, run, succeed


@pytest.fixture(scope="module")
def learnt(tmp_path_factory):
    folder = tmp_path_factory.mktemp("explain")
    frame = make_frame(120)
    frame[["a", "b", "c", "colour", "grade"]].to_csv(folder / "train.csv", index=False)
    frame[["a", "b", "c", "colour"]].to_csv(folder / "new.csv", index=False)
    options = ["--label", "grade", "--estimator", "CumulativeLink", "-o", folder / "m"]
    succeed("fit", folder / "train.csv", *options)
    return folder, frame


def test_one_row(learnt):
    folder, frame = learnt
    found = facts("explain", folder / "m", folder / "new.csv", "--row", "17")
    model = rw.load(folder / "m")
    expected = rw.explain(model, frame[16:17], background=frame)
    assert found["prediction"] == model.predict(frame[16:17])[0]
    for name, value in found["contributions"].items():
        assert value == pytest.approx(expected.values[0, expected.columns.index(name)])
    assert found["base"] + sum(found["contributions"].values()) == pytest.approx(found["score"])
    assert found["reasons"] == expected.sentences(0)
    said = succeed("explain", folder / "m", folder / "new.csv", "--row", "17", "--top", "2").splitlines()
    assert said[0].split() == ["row", "17"]
    assert said[3].startswith("because     ")
    assert "moves P(at least " in said[3]
    assert said[4].startswith(" " * 12)
    assert "would make it" in said[5]


def test_all_rows_and_a_picture(learnt, tmp_path):
    folder, frame = learnt
    found = facts("explain", folder / "m", folder / "new.csv", "--plot", tmp_path / "p.svg")
    sizes = rw.explain(rw.load(folder / "m"), frame).importances()
    np.testing.assert_allclose(sorted(found["importances"].values()), np.sort(sizes))
    assert "<svg" in (tmp_path / "p.svg").read_text()
    assert "mean size" in succeed("explain", folder / "m", folder / "new.csv")


def test_wrong_usage(learnt, tmp_path):
    folder, _ = learnt
    assert "--row 500: the files have 120 rows" in fail(2, "explain", folder / "m", folder / "new.csv", "--row", "500")
    (tmp_path / "bad.csv").write_text("a,b,c,colour\n1,2,3,red\n1,x,3,red\n")
    said = fail(1, "explain", folder / "m", tmp_path / "bad.csv", "--row", "1")
    assert "bad.csv, row 2 (line 3): column 'b'" in said
    said = fail(1, "explain", folder / "m", tmp_path / "bad.csv", "--row", "2")
    assert "bad.csv, row 2 (line 3): column 'b'" in said


def test_bad_rows_are_skipped_and_put_aside(learnt, tmp_path):
    folder, _ = learnt
    bad = tmp_path / "bad.csv"
    bad.write_text((folder / "new.csv").read_text() + "1,x,3,red\n" * 9)
    skipping = ["--on-error", "skip", "--quarantine", tmp_path / "q.jsonl"]
    found = facts("explain", folder / "m", bad, *skipping)
    assert found == facts("explain", folder / "m", folder / "new.csv")
    assert [json.loads(line)["row"] for line in (tmp_path / "q.jsonl").read_text().splitlines()] == list(
        range(121, 130)
    )
    assert run("explain", folder / "m", bad, *skipping, "--strict").exit_code == 3
