"""Calibration laboratory: which surrogates of the partial loss lead to the Bayes rule, where everything is known.

Table 4.1 of the thesis says that the ramp, max and additive surrogates are classification calibrated and that hinge and
bridge are not. Here that is seen: two distributions with property A (Definition 8) over three inputs, and objects of
two parts with three labels each. In one, a single labelling of every input has probability 0.6; in the other, no label
of any part reaches 1/2. How often a part is annotated depends on the input. From m partially annotated examples each
surrogate's empirical risk is minimised over all functions of the input, scores being free for every labelling; the
learnt decision is the best-scored labelling. Its Hamming risk is exact, and so is the Bayes risk.

Minima are exact, not the outcome of a descent (see :mod:`rankwise_experiments._tabular`). If several score functions
attain one, or several labellings the best score, each is taken equally often. Under the Hamming loss max is the same
function as ramp, and bridge as hinge: Theorem 10 asks for a loss of zero on what agrees with the annotation, and that
is what makes them so. The additive surrogate has multinomial logistic parts, which are calibrated; their minimiser is
the logarithm of the annotated frequencies.

The *calibration gap* of Definition 9 is how much larger the expected surrogate of a score function is, at least, if it
may decide worse than Bayes: above zero at every input for a calibrated one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.annotation import check_plan
from rankwise.evaluation import format_table
from rankwise_experiments._private import INK, OKABE_ITO, QUIET, SMALL, load_matplotlib, quiet_frame
from rankwise_experiments._report import (
    Check,
    Conclusion,
    ProgressCallback,
    Report,
    no_progress,
    write_figure,
    write_table,
    write_text,
)
from rankwise_experiments._study import Job, experiment
from rankwise_experiments._tabular import SURROGATES, Outputs

Floats = NDArray[np.float64]

NAME = "calibration"
TITLE = "Which surrogates of the partial loss lead to the Bayes rule (thesis, Table 4.1)"
ADDITIVE = "additive"
ALL = ("ramp", "max", ADDITIVE, "hinge", "bridge")
CALIBRATED = ALL[:3]
LARGEST = 100_000
#: Excess risk that counts as none, and as some that stays.
NONE, SOME = 0.01, 0.05


@dataclass(frozen=True, eq=False)
class World:
    """A distribution of inputs, labellings and annotated parts."""

    name: str
    outputs: Outputs
    p_labelling: Floats  # p(y | x), shape (inputs, N); inputs are equally likely
    p_annotated: Floats  # p(z_v = 1 | x), shape (inputs, V); parts are annotated independently

    def annotation_probabilities(self) -> Floats:
        """Probability of every annotation of every input, shape (inputs, A)."""
        found = []
        for labelling, (first, second) in zip(self.p_labelling, self.p_annotated, strict=True):
            pattern = np.outer([1 - first, first], [1 - second, second])
            found.append(self.outputs.annotation_probabilities(labelling, pattern))
        return np.array(found)

    def bayes_risk(self) -> float:
        """Smallest Hamming risk of any decision function."""
        return float(np.mean([self.outputs.labelling_risk(p).min() for p in self.p_labelling]))


def worlds() -> tuple[World, ...]:
    """Return the two distributions; the best labels move with the input, so that no constant decision is good.

    Examples
    --------
    >>> from rankwise_experiments import calibration
    >>> [(world.name, round(world.bayes_risk(), 3)) for world in calibration.worlds()]
    [('a dominant labelling', 0.6), ('no dominant label', 1.1)]
    """
    outputs = Outputs(n_parts=2, n_labels=3)
    annotated = np.array([[0.8, 0.3], [0.5, 0.5], [0.3, 0.9]])
    dominant = np.full((3, 9), 0.05)
    dominant[np.arange(3), [0, 5, 7]] = 0.6
    label = np.array([0.45, 0.3, 0.25])
    flat = np.array([np.outer(np.roll(label, x), np.roll(label, -x)).ravel() for x in range(3)])
    return (
        World("a dominant labelling", outputs, dominant, annotated),
        World("no dominant label", outputs, flat, annotated),
    )


@dataclass(frozen=True, eq=False)
class Outcome:
    """What the surrogates learn in one world.

    Attributes
    ----------
    sizes : tuple of int
        Numbers of examples.
    risk : mapping of str to ndarray of shape (sizes, repetitions)
        Risk of the decisions learnt with each surrogate.
    limit : mapping of str to float
        Risk of the decisions that minimise the expected surrogate: what infinitely many examples lead to.
    gap : mapping of str to float
        Smallest calibration gap over the inputs.
    bayes : float
        Bayes risk.
    """

    sizes: tuple[int, ...]
    risk: Mapping[str, Floats]
    limit: Mapping[str, float]
    gap: Mapping[str, float]
    bayes: float

    def excess(self, surrogate: str) -> Floats:
        """Mean risk beyond Bayes for every number of examples."""
        return np.asarray(np.maximum(self.risk[surrogate].mean(axis=1) - self.bayes, 0.0))  # negative by rounding only


@experiment(sequences=100, rounds=None, seed=0)
def run(job: Job) -> Report:
    """Learn with every surrogate from more and more examples, and compare with the Bayes risk.

    Sequences are samples of every size, rounds the largest number of examples. Writes ``calibration``: two tables
    (CSV), a figure and the conclusions (text). No data are needed: the distributions are made here.
    """
    load_matplotlib()  # what cannot be drawn shall be known before the work, not after
    sizes = _sizes(job.rounds or LARGEST)
    outcomes: dict[str, Outcome] = {}
    for place, world in enumerate(worlds()):
        outcomes[world.name] = measure(world, sizes, job.sequences, (job.seed, place), job.progress)
    text, picture = job.output / f"{NAME}.txt", job.output / f"{NAME}.png"
    files = (*_write_tables(job.output, outcomes), write_figure(picture, _draw(outcomes)), text)
    report = Report(TITLE, tuple(outcomes), {}, _judge(outcomes), _notes(outcomes), files)
    write_text(text, f"{report}\n")
    return report


def _sizes(largest: int) -> tuple[int, ...]:
    """10, 30, 100, 300, ... up to the largest, which is the last."""
    steps = [step * 10**power for power in range(1, 10) for step in (1, 3)]
    return (*(size for size in steps if size < largest), largest)


def measure(
    world: World,
    sizes: Sequence[int],
    repetitions: int,
    seed: tuple[int, int] = (0, 0),
    progress: ProgressCallback = no_progress,
) -> Outcome:
    """Risk of what each surrogate learns from samples of each size, and in the limit.

    Parameters
    ----------
    world : World
        The distribution.
    sizes : sequence of int
        Numbers of examples.
    repetitions : int
        Samples of each size.
    seed : two ints
        Seed of the samples, and the number of the world.
    progress : callable, optional
        Told the world's name, the sizes done and all sizes.
    """
    tables = {name: world.outputs.surrogate(name) for name in SURROGATES}
    expected = world.annotation_probabilities()
    joint = expected.ravel() / expected.sum()
    learnt = {name: np.empty((len(sizes), repetitions)) for name in ALL}
    progress(world.name, 0, len(sizes))
    for k, size in enumerate(sizes):
        generator = np.random.default_rng(np.random.SeedSequence(seed[0], spawn_key=(seed[1], size)))
        drawn = generator.multinomial(size, joint, size=repetitions).astype(np.float64)
        counts = drawn.reshape(repetitions, *expected.shape)
        for name in ALL:
            learnt[name][k] = _learnt_risk(world, tables.get(name), counts)
        progress(world.name, k + 1, len(sizes))
    limit = {name: float(_learnt_risk(world, tables.get(name), expected[None])[0]) for name in ALL}
    gap = {name: _calibration_gap(world, tables.get(name), expected) for name in ALL}
    return Outcome(tuple(sizes), learnt, limit, gap, world.bayes_risk())


def _learnt_risk(world: World, table: Floats | None, weights: Floats) -> Floats:
    """Risk of what is learnt from annotations with weights of shape (samples, inputs, A); no table: additive."""
    found = np.zeros(len(weights))
    for x, p in enumerate(world.p_labelling):
        if table is None:
            found += _additive_risk(world, x, weights[:, x])
            continue
        values = table @ weights[:, x].T
        best = values <= values.min(axis=0) + 1e-12  # sums of counts are whole and exact
        found += world.outputs.decision_risk(p) @ best / best.sum(axis=0)
    return found / len(world.p_labelling)


def _calibration_gap(world: World, table: Floats | None, expected: Floats) -> float:
    """Smallest gap of Definition 9 over the inputs."""
    gaps = []
    for x, p in enumerate(world.p_labelling):
        if table is None:
            gaps.append(_additive_gap(world, x, expected[x]))
            continue
        values = table @ expected[x]
        gaps.append(float(values[world.outputs.may_err(p)].min() - values.min()))
    return min(gaps)


def _part_frequencies(world: World, weights: Floats) -> Floats:
    """Weight with which each label of each part is annotated, shape (repetitions, V, K)."""
    said = world.outputs.annotations[:, :, None] == np.arange(world.outputs.n_labels)
    return np.asarray(np.tensordot(weights, said.astype(np.float64), axes=1))


def _part_errors(world: World, x: int) -> Floats:
    """Probability that each label of each part is wrong, shape (V, K)."""
    shown = world.outputs.labellings[:, :, None] == np.arange(world.outputs.n_labels)
    return np.asarray(1.0 - np.tensordot(world.p_labelling[x], shown.astype(np.float64), axes=1))


def _additive_risk(world: World, x: int, weights: Floats) -> Floats:
    """Risk of deciding every part by its most frequent annotation, ties at random."""
    frequencies = _part_frequencies(world, weights)
    best = frequencies >= frequencies.max(axis=2, keepdims=True) - 1e-12
    return np.asarray(((best * _part_errors(world, x)).sum(axis=2) / best.sum(axis=2)).sum(axis=1))


def _additive_gap(world: World, x: int, p: Floats) -> float:
    """Smallest expected log loss lost by scores that may decide a part wrongly.

    The best such scores make a wrong label tie with the right one: their frequencies p, q become (p + q) / 2 each,
    which costs their Jensen-Shannon difference; the other labels keep theirs.
    """
    lost = []
    for frequencies, errors in zip(_part_frequencies(world, p[None])[0], _part_errors(world, x), strict=True):
        right = int(np.argmin(errors))
        for wrong in np.flatnonzero(errors > errors.min() + 1e-12):
            pair = frequencies[[right, wrong]]
            lost.append(float((pair * np.log(pair / pair.mean())).sum()))
    return min(lost)


# -- conclusions -------------------------------------------------------------------------------------------------------


def _judge(outcomes: Mapping[str, Outcome]) -> tuple[Conclusion, ...]:
    property_a = []
    for world in worlds():
        report = check_plan(world.p_annotated, label_probabilities=world.p_labelling)
        reasons = "; ".join(f"{c.name}: {c.reason}" for c in report.conditions)
        property_a.append(Check(world.name, report.holds is True, reasons))
    dominant, flat = outcomes.items()
    return (
        Conclusion("the distributions have property A (Definition 8)", tuple(property_a)),
        Conclusion(
            f"ramp, max and additive approach the Bayes risk (within {NONE:g}; calibration gap above zero)",
            tuple(_approaches(*world, name) for world in (dominant, flat) for name in CALIBRATED),
        ),
        Conclusion(
            f"hinge and bridge do not where no label dominates (they stay {SOME:g} or more above it)",
            tuple(_stays_away(*flat, name) for name in ALL[3:]),
        ),
        Conclusion(
            f"where a labelling has more than half of the probability, hinge and bridge do, too (within {NONE:g})",
            tuple(_approaches(*dominant, name) for name in ALL[3:]),
        ),
    )


def _numbers(outcome: Outcome, surrogate: str) -> str:
    excess, limit = outcome.excess(surrogate), outcome.limit[surrogate] - outcome.bayes
    return (
        f"excess {excess[0]:.3f} from {outcome.sizes[0]} examples, {excess[-1]:.4f} from {outcome.sizes[-1]}, "
        f"{abs(limit):.4f} in the limit; calibration gap {abs(outcome.gap[surrogate]):.3g}"
    )


def _approaches(where: str, outcome: Outcome, surrogate: str) -> Check:
    there = outcome.limit[surrogate] - outcome.bayes < 1e-9 and outcome.gap[surrogate] > 1e-9
    near = outcome.excess(surrogate)[-1] <= NONE
    return Check(f"{surrogate}, {where}", bool(there and near), _numbers(outcome, surrogate))


def _stays_away(where: str, outcome: Outcome, surrogate: str) -> Check:
    away = outcome.limit[surrogate] - outcome.bayes >= SOME and outcome.gap[surrogate] < 1e-9
    still = outcome.excess(surrogate)[-1] >= SOME
    return Check(f"{surrogate}, {where}", bool(away and still), _numbers(outcome, surrogate))


# -- files -------------------------------------------------------------------------------------------------------------


def _write_tables(output: Path, outcomes: Mapping[str, Outcome]) -> list[Path]:
    curves: list[tuple[Any, ...]] = []
    limits: list[tuple[Any, ...]] = []
    for world, outcome in outcomes.items():
        for name in ALL:
            for size, risk in zip(outcome.sizes, outcome.risk[name], strict=True):
                error = float(risk.std(ddof=1) / np.sqrt(risk.size)) if risk.size > 1 else float("nan")
                curves.append((world, name, size, float(risk.mean()), error, outcome.bayes, risk.size))
            limits.append((world, name, outcome.limit[name], outcome.bayes, abs(outcome.gap[name])))
    columns = ("distribution", "surrogate")
    return [
        write_table(
            output / f"{NAME}-curves.csv",
            (*columns, "examples", "risk", "standard_error", "bayes_risk", "samples"),
            curves,
        ),
        write_table(output / f"{NAME}-limits.csv", (*columns, "risk", "bayes_risk", "calibration_gap"), limits),
    ]


def _notes(outcomes: Mapping[str, Outcome]) -> tuple[str, ...]:
    rows = []
    for world, outcome in outcomes.items():
        shown = [k for k, size in enumerate(outcome.sizes) if str(size)[0] == "1" or size == outcome.sizes[-1]]
        for name in ALL:
            row = {"distribution": world, "surrogate": name}
            row |= {f"m = {outcome.sizes[k]}": f"{outcome.risk[name][k].mean():.3f}" for k in shown}
            row |= {"limit": f"{outcome.limit[name]:.3f}", "Bayes": f"{outcome.bayes:.3f}"}
            rows.append(row)
    return (f"Mean Hamming risk of the learnt decisions:\n{format_table(rows)}",)


def _draw(outcomes: Mapping[str, Outcome]) -> Any:
    load_matplotlib()
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.5, 4.0), layout="constrained")
    colours = dict(zip(ALL, OKABE_ITO, strict=False))
    styles = dict(zip(ALL, ("-", (0, (4, 2)), (0, (1, 1.2)), "-", (0, (4, 2))), strict=True))
    for ax, (world, outcome) in zip(figure.subplots(1, len(outcomes)), outcomes.items(), strict=True):
        ax.axhline(outcome.bayes, color=INK, linewidth=1.0)
        ax.annotate("Bayes risk", (outcome.sizes[0], outcome.bayes), xytext=(0, -4), textcoords="offset points",
                    va="top", fontsize=SMALL, color=INK)  # fmt: skip
        for name in ALL:
            ax.plot(outcome.sizes, outcome.risk[name].mean(axis=1), color=colours[name], linestyle=styles[name],
                    linewidth=2.0, label=name)  # fmt: skip
        ax.set_xscale("log")
        ax.set_title(world, fontsize=10, color=INK)
        ax.set_xlabel("examples", fontsize=SMALL, color=QUIET)
        ax.margins(y=0.12)
        quiet_frame(ax, keep=("left", "bottom"))
    figure.axes[0].set_ylabel("Hamming risk of the learnt decisions", fontsize=SMALL, color=QUIET)
    figure.axes[-1].legend(frameon=False, fontsize=SMALL, loc="center right")
    return figure
