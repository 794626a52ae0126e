import csv

import numpy as np
import pytest

from rankwise import datasets, experiments
from rankwise.experiments import ocr
from rankwise.experiments.ocr import COMPLETE, INDEPENDENT, LEARNERS, SCHEMES, SPLITS, Cell

RUN = experiments.get("ocr").run


@pytest.fixture
def words(monkeypatch):
    """Words over three letters, in two folds."""
    rng = np.random.default_rng(0)
    X, y = [], []
    for _ in range(60):
        codes = (np.arange(rng.integers(2, 6)) + rng.integers(0, 3)) % 3
        X.append(np.eye(3)[codes] + 0.4 * rng.standard_normal((codes.size, 3)))
        y.append(np.array(list("abc"))[codes])
    found = datasets.Words(X, y, np.arange(60) % 2, "", "")
    monkeypatch.setattr(datasets, "load_ocr", lambda data_dir: found)
    monkeypatch.setattr(ocr, "LETTERS", ("a", "b", "c"))
    return found


def rows_of(path):
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def test_schemes_hide_what_they_say():
    words = [np.array(list("abcdefghij"))] * 400
    rng = np.random.default_rng(0)
    for scheme in SCHEMES[:-1]:
        missing = np.mean([letter is None for word in ocr.hide(words, scheme, rng) for letter in word])
        assert missing == pytest.approx(int(scheme[:-1]) / 100, abs=0.02)
    even, odd = ocr.hide(words[:2], "halves", rng)
    assert ["".join(letter or "." for letter in word) for word in (even, odd)] == ["abcde.....", ".....fghij"]


def test_table_page_and_going_on(tmp_path, words, monkeypatch):
    report = RUN(tmp_path, rounds=20, seed=1)
    table, page, text = report.files
    assert [path.name for path in report.files] == ["ocr-20-seed1.csv", "ocr.md", "ocr.txt"]
    rows = rows_of(table)
    assert {(row["scheme"], row["learner"]) for row in rows} == {(s, name) for s in SCHEMES for name in LEARNERS}
    error = {(row["scheme"], row["learner"]): float(row["error"]) for row in rows}
    assert error["0%", "hinge"] < 10 < error["90%", COMPLETE]
    assert error["0%", "hinge"] == pytest.approx(
        ocr.measure(words, SPLITS[0], "0%", "hinge", 0, rounds=20, seed=1).error
    )
    assert f"| {INDEPENDENT} | {error['0%', INDEPENDENT]:.1f} |" in page.read_text(encoding="utf-8")
    assert "`rankwise reproduce ocr --sequences 1 --rounds 20 --seed 1`" in page.read_text(encoding="utf-8")
    assert text.read_text(encoding="utf-8") == f"{report}\n"
    assert len(report.conclusions) == 3
    # What is there is not trained again; what is gone is.
    lines = table.read_text(encoding="utf-8").splitlines()
    table.write_text("\n".join(lines[:-2]) + "\n", encoding="utf-8")
    trained, measure = [], ocr.measure
    monkeypatch.setattr(ocr, "measure", lambda *what, **how: trained.append(what[1:]) or measure(*what, **how))
    again = RUN(tmp_path, rounds=20, seed=1)
    assert len(trained) == 2
    assert [row["error"] for row in rows_of(again.files[0])] == [row["error"] for row in rows]


def cells(**changed):
    return [
        Cell(split, scheme, learner, 0, changed.get(learner, 15.0), 1.0, 0.0)
        for split in SPLITS
        for scheme in SCHEMES
        for learner in LEARNERS
    ]


def test_judgement(tmp_path):
    good = ocr.report(tmp_path, tmp_path / "t.csv", cells(**{INDEPENDENT: 20.0, COMPLETE: 60.0}), "x")
    assert [c.verdict for c in good.conclusions] == ["HOLDS"] * 3
    bad = ocr.report(tmp_path, tmp_path / "t.csv", cells(**{INDEPENDENT: 15.0, COMPLETE: 60.0, "ramp": 55.0}), "x")
    assert [c.verdict for c in bad.conclusions] == ["HOLDS", "DOES NOT HOLD", "HOLDS IN 10 OF 12"]


def test_without_data(tmp_path, monkeypatch):
    def nowhere(data_dir):
        raise datasets.DatasetNotFoundError("gone")

    monkeypatch.setattr(datasets, "load_ocr", nowhere)
    report = RUN(tmp_path / "out")
    assert (report.ran, report.skipped) == ((), {"ocr": "gone"})
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("bad", [{"sequences": 0}, {"rounds": 0}])
def test_bad_arguments(tmp_path, bad):
    with pytest.raises(ValueError, match=rf"{next(iter(bad))} must be at least 1\. Got 0"):
        RUN(tmp_path, **bad)
