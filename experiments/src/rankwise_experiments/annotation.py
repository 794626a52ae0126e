"""Annotation played through on real sets: which items and which questions lower the error fastest.

All sets whose labels are ordered classes by themselves, and not numbers cut into classes: ERA, ESL, car evaluation,
eucalyptus, red and white wine. Up to 1000 rows are items to be annotated, the others (up to 2000) test the model on
features of mean 0 and deviation 1. Annotation takes 45 minutes: an exact answer 10 seconds, a range 6, "at least k?" 4.
The rater is unsure of three items in four, and then knows two neighbouring classes of which one is right
(:class:`rankwise.evaluation.SimulatedRater`).

What learns is what ``rankwise annotate`` uses, :class:`rankwise.OnlineCumulativeLink` with its defaults: nothing is
tuned to these sets.

- **Items**: drawn evenly, or in proportion to the expected ranked probability score, with one question in ten drawn
  evenly (control); all answers exact and right.
- **Questions**: the one that gains most for each second, among exact, range and "at least k?", likewise with control.
- **Ranges where unsure**, against exact answers only, items drawn evenly; once with a rater whose exact answers are
  right even where it is unsure, once with one that guesses there.

The saving is the share of the 45 minutes that ranges need less, to reach the error of exact answers after 45 minutes;
curves are means over the sequences, made not to rise.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression

from rankwise import OnlineCumulativeLink, datasets
from rankwise.evaluation import SimulatedRater, format_table, simulate_annotation
from rankwise_experiments._private import OKABE_ITO, load_matplotlib, quiet_frame
from rankwise_experiments._report import (
    Check,
    Conclusion,
    Report,
    judged,
    paired,
    write_figure,
    write_table,
    write_text,
)
from rankwise_experiments._study import Job, experiment, load_each

Floats = NDArray[np.float64]

NAME = "annotation"
TITLE = "Annotation: which items and which questions lower the error fastest"
SETS = ("car", "ERA", "ESL", "eucalyptus", "winequality_red", "winequality_white")
WORDS = {"car": ("unacc", "acc", "good", "vgood"), "eucalyptus": ("none", "low", "average", "good", "best")}
MINUTES = 45.0
GRID = np.linspace(4.0, MINUTES, 42)
GOAL = 0.2

RIGHT, GUESSING = SimulatedRater(), SimulatedRater(guesses=True)
ALL_KINDS = ("exact", "range", "at_least")
WAYS: dict[str, dict[str, Any]] = {
    "random": {"rater": RIGHT},
    "uncertainty": {"rater": RIGHT, "strategy": "uncertainty"},
    "information": {"rater": RIGHT, "strategy": "information", "kinds": ALL_KINDS},
    "ranges": {"rater": RIGHT, "kinds": ("range",)},
    "random, guessing": {"rater": GUESSING},
    "ranges, guessing": {"rater": GUESSING, "kinds": ("range",)},
}


@experiment(sequences=20, seed=0)
def run(job: Job) -> Report:
    """Play every way on every set, over random splits.

    Writes ``annotation``: a table (CSV), a figure (PNG) and a page (Markdown).
    """
    sets, skipped = load_each(SETS, lambda name: datasets.load(name, data_dir=job.data_dir))
    if not sets:
        return Report(TITLE, (), skipped, (), (), ())
    curves: dict[str, dict[str, Floats]] = {}
    for name, data in sets.items():
        found: dict[str, list[Floats]] = {way: [] for way in WAYS}
        for sequence in range(job.sequences):
            rows = split(name, data, np.random.default_rng([job.seed, sequence]))
            for way, options in WAYS.items():
                curve = simulate_annotation(
                    OnlineCumulativeLink(), *rows, minutes=MINUTES, random_state=sequence, **options
                )
                found[way].append(curve.error_at(GRID))
            job.progress(name, sequence + 1, job.sequences)
        curves[name] = {way: np.array(errors) for way, errors in found.items()}
    csv_file, figure, page = job.files(NAME, "csv", "png", "md")
    rows_of_table = [
        (name, way, float(minute), float(error))
        for name, ways in curves.items()
        for way, errors in ways.items()
        for minute, error in zip(GRID, errors.mean(axis=0), strict=True)
    ]
    report = Report(TITLE, tuple(sets), skipped, _judged(curves), (), (csv_file, figure, page))
    write_table(csv_file, ("data_set", "way", "minutes", "mae"), rows_of_table)
    write_figure(figure, _drawn(curves))
    write_text(page, _page(job, report, curves))
    return report


def split(name: str, data: Any, rng: np.random.Generator) -> tuple[Floats, Any, Floats, Any]:
    """Items with their codes, and test rows with theirs; features have mean 0 and deviation 1 over both."""
    words = WORDS.get(name)
    y = np.array([words.index(v) for v in data.y.tolist()]) if words else np.unique(data.y, return_inverse=True)[1]
    rows = rng.permutation(y.size)[:3000]
    X, y = np.nan_to_num(np.asarray(data.X, dtype=np.float64)[rows]), y[rows]
    X = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-12)
    n = min(1000, y.size * 6 // 10)
    # Every class must be among the items: they say which classes there are.
    return X[:n], y[:n], X[n:][np.isin(y[n:], y[:n])], y[n:][np.isin(y[n:], y[:n])]


def saving(ours: Floats, exact: Floats) -> float:
    """Share of the time that one way needs less to reach the last error of another; negative if it never does."""
    falling = [isotonic_regression(errors.mean(axis=0), increasing=False).x for errors in (ours, exact)]
    reached = np.flatnonzero(falling[0] <= falling[1][-1])
    return float(1.0 - GRID[reached[0]] / MINUTES) if reached.size else -1.0


def _judged(curves: dict[str, dict[str, Floats]]) -> tuple[Conclusion, ...]:
    def against(way: str, beyond: float) -> tuple[Check, ...]:
        checks = []
        for name, ways in curves.items():
            more, error = paired((ways["random"] - ways[way]).mean(axis=1))
            checks.append(Check(name, more > beyond * error, f"{more:+.4f} ± {error:.4f} ranks"))
        return tuple(checks)

    def saved(ours: str, exact: str) -> tuple[Check, ...]:
        found = {name: saving(ways[ours], ways[exact]) for name, ways in curves.items()}
        texts = {name: f"{100 * s:.0f} % less time" if s > -1 else "error not reached" for name, s in found.items()}
        return tuple(Check(name, s >= GOAL, texts[name]) for name, s in found.items())

    guessing, right = saved("ranges, guessing", "random, guessing"), saved("ranges", "random")
    claims = {
        "uncertainty with control is better than random items": against("uncertainty", 0.0),
        "uncertainty with control is not worse than random by two standard errors": against("uncertainty", -2.0),
        "information per second with control is better than random items": against("information", 0.0),
        "ranges where unsure save 20 % of the time, if exact answers are guesses there": guessing,
        "ranges where unsure save 20 % of the time, if exact answers are always right": right,
    }
    return judged(claims.items())


def _drawn(curves: dict[str, dict[str, Floats]]) -> Any:
    load_matplotlib()
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 6), layout="constrained")
    axes = figure.subplots(2, 3, squeeze=False).ravel()
    for axis, (name, ways) in zip(axes, curves.items(), strict=False):
        for colour, (way, errors) in zip(OKABE_ITO, ways.items(), strict=False):
            axis.plot(GRID, errors.mean(axis=0), label=way, color=colour, linestyle="--" if "guess" in way else "-")
        axis.set_title(name)
        quiet_frame(axis)
    for axis in axes[len(curves) :]:
        axis.set_visible(False)
    figure.supxlabel("minutes of annotation")
    figure.supylabel("mean absolute error in ranks")
    axes[0].legend(fontsize="small", frameon=False)
    return figure


def _page(job: Job, report: Report, curves: dict[str, dict[str, Floats]]) -> str:
    table = format_table(
        [
            {"data set": name, **{way: f"{errors.mean(axis=0)[-1]:.3f}" for way, errors in ways.items()}}
            for name, ways in curves.items()
        ]
    )
    parts = [
        f"# {TITLE}",
        f"Made by `{job.command(NAME, 'sequences', 'seed')}`.",
        "\n\n".join((__doc__ or "").split("\n\n")[1:]).replace(":class:", ""),
        "![Error against minutes of annotation on each set, for six ways to ask](../images/annotation.png)",
        f"Mean absolute error in ranks after {MINUTES:.0f} minutes:\n\n```\n{table}\n```",
        report.conclusions_in_words,
        *report.skipped_in_words,
    ]
    return "\n\n".join(part.strip() for part in parts) + "\n"
