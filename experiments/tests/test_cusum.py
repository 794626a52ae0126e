"""The tables of the CuSum paper: choice of parameters, units that are kept, peers that may be absent, judgement."""

import csv
import json
import math
import os
import sys
from dataclasses import replace
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.dummy import DummyClassifier
from sklearn.preprocessing import StandardScaler
from typer.testing import CliRunner

import rankwise_experiments as experiments
from rankwise import CuSumRank, HiddenFeatures
from rankwise.cli._app import app
from rankwise.datasets import CHU_NAMES, make_ordinal
from rankwise_experiments import cusum
from rankwise_experiments._cusum_report import PAPER, Outcome, write_report
from rankwise_experiments._journal import Journal
from rankwise_experiments._tuned import Consecutive, Method, choose, judge

DATA = Path(os.environ.get("RANKWISE_DATA") or Path(__file__).resolve().parents[3] / "shared" / "data")
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="no directory of real data; name one in RANKWISE_DATA")

QUICK = cusum.Settings(
    n_hidden=5, patience=2, max_iter=5, deltas=(1, 10), epochs=(2,), alphas=(1,), Cs=(1,), gammas=(0.1,), predictions=9
)
N_OURS = 2 * (1 + 3)  # two tables of one set: a choice and three partitions


@pytest.fixture(autouse=True)
def alone(nowhere, monkeypatch):
    """No data but those that a test names, and no peers."""
    for package in ("mord", "skordinal"):
        monkeypatch.setitem(sys.modules, package, None)


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory):
    """One small set, in 5 and in 10 bins."""
    folder = tmp_path_factory.mktemp("data")
    (folder / "chu_partitions").mkdir()
    for bins in (5, 10):
        X, y = make_ordinal(30, 2, bins, random_state=bins)
        lines = ["partition,split,x1,x2,y"]
        for p in range(1, 21):
            order = np.random.default_rng(p).permutation(30)
            lines += [
                f"{p},{'train' if place < 20 else 'test'},{X[i, 0]},{X[i, 1]},{y[i]}" for place, i in enumerate(order)
            ]
        (folder / "chu_partitions" / f"machine_{bins}bins.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


@pytest.fixture
def run(data_dir):
    def run(output, **options):
        return cusum.run_tables(output, **{"data_dir": data_dir, "sequences": 3, "settings": QUICK} | options)

    return run


@pytest.fixture
def count(monkeypatch):
    """Units that were done, not taken from the journal."""
    done = []
    for name in ("choose", "judge"):
        work = getattr(cusum, name)

        def counted(*args, _work=work, _name=name, **kwargs):
            done.append(_name)
            return _work(*args, **kwargs)

        monkeypatch.setattr(cusum, name, counted)
    return done


def module_named(name):
    module = ModuleType(name)
    module.__spec__ = ModuleSpec(name, None)
    return module


def peer(monkeypatch, module, name, estimator):
    """Put a package with one estimator in the place of a peer."""
    fake = module_named(module.partition(".")[0])
    setattr(fake, name, estimator)
    monkeypatch.setitem(sys.modules, fake.__name__, fake)
    monkeypatch.setitem(sys.modules, module, fake)
    monkeypatch.setattr(cusum.metadata, "version", lambda package: "1.2")


class Guess(BaseEstimator):
    """Peer that always says the same."""

    def __init__(self, alpha=0, C=0, gamma=0):
        self.alpha = alpha
        self.C = C
        self.gamma = gamma

    def fit(self, X, y):
        return self

    def predict(self, X):
        return np.ones(len(X))


class Broken(Guess):
    def fit(self, X, y):
        raise RuntimeError("out\nof order")


def rows_of(path):
    with open(path, newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


class TestRun:
    def test_files(self, run, tmp_path):
        told = []
        report = run(tmp_path, progress=lambda *what: told.append(what))
        assert report.ran == ("machine, 5 bins", "machine, 10 bins")
        assert len(report.skipped) == 16
        assert "abalone, 5 bins" in report.skipped
        assert [p.name for p in report.files] == [
            "cusum-tables.csv",
            "cusum-tables-partitions.csv",
            "cusum-tables.md",
            "cusum-tables.txt",
        ]
        partitions = rows_of(report.files[1])
        assert [(r["bins"], r["partition"]) for r in partitions] == [(b, p) for b in ("5", "10") for p in "123"]
        for row in rows_of(report.files[0]):
            errors = [float(r["mae"]) for r in partitions if r["bins"] == row["bins"]]
            assert float(row["mae"]) == pytest.approx(np.mean(errors), rel=1e-5)
            assert float(row["standard_error"]) == pytest.approx(np.std(errors, ddof=1) / math.sqrt(3), rel=1e-5)
            assert row["partitions"] == "3"
        for bins in ("5 bins", "10 bins"):
            assert [done for what, done, total in told if (what, total) == (bins, 4)] == [0, 1, 2, 3, 4, 4]
        text = report.files[2].read_text(encoding="utf-8")
        assert "| machine | 0.1915 | 0.1872 | " in text
        assert "| machine | 0.4398 | 0.4906 | " in text
        assert text.count("not installed | not installed") == 2
        assert "mord LogisticAT: not installed" in str(report)

    def test_one_partition_and_the_errors_are_those_of_the_pipeline(self, run, tmp_path, data_dir):
        report = run(tmp_path, sequences=1)
        row = rows_of(report.files[0])[0]
        assert row["standard_error"] == "nan"
        method = cusum._ours(5, QUICK)
        front, back = next(
            (f, b) for f in method.fronts for b in method.backs if row["parameters"] == f"{f}, {b}"
        )  # fmt: skip
        part = cusum._load(data_dir)[0][5]["machine"][0]
        seeds = np.random.SeedSequence(0, spawn_key=(5, CHU_NAMES.index("machine"), 1)).generate_state(1)
        assert judge(method, front, back, part, seed=int(seeds[0]))["mae"] == pytest.approx(float(row["mae"]), rel=1e-5)

    def test_more_partitions_than_there_are(self, run, tmp_path, monkeypatch):
        facts = {"mae": 1.0, "seconds": 0.0, "unconverged": 2}
        choice = {"front": "in [0, 1]", "back": "delta=1, 2 epochs", **facts}
        monkeypatch.setattr(cusum, "choose", lambda *a, **k: choice)
        monkeypatch.setattr(cusum, "judge", lambda *a, **k: facts)
        report = run(tmp_path, sequences=100)
        assert len(rows_of(report.files[1])) == 40
        assert "rankwise CuSum on machine, 5 bins: 42 networks had not converged" in str(report)

    def test_no_partition(self, run, tmp_path):
        with pytest.raises(ValueError, match=r"sequences must be at least 1\. Got 0"):
            run(tmp_path, sequences=0)

    def test_no_data(self, tmp_path):
        report = cusum.run_tables(tmp_path / "out", data_dir=tmp_path, settings=QUICK)
        assert not report.ran
        assert len(report.skipped) == 18
        assert "chu_partitions/abalone_5bins.csv" in report.skipped["abalone, 5 bins"]

    def test_an_error_of_ours_is_an_error(self, run, tmp_path, monkeypatch):
        def fail(*args, **kwargs):
            raise RuntimeError("out of order")

        monkeypatch.setattr(cusum, "judge", fail)
        with pytest.raises(RuntimeError, match="out of order"):
            run(tmp_path)

    @needs_data
    def test_real_partitions(self):
        assert set(PAPER[5]) == set(PAPER[10]) == set(CHU_NAMES)
        part = next(iter(cusum.datasets.load_chu_partitions("diabetes", 10, DATA)))
        found = choose(cusum._ours(10, QUICK), *part[:2], predictions=30, seed=0)
        assert 0.5 < found["mae"] < 3.5


class TestResume:
    def test_a_run_that_was_stopped_goes_on(self, run, tmp_path, count):
        whole = run(tmp_path / "whole")
        assert len(count) == N_OURS

        def stop(what, done, total):
            if (what, done) == ("10 bins", 2):
                raise KeyboardInterrupt

        count.clear()
        with pytest.raises(KeyboardInterrupt):
            run(tmp_path / "parts", progress=stop)
        assert len(count) == 4 + 2
        count.clear()
        rest = run(tmp_path / "parts")
        assert count == ["judge"] * 2
        assert rest.files[1].read_bytes() == whole.files[1].read_bytes()
        count.clear()
        again = run(tmp_path / "parts")
        assert not count
        assert str(again) == str(rest)

    def test_more_partitions_keep_the_first(self, run, tmp_path, count):
        few = rows_of(run(tmp_path, sequences=2).files[1])
        count.clear()
        more = rows_of(run(tmp_path, sequences=3).files[1])
        assert count == ["judge"] * 2
        assert [r for r in more if r["partition"] != "3"] == few

    @pytest.mark.parametrize("change", [{"seed": 1}, {"settings": replace(QUICK, n_hidden=6)}])
    def test_other_settings_are_other_units(self, run, tmp_path, count, change):
        run(tmp_path)
        count.clear()
        run(tmp_path, **change)
        assert len(count) == N_OURS

    def test_other_data_are_other_units(self, run, tmp_path, data_dir, count):
        run(tmp_path)
        count.clear()
        file = "chu_partitions/machine_5bins.csv"
        (tmp_path / "chu_partitions").mkdir()
        lines = (data_dir / file).read_text(encoding="utf-8").splitlines()
        first = next(i for i, line in enumerate(lines) if line.startswith("2,test"))
        lines[first] = f"{lines[first].rpartition(',')[0]},{'1' if lines[first][-1] != '1' else '2'}"
        (tmp_path / file).write_text("\n".join(lines) + "\n", encoding="utf-8")
        run(tmp_path, data_dir=tmp_path)
        assert count == ["judge"]  # one label in the test part of one partition

    def test_a_line_cut_off_is_done_again(self, run, tmp_path, count):
        run(tmp_path)
        count.clear()
        journal = tmp_path / "cusum-tables-units.jsonl"
        content = journal.read_bytes()
        journal.write_bytes(content[:-30])
        run(tmp_path)
        assert count == ["judge"]
        lines = [json.loads(line) for line in journal.read_text(encoding="utf-8").splitlines()]
        assert len(lines) == N_OURS
        assert lines[0]["what"] == "rankwise CuSum: machine, 5 bins, choice of parameters"

    def test_journal_survives_anything(self, tmp_path):
        path = tmp_path / "units.jsonl"
        Journal(path).put({"a": 1}, {"mae": 1.0})
        path.write_bytes(path.read_bytes() + b"[]\n\xff\xfe\n17\n{}\n" + path.read_bytes().replace(b"1.0", b"2.0"))
        journal = Journal(path)
        assert journal.get({"a": 1}) == {"mae": 2.0}
        assert journal.get({"a": 2}) is None
        assert len(path.read_text(encoding="utf-8").splitlines()) == 2


class TestPeers:
    def test_results_beside_ours(self, run, tmp_path, monkeypatch):
        peer(monkeypatch, "mord", "LogisticAT", Guess)
        report = run(tmp_path)
        row = next(r for r in rows_of(report.files[0]) if r["method"] == "mord LogisticAT")
        assert row["parameters"] == "standardised, alpha=1"
        assert float(row["mae"]) > 0
        assert "skordinal SVOR: not installed" in str(report)

    def test_a_peer_that_fails(self, run, tmp_path, monkeypatch, count):
        peer(monkeypatch, "skordinal.classifiers", "SVOR", Broken)
        report = run(tmp_path)
        assert "skordinal SVOR on machine, 5 bins: failed: RuntimeError: out of order" in str(report)
        assert report.files[2].read_text(encoding="utf-8").count("| failed: RuntimeError: out of order |") == 2
        assert rows_of(report.files[0])[1]["failed"] == "RuntimeError: out of order"
        count.clear()
        run(tmp_path)
        assert not count  # a failure is a result, too

    def test_a_peer_that_cannot_be_imported(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "mord", module_named("mord"))
        _, absent = cusum._peers(QUICK)
        assert absent["mord LogisticAT"].startswith("failed: AttributeError: module 'mord' has no attribute")

    def test_gaps_between_the_ranks_are_closed(self):
        class Strict(Guess):
            def fit(self, X, y):
                assert set(y) == set(range(len(set(y))))
                self.top_ = max(y)
                return self

            def predict(self, X):
                return np.full(len(X), float(self.top_))

        model = Consecutive(Strict()).fit(np.zeros((4, 1)), np.array([2, 5, 9, 5]))
        assert model.predict(np.zeros((2, 1))).tolist() == [9, 9]


class TestChoice:
    def method(self, *guesses):
        backs = {f"guess {g}": DummyClassifier(strategy="constant", constant=g) for g in guesses}
        return Method("guesses", {"standardised": StandardScaler()}, backs, {})

    def test_the_smallest_error_wins_and_of_equals_the_first(self):
        X, y = np.arange(30.0).reshape(-1, 1), np.repeat([1, 2, 3], 10)
        found = choose(self.method(1, 2, 3), X, y, predictions=100, seed=0)
        assert (found["back"], found["mae"]) == ("guess 2", pytest.approx(2 / 3))
        assert choose(self.method(3, 1), X, y, predictions=1, seed=0)["back"] == "guess 3"

    @pytest.mark.parametrize(("predictions", "fits"), [(1, 5), (30, 5), (31, 10), (10_000, 50)])
    def test_small_sets_are_split_more_often(self, predictions, fits):
        made = []

        class Counting(StandardScaler):
            def fit(self, X, y=None, sample_weight=None):
                made.append(len(X))
                return super().fit(X, y, sample_weight)

        method = replace(self.method(1), fronts={"counted": Counting()}, dtype=np.float32)
        choose(method, np.ones((30, 1)), np.arange(30) % 3 + 1, predictions=predictions, seed=0)
        assert made == [24] * fits

    def test_the_papers_model(self):
        method = cusum._ours(10, cusum.Settings())
        assert method.ours
        assert len(method.fronts) * len(method.backs) == 40
        hidden = method.fronts["in [0, 1]"][-1]
        assert isinstance(hidden, HiddenFeatures)
        assert (hidden.n_hidden, hidden.n_iter_no_change, hidden.learning_rate_init) == (1000, 100, 0.001)
        model = method.backs["delta=10, 100 epochs"]
        assert isinstance(model, CuSumRank)
        assert (model.delta, model.n_epochs, model.margin, model.average) == (10, 100, "loss", True)

    def test_what_a_result_depends_on(self):
        a, b = (cusum._ours(5, settings).settings() for settings in (QUICK, replace(QUICK, patience=3)))
        assert a != b
        assert a == cusum._ours(5, QUICK).settings()
        json.dumps(a)


class TestJudgement:
    def results(self, *errors):
        outcome = Outcome("parameters", errors, 60.0)
        return {5: {"machine": {"ours": outcome}}}

    def verdicts(self, tmp_path, *errors):
        report = write_report(tmp_path, self.results(*errors), ["ours"], {}, {}, {"seed": 0})
        return [conclusion.verdict for conclusion in report.conclusions]

    def test_within_one_standard_error(self, tmp_path):
        ours, benchmark = PAPER[5]["machine"][1], PAPER[5]["machine"][0]
        spread = 0.01  # two results that far from their mean have that standard error
        for mean, expected in [
            (ours - 0.001, ["HOLDS", "HOLDS"]),
            (ours + 0.009, ["HOLDS", "HOLDS"]),
            (ours + 0.011, ["DOES NOT HOLD", "HOLDS"]),
            (benchmark + 0.011, ["DOES NOT HOLD", "DOES NOT HOLD"]),
        ]:
            assert self.verdicts(tmp_path, mean - spread, mean + spread) == expected

    def test_one_partition_has_no_error(self, tmp_path):
        assert self.verdicts(tmp_path, 0.1872) == ["HOLDS", "HOLDS"]
        assert self.verdicts(tmp_path, 0.1873) == ["DOES NOT HOLD", "HOLDS"]

    def test_text(self, tmp_path):
        report = write_report(tmp_path, self.results(0.1, 0.2), ["ours", "theirs"], {"theirs": "absent"}, {}, {})
        text = (tmp_path / "cusum-tables.md").read_text(encoding="utf-8")
        assert "| machine | 0.1915 | 0.1872 | 0.1500 ± 0.0500 | absent | parameters |" in text
        assert str(report.conclusions[0]) in text
        assert "ours: 1.0 minutes of one core for all choices and partitions" in text


class TestCommand:
    def test_run(self, data_dir, tmp_path, monkeypatch):
        monkeypatch.setattr(cusum, "Settings", lambda: QUICK)
        arguments = ["reproduce", "cusum-tables", "--output", tmp_path, "--data-dir", data_dir, "--sequences", 1]
        result = CliRunner().invoke(app, [str(a) for a in arguments], prog_name="rankwise")
        assert result.exit_code == 0
        assert "Table 2, 10 bins: at least as good as the paper's CuSum column" in result.output
        assert str(tmp_path / "cusum-tables.md") in result.output

    def test_it_has_no_rounds(self):
        result = CliRunner().invoke(app, ["reproduce", "cusum-tables", "--rounds", "3"], prog_name="rankwise")
        assert result.exit_code == 2
        assert result.output == "rankwise: error: Invalid value: cusum-tables has no --rounds.\n"

    def test_registry(self):
        assert experiments.get("cusum-tables").run is cusum.run_tables
