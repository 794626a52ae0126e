"""How a figure of average losses is made: run, write tables and picture, judge."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rankwise_experiments._private import load_matplotlib
from rankwise_experiments._report import Conclusion, Report, write_figure, write_table, write_text
from rankwise_experiments._streams import Curves, Learner, Stream, average_losses
from rankwise_experiments._study import Job

Results = dict[str, Curves]
"""Curves by data set."""


@dataclass(frozen=True)
class LossFigure:
    """One figure of average losses: learners run over streams, tables, a picture, and the paper's conclusions.

    Attributes
    ----------
    name : str
        Beginning of the names of its files.
    title : str
        What it shows.
    learners : mapping of str to Learner
        What runs.
    keys : mapping of str to tuple
        What identifies each learner in the tables.
    key_names : tuple of str
        Names of those columns.
    draw : callable
        Results -> matplotlib figure.
    judge : callable
        Results -> conclusions.
    """

    name: str
    title: str
    learners: Mapping[str, Learner]
    keys: Mapping[str, tuple[Any, ...]]
    key_names: tuple[str, ...]
    draw: Callable[[Results], Any]
    judge: Callable[[Results], tuple[Conclusion, ...]]

    def run(self, job: Job, streams: Sequence[Stream]) -> tuple[Results, list[Path]]:
        """Run all learners over all streams; write tables and picture."""
        load_matplotlib()  # what cannot be drawn or written shall be known before the work, not after
        job.output.mkdir(parents=True, exist_ok=True)
        results: Results = {}
        files: list[Path] = []
        for stream in streams:
            results[stream.name] = average_losses(
                stream, self.learners, sequences=job.sequences, seed=job.seed, progress=job.progress
            )
            files = self._write_tables(job.output, results)  # after every set: what is finished is kept
        files.append(write_figure(job.output / f"{self.name}.png", self.draw(results)))
        return results, files

    def _write_tables(self, output: Path, results: Results) -> list[Path]:
        numbers = ("mae", "standard_error")
        curve_rows, final_rows = [], []
        for name, curves in results.items():
            for learner, key in self.keys.items():
                mean, error = curves.mean[learner], curves.standard_error[learner]
                points = zip(curves.rounds.tolist(), mean.tolist(), error.tolist(), strict=True)
                curve_rows += [(name, *key, *point) for point in points]
                final_rows.append((name, *key, *curve_rows[-1][-2:], curves.values.shape[0], int(curves.rounds[-1])))
        return [
            write_table(
                output / f"{self.name}-curves.csv", ("data_set", *self.key_names, "round", *numbers), curve_rows
            ),
            write_table(
                output / f"{self.name}-final.csv",
                ("data_set", *self.key_names, *numbers, "sequences", "rounds"),
                final_rows,
            ),
        ]

    def report(
        self, output: Path, results: Results, skipped: dict[str, str], files: list[Path], notes: tuple[str, ...] = ()
    ) -> Report:
        """Judge the results, and write that too."""
        path = output / f"{self.name}.txt"
        report = Report(self.title, tuple(results), skipped, self.judge(results), notes, (*files, path))
        write_text(path, f"{report}\n")
        return report


def final_rows(curves: Curves) -> list[tuple[str, float, float]]:
    """Learner, mean and standard error of the loss over all rounds."""
    return [(name, float(curves.mean[name][-1]), float(curves.standard_error[name][-1])) for name in curves.names]
