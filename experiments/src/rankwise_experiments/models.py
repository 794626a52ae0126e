"""Table 3.5 of Antoniuk's thesis: classification models with different regularisers, by their risk on the test part.

Sets, grades and partitions are those of :mod:`rankwise_experiments.surrogates`. The strength of the regulariser, and
for PW-MORD the cut labels, are chosen by 5-fold cross-validation on the training part, by the loss that the method
minimises. The thesis' strengths are 1, 0.1, 0.01, 0.001 and 0; 1e-6 stands for the last, which differs from it by less
than 1e-4 of the objective. As in the thesis, solvers stop within one percent of the optimum.

The thesis chooses in every partition. So does this experiment where the training part is small; where it is large
the choice hardly varies, and is made in the first partition for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import KFold

from rankwise import SVOR, VILMA, PiecewiseMORD, RoundedRegression, datasets
from rankwise_experiments._journal import Units, fingerprint
from rankwise_experiments._report import Check, Conclusion, Report, markdown_table
from rankwise_experiments._study import Job, experiment
from rankwise_experiments._thesis import (
    BENCHMARKS,
    HOW_CELLS_AGREE,
    N_GRADES,
    N_PARTITIONS,
    RISKS,
    Cell,
    Floats,
    agreement,
    cells_as_markdown,
    grades,
    load_benchmarks,
    partition,
    reduced,
    risks,
    standardised,
    write_cells,
    write_page_and_text,
)
from rankwise_experiments._thesis_tables import MODELS, TABLE_3_5, cells

NAME = "models"
TITLE = "Classification models and regularisers: risk on the test part"
ALPHAS = (1.0, 0.1, 0.01, 0.001, 1e-6)
CUTS = ([1, 10], [1, 5, 10], [1, 4, 7, 10])
FOLDS = 5
CHOOSE_EVERY_UP_TO = 1000  # rows of the training part

_COMMON: dict[str, Any] = {"tol": 1e-2, "max_iter": 3000, "classes": list(range(1, N_GRADES + 1))}


@dataclass(frozen=True, eq=False)
class Method:
    """A column of the table.

    Attributes
    ----------
    versions : tuple of estimators
        What to choose from, besides the strength of the regulariser.
    risk : str
        The loss by which to choose.
    """

    versions: tuple[Any, ...]
    risk: str = "MAE"


def _piecewise(regularize: str) -> Method:
    return Method(tuple(PiecewiseMORD(cuts, regularize=regularize, **_COMMON) for cuts in CUTS))


METHODS = {
    "LinCls": Method((PiecewiseMORD(N_GRADES, **_COMMON),)),
    "LinReg": Method((RoundedRegression(**_COMMON),)),
    "PW-MORD(wb,MAE)": _piecewise("all"),
    "VILMA(wb,MAE)": Method((VILMA(regularize="all", **_COMMON),)),
    "PW-MORD(w,MAE)": _piecewise("weights"),
    "VILMA(w,MAE)": Method((VILMA(**_COMMON),)),
    "VILMA(w)": Method((VILMA(**_COMMON),)),
    "SVOR-IMC(wθ)": Method((SVOR(regularize="all", **_COMMON),)),
    "SVOR-IMC(w,MAE)": Method((SVOR(**_COMMON),)),
    "SVOR-EXP(wθ)": Method((SVOR("explicit", regularize="all", **_COMMON),), "0/1"),
    "SVOR-EXP(w)": Method((SVOR("explicit", **_COMMON),), "0/1"),
}
ODD = "SVOR-EXP(w)"
STRAIGHT = ("LinReg", "SVOR-IMC(w,MAE)")  # have one direction; in Abalone it matters to them how sex is coded

Found = dict[tuple[str, str], list[dict[str, Any]]]
"""Results of all partitions by set and method."""


@experiment(sequences=N_PARTITIONS, seed=0)
def run(job: Job) -> Report:
    """Table 3.5, all columns.

    Sequences are partitions. Writes ``models``: cells (CSV), table (Markdown), conclusions (text), and the units.
    """
    sets, skipped = load_benchmarks(job.data_dir)
    units = Units(job.unit_file(NAME))
    found: Found = {}
    for name, (X, target) in sets.items():
        work = _Set(name, X, grades(target, BENCHMARKS[name].ties), units, job.seed)
        for number in range(job.sequences):
            job.progress(BENCHMARKS[name].title, number, job.sequences)
            for method in METHODS:
                found.setdefault((name, method), []).append(work.judge(method, number))
        job.progress(BENCHMARKS[name].title, job.sequences, job.sequences)
    coded: Found = {}
    if "abalone" in sets:
        other = datasets.load_abalone(None, data_dir=job.data_dir)  # with sex in LIBSVM's order
        work = _Set("abalone", other.X, grades(other.y, BENCHMARKS["abalone"].ties), units, job.seed)
        coded = {("abalone", method): [work.judge(method, i) for i in range(job.sequences)] for method in STRAIGHT}
    return _report(job, found, coded, skipped)


@dataclass(frozen=True, eq=False)
class _Set:
    """The work on one set."""

    name: str
    X: Floats
    y: NDArray[Any]
    units: Units
    seed: int

    def judge(self, method: str, number: int) -> dict[str, Any]:
        """Risks on the test part of a partition."""
        n_train = BENCHMARKS[self.name].n_train
        model = self._choose(method, number if n_train <= CHOOSE_EVERY_UP_TO else 0)
        train, test = partition(self.y.size, n_train, number, self.seed)
        Z = standardised(self.X, train)

        def work() -> dict[str, Any]:
            model.fit(Z[train], self.y[train])
            words = f"alpha={model.alpha:g}"
            if isinstance(model, PiecewiseMORD):
                words += f", {np.size(model.cuts) if np.ndim(model.cuts) else model.cuts} cuts"
            return {**risks(self.y[test], model.predict(Z[test])), "chosen": words}

        known_by = {"model": repr(model), "data": fingerprint(Z, self.y, train)}
        return self.units.once(f"{method}: {self.name}, partition {number}", known_by, work)

    def _choose(self, method: str, number: int) -> Any:
        """Version and strength with the smallest cross-validated risk; of equals the most regularised."""
        train, _ = partition(self.y.size, BENCHMARKS[self.name].n_train, number, self.seed)
        Z, y = standardised(self.X, train)[train], self.y[train]
        versions, risk = METHODS[method].versions, METHODS[method].risk

        def work() -> dict[str, Any]:
            losses = np.zeros((len(versions), len(ALPHAS)))
            for seen, unseen in KFold(FOLDS, shuffle=True, random_state=self.seed).split(Z):
                for v, version in enumerate(versions):
                    for a, model in enumerate(version.path(Z[seen], y[seen], ALPHAS)):
                        losses[v, a] += risks(y[unseen], model.predict(Z[unseen]))[risk] * unseen.size
            v, a = divmod(int(losses.argmin()), len(ALPHAS))
            return {"version": v, "alpha": ALPHAS[a], "risk": float(losses[v, a] / y.size)}

        known_by = {
            "models": [repr(version) for version in versions],
            "alphas": ALPHAS,
            "folds": [FOLDS, self.seed],
            "risk": risk,
            "data": fingerprint(Z, y),
        }
        choice = self.units.once(f"{method}: {self.name}, choice in partition {number}", known_by, work)
        return clone(versions[choice["version"]]).set_params(alpha=choice["alpha"])


# -- judgement ---------------------------------------------------------------------------------------------------------


def _cells(found: Found) -> list[Cell]:
    printed = cells(TABLE_3_5)
    together = []
    for (name, method), results in found.items():
        for risk in RISKS:
            theirs = printed[BENCHMARKS[name].title, risk][MODELS.index(method)]
            if theirs is not None:
                ours = tuple(result[risk] for result in results)
                together.append(Cell("3.5", BENCHMARKS[name].title, method, risk, theirs, ours))
    return together


def _of(title: str) -> Callable[[Cell], bool]:
    return lambda cell: cell.data_set == title


def _judge(found: Found, together: Sequence[Cell]) -> tuple[Conclusion, ...]:
    if not together:
        return ()
    names = list(dict.fromkeys(name for name, _ in found))
    groups: dict[str, Callable[[Cell], bool]] = {
        "all columns": lambda cell: True,
        f"without {ODD}": lambda cell: cell.method != ODD,
        **{BENCHMARKS[name].title: _of(BENCHMARKS[name].title) for name in names},
    }

    def mean(name: str, method: str) -> float:
        return float(np.mean([result["MAE"] for result in found[name, method]]))

    best_checks, bias_checks = [], []
    for name in names:
        mine = min(("PW-MORD(wb,MAE)", "PW-MORD(w,MAE)"), key=lambda method: mean(name, method))
        others = [method for method in METHODS if not method.startswith("PW-MORD")]
        best = min(others, key=lambda method: mean(name, method))
        numbers = f"{mine} {mean(name, mine):.3f}, {best} {mean(name, best):.3f}"
        best_checks.append(Check(BENCHMARKS[name].title, mean(name, mine) <= mean(name, best), numbers))
        for one, other in (("VILMA(wb,MAE)", "VILMA(w,MAE)"), ("SVOR-IMC(wθ)", "SVOR-IMC(w,MAE)")):
            spread = float(np.std([result["MAE"] for result in found[name, other]]))
            difference = mean(name, one) - mean(name, other)
            where = f"{BENCHMARKS[name].title}, {one.partition('(')[0]}"
            bias_checks.append(Check(where, abs(difference) <= spread, f"{difference:+.3f}, deviation {spread:.3f}"))
    return (
        agreement(together, groups),
        Conclusion("PW-MORD has the smallest MAE of all models", tuple(best_checks)),
        Conclusion(
            "regularising thresholds or intercepts too changes the MAE by less than its deviation", tuple(bias_checks)
        ),
    )


def _remarks(found: Found, coded: Found, together: Sequence[Cell]) -> tuple[str, ...]:
    coarse = sum(cell.may_agree and not cell.agrees for cell in together)
    exp = [
        f"{BENCHMARKS[name].title} {np.mean([r['MAE'] for r in found[name, ODD]]):.2f}"
        for name in ("abalone", "bank32nh")
        if (name, ODD) in found
    ]
    beside = {(cell.data_set, cell.method, cell.risk): cell for cell in together}
    apart = [
        f"{other.method} {other.mean:.2f} instead of {ours.mean:.2f}, printed {ours.printed.mean:.2f}"
        for other in _cells(coded)
        if (ours := beside[other.data_set, other.method, other.risk]).risk == "MAE"
    ]
    seconds = sum(result["seconds"] for results in found.values() for result in results)
    return (
        f"Printed deviations of 0.00 and 0.01 are as coarse as the differences: {coarse} of the cells that do not "
        f"agree with the numbers as printed may agree with those before rounding.",
        f"Abalone: the thesis counts 8 features, so that sex is one number, and does not say which. Here female, "
        f"infant, male are 1, 2, 3, in the order of the alphabet. With male, female, infant, as in LIBSVM's copy, the "
        f"number tells models with one direction more (MAE of {'; '.join(apart) or 'none, not run'}). The order "
        f"was chosen because it agrees better here, after both were tried; it is a guess. It does not explain all: the "
        f"training risks of Table 3.3 are within two deviations either way, but nearer with LIBSVM's order.",
        f"{ODD}: the printed column is that of SVOR-IMC in all but two sets (Abalone 1.47, Bank 1.45), while its "
        f"neighbour SVOR-EXP(wθ) is what the same surrogate gives in Table 3.4 (1.63, 1.91) and here "
        f"({', '.join(exp) or 'not run'}), whatever is regularised. The thesis' text says that the regulariser hardly "
        f"matters on these sets: the heading, or the column, is a slip.",
        "VILMA(w) has no loss in its heading; it is taken as VILMA(w,MAE), whose numbers it nearly has. Both are, and "
        "come out as, SVOR-IMC(w) (Proposition 2).",
        f"Training parts of more than {CHOOSE_EVERY_UP_TO} rows: parameters chosen in the first partition for all. "
        f"{seconds / 60:.1f} minutes of one core for the fits, those for the choice apart.",
    )


def _report(job: Job, found: Found, coded: Found, skipped: dict[str, str]) -> Report:
    together = _cells(found)
    files = job.files(NAME, "csv", "md", "txt")
    ran = tuple(dict.fromkeys(name for name, _ in found))
    report = Report(TITLE, ran, skipped, _judge(found, together), _remarks(found, coded, together), files)
    write_cells(files[0], together)
    parts = [
        *reduced(job.sequences, N_PARTITIONS, "partitions"),
        f"Table 3.5 of Antoniuk's thesis on partial annotations. Mean (standard deviation) over {job.sequences} "
        f"partitions beside the printed one. {HOW_CELLS_AGREE}",
        cells_as_markdown(together),
        "## What was chosen",
        _choices(found),
        "## Conclusions",
        report.conclusions_in_words,
        "## Where we deviate",
        *report.notes,
    ]
    write_page_and_text(job, NAME, report, parts)
    return report


def _choices(found: Found) -> str:
    """How often which parameters were used, most often first."""
    names = list(dict.fromkeys(name for name, _ in found))
    rows = []
    for method in METHODS:
        parts = []
        for name in names:
            words, counts = np.unique([result["chosen"] for result in found[name, method]], return_counts=True)
            most = int(counts.argmax())
            parts.append(f"{words[most]} ({counts[most]} of {counts.sum()})")
        rows.append([method, *parts])
    return markdown_table(["method", *(BENCHMARKS[name].title for name in names)], rows)
