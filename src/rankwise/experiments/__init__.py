"""The papers' experiments, by name: each runs, writes tables and figures, and says which conclusions hold.

>>> from rankwise import experiments
>>> experiments.names()
('pril-fraction', 'pril-comparison', 'importance-table', 'ocr')
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rankwise.experiments import importance, ocr, pril
from rankwise.experiments._polynomial import polynomial_features
from rankwise.experiments._report import Check, Conclusion, Report

__all__ = ["Check", "Conclusion", "Experiment", "Report", "get", "names", "polynomial_features"]


@dataclass(frozen=True)
class Experiment:
    """An experiment of a paper.

    Attributes
    ----------
    name : str
        What it is called on the command line, and the beginning of its files' names.
    summary : str
        What it shows, in one line.
    run : callable
        ``run(output, *, data_dir=None, sequences=..., rounds=None, seed=0, progress=...) -> Report``.
    """

    name: str
    summary: str
    run: Callable[..., Report]


_ALL = (
    Experiment(
        "pril-fraction", "PRIL, Figure 2: average MAE with a growing fraction of partial labels", pril.run_fraction
    ),
    Experiment(
        "pril-comparison",
        "PRIL, Figure 3: PRIL on intervals against PRank, Widrow-Hoff and the multi-class perceptron",
        pril.run_comparison,
    ),
    Experiment(
        "importance-table",
        "Importance-weighted perceptrons, Table 1: mistakes and cost on LETTER, ISOLET, CAR and ABALONE",
        importance.run_table,
    ),
    Experiment(
        "ocr",
        "Handwritten words with missing letters: every surrogate for chains, test error per letter",
        ocr.run_table,
    ),
)


def names() -> tuple[str, ...]:
    """Names of all experiments."""
    return tuple(experiment.name for experiment in _ALL)


def get(name: str) -> Experiment:
    """Return the experiment of that name.

    Examples
    --------
    >>> from rankwise import experiments
    >>> experiments.get("pril-fraction").name
    'pril-fraction'
    """
    for experiment in _ALL:
        if experiment.name == name:
            return experiment
    raise ValueError(f"there is no experiment {name!r}. Known: {', '.join(names())}.")
