"""Table 3.6 of Antoniuk's thesis: regularisers, and PW-MORD, as the training set grows; here on ages from Adult.

The thesis' face databases cannot be had: its numbers stand beside ours as context, on data of another kind.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rankwise import MORD, SVOR, VILMA, PiecewiseMORD
from rankwise_experiments._ages import COMMON, N_SPLITS, Mean, make_splits, reductions, sizes_up_to, tuned_error
from rankwise_experiments._journal import Units
from rankwise_experiments._report import (
    Check,
    Conclusion,
    Report,
    markdown_table,
    write_table,
)
from rankwise_experiments._study import Job, experiment
from rankwise_experiments._thesis import write_page_and_text
from rankwise_experiments._thesis_tables import (
    MORPH_SIZES,
    REGULARISERS,
    TABLE_3_6_MORPH,
    TABLE_3_6_WILD,
    WILD_SIZES,
    cells,
)

NAME = "growing"
TITLE = "Regularisers and PW-MORD as the training set grows: test MAE of ages (Adult)"
CUTS = (4, 5, 6)  # as many as in the thesis' three settings, placed evenly


def _versions(method: str) -> tuple[Any, ...]:
    regularize = "weights" if "(w)" in method or "(w," in method else "all"
    options: dict[str, Any] = {"regularize": regularize, **COMMON}
    if method.startswith("PW-MORD"):
        return tuple(PiecewiseMORD(cuts, **options) for cuts in CUTS)
    for name, make in (("MORD", MORD), ("VILMA", VILMA), ("SVOR-IMC", SVOR)):
        if method.startswith(name):
            return (make(**options),)
    raise ValueError(f"there is no method {method!r}.")


METHODS = {method: _versions(method) for method in REGULARISERS}

Found = dict[tuple[str, int], Mean]
"""Test error by method and size of the training set."""


@experiment(sequences=N_SPLITS, rounds=None, seed=0)
def run(job: Job) -> Report:
    """Table 3.6 on ages from Adult.

    Sequences are splits into training, validation and test rows, rounds the largest training set. Writes ``growing``:
    a table (CSV), the page (Markdown), conclusions (text), and the units.
    """
    sizes = sizes_up_to(job.rounds)
    splits, skipped = make_splits(job)
    units = Units(job.unit_file(NAME))
    found: Found = {}
    unconverged = 0
    places = [(method, size) for size in sizes for method in METHODS] if splits else []
    for done, (method, size) in enumerate(places):
        job.progress("fits", done, len(places))
        results = [
            tuned_error(units, f"{method}: {size} rows", METHODS[method], split, split.ages[split.train[:size]])
            for split in splits
        ]
        found[method, size] = Mean.of(results)
        unconverged += sum(result["unconverged"] for result in results)
    job.progress("fits", len(places), len(places))
    files = job.files(NAME, "csv", "md", "txt")
    report = Report(TITLE, ("adult_age",) if found else (), skipped, _judge(found), _remarks(unconverged), files)
    write_table(
        files[0],
        ("method", "rows", "mae", "deviation", "noise", "splits"),
        [(*place, mean.mae, mean.deviation, mean.noise, job.sequences) for place, mean in found.items()],
    )
    job = replace(job, rounds=sizes[-1])
    write_page_and_text(job, NAME, report, _page(job, report, found, sizes))
    return report


def _judge(found: Found) -> tuple[Conclusion, ...]:
    if not found:
        return ()
    sizes = list(dict.fromkeys(size for _, size in found))
    pairs = (
        ("SVOR-IMC(w)", "SVOR-IMC(wθ)"),
        ("VILMA(w,MAE)", "VILMA(wb,MAE)"),
        ("MORD(w,MAE)", "MORD(wb,MAE)"),
    )
    return (
        Conclusion(
            "leaving thresholds or intercepts unregularised is not worse, beyond noise",
            tuple(_not_worse(found, one, other, size) for one, other in pairs for size in sizes),
        ),
        Conclusion(
            "PW-MORD(w,MAE) is not worse than SVOR-IMC(w) and VILMA(w,MAE), beyond noise",
            tuple(
                _not_worse(found, "PW-MORD(w,MAE)", other, size)
                for other in ("SVOR-IMC(w)", "VILMA(w,MAE)")
                for size in sizes
            ),
        ),
        Conclusion(
            "SVOR-IMC(w) and VILMA(w,MAE) are the same",
            tuple(
                Check(f"{size} rows", abs(a.mae - b.mae) < 1e-9, f"{a} and {b}")
                for size in sizes
                for a, b in [(found["SVOR-IMC(w)", size], found["VILMA(w,MAE)", size])]
            ),
        ),
    )


def _not_worse(found: Found, one: str, other: str, size: int) -> Check:
    a, b = found[one, size], found[other, size]
    numbers = f"{a} against {b}, noise {max(a.noise, b.noise):.2f}"
    return Check(f"{one} and {other}, {size} rows", a.mae <= b.mae + max(a.noise, b.noise), numbers)


def _remarks(unconverged: int) -> tuple[str, ...]:
    gaps = f"a proven relative gap of at most {COMMON['tol']:g}"
    return (
        "MORPH and WILD cannot be had. Ages are far less predictable from Adult's columns than from faces, and there "
        "are 106 features instead of 159,488: numbers are not comparable, the order of the methods is.",
        "Noise is twice the standard error of the test MAE, as the test rows estimate it. "
        + (f"{unconverged} models did not reach {gaps}." if unconverged else f"All models have {gaps}."),
    )


def _page(job: Job, report: Report, found: Found, sizes: tuple[int, ...]) -> list[str]:
    rows = [[method, *(str(found[method, size]) for size in sizes)] for method in METHODS] if found else []
    parts = [
        *reductions(job),
        "Table 3.6 of Antoniuk's thesis on partial annotations, with ages from the Adult data in the place of the "
        "thesis' face databases. Mean ± standard deviation over the splits.",
        markdown_table(["method", *(f"m = {size}" for size in sizes)], rows),
        "## Conclusions",
        report.conclusions_in_words,
        *report.notes,
        "## The thesis' table, as context",
    ]
    for title, columns, table in (
        ("MORPH", MORPH_SIZES, TABLE_3_6_MORPH),
        ("WILD", WILD_SIZES, TABLE_3_6_WILD),
    ):
        printed = cells(table).items()
        rows = [[m, *(f"{c.mean:.2f} ± {c.deviation:.2f}" for c in row if c)] for (m,), row in printed]
        parts.append(markdown_table([title, *(f"m = {size}" for size in columns)], rows))
    return parts
