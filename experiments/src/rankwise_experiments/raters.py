"""Several raters: the model of raters against the majority and Dawid and Skene's model, with known truth.

**Simulated raters** answer on five classes; raters differ in shift, spread of their thresholds, noise and share of
slips, as each setting says. Dawid and Skene's model is crowd-kit's (100 steps of EM). The mean is that
of the codes, rounded. Intervals, which the others cannot take, are given to them by their middle, rounded down.

**Real raters**: adult content (four classes, 333 known labels) and emotions (experts' numbers). Zero has 64 % of all
emotion ratings, so that of the quantiles of all answers 20, 40 and 60 % are zero: they make three bins, not five. Five
bins are: below zero, zero, and thirds of the answers above zero. Both are shown. Experts' numbers are cut likewise.

Nothing is chosen by the truth: the model has its default parameters. crowd-kit takes one answer for each item and
rater: the first.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise import datasets
from rankwise.evaluation import format_table
from rankwise.raters import RaterModel, agreement
from rankwise_experiments._report import Check, Conclusion, Report, paired, write_table, write_text
from rankwise_experiments._study import Job, experiment, load_each

Codes = NDArray[np.int64]
Table = dict[str, Any]

NAME = "raters"
TITLE = "Several raters: the model of raters against majority and Dawid-Skene"
OURS, MAJORITY, MEAN, DAWID_SKENE = "model of raters", "majority", "rounded mean", "Dawid-Skene"
N_CLASSES = 5
_STEPS = 100


@dataclass(frozen=True)
class Setting:
    """Raters of a simulation.

    Attributes
    ----------
    shift, log_spread, log_noise : float
        Standard deviations of a rater's shift in ranks, and of the logarithms of spread and noise.
    slips : float
        Mean share of slips, which are even over the classes.
    per_item, n_items, n_raters : int
        Answers for each item, items and raters.
    intervals : float
        Share of answers that are given as two or three classes.
    noise : float
        Typical noise in ranks: scale of a logistic distribution.
    """

    shift: float = 0.5
    log_spread: float = 0.2
    log_noise: float = 0.4
    slips: float = 0.05
    per_item: int = 4
    n_items: int = 1000
    n_raters: int = 40
    intervals: float = 0.0
    noise: float = 0.4


SETTINGS: Mapping[str, Setting] = {
    "alike": Setting(shift=0.0, log_spread=0.0, log_noise=0.0, slips=0.0),
    "biased": Setting(shift=1.0),
    "stretched": Setting(log_spread=0.6),
    "careless": Setting(slips=0.3),
    "few answers": Setting(per_item=2),
    "few items": Setting(n_items=100, n_raters=10),
    "many raters": Setting(n_raters=200),
    "intervals": Setting(intervals=0.5),
}


@experiment(sequences=10, seed=0)
def run(job: Job) -> Report:
    """Compare on simulated raters, as many times as there are sequences, and on real ones.

    Writes ``raters``: a table (CSV) and a page (Markdown).
    """
    methods = {MAJORITY: _majority, MEAN: _mean, **_crowd_kit(), OURS: _model}
    rows: list[tuple[Any, ...]] = []
    checks: dict[str, list[Check]] = {"simulated raters": [], "real raters": []}

    def judge(kind: str, where: str, losses: dict[str, NDArray[np.float64]]) -> None:
        rows.extend((where, name, float(loss.mean()), paired(loss)[1]) for name, loss in losses.items())
        for peer in (MAJORITY, DAWID_SKENE):
            if peer in losses:
                more, error = paired(losses[peer] - losses[OURS])
                checks[kind].append(Check(f"{where}, {peer}", more > 0.0, f"+{more:.4f} ± {error:.4f} ranks"))

    for place, (name, setting) in enumerate(SETTINGS.items()):
        found: dict[str, list[float]] = {method: [] for method in methods}
        for sequence in range(job.sequences):
            table, truth = simulate(setting, np.random.default_rng([job.seed, place, sequence]))
            for method, answer in methods.items():
                found[method].append(float(np.abs(answer(table, N_CLASSES) - truth).mean()))
            job.progress(name, sequence + 1, job.sequences)
        judge("simulated raters", name, {method: np.array(losses) for method, losses in found.items()})

    sets, skipped = load_each(datasets.RATING_NAMES, lambda name: datasets.load_ratings(name, job.data_dir))
    notes = []
    for name, table, n_classes, known_codes in (cut for ratings in sets.values() for cut in _cuts(ratings)):
        items = np.unique(table["item"])
        at = np.searchsorted(items, list(known_codes))
        known = np.array(list(known_codes.values()))
        losses = {m: np.abs(answer(table, n_classes)[at] - known).astype(float) for m, answer in methods.items()}
        judge("real raters", name, losses)
        alpha = agreement(table, classes=range(n_classes)).alpha
        notes.append(f"{name}: {len(table['label'])} answers, {known.size} known labels, alpha {alpha:.3f}")
        job.progress(name, 1, 1)

    claim = "the model of raters has a smaller mean absolute error than {}: {}"
    peers = f"the majority and {DAWID_SKENE}" if DAWID_SKENE in methods else "the majority"
    conclusions = tuple(Conclusion(claim.format(peers, kind), tuple(found)) for kind, found in checks.items() if found)
    csv_file, page = job.files(NAME, "csv", "md")
    report = Report(TITLE, (*SETTINGS, *sets), skipped, conclusions, tuple(notes), (csv_file, page))
    write_table(csv_file, ("raters", "method", "mae", "standard_error"), rows)
    write_text(page, _page(job, report, rows, tuple(methods)))
    return report


def _page(job: Job, report: Report, rows: list[tuple[Any, ...]], methods: tuple[str, ...]) -> str:
    mae = {(where, method): f"{value:.3f}" for where, method, value, _ in rows}
    places = list(dict.fromkeys(row[0] for row in rows))
    table = format_table([{"raters": where, **{m: mae[where, m] for m in methods}} for where in places])
    made = f"Made by `{job.command(NAME, 'sequences', 'seed')}`."
    about = "\n\n".join((__doc__ or "").split("\n\n")[1:])
    numbers = f"Mean absolute error in ranks:\n\n```\n{table}\n```"
    parts = [f"# {TITLE}", made, about, numbers, report.conclusions_in_words, *report.notes, *report.skipped_in_words]
    return "\n\n".join(part.strip() for part in parts) + "\n"


# -- simulated and real answers ----------------------------------------------------------------------------------------


def simulate(setting: Setting, rng: np.random.Generator) -> tuple[Table, Codes]:
    """Answers of simulated raters, and the true codes of items 0 .. n_items - 1."""
    truth = rng.choice(N_CLASSES, size=setting.n_items, p=(0.3, 0.3, 0.2, 0.12, 0.08))
    shift = rng.normal(0.0, setting.shift, setting.n_raters)
    spread = np.exp(rng.normal(0.0, setting.log_spread, setting.n_raters))
    noise = setting.noise * np.exp(rng.normal(0.0, setting.log_noise, setting.n_raters))
    slips = setting.slips * rng.uniform(0.0, 2.0, setting.n_raters)
    rater = np.concatenate([rng.permutation(setting.n_raters)[: setting.per_item] for _ in truth])
    item = np.repeat(np.arange(setting.n_items), setting.per_item)
    middle = 0.5 * (N_CLASSES - 1)
    cuts = middle + spread[:, None] * (np.arange(N_CLASSES - 1) + 0.5 - middle) + shift[:, None]
    seen = truth[item] + rng.logistic(0.0, noise[rater])
    label = (cuts[rater] < seen[:, None]).sum(axis=1)
    slipped = rng.random(item.size) < slips[rater]
    label[slipped] = rng.integers(N_CLASSES, size=int(slipped.sum()))
    wide = rng.random(item.size) < setting.intervals
    lower = np.maximum(label - rng.integers(0, 2, item.size) * wide, 0)
    upper = np.minimum(label + rng.integers(0, 2, item.size) * wide, N_CLASSES - 1)
    ends = np.column_stack([lower, upper])
    return {"item": item, "rater": rater, "label": label if not setting.intervals else ends}, truth


def _cuts(ratings: datasets.Ratings) -> list[tuple[str, Table, int, dict[int, int]]]:
    """Name, table, number of classes and known codes of a set, for every way to make classes of its labels."""
    if ratings.name == "adult-content":
        codes = {letter: code for code, letter in enumerate("GPRX")}
        ways: dict[str, Callable[[Any], Codes]] = {ratings.name: lambda y: np.array([codes[v] for v in y])}
    else:
        above = ratings.label[ratings.label > 0]
        five = np.array([-0.5, 0.5, *np.quantile(above, [1 / 3, 2 / 3])])
        quantiles = np.unique(np.quantile(ratings.label, [0.2, 0.4, 0.6, 0.8]))
        ways = {
            "emotion, five bins": lambda y: np.searchsorted(five, y),
            "emotion, bins by quantiles of all answers": lambda y: np.searchsorted(quantiles, y),
        }
    return [
        (
            name,
            {"item": ratings.item, "rater": ratings.rater, "label": cut(ratings.label)},
            int(cut(ratings.label).max()) + 1,
            dict(zip(ratings.true_item.tolist(), cut(ratings.true_label).tolist(), strict=True)),
        )
        for name, cut in ways.items()
    ]


# -- methods: codes of the items in ascending order --------------------------------------------------------------------


def _model(table: Table, n_classes: int) -> Codes:
    model = RaterModel(classes=range(n_classes)).fit(_columns(table))
    return np.asarray(model.predict()[np.argsort(model.items_)])


def _columns(table: Table) -> Table:
    label = table["label"]
    return table if label.ndim == 1 else {**table, "label": [tuple(ends) for ends in label.tolist()]}


def _exact(table: Table) -> Codes:
    label = np.asarray(table["label"])
    return label if label.ndim == 1 else label.sum(axis=1) // 2


def _mean(table: Table, n_classes: int) -> Codes:
    _, item = np.unique(table["item"], return_inverse=True)
    return np.floor(np.bincount(item, _exact(table)) / np.bincount(item) + 0.5).astype(np.int64)


def _majority(table: Table, n_classes: int) -> Codes:
    """The class with most answers, the lowest of several."""
    _, item = np.unique(table["item"], return_inverse=True)
    votes = np.zeros((item.max() + 1, n_classes))
    np.add.at(votes, (item, _exact(table)), 1.0)
    return np.asarray(votes.argmax(axis=1))


def _crowd_kit() -> dict[str, Callable[[Table, int], Codes]]:
    """Dawid and Skene's model, if crowd-kit is installed."""
    try:
        import pandas as pd
        from crowdkit.aggregation import DawidSkene
    except ImportError:
        return {}

    def dawid_skene(table: Table, n_classes: int) -> Codes:
        frame = pd.DataFrame({"task": table["item"], "worker": table["rater"], "label": _exact(table)})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of pandas, about the code of crowd-kit
            labels = DawidSkene(n_iter=_STEPS).fit_predict(frame.drop_duplicates(["task", "worker"]))
        return np.asarray(labels.sort_index())

    return {DAWID_SKENE: dawid_skene}
