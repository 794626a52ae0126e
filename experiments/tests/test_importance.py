import csv
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import rankwise_experiments as experiments
from rankwise import datasets
from rankwise_experiments import importance
from rankwise_experiments.importance import ALGORITHMS, IWP, PAPER, PERCEPTRON, Outcome, WeightedSet, measure
from tests.reference.importance import PlainMultiVector

DATA = Path(os.environ.get("RANKWISE_DATA") or Path(__file__).resolve().parents[3] / "shared" / "data")
pytestmark = pytest.mark.usefixtures("nowhere")
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="no directory of real data; name one in RANKWISE_DATA")

RUN = experiments.get("importance-table").run


def small(name="car", n=200, n_classes=4, seed=0):
    """Rows of whole numbers, classes of unequal frequency."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, (n, 5)).astype(float)
    y = (X @ rng.standard_normal((5, n_classes)) + rng.standard_normal(n_classes)).argmax(axis=1)
    y[:n_classes] = np.arange(n_classes)
    return WeightedSet(name, list(PAPER).index(name), X, y, np.array([1.0, 4.0, 0.5, 2.0])[y % 4])


@pytest.fixture
def two_sets(monkeypatch):
    sets = [small("letter"), small("car", seed=1)]
    monkeypatch.setattr(importance, "weighted_sets", lambda data_dir: (sets, {"isolet": "gone"}))
    return sets


def outcome_of(values, n=40):
    """Runs that scatter a little around given numbers, (algorithms, 2)."""
    noise = np.tile([-0.1, 0.1], n // 2)[:, None, None]
    return Outcome(np.asarray(values) + noise, 100)


class TestMeasure:
    def test_numbers_are_those_of_the_plain_algorithm(self):
        data = small()
        found = measure(data, sequences=2, seed=3, rounds=150)
        for i in range(2):
            rows = np.random.default_rng(np.random.SeedSequence(3, spawn_key=(data.place, i))).permutation(200)[:150]
            for algorithm in ALGORITHMS:
                plain = PlainMultiVector(5, 4)
                wrong = []
                for x, y, c in zip(data.X[rows], data.y[rows], data.cost[rows], strict=True):
                    wrong.append(plain.predict(x) != y)
                    plain.learn(x, {y}, c if algorithm == IWP else 1.0)
                cost = data.cost[rows]
                expected = 100 * np.mean(wrong), 100 * cost[wrong].sum() / cost.sum()
                assert found.of(algorithm)[i] == pytest.approx(expected)
        assert found.n_rounds == 150

    def test_permutations_depend_on_nothing_but_seed_set_and_number(self):
        few, more, other = (measure(small(), sequences=n, seed=seed).values for n, seed in ((2, 0), (3, 0), (2, 1)))
        np.testing.assert_array_equal(few, more[:2])
        assert not np.array_equal(few, other)
        assert not np.array_equal(more[0], more[1])

    def test_parameters_change_the_learner(self):
        plain = measure(small(), sequences=1).values
        for parameters in ({"average": True}, {"fit_intercept": True}):
            assert not np.array_equal(plain, measure(small(), parameters, sequences=1).values)

    def test_progress_is_told_of_every_permutation(self):
        told = []
        measure(small(), sequences=2, rounds=20, progress=lambda *what: told.append(what))
        assert told == [("car", done, 2) for done in range(3)]


class TestJudgement:
    def judge(self, **changed):
        sets, outcomes = [], {}
        for name, paper in PAPER.items():
            data = small(name)
            sets.append(replace(data, cost=data.cost * importance.PAPER_TOTALS[name] / data.cost.sum()))
            outcomes[name] = outcome_of(changed.get(name, [paper[algorithm] for algorithm in ALGORITHMS]))
        return sets, outcomes

    def test_the_papers_numbers_hold(self):
        conclusions = importance._judge(*self.judge())
        assert [c.verdict for c in conclusions] == ["HOLDS"] * 4
        assert [len(c.checks) for c in conclusions] == [4, 8, 4, 4]

    def test_other_numbers_do_not(self):
        sets, outcomes = self.judge(car=[(20.0, 45.0), (33.0, 40.0)])
        sets[0] = replace(sets[0], cost=sets[0].cost * 1.001)
        totals, numbers, mistakes, costs = importance._judge(sets, outcomes)
        assert [check.where for check in totals.checks if not check.holds] == ["letter"]
        assert [check.where for check in numbers.checks if not check.holds] == [f"car, {a}" for a in ALGORITHMS]
        assert [check.where for check in mistakes.checks if not check.holds] == ["car"]
        assert [check.where for check in costs.checks if not check.holds] == ["car"]

    def test_a_difference_within_chance_is_none(self):
        values = np.array([[(50.0, 50.0), (49.0, 50.0)], [(49.0, 50.0), (49.8, 50.0)]])
        check = importance._lower("car", Outcome(values, 10), "mistakes", winner=PERCEPTRON)
        assert not check.holds
        assert "MV-Perceptron 49.40 against 49.50" in check.numbers


class TestRun:
    def test_files(self, tmp_path, two_sets):
        report = RUN(tmp_path / "out", sequences=3, rounds=100, seed=2)
        assert report.ran == ("letter", "car")
        assert [path.name for path in report.files] == [f"importance-table.{end}" for end in ("csv", "md", "txt")]
        assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(p.name for p in report.files)
        table, page, text = report.files
        with open(table, newline="", encoding="utf-8") as stream:
            rows = list(csv.DictReader(stream))
        assert [(row["data_set"], row["algorithm"]) for row in rows] == [
            (name, algorithm) for name in report.ran for algorithm in ALGORITHMS
        ]
        expected = measure(two_sets[1], sequences=3, rounds=100, seed=2)
        assert float(rows[2]["cost"]) == pytest.approx(expected.mean(IWP)[1], rel=1e-5)
        assert float(rows[2]["cost_sd"]) == pytest.approx(expected.spread(IWP)[1], rel=1e-5)
        assert (rows[2]["paper_cost"], rows[2]["sequences"], rows[2]["rounds"]) == ("38.01", "3", "100")
        page = page.read_text(encoding="utf-8")
        assert "`rankwise reproduce importance-table --sequences 3 --rounds 100 --seed 2`" in page
        assert f"| CAR | MV-IWP | {expected.mean(IWP)[0]:.2f} ± {expected.spread(IWP)[0]:.2f} | 32.17 |" in page
        assert "Skipped isolet: gone" in page
        inverse = measure(replace(two_sets[0], cost=1 / two_sets[0].cost), sequences=3, rounds=100, seed=2)
        assert f"| letter, inverse frequencies | {inverse.mean(IWP)[0]:.2f} |" in page
        assert "car, inverse" not in page
        assert text.read_text(encoding="utf-8") == f"{report}\n"
        assert "skipped isolet: gone" in str(report)

    def test_a_single_round(self, tmp_path, two_sets):
        assert len(RUN(tmp_path, sequences=1, rounds=1).files) == 3

    def test_a_damaged_set_stops_before_any_work(self, tmp_path):
        (tmp_path / "abalone").mkdir()
        (tmp_path / "abalone" / "abalone.csv").write_text("sex,rings\nM,1\n", encoding="utf-8")
        with pytest.raises(ValueError, match="abalone"):
            RUN(tmp_path / "out", data_dir=tmp_path)
        assert not (tmp_path / "out").exists()

    def test_without_data(self, tmp_path):
        report = RUN(tmp_path)
        assert report.ran == ()
        assert list(report.skipped) == list(PAPER)
        assert (report.conclusions, report.notes, report.files) == ((), (), ())
        assert not list(tmp_path.iterdir())

    def test_isolet_without_its_parts_is_skipped(self, monkeypatch):
        fake = datasets.Dataset("isolet", np.eye(2), np.array([1, 2]), ("a", "b"), "", "OpenML: isolet")
        monkeypatch.setattr(datasets, "load", lambda name, data_dir: fake)
        with pytest.raises(datasets.DatasetDamagedError, match="'letter': not all letters"):
            importance.weighted_sets()
        monkeypatch.setattr(importance, "PAPER", {"isolet": PAPER["isolet"]})
        sets, skipped = importance.weighted_sets()
        assert not sets
        assert "OpenML: isolet does not tell parts 1 to 4" in skipped["isolet"]

    @pytest.mark.parametrize("bad", [{"sequences": 0}, {"rounds": 0}])
    def test_bad_arguments(self, tmp_path, bad):
        with pytest.raises(ValueError, match=rf"{next(iter(bad))} must be at least 1\. Got 0"):
            RUN(tmp_path, **bad)


@pytest.mark.slow
@needs_data
def test_the_weights_are_the_papers():
    """The total costs that the paper prints: LETTER and ISOLET to every digit."""
    sets, skipped = importance.weighted_sets(DATA)
    assert not skipped
    assert {data.name: data.X.shape for data in sets} == {
        "letter": (20000, 16),
        "isolet": (6238, 617),
        "car": (1728, 21),
        "abalone": (4177, 10),
    }
    assert [len(np.unique(data.y)) for data in sets] == [26, 26, 4, 28]
    totals = {data.name: float(data.cost.sum()) for data in sets}
    assert round(totals["letter"]) == 77011
    assert round(totals["isolet"], 1) == 23995.3
    assert totals["car"] == pytest.approx(4 * 1728)
    assert totals["abalone"] == pytest.approx(28 * 4177)
    # A few permutations of the smallest set come near.
    found = measure(sets[2], sequences=3)
    for algorithm in ALGORITHMS:
        assert found.mean(algorithm) == pytest.approx(PAPER["car"][algorithm], abs=5)
