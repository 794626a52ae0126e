"""The frame of every experiment: what it is run with, and which data sets it finds.

An experiment is a function of a :class:`Job`, decorated with :func:`experiment`; its own docstring says which files it
writes and what a sequence is. What all of them take is said once, in :class:`Job`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from rankwise import datasets
from rankwise_experiments._report import ProgressCallback, Report, no_progress

DataDir = str | os.PathLike[str] | None

T = TypeVar("T")


@dataclass(frozen=True)
class Job:
    """What an experiment is run with.

    Attributes
    ----------
    output : Path
        Directory for its files, made with the first of them. A long experiment also keeps there the units of work
        that are finished (``NAME-units.jsonl``), by which a run that was stopped goes on.
    data_dir : path, optional
        Directory of the real data sets, see :func:`rankwise.datasets.load`. A set that is nowhere is skipped.
    progress : callable
        Told what is being done, how many steps of it are done, and how many there are.
    sequences : int
        How many sequences, permutations, partitions or splits to run over; the paper's number by default.
    rounds : int, optional
        How long they are at most; by default as long as in the paper.
    seed : int
        Seed of everything random.
    """

    output: Path
    data_dir: DataDir = None
    progress: ProgressCallback = no_progress
    sequences: int = 1
    rounds: int | None = None
    seed: int = 0

    def files(self, name: str, *suffixes: str) -> tuple[Path, ...]:
        """Paths of an experiment's files in the output directory, by their suffixes."""
        return tuple(self.output / f"{name}.{suffix}" for suffix in suffixes)

    def unit_file(self, name: str) -> Path:
        """Path of the units that are finished, in the output directory, which is made."""
        self.output.mkdir(parents=True, exist_ok=True)
        return self.output / f"{name}-units.jsonl"

    def command(self, name: str, *options: str) -> str:
        """Command that runs an experiment with these options once more; all three if none are named.

        Examples
        --------
        >>> Job(Path("results"), sequences=3).command("ocr")
        'rankwise reproduce ocr --sequences 3 --seed 0'
        """
        values = {option: getattr(self, option) for option in options or ("sequences", "rounds", "seed")}
        given = [f"--{option} {value}" for option, value in values.items() if value is not None]
        return " ".join(["rankwise reproduce", name, *given])


@dataclass(frozen=True)
class Runner:
    """An experiment to call: ``run(output, *, data_dir=None, progress=..., **options) -> Report``.

    Attributes
    ----------
    work : callable
        Function of a :class:`Job`, and of keywords of its own.
    defaults : mapping of str to int or None
        The options of a job that it takes, with their values if not given.
    least : mapping of str to int
        Smallest values of options, where they are not 1 (0 for the seed).
    """

    work: Callable[..., Report]
    defaults: Mapping[str, int | None]
    least: Mapping[str, int]

    @property
    def options(self) -> tuple[str, ...]:
        """Options that it takes."""
        return tuple(self.defaults)

    def __call__(
        self, output: Path, *, data_dir: DataDir = None, progress: ProgressCallback = no_progress, **options: Any
    ) -> Report:
        """Check the options, and run."""
        known: dict[str, Any] = {name: options.pop(name, default) for name, default in self.defaults.items()}
        for name, value in known.items():
            least = self.least.get(name, 0 if name == "seed" else 1)
            if value is not None and value < least:
                raise ValueError(f"{name} must be at least {least}. Got {value!r} instead.")
        return self.work(Job(output, data_dir, progress, **known), **options)


def experiment(
    *, least: Mapping[str, int] | None = None, **defaults: int | None
) -> Callable[[Callable[..., Report]], Runner]:
    """Make an experiment of a function of a job; keywords name the options that it takes, with their defaults."""
    return lambda work: Runner(work, defaults, least or {})


def load_each(names: Iterable[str], load: Callable[[str], T]) -> tuple[dict[str, T], dict[str, str]]:
    """Return the data sets that can be had, by name, and why the others cannot."""
    found, skipped = {}, {}
    for name in names:
        try:
            found[name] = load(name)
        except datasets.DatasetNotFoundError as error:
            skipped[name] = " ".join(str(error).split())
    return found, skipped
