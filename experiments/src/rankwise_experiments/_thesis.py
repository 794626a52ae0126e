"""What the experiments of chapter 3 of Antoniuk's thesis share: its benchmark sets, their partitions and cells.

The seven sets are regression problems whose target is cut into ten equally frequent grades (section 3.5.2). How ties at
a cut are split is not said, and decides the result where one value is frequent: :func:`grades` knows the ways.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rankwise import datasets
from rankwise_experiments._report import Check, Conclusion, Report, markdown_table, write_table, write_text
from rankwise_experiments._study import DataDir, Job, load_each
from rankwise_experiments._thesis_tables import Printed

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Ties = Literal["in order", "together", "upper", "lower"]

N_GRADES = 10
N_PARTITIONS = 20
RISKS = ("MAE", "0/1")
AGREES = 0.9  # share of the cells that should be within two standard deviations of the thesis'


@dataclass(frozen=True)
class Benchmark:
    """A set of Table 3.2.

    Attributes
    ----------
    title : str
        Its name in the thesis.
    n_train : int
        Rows to learn from; all others are test rows.
    ties : str
        The way to split ties that agrees with the thesis' numbers, see :func:`grades`.
    """

    title: str
    n_train: int
    ties: Ties = "in order"


BENCHMARKS = {
    "pyrim": Benchmark("Pyrimidines", 50),
    "machine_cpu": Benchmark("MachineCPU", 150),
    "boston": Benchmark("Boston", 300),
    "abalone": Benchmark("Abalone", 1000),
    "bank32nh": Benchmark("Bank", 3000, ties="together"),
    "cpu_act": Benchmark("Computer", 4000),
    "california": Benchmark("California", 5000),
}


def load_benchmarks(data_dir: DataDir) -> tuple[dict[str, tuple[Floats, NDArray[Any]]], dict[str, str]]:
    """Features and uncut target of every set, and why others are missing."""

    def load(name: str) -> tuple[Floats, NDArray[Any]]:
        data = datasets.load(name, data_dir)
        return _sex_as_a_number(data.X) if name == "abalone" else data.X, data.y

    return load_each(BENCHMARKS, load)


def _sex_as_a_number(X: Floats) -> Floats:
    """Abalone with 8 features, as many as the thesis counts: female, infant, male are 1, 2, 3.

    The thesis does not say how it codes them. This is a guess, the way that agrees better with Table 3.5;
    :mod:`rankwise_experiments.models` compares with the other one.
    """
    return np.column_stack([X[:, :3] @ (1.0, 2.0, 3.0), X[:, 3:]])


def grades(values: NDArray[Any], ties: Ties, n_grades: int = N_GRADES) -> Codes:
    """Cut numbers into equally frequent grades 1..n_grades.

    Parameters
    ----------
    values : array of shape (n,)
        Numbers.
    ties : {"in order", "together", "upper", "lower"}
        What becomes of a value that is more frequent than what is left of its grade. "in order": rows are sorted, those
        of the same value in the order in which they come, and cut into equal parts. "together": grade by grade, a
        value stays whole and goes where it makes the size of the grade come nearer to its share, which is an equal one
        of the rows that are left (as in Weka's filter). "upper", "lower": a value at a quantile goes whole to the grade
        above, or below, it; grades can be empty.
    n_grades : int, default 10
        Number of grades.

    Examples
    --------
    >>> numbers = np.array([5, 5, 5, 5, 6, 7, 8, 9])
    >>> grades(numbers, "in order", 4)
    array([1, 1, 2, 2, 3, 3, 4, 4])
    >>> grades(numbers, "together", 4)
    array([1, 1, 1, 1, 2, 3, 3, 4])
    >>> grades(numbers, "upper", 4)
    array([2, 2, 2, 2, 3, 3, 4, 4])
    """
    if ties == "in order":
        place = np.empty(values.size, dtype=np.int64)
        place[np.argsort(values, kind="stable")] = np.arange(values.size)
        return place * n_grades // values.size + 1
    if ties == "together":
        cuts = _cuts_between_values(values, n_grades)
        return np.searchsorted(cuts, values, side="left") + 1
    quantiles = np.quantile(values, np.arange(1, n_grades) / n_grades)
    return np.searchsorted(quantiles, values, side="right" if ties == "upper" else "left") + 1


def _cuts_between_values(values: NDArray[Any], n_grades: int) -> list[float]:
    """Largest value of every grade but the last."""
    different, counts = np.unique(values, return_counts=True)
    cuts: list[float] = []
    size, left = 0, values.size
    for i, count in enumerate(counts.tolist()):
        share = left / (n_grades - len(cuts))
        if size > 0 and size + count >= share and share - size < size + count - share:
            cuts.append(float(different[i - 1]))
            left, size = left - size, 0
        size += count
        if len(cuts) < n_grades - 1 and size >= left / (n_grades - len(cuts)):
            cuts.append(float(different[i]))
            left, size = left - size, 0
        if len(cuts) == n_grades - 1:
            break
    return cuts


def partition(n_rows: int, n_train: int, number: int, seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Rows to learn from and to be judged on, drawn at random."""
    order = np.random.default_rng([seed, number]).permutation(n_rows)
    return order[:n_train], order[n_train:]


def standardised(X: Floats, train: NDArray[np.intp]) -> Floats:
    """All rows, scaled so that the training rows have mean 0 and standard deviation 1."""
    spread = X[train].std(axis=0)
    return np.asarray((X - X[train].mean(axis=0)) / np.where(spread > 0, spread, 1.0))


def risks(truth: NDArray[Any], predicted: NDArray[Any]) -> dict[str, float]:
    """Mean absolute error and share of wrong predictions."""
    return {"MAE": float(np.abs(predicted - truth).mean()), "0/1": float((predicted != truth).mean())}


def reduced(done: int, of: int, what: str) -> list[str]:
    """Sentence that says that a run was smaller than the thesis', if it was.

    Examples
    --------
    >>> reduced(6, 20, "partitions")
    ['A reduced run: 6 of 20 partitions. The same command without that option goes on from there.']
    >>> reduced(20, 20, "partitions")
    []
    """
    if done >= of:
        return []
    return [f"A reduced run: {done:,} of {of:,} {what}. The same command without that option goes on from there."]


# -- cells -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cell:
    """Our values beside a printed cell.

    Attributes
    ----------
    table, data_set, method, risk : str
        Where it stands.
    printed : Printed
        The thesis' numbers.
    values : tuple of float
        Ours, one for every partition.
    """

    table: str
    data_set: str
    method: str
    risk: str
    printed: Printed
    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Mean of our values."""
        return float(np.mean(self.values))

    @property
    def deviation(self) -> float:
        """Standard deviation of our values."""
        return float(np.std(self.values))

    @property
    def agrees(self) -> bool:
        """Whether our mean is within two printed standard deviations of the printed mean."""
        return abs(self.mean - self.printed.mean) <= 2 * self.printed.deviation

    @property
    def agrees_as_printed(self) -> bool:
        """The same with our mean in as many digits as are printed: else a printed deviation of 0.00 has no equal."""
        difference = abs(round(self.mean, self.printed.digits) - self.printed.mean)
        return difference <= 2 * self.printed.deviation + 1e-9  # decimal fractions are not exact in binary

    @property
    def may_agree(self) -> bool:
        """The same with the numbers that the printed ones may have been before they were rounded."""
        rounding = 0.5 * 10.0**-self.printed.digits
        return abs(self.mean - self.printed.mean) <= 2 * self.printed.deviation + 3 * rounding


def write_cells(path: Path, found: Sequence[Cell]) -> Path:
    """Write the cells as CSV."""
    header = (
        *("table", "data_set", "method", "risk", "ours", "deviation", "partitions"),
        *("thesis", "thesis_deviation", "agrees", "agrees_as_printed", "may_agree"),
    )
    rows = [
        (
            *(c.table, c.data_set, c.method, c.risk, c.mean, c.deviation, len(c.values)),
            *(c.printed.mean, c.printed.deviation, c.agrees, c.agrees_as_printed, c.may_agree),
        )
        for c in found
    ]
    return write_table(path, header, rows)


def cells_as_markdown(found: Sequence[Cell]) -> str:
    """One line for each set and method: ours, the thesis' and whether they agree, for both risks."""
    header = ["data set", "method", *(title for risk in RISKS for title in (f"{risk}: ours", "thesis", "agree"))]
    rows = []
    for mae, wrong in zip(found[::2], found[1::2], strict=True):
        parts = [mae.data_set, mae.method]
        for cell in (mae, wrong):
            digits = cell.printed.digits
            verdict = "yes" if cell.agrees else ("rounded" if cell.may_agree else "NO")
            parts += [
                f"{cell.mean:.3f} ({cell.deviation:.3f})",
                f"{cell.printed.mean:.{digits}f} ({cell.printed.deviation:.{digits}f})",
                verdict,
            ]
        rows.append(parts)
    return markdown_table(header, rows)


def write_page_and_text(job: Job, name: str, report: Report, parts: Sequence[str]) -> None:
    """Write the page of an experiment of the thesis, with the command that makes it, and the text of its report."""
    page = [f"# {report.title}", f"Made by `{job.command(name)}`.", *parts, *report.skipped_in_words]
    write_text(job.output / f"{name}.md", "\n\n".join(page) + "\n")
    write_text(job.output / f"{name}.txt", f"{report}\n")


HOW_CELLS_AGREE = (
    "They agree if the means differ by two of the printed deviations at most "
    '("rounded": if the printed numbers are allowed to have been rounded).'
)


def agreement(found: Sequence[Cell], groups: Mapping[str, Callable[[Cell], bool]]) -> Conclusion:
    """How many cells agree, in several groups of them."""
    checks = []
    for where, belongs in groups.items():
        group = [cell for cell in found if belongs(cell)]
        if group:
            agree = sum(cell.agrees for cell in group)
            as_printed = sum(cell.agrees_as_printed for cell in group)
            may = sum(cell.may_agree for cell in group)
            text = f"{agree} of {len(group)} cells, {agree / len(group):.0%}; {as_printed} in the printed digits, "
            text += f"{may} if the thesis' are allowed to have been rounded"
            checks.append(Check(where, agree >= AGREES * len(group), text))
    claim = f"{AGREES:.0%} of the cells are within two of the thesis' standard deviations"
    return Conclusion(claim, tuple(checks))
