"""Tables 3.7 to 3.10 and Figures 3.6 and 3.7 of Antoniuk's thesis: learning ages from intervals; here from Adult.

m_P training rows have exact labels, all others an interval of u years, from a partition of the ages. Four surrogates
learn from both, and, in a fifth table that the thesis does not have, the likelihood of cumulative links; the test error
is beside that of the same rows with exact labels. The loss in accuracy by intervals,
gamma, stays below the bound of Theorem 3, ``(1 - alpha) beta`` with alpha the share of exact labels and beta = u - 1.

Adult has 106 features where the thesis had 159,488: 3,300 exact labels tell nearly all that a linear model can learn of
them, and with more the optimum of the surrogate predicts but a few ages. So training sets that begin with 100 exact
labels are added, where there is something to gain.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise, product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from rankwise import SVOR, VILMA, CumulativeLink
from rankwise.annotation import partition_intervals
from rankwise.bounds import interval_mae_risk
from rankwise_experiments._ages import (
    AGES,
    COMMON,
    N_SPLITS,
    SIZES,
    Mean,
    Split,
    ages_predicted,
    make_splits,
    reductions,
    sizes_up_to,
    tuned_error,
)
from rankwise_experiments._journal import Units
from rankwise_experiments._private import INK, OKABE_ITO, SMALL, load_matplotlib, quiet_frame
from rankwise_experiments._report import (
    Check,
    Conclusion,
    Report,
    judged,
    markdown_table,
    write_figure,
    write_table,
)
from rankwise_experiments._study import Job, experiment
from rankwise_experiments._thesis import write_page_and_text
from rankwise_experiments._thesis_tables import INTERVALS, MORPH_SIZES, TABLES_3_7_TO_3_10, cells

NAME = "intervals"
TITLE = "Learning ages (Adult) from intervals: test MAE of four surrogates and of a likelihood"
EXACT = (3300, 6600)
WIDTHS = (5, 10, 20)
METHODS: dict[str, Any] = {
    "VILMA(w,MAE)": VILMA("mae", **COMMON),
    "II-SVOR-IMC(w)": SVOR("implicit", **COMMON),
    "VILMA(w,0/1)": VILMA("zero_one", **COMMON),
    "II-SVOR-EXP(w)": SVOR("explicit", **COMMON),
    "CumulativeLink": CumulativeLink(**COMMON),
}
MAIN, LINK = "VILMA(w,MAE)", "CumulativeLink"
FEW = (100, 330, 1000, 3300)  # rows, of which the first number have exact labels
STEPS_ALPHA = 0.01  # small enough that the surrogate risk alone decides how many ages are predicted

Place = tuple[str, int, int, int]
"""Method, exact labels, width of the intervals, rows; with exact labels for all rows the width is 1."""
Found = dict[Place, Mean]


@experiment(sequences=N_SPLITS, rounds=None, seed=0)
def run(job: Job) -> Report:
    """Tables 3.7 to 3.10 and Figures 3.6 and 3.7 on ages from Adult.

    Sequences are splits into training, validation and test rows, rounds the largest training set. Writes
    ``intervals``: a table (CSV), the page (Markdown), conclusions (text), a figure, and the units.
    """
    load_matplotlib()  # what cannot be drawn shall be known before the work, not after
    sizes = sizes_up_to(job.rounds)
    splits, skipped = make_splits(job)
    units = Units(job.unit_file(NAME))
    found: Found = {}
    for method in METHODS if splits else ():
        places = _places(method, sizes)
        for done, place in enumerate(places):
            job.progress(method, done, len(places))
            found[place] = Mean.of([_fit(units, place, split) for split in splits])
        job.progress(method, len(places), len(places))
    few = {place: Mean.of([_fit(units, place, split) for split in splits]) for place in _few_places() if splits}
    model = clone(METHODS[MAIN]).set_params(alpha=STEPS_ALPHA)
    steps = {size: ages_predicted(units, model, splits[0], size) for size in sizes if splits}
    return _report(job, found, few, steps, skipped, sizes)


def _places(method: str, sizes: tuple[int, ...]) -> list[Place]:
    exact = [(method, size, 1, size) for size in sizes]
    return exact + [(method, n, u, size) for n in EXACT for u in WIDTHS for size in sizes if size > n]


def _few_places() -> list[Place]:
    return [(MAIN, FEW[0], 1, FEW[0]), *((MAIN, FEW[0], u, size) for u in WIDTHS for size in FEW[1:])]


def _fit(units: Units, place: Place, split: Split) -> dict[str, Any]:
    method, n_exact, width, size = place
    ages = split.ages[split.train[:size]]
    labels: NDArray[Any] = ages
    if width > 1:
        labels = partition_intervals(ages, width, classes=AGES)
        labels[:n_exact] = ages[:n_exact, None]
    what = f"{method}: {size} rows, {n_exact} exact, the others of width {width}"
    return tuned_error(units, what, (METHODS[method],), split, labels)


# -- judgement ---------------------------------------------------------------------------------------------------------


def gamma(found: Found, place: Place) -> tuple[float, float]:
    """Loss in accuracy by the intervals of a training set, and its bound."""
    method, n_exact, width, size = place
    loss = found[place].mae - found[method, size, 1, size].mae
    return loss, interval_mae_risk(0.0, n_exact / size, width - 1)


def _judge(found: Found, few: Found) -> tuple[Conclusion, ...]:
    wanted = (
        ("more rows with intervals never hurt, beyond noise", _more_rows(found)),
        (f"{MAIN}: with {FEW[0]} exact labels, rows with intervals help, beyond noise", _helped(few)),
        (f"{LINK}: rows with intervals help, beyond noise", _helped_likelihood(found)),
        (f"{LINK} is better than {MAIN}", _better(found, LINK, (MAIN,))),
        (f"{MAIN}: the loss in accuracy grows with the width, up to noise", _wider(found)),
        (f"{MAIN}: the loss in accuracy grows with the portion, up to noise", _larger_portion(found)),
        (f"{MAIN}: the loss in accuracy is below the bound of Theorem 3", _below_bound(found)),
        (f"{MAIN} and II-SVOR-IMC(w) are the same", _same(found)),
        (
            f"{MAIN} is better than VILMA(w,0/1) and II-SVOR-EXP(w)",
            _better(found, MAIN, ("VILMA(w,0/1)", "II-SVOR-EXP(w)")),
        ),
    )
    return judged(wanted)


def _with_intervals(found: Found, method: str = MAIN) -> list[Place]:
    return [place for place in found if place[0] == method and place[2] > 1]


def _more_rows(found: Found) -> list[Check]:
    """Exact labels alone, then with more and more intervals: no step upwards."""
    checks = []
    for method in METHODS:
        for n, u in dict.fromkeys((n, u) for _, n, u, _ in _with_intervals(found, method)):
            row = [found[method, n, 1, n], *(found[p] for p in _with_intervals(found, method) if p[1:3] == (n, u))]
            noise, numbers = _in_words(row)
            rise = max(after.mae - before.mae for before, after in pairwise(row))
            checks.append(Check(f"{method}, {n} exact, width {u}", rise <= noise, numbers))
    return checks


def _in_words(row: list[Mean]) -> tuple[float, str]:
    """The largest noise, and it with all errors."""
    noise = max(mean.noise for mean in row)
    return noise, f"{' '.join(f'{mean.mae:.2f}' for mean in row)}, noise {noise:.2f}"


def _helped(few: Found) -> list[Check]:
    """The exact labels alone, and with all intervals."""
    alone, checks = few[MAIN, FEW[0], 1, FEW[0]], []
    for u in WIDTHS:
        row = [alone, *(few[MAIN, FEW[0], u, size] for size in FEW[1:])]
        noise, numbers = _in_words(row)
        checks.append(Check(f"width {u}, {' '.join(map(str, FEW))} rows", row[-1].mae < alone.mae - noise, numbers))
    return checks


def _helped_likelihood(found: Found) -> list[Check]:
    """Exact labels alone, and with most intervals."""
    checks = []
    for n, u in dict.fromkeys((n, u) for _, n, u, _ in _with_intervals(found, LINK)):
        row = [found[LINK, n, 1, n], *(found[p] for p in _with_intervals(found, LINK) if p[1:3] == (n, u))]
        noise, numbers = _in_words(row)
        checks.append(Check(f"{n} exact, width {u}", row[-1].mae < row[0].mae - noise, numbers))
    return checks


def _wider(found: Found) -> list[Check]:
    checks = []
    for n, size in dict.fromkeys((n, size) for _, n, _, size in _with_intervals(found)):
        row = [found[MAIN, size, 1, size], *(found[MAIN, n, u, size] for u in WIDTHS)]
        checks.append(_rising(f"{n} exact of {size}", row, found[MAIN, size, 1, size].mae))
    return checks


def _larger_portion(found: Found) -> list[Check]:
    checks = []
    for n, u in dict.fromkeys((n, u) for _, n, u, _ in _with_intervals(found)):
        places = [place for place in _with_intervals(found) if place[1:3] == (n, u)]
        losses = [0.0, *(gamma(found, place)[0] for place in places)]
        noise = max(found[place].noise for place in places)
        holds = all(b >= a - noise for a, b in pairwise(losses))
        numbers = f"{' '.join(f'{loss:.2f}' for loss in losses)}, noise {noise:.2f}"
        checks.append(Check(f"{n} exact, width {u}", holds, numbers))
    return checks


def _rising(where: str, row: list[Mean], base: float) -> Check:
    noise = max(mean.noise for mean in row)
    holds = all(b.mae >= a.mae - noise for a, b in pairwise(row))
    return Check(where, holds, f"{' '.join(f'{mean.mae - base:.2f}' for mean in row)}, noise {noise:.2f}")


def _below_bound(found: Found) -> list[Check]:
    checks = []
    for place in _with_intervals(found):
        loss, bound = gamma(found, place)
        where = f"{place[1]} exact of {place[3]}, width {place[2]}"
        checks.append(Check(where, loss <= bound, f"{loss:.2f}, bound {bound:.2f}"))
    return checks


def _same(found: Found) -> list[Check]:
    pairs = [(place[1:], found[place], found["II-SVOR-IMC(w)", *place[1:]]) for place in found if place[0] == MAIN]
    return [
        Check(f"{n} exact of {size}, width {u}", abs(a.mae - b.mae) < 1e-9, f"{a} and {b}")
        for (n, u, size), a, b in pairs
    ]


def _better(found: Found, method: str, others: tuple[str, ...]) -> list[Check]:
    checks = []
    for other in others:
        for _, n, u, size in [place for place in found if place[0] == method]:
            a, b = found[method, n, u, size], found[other, n, u, size]
            checks.append(Check(f"{other}, {n} exact of {size}, width {u}", a.mae < b.mae, f"{a} against {b}"))
    return checks


# -- files -------------------------------------------------------------------------------------------------------------


def _remarks(found: Found, steps: dict[int, list[int]]) -> tuple[str, ...]:
    if not found:
        return ()
    exact = [f"{mean.mae:.2f}" for place, mean in found.items() if place[0] == MAIN and place[2] == 1]
    return (
        "MORPH and WILD cannot be had; the thesis' numbers are context only. Its interval width counts both ends, so "
        "that u = 5 is beta = 4.",
        "Noise is twice the standard error of the test MAE, as the test rows estimate it. Validation and test rows "
        "have exact labels, as in the thesis. Strengths of the regulariser: the thesis', and 3 and 10, because its "
        "largest, 1, was often the best.",
        f"Where more rows with intervals hurt, look at exact labels first: as their number grows from {SIZES[0]:,} on, "
        f"the test MAE of {MAIN} is {', '.join(exact)}. More rows do not help, as what they approach is no better: "
        f"with alpha = {STEPS_ALPHA}, where the surrogate decides, the certified optimum of the first split predicts "
        f"{_in_steps(steps)}. Ages are so noisy here that hinges of margin 1 are best served by a few steps, along "
        f"marital status. So there is nothing to gain from rows (the thesis, on faces, gains a year), and what "
        f"intervals cost grows with their share, as Theorem 3 has it. With {FEW[0]} exact labels there is something to "
        f"gain, and intervals that are not too wide gain it.",
    )


def _in_steps(steps: dict[int, list[int]]) -> str:
    """How many ages each optimum predicts, and which where they are few.

    Examples
    --------
    >>> _in_steps({3300: list(range(17, 80)), 6600: [25, 43]})
    '63 ages after 3,300 rows, 2 ages (25, 43) after 6,600 rows'
    """
    return ", ".join(
        f"{len(ages)} ages{f' ({str(ages)[1:-1]})' if len(ages) <= 5 else ''} after {size:,} rows"
        for size, ages in steps.items()
    )


def _report(
    job: Job, found: Found, few: Found, steps: dict[int, list[int]], skipped: dict[str, str], sizes: tuple[int, ...]
) -> Report:
    files = job.files(NAME, "csv", "md", "txt", *(["png"] if found else []))
    conclusions = _judge(found, few) if found else ()
    report = Report(TITLE, ("adult_age",) if found else (), skipped, conclusions, _remarks(found, steps), files)
    write_table(
        files[0],
        ("method", "exact", "width", "rows", "mae", "deviation", "noise", "gamma", "bound"),
        [
            *((*place, mean.mae, mean.deviation, mean.noise, *gamma(found, place)) for place, mean in found.items()),
            *((*place, mean.mae, mean.deviation, mean.noise, "", "") for place, mean in few.items()),
        ],
    )
    job = replace(job, rounds=sizes[-1])
    write_page_and_text(job, NAME, report, _page(job, report, found, sizes))
    if found:
        write_figure(files[3], _draw(found, sizes))
    return report


def _page(job: Job, report: Report, found: Found, sizes: tuple[int, ...]) -> list[str]:
    parts = [
        *reductions(job),
        "Tables 3.7 to 3.10 of Antoniuk's thesis on partial annotations, with ages from the Adult data in the place of "
        "the thesis' face databases. Mean ± standard deviation over the splits; m rows, of which m_P have exact labels "
        "and the others intervals of u years.",
        f"![Test MAE as the training set grows, and the loss in accuracy with its bound]({NAME}.png)",
    ]
    titles = {method: f"Table {table}: {method}" for method, table in INTERVALS.items()}
    for method in METHODS if found else ():
        rows = [["all", "exact", *(str(found[method, size, 1, size]) for size in sizes)]]
        for n, u in product(EXACT, WIDTHS):
            rows.append([str(n), str(u), *(str(found[method, n, u, size]) if size > n else "" for size in sizes)])
        header = ["m_P", "u", *(f"m = {size}" for size in sizes)]
        parts += [f"## {titles.get(method, f'{method}, which the thesis does not have')}", markdown_table(header, rows)]
    parts += ["## Conclusions", report.conclusions_in_words, *report.notes]
    parts.append("## The thesis' tables on MORPH, as context")
    for method, table in INTERVALS.items():
        rows = []
        for words, row in cells(TABLES_3_7_TO_3_10[method]).items():
            name = words[0] if len(words) == 1 else f"m_P = {words[0]}, u = {words[1]}"
            rows.append([name, *(f"{c.mean:.2f} ± {c.deviation:.2f}" if c else "" for c in row)])
        parts.append(markdown_table([f"{table}: {method}", *(f"m = {size}" for size in MORPH_SIZES)], rows))
    return parts


def _draw(found: Found, sizes: tuple[int, ...]) -> Any:
    """Figure 3.6, one panel for each number of exact labels, and Figure 3.7 with the bound."""
    from matplotlib.figure import Figure

    drawn = [n for n in EXACT if n < sizes[-1]]
    figure = Figure(figsize=(3.4 * (len(drawn) + 1) + 0.4, 3.4), layout="constrained")
    *growing, tight = figure.subplots(1, len(drawn) + 1, squeeze=False)[0]
    for axes, n in zip(growing, drawn, strict=True):
        axes.plot(sizes, [found[MAIN, size, 1, size].mae for size in sizes], color=INK, marker="o", label="exact")
        for colour, u in zip(OKABE_ITO, WIDTHS, strict=False):
            row = [found[MAIN, n, 1, n], *(found[MAIN, n, u, size] for size in sizes if size > n)]
            axes.plot([s for s in sizes if s >= n], [mean.mae for mean in row], color=colour, marker="o", label=f"{u=}")
        axes.set(title=f"{n:,} exact labels", xlabel="rows", ylabel="test MAE")
    for colour, u in zip(OKABE_ITO, WIDTHS, strict=False):
        places = [place for place in _with_intervals(found) if place[2] == u]
        portions = [1 - n / size for _, n, _, size in places]
        order = np.argsort(portions)
        points = np.array([(0.0, 0.0, 0.0), *((portions[i], *gamma(found, places[i])) for i in order)])
        tight.plot(points[:, 0], points[:, 1], color=colour, marker="o", label=f"{u=}")
        tight.plot(points[:, 0], points[:, 2], color=colour, linestyle=":", label=f"bound, {u=}")
    tight.set(title="loss in accuracy", xlabel="portion of intervals", ylabel="gamma")
    for axes in (*growing, tight):
        quiet_frame(axes, keep=("left", "bottom"))
        axes.legend(frameon=False, fontsize=SMALL)
    return figure
