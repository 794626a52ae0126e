"""The papers' experiments, by name: each runs, writes tables and figures, and says which conclusions hold.

>>> import rankwise_experiments as experiments
>>> experiments.names()[:3]
('pril-fraction', 'pril-comparison', 'importance-table')
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rankwise_experiments import (
    calibration,
    cusum,
    enron,
    growing,
    importance,
    intervals,
    missing_labels,
    models,
    ocr,
    pril,
    surrogates,
)
from rankwise_experiments._report import Check, Conclusion, Report

__all__ = ["Check", "Conclusion", "Experiment", "Report", "get", "names"]


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
        ``run(output, *, data_dir=None, progress=..., **options) -> Report``.
    options : tuple of str
        What else it takes: ``sequences``, how many to run over, ``rounds``, how long they are, and ``seed``.
    """

    name: str
    summary: str
    run: Callable[..., Report]
    options: tuple[str, ...] = ("sequences", "rounds", "seed")


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
        "enron",
        "Label ranking, Table 1: mail of seven Enron users, three updates of two complexity functions",
        enron.run_table,
        options=("rounds",),
    ),
    Experiment(
        "cusum-tables",
        "CuSum Rank, Tables 1 and 2: nine sets, 20 partitions, beside the paper, mord and skordinal",
        cusum.run_tables,
        options=("sequences", "seed"),
    ),
    Experiment(
        "calibration",
        "Missing labels, Table 4.1: which surrogates of the partial loss approach the Bayes risk",
        calibration.run,
    ),
    Experiment(
        "missing-labels",
        "Multi-label sets with 0 to 90 percent of the entries missing, against dropping rows and guessing",
        missing_labels.run,
    ),
    Experiment(
        "ocr",
        "Handwritten words with missing letters: every surrogate for chains, test error per letter",
        ocr.run_table,
    ),
    Experiment(
        "surrogates",
        "Large margin, Tables 3.3 and 3.4: training risk of six surrogates without a regulariser, beside the thesis'",
        surrogates.run,
        options=("sequences", "seed"),
    ),
    Experiment(
        "models",
        "Large margin, Table 3.5: test risk of eleven models and regularisers, beside the thesis'",
        models.run,
        options=("sequences", "seed"),
    ),
    Experiment(
        "growing",
        "Large margin, Table 3.6: regularisers and PW-MORD as the training set grows, on ages from Adult",
        growing.run,
    ),
    Experiment(
        "intervals",
        "Large margin, Tables 3.7 to 3.10, Figures 3.6 and 3.7: ages from exact and interval labels, with the bound",
        intervals.run,
    ),
)


def names() -> tuple[str, ...]:
    """Names of all experiments."""
    return tuple(experiment.name for experiment in _ALL)


def get(name: str) -> Experiment:
    """Return the experiment of that name.

    Examples
    --------
    >>> import rankwise_experiments as experiments
    >>> experiments.get("pril-fraction").name
    'pril-fraction'
    """
    for experiment in _ALL:
        if experiment.name == name:
            return experiment
    raise ValueError(f"there is no experiment {name!r}. Known: {', '.join(names())}.")
