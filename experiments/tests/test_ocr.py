import csv
from dataclasses import replace

import numpy as np
import pytest
from sklearn.model_selection import KFold

import rankwise_experiments as experiments
from rankwise import datasets
from rankwise_experiments import _ocr_choice, ocr
from rankwise_experiments._ocr_report import COMPLETE, INDEPENDENT, SCHEMES, SPLITS, Cell, write_report
from rankwise_experiments.ocr import TRAINED, Setting

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


@pytest.mark.slow
def test_table_page_and_going_on(tmp_path, words, monkeypatch):
    report = RUN(tmp_path, rounds=20, sequences=2, seed=1)
    table, page, text = report.files
    assert [path.name for path in report.files] == ["ocr.csv", "ocr.md", "ocr.txt"]
    rows = rows_of(table)
    drawn = [scheme for scheme in SCHEMES if scheme not in ("0%", "halves")]
    assert sorted((row["scheme"], row["learner"], row["run"]) for row in rows) == sorted(
        [(scheme, name, "0") for scheme in SCHEMES for name in TRAINED]
        + [(scheme, name, "1") for scheme in drawn for name in TRAINED]
    )
    error = {(row["scheme"], row["learner"], row["run"]): float(row["error"]) for row in rows}
    assert error["0%", "hinge", "0"] < 10 < error["90%", COMPLETE, "0"]
    again = ocr.measure(words, SPLITS[0], "50%", "hinge", 1, rounds=20, seed=1)
    assert error["50%", "hinge", "1"] == pytest.approx(again.error, rel=1e-4)
    written = page.read_text(encoding="utf-8")
    two = [error["25%", INDEPENDENT, run] for run in "01"]
    spread = abs(two[0] - two[1]) / 2
    assert f"| {INDEPENDENT} | {error['0%', INDEPENDENT, '0']:.1f} | {np.mean(two):.1f} ± {spread:.1f} |" in written
    assert "`rankwise reproduce ocr --sequences 2 --rounds 20 --seed 1`" in written
    assert "So far" not in written
    assert text.read_text(encoding="utf-8") == f"{report}\n"
    assert len(report.conclusions) == 3
    # What is there is not trained again; what is gone is.
    units = tmp_path / "ocr-units.jsonl"
    lines = units.read_text(encoding="utf-8").splitlines()
    units.write_text("\n".join(lines[:-2]) + "\n", encoding="utf-8")
    trained, measure = [], ocr.measure
    monkeypatch.setattr(ocr, "measure", lambda *what, **how: trained.append(what[1:]) or measure(*what, **how))
    more = RUN(tmp_path, rounds=20, sequences=2, seed=1)
    assert len(trained) == 2
    assert [row["error"] for row in rows_of(more.files[0])] == [row["error"] for row in rows]


def test_a_page_of_a_run_that_was_stopped(tmp_path, words, monkeypatch):
    def stop(*what, **how):
        if what[2:4] == ("25%", COMPLETE):
            raise KeyboardInterrupt
        return Cell(*what[1:], 12.0, 1.0, None)

    monkeypatch.setattr(ocr, "measure", stop)
    with pytest.raises(KeyboardInterrupt):
        RUN(tmp_path)
    page = (tmp_path / "ocr.md").read_text(encoding="utf-8")
    assert "So far 7 of 168 learners are trained" in page
    assert "| hinge | 12.0 |  |" in page
    assert "| bridge | 12.0 |  |" in page


def cells(**changed):
    return [
        Cell(split, scheme, learner, 0, changed.get(learner, 15.0), 1.0, None)
        for split in SPLITS
        for scheme in SCHEMES
        for learner in TRAINED
    ]


def test_judgement(tmp_path):
    good = write_report(tmp_path, cells(**{INDEPENDENT: 20.0, COMPLETE: 60.0}), "x", 72)
    assert [c.verdict for c in good.conclusions] == ["HOLDS"] * 3
    bad = write_report(tmp_path, cells(**{INDEPENDENT: 15.0, COMPLETE: 60.0, "ramp": 55.0}), "x", 72)
    assert [c.verdict for c in bad.conclusions] == ["HOLDS", "DOES NOT HOLD", "HOLDS IN 8 OF 12"]


def test_judgement_of_what_there_is(tmp_path):
    some = [cell for cell in cells(**{INDEPENDENT: 20.0}) if cell.learner != COMPLETE and cell.scheme != "90%"]
    report = write_report(tmp_path, some, "x", 72)
    assert [len(c.checks) for c in report.conclusions] == [2, 6]


def test_choice_counts_known_letters_of_words_left_out(words):
    X, Y = words.X[:30], ocr.hide(words.y[:30], "50%", np.random.default_rng(0))
    model = ocr.chain("hinge", Setting(0.01, 1.0), seed=0)

    def error(X, Y):
        return _ocr_choice.left_out_error(X, Y, model, KFold(3, shuffle=True, random_state=0).split(X))

    assert error(X, Y) < 15
    # Words of which nothing is known count for nothing; labels that say nothing are not learnt.
    unknown = [[None] * len(y) for y in Y]
    assert error([*X, *X], [*Y, *unknown]) < 25
    wrong = [["abc"[("abc".index(c) + s) % 3] if c else None for c in y] for s, y in enumerate(Y)]
    assert error(X, wrong) > 30


def test_settings_are_among_the_candidates():
    assert set(ocr.SETTINGS) == set(SCHEMES)
    for (scheme, learner), tried in _ocr_choice.GRID.items():
        assert ocr.SETTINGS[scheme][("additive", "hinge").index(learner)] in tried
    assert ocr.MARGIN in _ocr_choice.MARGINS
    assert len(list(_ocr_choice.candidates())) == 19


def test_the_regulariser_is_worth_as_many_words_in_both_splits():
    fold_0, others = (ocr.setting_of(split, "75%", "hinge") for split in SPLITS)
    assert others == fold_0._replace(alpha=fold_0.alpha / 10)


@pytest.mark.slow
def test_the_choice_prints_every_candidate(words, monkeypatch, capsys):
    monkeypatch.setattr(datasets, "load_ocr", lambda: replace(words, fold=np.arange(60) % 3))
    monkeypatch.setattr(_ocr_choice, "MARGINS", (50.0,))
    monkeypatch.setattr(_ocr_choice, "GRID", {("0%", "hinge"): [Setting(0.01, 1.0)]})
    _ocr_choice.main()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("fold 0, 0%, perceptron, margin 50: ")
    assert len(lines) == 2 + 3 * 2 * 3
    assert all(0 <= float(line.rsplit(": ")[1]) <= 100 for line in lines)


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
