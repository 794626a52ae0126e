"""Figures 2 and 3 of "PRIL: Perceptron Ranking Using Interval Labeled Data" (Manwani), and its conclusions, judged.

Data sets and kernels are the paper's: a synthetic set with ``(x.z + 1)^2``, Parkinsons telemonitoring (total UPDRS in
10 parts, standardised) with ``x.z``, Abalone (rings 1-7, 8-9, 10-12, 13-29) with ``(x.z + 1)^3``; real sets come in
random permutations. Every algorithm is the plain one: one pass, no averaging, prediction before learning.

The paper does not say which learning rate its Widrow-Hoff used, nor whether it had an intercept. The comparison takes
the default of :class:`rankwise.WidrowHoff` for all sets, the normalised rule with rate 0.1 and an intercept, and
reports on some sequences what other choices would have given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from rankwise import PRIL, MulticlassPerceptron, PRank, WidrowHoff
from rankwise.annotation import partial_labels
from rankwise.evaluation import Progress, progressive
from rankwise.plots import ProgressiveDisplay
from rankwise_experiments._figure import LossFigure, Results, final_rows
from rankwise_experiments._report import Check, Conclusion, Report, chain, judged, paired, write_table
from rankwise_experiments._streams import Codes, Curves, Floats, Learner, average_losses, pril_streams
from rankwise_experiments._study import Job, experiment

Kind = Literal[1, 2]

KINDS: tuple[Kind, ...] = (1, 2)
FRACTIONS = (0.0, 0.6, 0.7, 0.8, 0.9, 1.0)
TITLES = {
    "synthetic": "synthetic, (x·z + 1)²",
    "parkinsons": "Parkinsons, x·z",
    "abalone": "Abalone, (x·z + 1)³",
}
COLORS = {  # kin in kindred colours
    "PRIL, type 1": "#0072b2",
    "PRIL, type 2": "#56b4e9",
    "PRank": "#009e73",
    "Widrow-Hoff": "#d55e00",
    "multi-class": "#cc79a7",
}
COMPARABLE = 0.1  # "comparable" means: within 10 %

# Step sizes of Widrow-Hoff whose effect is reported.
RATES = {
    **{f"normalised {rate:g}": {"normalized": True, "learning_rate": rate} for rate in (0.01, 0.03, 0.1, 0.3, 1.0)},
    **{f"plain {rate:g}": {"normalized": False, "learning_rate": rate} for rate in (1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0)},
}
VARIANT_SEQUENCES = 10


@experiment(sequences=100, rounds=None, seed=0)
def run_fraction(job: Job) -> Report:
    """Figure 2: PRIL with a growing fraction of partial labels, judged by the labels it learns from.

    Sequences are drawn from the synthetic set, and are permutations of the real ones; rounds are their length. Writes
    ``pril-fraction``: tables (CSV), figure (PNG) and conclusions (text).
    """
    figure = LossFigure(
        "pril-fraction",
        "PRIL, Figure 2: the fraction of partial labels",
        learners={
            _fraction_name(kind, fraction): partial(_pril_by_its_labels, kind=kind, fraction=fraction)
            for kind in KINDS
            for fraction in FRACTIONS
        },
        keys={_fraction_name(kind, fraction): (kind, fraction) for kind in KINDS for fraction in FRACTIONS},
        key_names=("interval_type", "fraction_partial"),
        draw=_draw_fraction,
        judge=_judge_fraction,
    )
    streams, skipped = pril_streams(job.data_dir, job.rounds)
    results, files = figure.run(job, streams)
    return figure.report(job.output, results, skipped, files)


@experiment(sequences=100, rounds=None, seed=0)
def run_comparison(job: Job) -> Report:
    """Figure 3: PRIL on partial labels only, against three algorithms on exact ones, all judged by exact labels.

    Sequences, rounds and files are as in :func:`run_fraction`; the files are called ``pril-comparison``.
    """
    learners: dict[str, Learner] = {_pril_name(kind): partial(_pril_by_exact_labels, kind=kind) for kind in KINDS}
    for name, model in _baselines().items():
        learners[name] = partial(_on_exact_labels, make=model)
    figure = LossFigure(
        "pril-comparison",
        "PRIL, Figure 3: comparison with other algorithms",
        learners=learners,
        keys={name: (name,) for name in learners},
        key_names=("model",),
        draw=_draw_comparison,
        judge=_judge_comparison,
    )
    streams, skipped = pril_streams(job.data_dir, job.rounds)
    results, files = figure.run(job, streams)
    few = min(job.sequences, VARIANT_SEQUENCES)
    variants = {
        stream.name: average_losses(
            replace(stream, name=f"{stream.name}, variants"),
            _variants(),
            sequences=few,
            seed=job.seed,
            progress=job.progress,
        )
        for stream in streams
    }
    rows = [(name, *row) for name, curves in variants.items() for row in final_rows(curves)]
    table = job.output / f"{figure.name}-variants.csv"
    files.append(write_table(table, ("data_set", "variant", "mae", "standard_error"), rows))
    return figure.report(job.output, results, skipped, files, notes=_notes(results, variants, few))


# -- learners ---------------------------------------------------------------------------------------------------------


def _pril_by_its_labels(X: Floats, y: Codes, classes: Codes, seed: int, *, kind: Kind, fraction: float) -> Progress:
    labels = partial_labels(y, fraction, kind, classes, seed)
    return progressive(PRIL(average=False), X, labels, classes=classes)


def _pril_by_exact_labels(
    X: Floats, y: Codes, classes: Codes, seed: int, *, kind: Kind, average: bool = False
) -> Progress:
    labels = partial_labels(y, 1.0, kind, classes, seed)
    return progressive(PRIL(average=average), X, labels, truth=y, classes=classes)


def _on_exact_labels(X: Floats, y: Codes, classes: Codes, seed: int, *, make: Callable[[], Any]) -> Progress:
    return progressive(make(), X, y, classes=classes)


def _widrow_hoff(
    X: Floats, y: Codes, classes: Codes, seed: int, *, parameters: Mapping[str, Any], intercept: bool
) -> Progress:
    """Widrow-Hoff at another rate; without an intercept it is a kernel method on the kernel as it is."""
    try:
        return progressive(WidrowHoff(fit_intercept=intercept, average=False, **parameters), X, y, classes=classes)
    except ValueError:  # the rows are finite, so it is the weights that are not: this rate diverges
        return Progress(y, np.full(len(y), np.inf), np.ones(len(y)))


def _variants() -> dict[str, Learner]:
    variants: dict[str, Learner] = {
        _variant_name(rate, intercept): partial(_widrow_hoff, parameters=RATES[rate], intercept=intercept)
        for intercept in (True, False)
        for rate in RATES
    }
    for kind in KINDS:
        variants[f"{_pril_name(kind)}, averaged"] = partial(_pril_by_exact_labels, kind=kind, average=True)
    return variants


def _variant_name(rate: str, intercept: bool) -> str:
    return f"Widrow-Hoff, {rate}, {'with' if intercept else 'no'} intercept"


def _baselines() -> dict[str, Callable[[], Any]]:
    return {
        "PRank": partial(PRank, average=False),
        "Widrow-Hoff": partial(WidrowHoff, average=False),
        "multi-class perceptron": partial(MulticlassPerceptron, average=False),
    }


def _fraction_name(kind: Kind, fraction: float) -> str:
    return f"type {kind}, {_percent(fraction)}"


def _pril_name(kind: Kind) -> str:
    return f"PRIL, type {kind}"


def _percent(fraction: float) -> str:
    return f"{100 * fraction:.0f} %"


# -- the paper's conclusions -------------------------------------------------------------------------------------------


def _judge_fraction(results: Results) -> tuple[Conclusion, ...]:
    falls, grows, largest = [], [], []
    for data_set, curves in results.items():
        for kind in KINDS:
            names = [_fraction_name(kind, fraction) for fraction in FRACTIONS]
            where = f"{data_set}, type {kind}"
            last = int(curves.rounds[-1])
            stations = [max(1, last // 100), max(1, last // 10), last]
            courses = [[curves.average(name, after) for after in stations] for name in names]
            shown = "; ".join(
                f"{_percent(f)} partial: {chain(c, 3)}" for f, c in ((FRACTIONS[i], courses[i]) for i in (0, -1))
            )
            at = ", ".join(f"{station:,}" for station in stations)
            falls.append(Check(where, all(_falling(c) for c in courses), f"after {at} rounds, {shown}"))
            finals = [course[-1] for course in courses]
            grows.append(Check(where, _falling(finals), chain(finals, 3)))
            runner_up = max(finals[1:])
            numbers = f"{finals[0]:.3f} without partial labels, at most {runner_up:.3f} with them"
            largest.append(Check(where, finals[0] > runner_up, numbers))
    fractions = ", ".join(_percent(fraction) for fraction in FRACTIONS)
    return (
        Conclusion("the average MAE falls with the number of rounds (for every fraction)", tuple(falls)),
        Conclusion(f"the average MAE falls as the fraction of partial labels grows ({fractions})", tuple(grows)),
        Conclusion("training with no partial labels has the largest average MAE", tuple(largest)),
    )


def _judge_comparison(results: Results) -> tuple[Conclusion, ...]:
    better_than = "by more than two standard errors of the paired difference"
    comparable = [
        Check(f"{data_set}, type {kind}", abs(ratio - 1) <= COMPARABLE, f"ratio of the MAEs {ratio:.3f}")
        for data_set in ("parkinsons", "abalone")
        if data_set in results
        for kind in KINDS
        for ratio in [_ratio(results[data_set], _pril_name(kind), "PRank")]
    ]
    wanted = [
        (f"PRIL is better than Widrow-Hoff ({better_than})", _beats(results, "Widrow-Hoff")),
        (
            f"PRIL is better than the multi-class perceptron on synthetic and Parkinsons ({better_than})",
            _beats(results, "multi-class perceptron", only=("synthetic", "parkinsons")),
        ),
        (f"PRIL is comparable to PRank on Parkinsons and Abalone (within {_percent(COMPARABLE)})", comparable),
    ]
    return judged(wanted)


def _beats(results: Results, rival: str, only: Sequence[str] = tuple(TITLES)) -> list[Check]:
    checks = []
    for data_set in (name for name in results if name in only):
        for kind in KINDS:
            ours, theirs = (results[data_set].final(name) for name in (_pril_name(kind), rival))
            difference, error = paired(ours - theirs)
            numbers = f"{ours.mean():.3f} against {theirs.mean():.3f}, difference {difference:+.3f} ± {error:.3f}"
            checks.append(Check(f"{data_set}, type {kind}", difference + 2 * error < 0, numbers))
    return checks


def _notes(results: Results, variants: Results, sequences: int) -> tuple[str, ...]:
    """Say what the paper does not but a reader will ask: PRank on all sets, other forms of Widrow-Hoff, averaging."""
    lines = ["PRIL's MAE divided by PRank's:"]
    for data_set, curves in results.items():
        ratios = ", ".join(f"type {k}: {_ratio(curves, _pril_name(k), 'PRank'):.3f}" for k in KINDS)
        lines.append(f"  {data_set}  {ratios}")
    lines.append(f"Widrow-Hoff at {len(RATES)} step sizes, on {sequences} sequences:")
    for data_set, curves in variants.items():
        ours = [float(results[data_set].final(_pril_name(k))[:sequences].mean()) for k in KINDS]
        for intercept in (True, False):
            mae = {rate: float(curves.mean[_variant_name(rate, intercept)][-1]) for rate in RATES}
            best = min(mae, key=lambda rate: mae[rate])
            beaten = " and ".join(
                f"{sum(x < y for y in mae.values())} (type {k})" for k, x in zip(KINDS, ours, strict=True)
            )
            lines.append(
                f"  {data_set}, {'with' if intercept else 'no'} intercept: best {mae[best]:.3f} ({best}); "
                f"PRIL is better than {beaten} of the {len(mae)}"
            )
    lines.append(f"PRIL with averaging, which the paper does not use, on {sequences} sequences:")
    for data_set, curves in variants.items():
        averaged = ", ".join(f"type {k}: {curves.mean[f'{_pril_name(k)}, averaged'][-1]:.3f}" for k in KINDS)
        lines.append(f"  {data_set}  {averaged}")
    return ("\n".join(lines),)


def _ratio(curves: Curves, name: str, other: str) -> float:
    return float(curves.final(name).mean() / curves.final(other).mean())


def _falling(values: Sequence[float]) -> bool:
    return all(later < earlier for earlier, later in pairwise(values))


# -- pictures ----------------------------------------------------------------------------------------------------------


def _draw_fraction(results: Results) -> Any:
    figure, axes = _panels(len(KINDS), list(results))
    for row, kind in enumerate(KINDS):
        names = {_percent(fraction): _fraction_name(kind, fraction) for fraction in FRACTIONS}
        for column, curves in enumerate(results.values()):
            # No partial labels is what the others are compared with: it stands outside the colour scale.
            display = _draw(axes[row, column], curves, names, ordered=True, colors={_percent(0.0): "#222222"})
            display.ax_.set_ylabel(f"type {kind}: average MAE" if column == 0 else "")
            if row < len(KINDS) - 1:
                display.ax_.set_xlabel("")
    figure.suptitle("PRIL: average interval MAE, by the fraction of partial labels", fontsize=12)
    return figure


def _draw_comparison(results: Results) -> Any:
    figure, axes = _panels(1, list(results))
    for column, curves in enumerate(results.values()):
        shown = {name.removesuffix(" perceptron"): name for name in curves.names}
        display = _draw(axes[0, column], curves, shown, colors=COLORS)
        display.ax_.set_ylabel("average MAE" if column == 0 else "")
    figure.suptitle("Average MAE against exact labels; PRIL learns from intervals only", fontsize=12)
    return figure


def _panels(n_rows: int, data_sets: Sequence[str]) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.2 * len(data_sets) + 0.4, 3.3 * n_rows + 0.5), layout="constrained")
    axes = figure.subplots(n_rows, len(data_sets), squeeze=False)
    for ax, data_set in zip(axes[0], data_sets, strict=True):
        ax.set_title(TITLES[data_set], fontsize=10)
    return figure, axes


def _draw(ax: Any, curves: Curves, names: Mapping[str, str], **options: Any) -> ProgressiveDisplay:
    mean, error = curves.mean, curves.standard_error
    return ProgressiveDisplay(
        curves={shown: mean[name] for shown, name in names.items()},
        spread={shown: error[name] for shown, name in names.items()},
        rounds=curves.rounds,
    ).plot(ax=ax, **options)
