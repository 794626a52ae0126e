"""The papers' experiments, by name: each runs, writes tables and figures, and says which conclusions hold.

>>> import rankwise_experiments as experiments
>>> experiments.names()[:3]
('pril-fraction', 'pril-comparison', 'importance-table')
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rankwise_experiments import (
    annotation,
    calibration,
    choosing,
    cusum,
    enron,
    growing,
    importance,
    inference,
    intervals,
    missing_labels,
    models,
    ocr,
    pril,
    raters,
    surrogates,
    trees,
)
from rankwise_experiments._report import Check, Conclusion, Report
from rankwise_experiments._study import Job

__all__ = ["Check", "Conclusion", "Experiment", "Job", "Report", "get", "names"]


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
        ``run(output, *, data_dir=None, progress=..., **options) -> Report``; see :class:`Job` for what these are.
    options : tuple of str
        What else it takes: ``sequences``, how many to run over, ``rounds``, how long they are, and ``seed``.
    """

    name: str
    summary: str
    run: Callable[..., Report]
    options: tuple[str, ...] = ("sequences", "rounds", "seed")


_RUNS = {
    "pril-fraction": (pril.run_fraction, "PRIL, Figure 2: average MAE with a growing fraction of partial labels"),
    "pril-comparison": (
        pril.run_comparison,
        "PRIL, Figure 3: PRIL on intervals against PRank, Widrow-Hoff and the multi-class perceptron",
    ),
    "importance-table": (
        importance.run_table,
        "Importance-weighted perceptrons, Table 1: mistakes and cost on LETTER, ISOLET, CAR and ABALONE",
    ),
    "enron": (
        enron.run_table,
        "Label ranking, Table 1: mail of seven Enron users, three updates of two complexity functions",
    ),
    "cusum-tables": (
        cusum.run_tables,
        "CuSum Rank, Tables 1 and 2: nine sets, 20 partitions, beside the paper, mord and skordinal",
    ),
    "calibration": (
        calibration.run,
        "Missing labels, Table 4.1: which surrogates of the partial loss approach the Bayes risk",
    ),
    "missing-labels": (
        missing_labels.run,
        "Multi-label sets with 0 to 90 percent of the entries missing, against dropping rows and guessing",
    ),
    "ocr": (
        ocr.run_table,
        "Handwritten words with missing letters: every surrogate for chains, test error per letter",
    ),
    "surrogates": (
        surrogates.run,
        "Large margin, Tables 3.3 and 3.4: training risk of six surrogates without a regulariser, beside the thesis'",
    ),
    "models": (
        models.run,
        "Large margin, Table 3.5: test risk of eleven models and regularisers, beside the thesis'",
    ),
    "growing": (
        growing.run,
        "Large margin, Table 3.6: regularisers and PW-MORD as the training set grows, on ages from Adult",
    ),
    "trees": (
        trees.run,
        "Boosted trees from exact, interval and one-sided labels, beside LightGBM, xgboost, scikit-learn and ogboost",
    ),
    "choosing": (
        choosing.run,
        "AutoOrdinal and the command's default beside single tuned models, on sixteen real sets",
    ),
    "annotation": (
        annotation.run,
        "Annotation played through: which items and which questions lower the error fastest",
    ),
    "raters": (
        raters.run,
        "Several raters: the model of raters against the majority and Dawid-Skene, simulated and real",
    ),
    "inference": (
        inference.run,
        "Tests and intervals of CumulativeLink and TableModel on simulated data: rejections, coverage and power",
    ),
    "intervals": (
        intervals.run,
        "Large margin, Tables 3.7 to 3.10, Figures 3.6 and 3.7: ages from exact and interval labels, with the bound",
    ),
}


def names() -> tuple[str, ...]:
    """Names of all experiments."""
    return tuple(_RUNS)


def get(name: str) -> Experiment:
    """Return the experiment of that name.

    Examples
    --------
    >>> import rankwise_experiments as experiments
    >>> experiments.get("pril-fraction").options
    ('sequences', 'rounds', 'seed')
    """
    if name not in _RUNS:
        raise ValueError(f"there is no experiment {name!r}. Known: {', '.join(names())}.")
    run, summary = _RUNS[name]
    return Experiment(name, summary, run, run.options)
