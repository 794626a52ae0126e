"""Boosted trees from exact and imprecise labels, beside the boosted trees of other libraries and linear models.

Real sets with ordered classes, and numbers that are cut into 5 or 10 equally frequent ones. The training labels are
exact; or half of them, or nine of ten, are intervals of about a third of the scale, cut off at its ends, in which the
true class lies anywhere; or half of them say "at least" or "at most" a class. Test labels are exact. Methods that know
no intervals learn from midpoints or from the exact rows alone.

All classes that such an interval admits are equally likely to give it (coarsening at random), which is what the
likelihood assumes. One more kind of labels shows what it costs when that is wrong: intervals of full width that are
moved onto the scale, so that the lowest class always gives the lowest interval, and a class in the middle rarely.

Equal tuning: every method has two settings, chosen between by the absolute error, to the nearest class that a label
admits, on a fifth of the training part; then it learns from all of it. Trees: 6 leaves and 150 rounds, or 31 leaves and
60 rounds, both with a learning rate of 0.1; no early stopping. Everything else is as each library has it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from rankwise import datasets, metrics
from rankwise.annotation import alpha_beta_intervals
from rankwise_experiments._journal import Units, fingerprint
from rankwise_experiments._report import Check, Conclusion, Report, judged, markdown_table, write_table
from rankwise_experiments._study import Job, experiment, load_each
from rankwise_experiments._thesis import write_page_and_text
from rankwise_experiments._trees_methods import METHODS, Codes, Floats, Method, Task

NAME = "trees"
TITLE = "Boosted trees from exact and imprecise labels"
OURS, MIDPOINTS = "BoostedThresholds", "LightGBM regression, midpoints"
#: Sets, and into how many classes their targets are cut; 0: as they are.
SETS = (
    ("abalone", 5), ("california", 10), ("winequality_red", 0), ("car", 0), ("ERA", 0), ("cpu_act", 10), ("ESL", 0),
    ("house_16H", 5), ("eucalyptus", 0), ("stock", 10), ("winequality_white", 0), ("parkinsons", 10), ("boston", 5),
    ("adult_age", 10), ("california", 5), ("house_16H", 10),
)  # fmt: skip
EXACT, HALF, MOST, ONE_SIDED = "exact", "50 % intervals", "90 % intervals", "50 % one-sided"
LABELS = (EXACT, HALF, MOST, ONE_SIDED)
MOVED = "90 % intervals moved onto the scale"
METRICS = ("MAE", "kappa", "RPS", "log score", "seconds")
MOST_ROWS = 4000  # of a training part, and of a test part
_LEAST = 1e-6  # probability in a log score


@experiment(sequences=5, rounds=None, seed=0, least={"rounds": 60})
def run(job: Job) -> Report:
    """Learn in every way from every kind of labels.

    Sequences are random splits of each set, rounds the most rows of a training part. Writes ``trees``: a page, a table
    (CSV) and the conclusions (text).
    """
    methods = {name: method for name, method in METHODS.items() if method.available}
    units = Units(job.unit_file(NAME))
    names = tuple(dict.fromkeys(name for name, _ in SETS))
    sets, skipped = load_each(names, lambda name: datasets.load(name, job.data_dir))
    skipped |= {name: "its package is not installed" for name in METHODS if name not in methods}
    found: dict[tuple[str, str, int], dict[str, Any]] = {}
    tasks = [(name, bins) for name, bins in SETS if name in sets]
    report = Report(TITLE, (), skipped, (), (), ())
    quick, slow = ({n: m for n, m in methods.items() if m.slow is slow} for slow in (False, True))
    phases = ((quick, LABELS), (quick, (MOVED,)), (slow, LABELS))
    # All sets once before any set again, and slow methods last: a run that is stopped has something of everything.
    steps = list(product(phases, range(job.sequences), tasks))
    for done, ((some, kinds), split, (name, bins)) in enumerate(steps):
        title = f"{name}, {bins} classes" if bins else name
        job.progress(f"{title}, split {split}", done, len(steps))
        for labels in kinds:
            results = found.setdefault((title, labels, split), {})
            results |= _measured(units, sets[name], bins, labels, split, job, some)
        report = _written(job, Results(found), skipped)  # what is finished is kept
    job.progress("done", len(steps), len(steps))
    return report


def _written(job: Job, table: Results, skipped: Mapping[str, str]) -> Report:
    report = Report(TITLE, tuple(table.sets), skipped, table.conclusions(), (), job.files(NAME, "md", "csv", "txt"))
    table.write(job.output / f"{NAME}.csv")
    write_page_and_text(job, NAME, report, [*table.parts(job), report.conclusions_in_words])
    return report


def _measured(
    units: Units, data: datasets.Dataset, bins: int, labels: str, split: int, job: Job, methods: Mapping[str, Method]
) -> dict[str, Any]:
    """What every method reaches on one split with one kind of labels, by method and metric."""
    task, truth = make_task(data, bins, labels, split, job)
    print_of = fingerprint(task.X, task.lower, task.upper, task.X_new, truth)
    return {
        name: units.once(
            f"{data.name} {bins}, {labels}, split {split}, {name}",
            {"data": print_of, "method": name, "settings": [str(s) for s in method.settings], "seed": job.seed},
            lambda method=method: judge(method, task, truth),  # type: ignore[misc]
        )
        for name, method in methods.items()
    }


def make_task(data: datasets.Dataset, bins: int, labels: str, split: int, job: Job) -> tuple[Task, Codes]:
    """Training rows with labels of one kind, and test rows with their classes; the same rows for every kind."""
    seed = np.random.SeedSequence(job.seed, spawn_key=(split, sum(map(ord, data.name)), bins))
    generator = np.random.default_rng(seed)
    y = datasets.cut_equal_frequency(data.y, bins) if bins else data.y
    places = {value: k for k, value in enumerate(data.classes or np.unique(y).tolist())}
    codes = np.array([places[value] for value in y.tolist()])
    n_classes = int(codes.max()) + 1
    order = generator.permutation(len(codes))
    n_train = min(2 * len(codes) // 3, job.rounds or MOST_ROWS)
    train, test = order[:n_train], order[n_train : n_train + MOST_ROWS]
    lower, upper = imprecise(codes[train], labels, n_classes, generator)
    X = np.asarray(data.X, dtype=np.float64)
    return Task(X[train], lower, upper, X[test], n_classes, split), codes[test].astype(np.int64)


def imprecise(codes: Codes, labels: str, n_classes: int, generator: np.random.Generator) -> tuple[Codes, Codes]:
    """Ends of labels of one kind."""
    wide = max(1, n_classes // 3)
    chosen = generator.permutation(len(codes)) / len(codes)
    if labels in (HALF, MOST, MOVED):
        if labels == MOVED:
            first, last = alpha_beta_intervals(codes, 0.0, wide, range(n_classes), int(generator.integers(2**31))).T
        else:
            start = codes - generator.integers(0, wide + 1, size=len(codes))
            first, last = np.maximum(start, 0), np.minimum(start + wide, n_classes - 1)
        exact = chosen >= (0.5 if labels == HALF else 0.9)
        return np.where(exact, codes, first).astype(np.int64), np.where(exact, codes, last).astype(np.int64)
    lower, upper = codes.astype(np.int64), codes.astype(np.int64)
    if labels == ONE_SIDED:
        away = generator.integers(0, wide + 1, size=len(codes))
        at_least, at_most = chosen < 0.25, (chosen >= 0.25) & (chosen < 0.5)
        lower = np.where(at_least, np.maximum(codes - away, 0), np.where(at_most, 0, lower))
        upper = np.where(at_most, np.minimum(codes + away, n_classes - 1), np.where(at_least, n_classes - 1, upper))
    return lower, upper


def judge(method: Method, task: Task, truth: Codes) -> dict[str, Any]:
    """Choose a setting, learn, and judge the answers on the test part."""
    start = time.process_time()
    generator = np.random.default_rng(task.seed)
    aside = generator.permutation(len(task.X)) < len(task.X) // 5
    errors = []
    for setting in method.settings:
        codes, _ = method(task.take(~aside, task.X[aside]), setting)
        errors.append(np.maximum(np.maximum(task.lower[aside] - codes, codes - task.upper[aside]), 0).mean())
    best = method.settings[int(np.argmin(errors))]
    codes, likely = method(task, best)
    used = time.process_time() - start
    k = range(task.n_classes)
    result: dict[str, Any] = {
        "MAE": float(np.abs(codes - truth).mean()),
        "kappa": float(metrics.quadratic_weighted_kappa(truth, codes, classes=k)),
        "seconds": used,
        "setting": str(best),
    }
    if likely is not None:
        likely = np.maximum(likely, _LEAST)
        likely = likely / likely.sum(axis=1, keepdims=True)
        result["RPS"] = metrics.ranked_probability_score(truth, likely, classes=k)
        result["log score"] = metrics.log_score(truth, likely, classes=k)
    return result


class Results:
    """What was found, by set, labels, split, method and metric.

    Parameters
    ----------
    found : mapping
        Results of methods by set, labels and split. Only methods that have finished them all are compared.
    """

    def __init__(self, found: Mapping[tuple[str, str, int], Mapping[str, Any]]) -> None:
        self.found = found
        main = [results for (_, labels, _), results in found.items() if labels in LABELS]
        self.methods = tuple(name for name in METHODS if all(name in results for results in main))
        self.sets = list(dict.fromkeys(name for name, _, _ in found))
        self.splits = {(n, k): sorted({s for m, j, s in found if (m, j) == (n, k)}) for n, k, _ in found}

    def mean(self, name: str, labels: str, method: str, metric: str) -> float:
        """Mean over the splits; NaN where the method does not know the metric."""
        values = [self.found[name, labels, split][method].get(metric, np.nan) for split in self.splits[name, labels]]
        return float(np.mean(values))

    def ranks(self, labels: str, metric: str = "MAE") -> Floats:
        """Mean rank of every method over the sets; ties share theirs."""
        from scipy.stats import rankdata

        sign = -1.0 if metric == "kappa" else 1.0
        rows = [[sign * self.mean(name, labels, method, metric) for method in self.methods] for name in self.sets]
        return np.asarray(rankdata(np.array(rows), axis=1, nan_policy="omit").mean(axis=0))

    def compared(self, labels: str, other: str, metric: str = "MAE", other_labels: str | None = None) -> Floats:
        """Ours over another method, minus 1, for every set."""
        return np.array([
            self.mean(name, labels, OURS, metric) / self.mean(name, other_labels or labels, other, metric) - 1.0
            for name in self.sets
        ])  # fmt: skip

    def conclusions(self) -> tuple[Conclusion, ...]:
        """The figures that were aimed at."""
        if OURS not in self.methods or not self.sets:
            return ()
        overall = np.mean([self.ranks(labels) for labels in LABELS], axis=0)
        best = self.methods[int(np.argmin(overall))]
        first = Check("all sets and labels", best == OURS, f"{overall[self.methods.index(OURS)]:.2f}, best {best}")
        claims = [("the mean rank of the MAE is the best of the table", [first])]
        if MIDPOINTS in self.methods:
            gain, cost = np.median(self.compared(MOST, MIDPOINTS)), np.median(self.compared(MOST, OURS, "MAE", EXACT))
            claims += [
                ("with 90 % intervals the MAE is 5 % below LightGBM on midpoints, on the median set",
                 [Check("median set", bool(gain <= -0.05), f"{gain:+.1%}")]),
                ("with 90 % intervals the MAE is at most 5 % above that with exact labels, on the median set",
                 [Check("median set", bool(cost <= 0.05), f"{cost:+.1%}")]),
            ]  # fmt: skip
        return judged(claims)

    def parts(self, job: Job) -> list[str]:
        """The page, but for its title and conclusions."""
        rows = job.rounds or MOST_ROWS
        counts = [len(splits) for (_, labels), splits in self.splits.items() if labels in LABELS]
        fewest, most = min(counts), max(counts)
        splits = f"{most} splits each" if fewest == most else f"{fewest} or {most} splits each"
        about = (
            f"{len(self.sets)} sets, {splits}, at most {rows} training rows. Every method chooses between "
            f"two settings on a fifth of its training part. Ranks: 1 is best of {len(self.methods)}. Seconds are those "
            f"of the processor, in one thread, tuning included."
        )
        return [about, "## Mean ranks of the MAE", self._rank_table(), *self._moved_part(), "## Means over the sets",
                *self._mean_tables(), "## MAE by set", *self._set_tables()]  # fmt: skip

    def _moved_part(self) -> list[str]:
        """What labels that depend on the truth cost."""
        sets = [name for name in self.sets if (name, MOVED) in self.splits]
        if not sets:
            return []
        rows = []
        for method in self.methods:
            if all(method in self.found[name, MOVED, self.splits[name, MOVED][0]] for name in sets):
                costs = [
                    [self.mean(n, kind, method, "MAE") / self.mean(n, EXACT, method, "MAE") - 1.0 for n in sets]
                    for kind in (MOST, MOVED)
                ]
                rows.append([method, *(f"{np.median(cost):+.1%}" for cost in costs)])
        about = (
            f"MAE above that of the same method with exact labels, on the median of {len(sets)} sets. Intervals that "
            "are moved onto the scale depend on the true class in a way that no method here knows."
        )
        return ["## When intervals depend on the truth", about, markdown_table(["method", MOST, MOVED], rows)]

    def _rank_table(self) -> str:
        columns = [self.ranks(labels) for labels in LABELS]
        rows = [
            [method, *(f"{column[i]:.2f}" for column in columns), f"{np.mean([c[i] for c in columns]):.2f}"]
            for i, method in enumerate(self.methods)
        ]
        return markdown_table(["method", *LABELS, "all"], rows)

    def _mean_tables(self) -> list[str]:
        tables = []
        for labels in LABELS:
            rows = []
            for method in self.methods:
                means = [np.mean([self.mean(name, labels, method, m) for name in self.sets]) for m in METRICS]
                rows.append([method, *("" if np.isnan(mean) else f"{mean:.3f}" for mean in means)])
            tables += [f"### {labels.capitalize()}", markdown_table(["method", *METRICS], rows)]
        return tables

    def _set_tables(self) -> list[str]:
        tables = []
        for labels in LABELS:
            rows = [[n, *(f"{self.mean(n, labels, m, 'MAE'):.3f}" for m in self.methods)] for n in self.sets]
            tables += [f"### {labels.capitalize()}", markdown_table(["set", *self.methods], rows)]
        return tables

    def write(self, path: Path) -> None:
        """Every number, as a table."""
        rows = [
            (name, labels, split, method, *(found[method].get(metric, float("nan")) for metric in METRICS))
            for (name, labels, split), found in self.found.items()
            for method in METHODS
            if method in found
        ]
        write_table(path, ("data_set", "labels", "split", "method", *METRICS), rows)
