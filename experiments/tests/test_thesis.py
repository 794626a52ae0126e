"""The experiments of the thesis' chapter 3: printed tables, grades, units that are kept, judgement."""

import csv
from pathlib import Path

import numpy as np
import pytest

import rankwise_experiments as experiments
from rankwise import VILMA, datasets
from rankwise_experiments import _ages, _thesis, _thesis_tables, growing, intervals, models, surrogates
from rankwise_experiments._thesis import Benchmark, Cell, agreement, grades
from rankwise_experiments._thesis_tables import Printed, cells


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


# -- tables and grades -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("table", "n_rows", "n_cells"),
    [
        (_thesis_tables.TABLE_3_3, 14, len(_thesis_tables.MAE_SURROGATES)),
        (_thesis_tables.TABLE_3_4, 14, len(_thesis_tables.ZERO_ONE_SURROGATES)),
        (_thesis_tables.TABLE_3_5, 14, len(_thesis_tables.MODELS)),
        (_thesis_tables.TABLE_3_6_MORPH, len(_thesis_tables.REGULARISERS), 5),
        (_thesis_tables.TABLE_3_6_WILD, len(_thesis_tables.REGULARISERS), 5),
        *((table, 7, 5) for table in _thesis_tables.TABLES_3_7_TO_3_10.values()),
    ],
)
def test_printed_tables_are_complete(table, n_rows, n_cells):
    found = cells(table)
    assert len(found) == n_rows
    assert all(len(row) == n_cells for row in found.values())


def test_printed_cells_know_their_rounding():
    assert cells("A B 1.50 (0.02) —") == {("A", "B"): [Printed(1.5, 0.02, 2), None]}


@pytest.mark.parametrize("ties", ["in order", "together", "upper", "lower"])
def test_grades_of_different_numbers_are_equally_frequent_and_in_order(ties):
    values = np.random.default_rng(0).permutation(200)
    found = grades(values, ties)
    assert np.bincount(found)[1:].tolist() == [20] * 10
    assert (np.diff(found[np.argsort(values)]) >= 0).all()


def test_grades_of_a_frequent_value():
    values = np.array([0] * 30 + list(range(1, 71)))
    assert np.bincount(grades(values, "in order"))[1:].tolist() == [10] * 10
    whole = np.bincount(grades(values, "together"))[1:]
    assert whole[0] == 30
    assert whole[1:].sum() == 70
    assert whole[1:].min() >= 7
    assert np.bincount(grades(values, "lower"))[1:4].tolist() == [30, 0, 0]
    assert np.bincount(grades(values, "upper"))[1:5].tolist() == [0, 0, 30, 10]


def test_a_cell_agrees_within_two_deviations_and_may_agree_before_rounding():
    def cell(*ours):
        return Cell("3.5", "Boston", "LinCls", "MAE", Printed(0.9, 0.01, 2), ours)

    assert cell(0.90, 0.93).agrees
    assert not cell(0.924).agrees
    assert cell(0.924).agrees_as_printed  # 0.92
    assert not cell(0.93).agrees
    assert not cell(0.93).agrees_as_printed
    assert cell(0.93).may_agree
    assert not cell(0.94).may_agree
    found = agreement(
        [cell(0.9), cell(0.924), cell(0.93), cell(1.0)], {"all": lambda cell: True, "none": lambda cell: False}
    )
    assert [check.where for check in found.checks] == ["all"]
    assert found.verdict == "DOES NOT HOLD"
    assert found.checks[0].numbers == (
        "1 of 4 cells, 25%; 2 in the printed digits, 3 if the thesis' are allowed to have been rounded"
    )


# -- Tables 3.3 to 3.5 -------------------------------------------------------------------------------------------------


@pytest.fixture
def benchmarks(monkeypatch):
    """Two small sets in the place of the seven."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((90, 2))
    target = X @ [1.0, -0.5] + 0.3 * rng.standard_normal(90)
    small = {"boston": Benchmark("Boston", 60), "bank32nh": Benchmark("Bank", 60, ties="together")}
    for module in (_thesis, surrogates, models):
        monkeypatch.setattr(module, "BENCHMARKS", small)
    monkeypatch.setattr(surrogates, "TIED", ("bank32nh",))

    def load(name, data_dir):
        if name == "bank32nh":
            raise datasets.DatasetNotFoundError("not here")
        return datasets.Dataset(name, X, target, ("a", "b"), "", "")

    monkeypatch.setattr(datasets, "load", load)


def test_surrogates_run_go_on_and_judge(tmp_path, benchmarks, monkeypatch):
    report = experiments.get("surrogates").run(tmp_path, sequences=2)
    assert report.ran == ("boston",)
    assert report.skipped == {"bank32nh": "not here"}
    table, page, text = report.files
    rows = rows_of(table)
    assert [(row["table"], row["method"], row["risk"]) for row in rows[:2]] == [
        ("3.3", "MORD(∅,MAE)", "MAE"),
        ("3.3", "MORD(∅,MAE)", "0/1"),
    ]
    assert len(rows) == 2 * len(surrogates.METHODS)
    vilma, svor = (row for row in rows if row["risk"] == "MAE" and row["method"] in ("VILMA(∅,MAE)", "SVOR-IMC(∅)"))
    assert vilma["ours"] == svor["ours"]
    assert "| Boston | SVOR-IMC(∅) |" in page.read_text(encoding="utf-8")
    assert text.read_text(encoding="utf-8") == f"{report}\n"
    same = next(conclusion for conclusion in report.conclusions if "are the same" in conclusion.claim)
    assert same.verdict == "HOLDS"

    def refuse(*args, **kwargs):
        raise AssertionError("a unit was done again")

    for model in surrogates.METHODS.values():
        monkeypatch.setattr(model, "fit", refuse)
    assert str(surrogates.run(tmp_path, sequences=2)) == str(report)
    with pytest.raises(AssertionError, match="done again"):
        surrogates.run(tmp_path, sequences=3)


def test_surrogates_without_data_write_what_was_skipped(tmp_path, benchmarks, monkeypatch):
    monkeypatch.setattr(_thesis, "load_benchmarks", lambda data_dir: ({}, {"boston": "not here"}))
    monkeypatch.setattr(surrogates, "load_benchmarks", lambda data_dir: ({}, {"boston": "not here"}))
    report = surrogates.run(tmp_path)
    assert report.ran == ()
    assert "Skipped boston: not here" in report.files[1].read_text(encoding="utf-8")


def test_models_choose_in_every_small_partition_and_once_in_large_ones(tmp_path, benchmarks, monkeypatch):
    monkeypatch.setattr(models, "ALPHAS", (1.0, 0.01))
    monkeypatch.setattr(models, "METHODS", {m: models.METHODS[m] for m in ("LinReg", "PW-MORD(w,MAE)")})
    monkeypatch.setattr(models, "_judge", lambda found, together: ())
    report = models.run(tmp_path / "every", sequences=2)
    rows = rows_of(report.files[0])
    assert [row["method"] for row in rows[::2]] == ["LinReg", "PW-MORD(w,MAE)"]
    assert float(rows[0]["ours"]) < 2.0
    units = (tmp_path / "every" / "models-units.jsonl").read_text(encoding="utf-8")
    assert units.count("choice in partition 0") == units.count("choice in partition 1") == 2
    monkeypatch.setattr(models, "CHOOSE_EVERY_UP_TO", 50)
    models.run(tmp_path / "once", sequences=2)
    units = (tmp_path / "once" / "models-units.jsonl").read_text(encoding="utf-8")
    assert units.count("choice in partition 0") == 2
    assert "choice in partition 1" not in units


def test_models_are_judged_beside_the_thesis():
    results = [{"MAE": 0.9, "0/1": 0.6, "seconds": 1.0, "chosen": "alpha=1"}]
    found = {("boston", method): results for method in models.METHODS}
    together = models._cells(found)
    assert len(together) == 2 * len(models.METHODS)
    first, best, bias = models._judge(found, together)
    assert "all columns" in str(first)
    assert best.verdict == bias.verdict == "HOLDS"
    found["boston", "LinCls"] = [{**results[0], "MAE": 0.1}]
    assert models._judge(found, together)[1].verdict == "DOES NOT HOLD"


def test_abalone_has_eight_features_and_sex_may_be_coded_otherwise(monkeypatch):
    X = np.column_stack([np.eye(3), np.full((3, 7), 0.5)])
    abalone = datasets.Dataset("abalone", X, np.arange(3), ("sex=F", "sex=I", "sex=M", *"abcdefg"), "", "")
    monkeypatch.setattr(_thesis, "BENCHMARKS", {"abalone": Benchmark("Abalone", 2)})
    monkeypatch.setattr(datasets, "load", lambda name, data_dir: abalone)
    found = _thesis.load_benchmarks(None)[0]["abalone"][0]
    assert found.shape == (3, 8)
    assert found[:, 0].tolist() == [1, 2, 3]
    monkeypatch.setattr("rankwise.datasets._load._load", lambda name, data_dir: abalone)
    other = datasets.load_abalone(None).X
    assert other[:, 0].tolist() == [2, 3, 1]
    assert np.array_equal(other[:, 1:], found[:, 1:])

    def results(mae):
        return {("abalone", m): [{"MAE": mae, "0/1": 0.7, "seconds": 1.0, "chosen": ""}] for m in models.STRAIGHT}

    words = models._remarks(results(1.5), results(1.25), models._cells(results(1.5)))
    assert any("LinReg 1.25 instead of 1.50, printed 1.51; SVOR-IMC(w,MAE) 1.25" in remark for remark in words)


# -- Tables 3.6 to 3.10 ------------------------------------------------------------------------------------------------


@pytest.fixture
def adult(monkeypatch):
    """A few rows in the place of Adult, and two sizes."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 2))
    ages = np.clip(45 + 12 * X[:, 0] + 3 * rng.standard_normal(150), 17, 90).astype(np.int64)
    monkeypatch.setattr(datasets, "load", lambda name, data_dir: datasets.Dataset(name, X, ages, ("a", "b"), "", ""))
    monkeypatch.setattr(_ages, "SIZES", (40, 90))
    monkeypatch.setattr(_ages, "ALPHAS", (0.1, 0.001))
    monkeypatch.setattr(intervals, "EXACT", (40,))
    monkeypatch.setattr(intervals, "FEW", (20, 60))


@pytest.mark.slow
def test_intervals_run_draw_and_judge(tmp_path, adult):
    report = intervals.run(tmp_path, sequences=1)
    table, page, text, picture = report.files
    rows = rows_of(table)
    few = [row for row in rows if row["exact"] == "20"]
    assert [(row["width"], row["rows"]) for row in few] == [("1", "20"), *((str(u), "60") for u in intervals.WIDTHS)]
    rows = rows[: -len(few)]
    assert len(rows) == len(intervals.METHODS) * (2 + 3)
    assert {(row["exact"], row["width"], row["rows"]) for row in rows if row["width"] != "1"} == {
        ("40", str(u), "90") for u in intervals.WIDTHS
    }
    wide = next(row for row in rows if row["width"] == "20")
    assert float(wide["bound"]) == pytest.approx((1 - 40 / 90) * 19, rel=1e-5)
    same = next(conclusion for conclusion in report.conclusions if "are the same" in conclusion.claim)
    assert same.verdict == "HOLDS"
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "## Table 3.10: II-SVOR-EXP(w)" in page.read_text(encoding="utf-8")
    split = _ages.make_splits(experiments.Job(tmp_path, sequences=1))[0][0]
    rows_read, alpha = split.train[:90], intervals.STEPS_ALPHA
    model = VILMA("mae", alpha=alpha, **_ages.COMMON).fit(
        split.features(rows_read, centred=False), split.ages[rows_read]
    )
    steps = np.unique(model.predict(split.features(split.test, centred=False))).size
    assert f"{steps} ages after 90 rows" in page.read_text(encoding="utf-8")
    assert text.read_text(encoding="utf-8") == f"{report}\n"


def test_intervals_without_a_larger_training_set_leave_out_what_nothing_can_be_said_about(tmp_path, adult):
    report = intervals.run(tmp_path, sequences=1, rounds=40)
    assert [conclusion.claim for conclusion in report.conclusions] == [
        "VILMA(w,MAE): with 20 exact labels, rows with intervals help, beyond noise",
        "CumulativeLink is better than VILMA(w,MAE)",
        "VILMA(w,MAE) and II-SVOR-IMC(w) are the same",
        "VILMA(w,MAE) is better than VILMA(w,0/1) and II-SVOR-EXP(w)",
    ]
    page = (tmp_path / "intervals.md").read_text(encoding="utf-8")
    assert "`rankwise reproduce intervals --sequences 1 --rounds 40 --seed 0`" in page


def test_a_loss_above_the_bound_and_rows_that_hurt_are_seen():
    exact, worse = _ages.Mean(5.0, 0.1, 0.2), _ages.Mean(9.0, 0.1, 0.2)
    found = {}
    for method in intervals.METHODS:
        found |= {(method, 3300, 1, 3300): exact, (method, 6600, 1, 6600): exact}
        found |= {(method, 3300, u, 6600): worse for u in intervals.WIDTHS}
    few = dict.fromkeys(intervals._few_places(), worse)
    few |= {(intervals.MAIN, 100, 5, 3300): exact, (intervals.MAIN, 100, 10, 3300): _ages.Mean(8.9, 0.1, 0.2)}
    more, helped, link_helped, link_better, wider, portion, bound, same, better = intervals._judge(found, few)
    assert [check.holds for check in helped.checks] == [True, False, False]  # by 4, by less than noise, not at all
    assert more.verdict == "DOES NOT HOLD"
    assert wider.verdict == portion.verdict == same.verdict == "HOLDS"
    assert [check.holds for check in bound.checks] == [False, True, True]  # 4 against 2, 4.5 and 9.5
    assert better.verdict == "DOES NOT HOLD"
    assert link_helped.verdict == link_better.verdict == "DOES NOT HOLD"


def test_growing_compares_regularisers(tmp_path, adult, monkeypatch):
    chosen = ("SVOR-IMC(w)", "SVOR-IMC(wθ)", "VILMA(w,MAE)")
    monkeypatch.setattr(growing, "METHODS", {method: growing.METHODS[method] for method in chosen})
    monkeypatch.setattr(growing, "_judge", lambda found: ())
    report = growing.run(tmp_path, sequences=2, rounds=40)
    rows = rows_of(report.files[0])
    assert [(row["method"], row["rows"]) for row in rows] == [(method, "40") for method in chosen]
    assert rows[0]["mae"] == rows[2]["mae"] != rows[1]["mae"]
    assert 0 < float(rows[0]["mae"]) < 12


def test_growing_is_judged():
    good, bad = _ages.Mean(5.0, 0.1, 0.2), _ages.Mean(9.0, 0.1, 0.2)
    found = {(method, 3300): bad if "wb" in method or "wθ" in method else good for method in growing.METHODS}
    assert [conclusion.verdict for conclusion in growing._judge(found)] == ["HOLDS"] * 3
    found["PW-MORD(w,MAE)", 3300] = bad
    assert growing._judge(found)[1].verdict == "DOES NOT HOLD"


def test_too_small_a_limit_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"rounds must be at least 3300, the smallest training set\. Got 10"):
        growing.run(tmp_path, rounds=10)


def test_features_that_are_not_centred_give_the_same_model():
    """Why methods without regularised offsets may be given sparse rows."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 3)) + 5.0
    y = np.clip((X[:, 0] * 2).round(), 8, 12)
    for model in (growing.METHODS["VILMA(w,MAE)"][0], growing.METHODS["MORD(w,MAE)"][0]):
        model = model.set_params(classes=[8, 9, 10, 11, 12], tol=1e-6, alpha=0.01)
        try:
            assert model.fit(X, y).objective_ == pytest.approx(model.fit(X - X.mean(axis=0), y).objective_, rel=1e-5)
        finally:
            model.set_params(**_ages.COMMON)
