"""What the tables of "Cumulative Sum Ranking" say, beside our results: judged, as CSV, Markdown and text."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rankwise_experiments._report import Check, Conclusion, Report, markdown_table, write_table, write_text

#: Mean absolute errors in the paper, by bins and set: its benchmark (an SVM with Gaussian kernel, from Chu and
#: Ghahramani 2005) and CuSum Rank. Its text gives no standard errors.
PAPER = {
    5: {
        "diabetes": (0.746, 0.680),
        "pyrimidines": (0.45, 0.522),
        "triazines": (0.6977, 0.720),
        "wisconsin": (1.003, 0.979),
        "machine": (0.1915, 0.1872),
        "autompg": (0.259, 0.251),
        "boston": (0.2672, 0.2766),
        "stocks": (0.1081, 0.160),
        "abalone": (0.229, 0.228),
    },
    10: {
        "diabetes": (2.4577, 1.076),
        "pyrimidines": (0.9187, 0.9729),
        "triazines": (1.2308, 1.2058),
        "wisconsin": (2.1250, 2.1171),
        "machine": (0.4398, 0.4906),
        "autompg": (0.5081, 0.5765),
        "boston": (0.4971, 0.6075),
        "stocks": (0.1804, 0.1778),
        "abalone": (0.5160, 0.5169),
    },
}
_TABLES = {5: "Table 1", 10: "Table 2"}
_NAMES = {"autompg": "auto-mpg", "boston": "housing"}  # what the paper calls them


@dataclass(frozen=True)
class Outcome:
    """A method on the partitions of a set.

    Attributes
    ----------
    parameters : str
        What was chosen.
    errors : tuple of float
        Mean absolute error on the test part of every partition.
    seconds : float
        Processor time of choosing and of all partitions.
    unconverged : int
        Networks that stopped at the last epoch allowed.
    failed : str
        Why there is no result, if there is none.
    """

    parameters: str = ""
    errors: tuple[float, ...] = ()
    seconds: float = 0.0
    unconverged: int = 0
    failed: str = ""

    @classmethod
    def of(cls, choice: Mapping[str, Any], tests: Sequence[Mapping[str, Any]]) -> Outcome:
        """Outcome from the results of its units; one that failed makes it a failure."""
        units = [choice, *tests]
        failed = [unit["failed"] for unit in units if "failed" in unit]
        if failed:
            return cls(failed=failed[0])
        return cls(
            f"{choice['front']}, {choice['back']}",
            tuple(unit["mae"] for unit in tests),
            sum(unit["seconds"] for unit in units),
            sum(unit["unconverged"] for unit in units),
        )

    @property
    def mean(self) -> float:
        """Mean over the partitions."""
        return sum(self.errors) / len(self.errors)

    @property
    def standard_error(self) -> float:
        """Standard error of the mean; NaN for a single partition."""
        n = len(self.errors)
        if n < 2:
            return math.nan
        return math.sqrt(sum((e - self.mean) ** 2 for e in self.errors) / (n - 1) / n)

    def __str__(self) -> str:
        return f"failed: {self.failed}" if self.failed else f"{self.mean:.4f} ± {self.standard_error:.4f}"


Results = dict[int, dict[str, dict[str, Outcome]]]
"""Outcomes by bins, set and method."""


def write_report(
    output: Path,
    results: Results,
    methods: Sequence[str],
    absent: Mapping[str, str],
    skipped: dict[str, str],
    settings: Mapping[str, Any],
) -> Report:
    """Judge the results and write all files.

    Parameters
    ----------
    output : Path
        Directory of the files.
    results : Results
        What was found.
    methods : sequence of str
        All methods, ours first.
    absent : mapping of str to str
        Methods without any result, with the reason.
    skipped : mapping of str to str
        Sets that are missing, with the reason.
    settings : mapping
        How it was done.
    """
    ran = tuple(f"{name}, {bins} bins" for bins, sets in results.items() for name in sets)
    keys = ("bins", "data_set", "method")
    files = [
        write_table(
            output / "cusum-tables.csv",
            (*keys, "mae", "standard_error", "partitions", "parameters", "seconds", "failed"),
            [(*key, *_summary(outcome)) for key, outcome in _each(results)],
        ),
        write_table(
            output / "cusum-tables-partitions.csv",
            (*keys, "partition", "mae"),
            [(*key, n, error) for key, outcome in _each(results) for n, error in enumerate(outcome.errors, start=1)],
        ),
    ]
    paths = output / "cusum-tables.md", output / "cusum-tables.txt"
    report = Report(
        "CuSum Rank, Tables 1 and 2: mean absolute error on the benchmark's own partitions",
        ran,
        skipped,
        _judge(results, methods[0]),
        _notes(results, absent),
        (*files, *paths),
    )
    write_text(paths[0], _markdown(report, results, methods, absent, settings))
    write_text(paths[1], f"{report}\n")
    return report


def _each(results: Results) -> Iterator[tuple[tuple[int, str, str], Outcome]]:
    for bins, sets in results.items():
        for name, outcomes in sets.items():
            for method, outcome in outcomes.items():
                yield (bins, name, method), outcome


def _summary(outcome: Outcome) -> tuple[Any, ...]:
    if outcome.failed:
        return "", "", 0, "", "", outcome.failed
    return outcome.mean, outcome.standard_error, len(outcome.errors), outcome.parameters, outcome.seconds, ""


def _judge(results: Results, ours: str) -> tuple[Conclusion, ...]:
    rivals = (
        (1, "at least as good as the paper's CuSum column"),
        (0, "competitive with the paper's benchmark, an SVM with Gaussian kernel"),
    )
    conclusions = []
    for column, claim in rivals:
        for bins, sets in results.items():
            checks = tuple(_check(name, outcomes[ours], PAPER[bins][name][column]) for name, outcomes in sets.items())
            conclusions.append(Conclusion(f"{_TABLES[bins]}, {bins} bins: {claim}, within one standard error", checks))
    return tuple(conclusions)


def _check(name: str, outcome: Outcome, theirs: float) -> Check:
    error = 0.0 if math.isnan(outcome.standard_error) else outcome.standard_error
    numbers = f"{outcome} against {theirs:g}, {outcome.mean - theirs:+.4f}"
    return Check(_NAMES.get(name, name), outcome.mean <= theirs + error, numbers)


def _notes(results: Results, absent: Mapping[str, str]) -> tuple[str, ...]:
    lines = [f"{method}: {reason}" for method, reason in absent.items()]
    seconds: dict[str, float] = {}
    for (bins, name, method), outcome in _each(results):
        seconds[method] = seconds.get(method, 0.0) + outcome.seconds
        if outcome.failed:
            lines.append(f"{method} on {name}, {bins} bins: failed: {outcome.failed}")
        if outcome.unconverged:
            lines.append(f"{method} on {name}, {bins} bins: {outcome.unconverged} networks had not converged")
    lines += [
        f"{method}: {time / 60:.1f} minutes of one core for all choices and partitions"
        for method, time in seconds.items()
    ]
    return ("\n".join(lines),)


def _markdown(
    report: Report, results: Results, methods: Sequence[str], absent: Mapping[str, str], settings: Mapping[str, Any]
) -> str:
    parts = [f"# {report.title}"]
    for bins, sets in results.items():
        n = max(len(outcome.errors) for outcomes in sets.values() for outcome in outcomes.values())
        parts.append(
            f"## {_TABLES[bins]}: {bins} bins\n\n"
            f"Mean over {n} partitions ± standard error; the two columns of the paper have no errors."
        )
        header = ["data set", "paper: benchmark", "paper: CuSum", *methods, f"chosen for {methods[0]}"]
        lines = []
        for name, outcomes in sets.items():
            cells = [absent.get(method) or str(outcomes[method]) for method in methods]
            numbers = [f"{number:g}" for number in PAPER[bins][name]]
            lines.append([_NAMES.get(name, name), *numbers, *cells, outcomes[methods[0]].parameters])
        parts.append(markdown_table(header, lines, rule=" --- "))
    parts.append(f"## Conclusions\n\n{report.conclusions_in_words}")
    parts.append("## How it was done\n\n" + "\n".join(f"- {line}" for line in report.notes[0].splitlines()))
    parts.append("Settings: " + ", ".join(f"`{name}` {value}" for name, value in settings.items()) + ".")
    return "\n\n".join([*parts, *report.skipped_in_words]) + "\n"
