import csv
import os
from math import comb
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import rankwise_experiments as experiments
from rankwise import PRIL, PRank
from rankwise.annotation import type2_intervals
from rankwise.datasets import make_ordinal
from rankwise.evaluation import Progress, progressive
from rankwise_experiments import pril
from rankwise_experiments._report import Check, Conclusion, Report, chain, write_figure, write_table, write_text
from rankwise_experiments._streams import Curves, average_losses, pril_streams

DATA = Path(os.environ.get("RANKWISE_DATA") or Path(__file__).resolve().parents[3] / "shared" / "data")
pytestmark = pytest.mark.usefixtures("nowhere")
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="no directory of real data; name one in RANKWISE_DATA")

SMALL = {"sequences": 3, "rounds": 500}


def rows_of(path):
    with open(path, newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


class TestStreams:
    def test_sequences_depend_on_nothing_but_seed_and_number(self):
        (stream,), _ = pril_streams(rounds=50)
        learners = {"PRank": lambda X, y, classes, seed: progressive(PRank(average=False), X, y, classes=classes)}
        few, more, other = (
            average_losses(stream, learners, sequences=n, seed=seed) for n, seed in ((2, 0), (4, 0), (2, 1))
        )
        assert_array_equal(few.values, more.values[:2])
        assert not np.array_equal(few.values, other.values)
        assert not np.array_equal(more.values[0], more.values[1])

    def test_mean_and_standard_error(self):
        (stream,), _ = pril_streams(rounds=20)
        seen = []

        def learner(X, y, classes, seed):
            seen.append(float(y.sum()))
            return Progress(y, y.astype(float), np.ones(y.size))

        curves = average_losses(stream, {"sum": learner}, sequences=5)
        finals = np.array(seen) / 20
        assert_allclose(curves.final("sum"), finals)
        assert curves.mean["sum"][-1] == pytest.approx(finals.mean())
        assert curves.standard_error["sum"][-1] == pytest.approx(finals.std(ddof=1) / np.sqrt(5))
        assert curves.average("sum", after=20) == pytest.approx(finals.mean())
        assert curves.rounds[0] == 1
        assert curves.rounds[-1] == 20
        assert np.isnan(Curves(("one",), curves.rounds, curves.values[:1]).standard_error["one"]).all()

    def test_progress_is_told_of_every_sequence(self):
        (stream,), _ = pril_streams(rounds=20)
        told = []
        learner = {"none": lambda X, y, classes, seed: Progress(y, np.zeros(y.size), np.ones(y.size))}
        average_losses(stream, learner, sequences=3, progress=lambda *what: told.append(what))
        assert told == [("synthetic", done, 3) for done in range(4)]

    @pytest.mark.parametrize("bad", [{"sequences": 0}, {"rounds": 0}])
    def test_too_few(self, tmp_path, bad):
        with pytest.raises(ValueError, match=f"{next(iter(bad))} must be at least 1. Got 0"):
            pril.run_fraction(tmp_path, **SMALL | bad)

    @needs_data
    def test_real_sets_in_their_feature_spaces(self):
        streams, skipped = pril_streams(DATA)
        assert not skipped
        shapes = {s.name: (s.draw(np.random.default_rng(0))[0].shape, len(s.classes)) for s in streams}
        assert shapes == {
            "synthetic": ((10_000, 6), 5),
            "parkinsons": ((5875, 20), 10),
            "abalone": ((4177, comb(8 + 3, 3)), 4),
        }
        X, _ = streams[1].draw(np.random.default_rng(1))
        again, _ = streams[1].draw(np.random.default_rng(2))
        assert not np.array_equal(X, again)
        assert_allclose(np.sort(X, axis=0), np.sort(again, axis=0))
        assert_allclose(X.mean(axis=0), 0, atol=1e-9)


@pytest.mark.parametrize("name", ["pril-fraction", "pril-comparison"])
class TestRuns:
    def test_files_and_report(self, name, tmp_path):
        report = experiments.get(name).run(tmp_path / "new", **SMALL)
        assert report.ran == ("synthetic",)
        assert set(report.skipped) == {"parkinsons", "abalone"}
        assert all("was not found" in reason and "\n" not in reason for reason in report.skipped.values())
        assert all(path.stat().st_size for path in report.files)
        assert {p.name for p in report.files} == {p.name for p in (tmp_path / "new").iterdir()}
        (picture,) = (path for path in report.files if path.suffix == ".png")
        assert picture.read_bytes().startswith(b"\x89PNG")
        (text,) = (path for path in report.files if path.suffix == ".txt")
        assert text.read_text(encoding="utf-8") == f"{report}\n"
        assert f"skipped abalone: {report.skipped['abalone']}" in str(report)
        assert all(check.where in str(report) for c in report.conclusions for check in c.checks)

        finals = rows_of(tmp_path / "new" / f"{name}-final.csv")
        curves = rows_of(tmp_path / "new" / f"{name}-curves.csv")
        assert {(row["sequences"], row["rounds"]) for row in finals} == {("3", "500")}
        last = [row["mae"] for row in curves if row["round"] == "500"]
        assert last == [row["mae"] for row in finals]
        assert 60 <= len(curves) / len(finals) <= 100

    def test_the_same_seed_gives_the_same_tables(self, name, tmp_path):
        run = experiments.get(name).run
        options = {"sequences": 2, "rounds": 60}
        for folder, seed in (("a", 0), ("b", 0), ("c", 1)):
            run(tmp_path / folder, seed=seed, **options)
        for table in (tmp_path / "a").glob("*.csv"):
            assert table.read_bytes() == (tmp_path / "b" / table.name).read_bytes()
            assert table.read_bytes() != (tmp_path / "c" / table.name).read_bytes()

    def test_a_single_round(self, name, tmp_path):
        assert experiments.get(name).run(tmp_path, sequences=1, rounds=1).files

    @needs_data
    def test_all_data_sets(self, name, tmp_path):
        report = experiments.get(name).run(tmp_path, data_dir=DATA, **SMALL)
        assert report.ran == ("synthetic", "parkinsons", "abalone")
        assert not report.skipped

    def test_a_damaged_set_stops_before_any_work(self, name, tmp_path):
        (tmp_path / "abalone").mkdir()
        (tmp_path / "abalone" / "abalone.csv").write_text("sex,rings\nM,1\n", encoding="utf-8")
        with pytest.raises(ValueError, match="abalone"):
            experiments.get(name).run(tmp_path / "out", data_dir=tmp_path)
        assert not (tmp_path / "out").exists()


def test_fraction_losses_are_those_of_the_labels_learnt_from(tmp_path):
    pril.run_fraction(tmp_path, **SMALL)
    table = {
        (int(row["interval_type"]), float(row["fraction_partial"])): float(row["mae"])
        for row in rows_of(tmp_path / "pril-fraction-final.csv")
    }
    assert len(table) == 12
    assert table[1, 0.0] == table[2, 0.0]  # without partial labels there is no type
    (stream,), _ = pril_streams(rounds=500)
    exact = {"PRank": lambda X, y, classes, seed: progressive(PRank(average=False), X, y, classes=classes)}
    assert table[1, 0.0] == pytest.approx(average_losses(stream, exact, sequences=3).final("PRank").mean(), rel=1e-5)
    assert table[2, 1.0] < table[1, 1.0] < table[1, 0.0]  # wider intervals forgive more


def test_comparison_is_by_exact_labels(tmp_path):
    pril.run_comparison(tmp_path, **SMALL)
    table = {row["model"]: float(row["mae"]) for row in rows_of(tmp_path / "pril-comparison-final.csv")}
    assert set(table) == {"PRIL, type 1", "PRIL, type 2", "PRank", "Widrow-Hoff", "multi-class perceptron"}
    (stream,), _ = pril_streams(rounds=500)

    def type2(X, y, classes, seed):
        return progressive(PRIL(average=False), X, type2_intervals(y, classes), truth=y, classes=classes)

    expected = average_losses(stream, {"PRIL": type2}, sequences=3).final("PRIL").mean()
    assert table["PRIL, type 2"] == pytest.approx(expected, rel=1e-5)
    variants = {row["variant"]: float(row["mae"]) for row in rows_of(tmp_path / "pril-comparison-variants.csv")}
    assert variants["Widrow-Hoff, normalised 0.1, with intercept"] == table["Widrow-Hoff"]
    assert variants["Widrow-Hoff, plain 1, with intercept"] > table["Widrow-Hoff"]


def test_widrow_hoff_that_diverges_has_infinite_loss():
    X, y = make_ordinal(2000, 3, 5, random_state=0)
    parameters = {"learning_rate": 100.0, "normalized": False}
    result = pril._widrow_hoff(X, y, np.arange(1, 6), 0, parameters=parameters, intercept=True)
    assert result.final == np.inf
    curves = Curves(("diverged",), np.array([1]), np.full((3, 1, 1), result.final))
    assert np.isnan(curves.standard_error["diverged"]).all()


def fake(finals, n_rounds=1000):
    """Curves that fall from twice a final value to it, with a little spread between two sequences."""
    rounds = np.unique(np.geomspace(1, n_rounds, 50).round().astype(int))
    course = 2 - np.linspace(0, 1, rounds.size)
    values = np.array(list(finals.values()))[:, None] * course
    return Curves(tuple(finals), rounds, np.array([values, values * 1.001]))


AS_IN_FIGURE_2 = {f"type {k}, {100 * f:.0f} %": 1 - f / 2 for k in (1, 2) for f in pril.FRACTIONS}
AS_IN_FIGURE_3 = {
    "PRIL, type 1": 0.5,
    "PRIL, type 2": 0.52,
    "PRank": 0.5,
    "Widrow-Hoff": 1.0,
    "multi-class perceptron": 1.0,
}


class TestConclusions:
    def verdicts(self, judge, finals):
        return [conclusion.verdict for conclusion in judge({"parkinsons": fake(finals)})]

    def test_figure_2_holds(self):
        assert self.verdicts(pril._judge_fraction, AS_IN_FIGURE_2) == ["HOLDS", "HOLDS", "HOLDS"]

    def test_figure_2_fails(self):
        upside_down = {name: 2 - mae for name, mae in AS_IN_FIGURE_2.items()}
        assert self.verdicts(pril._judge_fraction, upside_down) == ["HOLDS", "DOES NOT HOLD", "DOES NOT HOLD"]
        one_swapped = AS_IN_FIGURE_2 | {"type 1, 80 %": 0.5}
        assert self.verdicts(pril._judge_fraction, one_swapped) == ["HOLDS", "HOLDS IN 1 OF 2", "HOLDS"]

    def test_figure_2_needs_curves_that_fall(self):
        curves = fake(AS_IN_FIGURE_2)
        rising = Curves(curves.names, curves.rounds, curves.values[:, :, ::-1])
        assert pril._judge_fraction({"abalone": rising})[0].verdict == "DOES NOT HOLD"

    def test_figure_3_holds(self):
        assert self.verdicts(pril._judge_comparison, AS_IN_FIGURE_3) == ["HOLDS", "HOLDS", "HOLDS"]

    def test_figure_3_fails(self):
        better = {"Widrow-Hoff": 0.51, "multi-class perceptron": 0.4, "PRank": 0.25}
        verdicts = self.verdicts(pril._judge_comparison, AS_IN_FIGURE_3 | better)
        assert verdicts == ["HOLDS IN 1 OF 2", "DOES NOT HOLD", "DOES NOT HOLD"]

    def test_a_difference_within_the_noise_is_none(self):
        curves = fake(AS_IN_FIGURE_3 | {"Widrow-Hoff": 0.52})
        noisy = curves.values.copy()
        noisy[1, 3] *= 0.94  # PRIL of type 1 wins by 0.02 in one sequence and loses by 0.01 in the other
        conclusions = pril._judge_comparison({"synthetic": Curves(curves.names, curves.rounds, noisy)})
        assert conclusions[0].verdict == "DOES NOT HOLD"

    def test_the_paper_claims_nothing_of_the_perceptron_on_abalone(self):
        conclusions = pril._judge_comparison({"abalone": fake(AS_IN_FIGURE_3)})
        assert ["multi-class" in c.claim for c in conclusions] == [False, False]

    def test_numbers_are_shown_with_true_signs(self):
        assert chain([3.0, 2.0, 2.0, 2.5], 3) == "3.000 > 2.000 = 2.000 < 2.500"

    def test_text(self):
        conclusion = Conclusion("it works", (Check("here", True, "1 > 0"), Check("elsewhere", False, "0 < 1")))
        lines = ["HOLDS IN 1 OF 2: it works", "  yes  here       1 > 0", "  NO   elsewhere  0 < 1"]
        assert str(conclusion).splitlines() == lines
        assert str(Report("Title", (), {}, (), (), ())) == "Title"


class TestWriting:
    def test_table(self, tmp_path):
        path = write_table(tmp_path / "deep" / "t.csv", ("name", "value"), [("a, b", 1 / 3), ("c", 2)])
        assert path.read_text(encoding="utf-8") == 'name,value\n"a, b",0.333333\nc,2\n'

    def test_failure_leaves_the_old_file_and_nothing_else(self, tmp_path):
        class Unwilling:
            def savefig(self, path, **options):
                path.write_bytes(b"half")
                raise RuntimeError("disk on fire")

        target = write_text(tmp_path / "figure.png", "old")
        with pytest.raises(RuntimeError, match="disk on fire"):
            write_figure(target, Unwilling())
        assert [p.name for p in tmp_path.iterdir()] == ["figure.png"]
        assert target.read_text(encoding="utf-8") == "old"


def test_finished_sets_are_kept_when_interrupted(tmp_path):
    def interrupt(what, done, total):
        if what.startswith("synthetic, variants"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pril.run_comparison(tmp_path, progress=interrupt, **SMALL)
    assert len(rows_of(tmp_path / "pril-comparison-final.csv")) == 5


def test_registry():
    assert experiments.get("pril-fraction").run is pril.run_fraction
    with pytest.raises(ValueError, match=r"there is no experiment 'pril'\. Known: pril-fraction, pril-comparison"):
        experiments.get("pril")
