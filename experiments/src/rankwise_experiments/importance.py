"""Table 1 of "A better analysis of a Perceptron-based algorithm for multiclass importance weighted online learning".

Supeesun and Fakcharoenphol run the multi-vector perceptron with importance weights (MV-IWP) and without (MV-Perceptron)
over random permutations of four UCI sets, and report mistakes in percent of the rounds and their cost in percent of the
total. Both are plain: one pass, no intercept, no averaging, prediction before learning; features are not scaled, and
columns of strings are one-hot. ISOLET is its training part, 1 to 4; Abalone has a class for every number of rings.

**Weights.** CAR and ABALONE: one over the frequency of the class. LETTER and ISOLET: the paper says "inversely
proportional to its frequency of its corresponding English character in use", without the table. Its total costs,
77011 and 23995.3, tell another story: they are, to the last digit, those of weights *equal* to the frequency in percent
in the table of Lewand, Cryptological Mathematics, 2000 (the one of Wikipedia's "Letter frequency"), and only with these
do the four columns of the two sets come out. The table is therefore made with frequencies; what their inverses give is
reported beside it.

The paper's all-pairs method, and its max-win scoring, predict as multi-vector does in every round (see
:mod:`rankwise.online.multiclass`): they have no columns of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise import ImportanceWeightedPerceptron, datasets, metrics
from rankwise.evaluation import format_table, progressive
from rankwise_experiments._report import (
    Check,
    Conclusion,
    ProgressCallback,
    Report,
    judged,
    no_progress,
    paired,
    records_as_markdown,
    write_table,
    write_text,
)
from rankwise_experiments._study import DataDir, Job, experiment, load_each

Floats = NDArray[np.float64]

NAME = "importance-table"
TITLE = "Importance-weighted perceptrons, Table 1: mistakes and cost"
IWP, PERCEPTRON = "MV-IWP", "MV-Perceptron"
ALGORITHMS = (IWP, PERCEPTRON)
MEASURES = ("mistakes", "cost")

#: Mistakes and cost in percent, and total cost, as printed.
PAPER = {
    "letter": {IWP: (64.22, 51.33), PERCEPTRON: (55.82, 57.29)},
    "isolet": {IWP: (40.74, 23.75), PERCEPTRON: (25.85, 26.51)},
    "car": {IWP: (32.17, 38.01), PERCEPTRON: (20.56, 44.01)},
    "abalone": {IWP: (93.32, 95.12), PERCEPTRON: (84.94, 93.96)},
}
PAPER_TOTALS = {"letter": 77011.0, "isolet": 23995.3, "car": 6911.85, "abalone": 116956.0}
PAPER_RUNS = 10

LETTERS = ("letter", "isolet")
#: Percent of English text, A to Z.
LEWAND = (
    *(8.167, 1.492, 2.782, 4.253, 12.702, 2.228, 2.015, 6.094, 6.966, 0.153, 0.772, 4.025, 2.406),
    *(6.749, 7.507, 1.929, 0.095, 5.987, 6.327, 9.056, 2.758, 0.978, 2.360, 0.150, 1.974, 0.074),
)


@dataclass(frozen=True, eq=False)
class WeightedSet:
    """A data set as codes 0..K-1, and what a mistake on each row costs."""

    name: str
    place: int  # among all sets: part of the seed, so that a set's numbers do not depend on which others run
    X: Floats
    y: NDArray[np.int64]
    cost: Floats


@dataclass(frozen=True, eq=False)
class Outcome:
    """Percent of mistakes and of cost of every algorithm in every run, shape (runs, algorithms, 2)."""

    values: Floats
    n_rounds: int

    def of(self, algorithm: str) -> Floats:
        """Mistakes and cost of every run, shape (runs, 2)."""
        return np.asarray(self.values[:, ALGORITHMS.index(algorithm)])

    def mean(self, algorithm: str) -> tuple[float, float]:
        """Mean mistakes and cost."""
        mistakes, cost = self.of(algorithm).mean(axis=0).tolist()
        return mistakes, cost

    def spread(self, algorithm: str) -> tuple[float, float]:
        """Standard deviation over the runs of mistakes and cost; NaN for a single run."""
        values = self.of(algorithm)
        mistakes, cost = values.std(axis=0, ddof=1).tolist() if len(values) > 1 else (np.nan, np.nan)
        return mistakes, cost


Outcomes = dict[str, Outcome]
"""Outcomes by data set, or by data set and variant."""

VARIANTS = """\
LETTER and ISOLET weigh a letter by its frequency in English text in percent (Lewand 2000): the sums of these weights
are the paper's total costs. Its text says by the inverse. Neither an intercept nor averaging is in the paper."""


@experiment(sequences=PAPER_RUNS, rounds=None, seed=0)
def run_table(job: Job) -> Report:
    """Table 1: MV-IWP and MV-Perceptron on LETTER, ISOLET, CAR and ABALONE, ours beside the paper's.

    Sequences are permutations of each set, rounds the rows of each permutation. Writes ``importance-table``: a table
    (CSV), a page (Markdown) and the conclusions (text).
    """
    sets, skipped = weighted_sets(job.data_dir)
    job.output.mkdir(parents=True, exist_ok=True)
    outcomes: Outcomes = {}
    variants: Outcomes = {}
    files: list[Path] = []
    how: dict[str, Any] = {"sequences": job.sequences, "rounds": job.rounds, "seed": job.seed}
    for data in sets:
        outcomes[data.name] = measure(data, **how, progress=job.progress)
        for remark, other, parameters in _variants(data):
            variants[f"{data.name}, {remark}"] = measure(other, parameters, **how)
        files = [_write_csv(job.output, outcomes)]  # after every set: what is finished is kept
    text, page = job.output / f"{NAME}.txt", job.output / f"{NAME}.md"
    files += [page, text] if outcomes else []
    report = Report(TITLE, tuple(outcomes), skipped, _judge(sets, outcomes), _notes(outcomes, variants), tuple(files))
    if outcomes:
        write_text(page, _page(report, outcomes, variants, job.command(NAME)))
        write_text(text, f"{report}\n")
    return report


# -- data --------------------------------------------------------------------------------------------------------------


def weighted_sets(data_dir: DataDir = None) -> tuple[list[WeightedSet], dict[str, str]]:
    """Return the paper's four sets with their costs, and why others are missing.

    Parameters
    ----------
    data_dir : path, optional
        As in :func:`rankwise.datasets.load`.
    """
    sets, skipped = load_each(PAPER, lambda name: _weighted_set(name, data_dir))
    return list(sets.values()), skipped


def _weighted_set(name: str, data_dir: DataDir) -> WeightedSet:
    data = datasets.load(name, data_dir)
    X, labels = data.X, data.y
    if name == "isolet":
        if "part" not in data.extra:
            reason = f"{data.source} does not tell parts 1 to 4, which the paper uses, from part 5."
            raise datasets.DatasetNotFoundError(reason)
        training = data.extra["part"] < 5
        X, labels = X[training], labels[training]
    values, y, counts = np.unique(labels, return_inverse=True, return_counts=True)
    # Both letter sets have all 26 letters, in alphabetical order.
    cost = np.array(LEWAND) if name in LETTERS else counts.sum() / counts
    if cost.size != values.size:
        raise datasets.DatasetDamagedError(f"{data.source} does not hold the data set {name!r}: not all letters.")
    return WeightedSet(name, list(PAPER).index(name), X, y, cost[y])


def _variants(data: WeightedSet) -> list[tuple[str, WeightedSet, dict[str, Any]]]:
    """Return what the table does not show but a reader will ask: remark, data, and parameters of the learner."""
    inverse = replace(data, cost=1.0 / data.cost)
    return [
        *([("inverse frequencies", inverse, {})] if data.name in LETTERS else []),
        ("intercept", data, {"fit_intercept": True}),
        ("averaged", data, {"average": True}),
    ]


def measure(
    data: WeightedSet,
    parameters: Mapping[str, Any] | None = None,
    *,
    sequences: int,
    rounds: int | None = None,
    seed: int = 0,
    progress: ProgressCallback = no_progress,
) -> Outcome:
    """Run both algorithms over the same permutations.

    Parameters
    ----------
    data : WeightedSet
        Rows, classes and costs.
    parameters : mapping, optional
        Parameters of :class:`rankwise.ImportanceWeightedPerceptron` that are not the paper's.
    sequences : int
        How many permutations.
    rounds : int, optional
        Rows of each; all by default and at most.
    seed : int, default 0
        Seed of the permutations: permutation i depends on it, the set and i only.
    progress : callable, optional
        Told the set's name, the permutations done and all permutations.
    """
    n = len(data.y) if rounds is None else min(rounds, len(data.y))
    classes = np.unique(data.y)
    values = np.empty((sequences, len(ALGORITHMS), 2))
    progress(data.name, 0, sequences)
    for i in range(sequences):
        generator = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(data.place, i)))
        rows = generator.permutation(len(data.y))[:n]
        X, y, cost = data.X[rows], data.y[rows], data.cost[rows]
        for j, algorithm in enumerate(ALGORITHMS):
            model = ImportanceWeightedPerceptron(**{"fit_intercept": False, "average": False, **(parameters or {})})
            learnt_with = cost if algorithm == IWP else None
            predicted = progressive(model, X, y, classes=classes, sample_weight=learnt_with).predictions
            values[i, j] = (
                100 * metrics.zero_one_loss(y, predicted, classes=classes),
                100 * metrics.weighted_cost(y, predicted, classes=classes, sample_weight=cost),
            )
        progress(data.name, i + 1, sequences)
    return Outcome(values, n)


# -- the paper's conclusions -------------------------------------------------------------------------------------------


def _judge(sets: Sequence[WeightedSet], outcomes: Outcomes) -> tuple[Conclusion, ...]:
    totals, numbers, mistakes, costs = [], [], [], []
    for data in sets:
        outcome, total = outcomes[data.name], float(data.cost.sum())
        printed = PAPER_TOTALS[data.name]
        totals.append(Check(data.name, abs(total / printed - 1) < 1e-4, f"{total:.2f}, printed {printed:g}"))
        for algorithm in ALGORITHMS:
            numbers.append(_close(data.name, algorithm, outcome))
        mistakes.append(_lower(data.name, outcome, "mistakes", winner=PERCEPTRON))
        costs.append(_lower(data.name, outcome, "cost", winner=PERCEPTRON if data.name == "abalone" else IWP))
    beyond = "by more than two standard errors of the paired difference"
    wanted = [
        ("the weights add up to the paper's total cost (to four digits)", totals),
        ("mistakes and cost are the paper's (within three standard errors, its runs taken to vary as ours)", numbers),
        (f"the Perceptron makes fewer mistakes ({beyond})", mistakes),
        (f"IWP has the lower cost on LETTER, ISOLET and CAR, the Perceptron on ABALONE ({beyond})", costs),
    ]
    return judged(wanted)


def _close(name: str, algorithm: str, outcome: Outcome) -> Check:
    """Whether both numbers of a cell are the paper's, up to chance."""
    runs, parts, good = len(outcome.values), [], True
    ours, spread, theirs = outcome.mean(algorithm), outcome.spread(algorithm), PAPER[name][algorithm]
    for what, mean, deviation, printed in zip(MEASURES, ours, spread, theirs, strict=True):
        allowed = 3 * deviation * np.sqrt(1 / runs + 1 / PAPER_RUNS)
        good &= bool(abs(mean - printed) <= allowed)
        parts.append(f"{what} {mean:.2f}, printed {printed:.2f} ({mean - printed:+.2f}, allowed {allowed:.2f})")
    return Check(f"{name}, {algorithm}", good, "; ".join(parts))


def _lower(name: str, outcome: Outcome, what: str, winner: str) -> Check:
    """Whether the winner has the lower number, beyond chance."""
    loser = IWP if winner == PERCEPTRON else PERCEPTRON
    column = MEASURES.index(what)
    won, lost = (outcome.of(algorithm)[:, column] for algorithm in (winner, loser))
    difference, error = paired(won - lost)
    numbers = f"{winner} {won.mean():.2f} against {lost.mean():.2f}, {difference:+.2f} ± {error:.2f}"
    return Check(name, difference + 2 * error < 0, numbers)


# -- files -------------------------------------------------------------------------------------------------------------


def _write_csv(output: Path, outcomes: Outcomes) -> Path:
    rows = []
    for name, outcome in outcomes.items():
        for algorithm in ALGORITHMS:
            (mistakes, cost), (mistakes_sd, cost_sd) = outcome.mean(algorithm), outcome.spread(algorithm)
            numbers = mistakes, mistakes_sd, cost, cost_sd, *PAPER[name][algorithm]
            rows.append((name, algorithm, *numbers, len(outcome.values), outcome.n_rounds))
    columns = ("mistakes", "mistakes_sd", "cost", "cost_sd", "paper_mistakes", "paper_cost")
    header = ("data_set", "algorithm", *columns, "sequences", "rounds")
    return write_table(output / f"{NAME}.csv", header, rows)


def _table(outcomes: Outcomes) -> list[dict[str, str]]:
    rows = []
    for name, outcome in outcomes.items():
        for algorithm in ALGORITHMS:
            row = {"data set": name.upper(), "algorithm": algorithm}
            ours, spread, theirs = outcome.mean(algorithm), outcome.spread(algorithm), PAPER[name][algorithm]
            for what, mean, deviation, printed in zip(MEASURES, ours, spread, theirs, strict=True):
                row |= {what: f"{mean:.2f} ± {deviation:.2f}", f"{what}, paper": f"{printed:.2f}"}
            rows.append(row)
    return rows


def _variant_table(variants: Outcomes) -> list[dict[str, str]]:
    rows = []
    for name, outcome in variants.items():
        row = {"data set": name}
        for algorithm in ALGORITHMS:
            row |= {f"{algorithm}, {w}": f"{m:.2f}" for w, m in zip(MEASURES, outcome.mean(algorithm), strict=True)}
        rows.append(row)
    return rows


def _notes(outcomes: Outcomes, variants: Outcomes) -> tuple[str, ...]:
    if not outcomes:
        return ()
    legend = "Percent of the rounds and of the total cost; ± is the standard deviation of one run:"
    return (f"{legend}\n{format_table(_table(outcomes))}\n\n{VARIANTS}\n{format_table(_variant_table(variants))}",)


def _page(report: Report, outcomes: Outcomes, variants: Outcomes, command: str) -> str:
    """Return the whole report in Markdown, with the command that makes it."""
    legend = (
        "Mistakes in percent of the rounds and their cost in percent of the total: mean of the permutations ± standard "
        "deviation of one, beside what the paper prints."
    )
    parts = [
        f"# {report.title}",
        f"Made by `{command}`.\n\n{legend}",
        records_as_markdown(_table(outcomes)),
        *report.skipped_in_words,
        "## Conclusions",
        *(f"```\n{conclusion}\n```" for conclusion in report.conclusions),
        "## What the paper does not print",
        VARIANTS,
        records_as_markdown(_variant_table(variants)),
    ]
    return "\n\n".join(parts) + "\n"
