"""How near to the best tuned model a search comes: AutoOrdinal and the command's default on real sets.

A numeric target is cut into five equally frequent grades. Rows are split into a training and a test part; training
labels are exact, for the most part intervals, or partly intervals and partly missing, and test labels are exact. Single
models are tuned on the training part by ``GridSearchCV`` with interval-aware folds and scorer. Nothing is chosen on the
test part: *the best single model* alone is the one that turns out best there, in hindsight, which no search can know.

On the same rows, and on more splits because they are quick, single fits decide two defaults: which estimator serves
those who name none, and whether ``alpha="auto"`` is as good as cross-validation.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.kernel_approximation import Nystroem
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import SplineTransformer, StandardScaler

from rankwise import SVOR, AutoOrdinal, BoostedThresholds, CumulativeLink, TableModel, datasets
from rankwise.annotation import partial_labels
from rankwise.evaluation import IntervalScorer, StratifiedIntervalKFold
from rankwise.labels import encode
from rankwise.metrics import mean_absolute_error
from rankwise_experiments._journal import Units, fingerprint
from rankwise_experiments._report import Check, Conclusion, Report, markdown_table, write_table, write_text
from rankwise_experiments._study import Job, experiment, load_each

NAME = "choosing"
TITLE = "How near to the best tuned model a search comes"
SETS = (
    "machine_cpu", "triazines", "wisconsin", "autompg", "boston", "stock", "ESL", "ERA", "eucalyptus", "car",
    "winequality_red", "winequality_white", "abalone", "bank32nh", "cpu_act", "california",
)  # fmt: skip
N_GRADES = 5
MOST_TRAINING, MOST_TEST = 2_000, 3_000  # rows
ALPHAS = np.logspace(1, -4, 6).tolist()
FOLDS = 3
FEWEST_SPLITS = 3  # of single fits
NOISE = 0.01  # relative difference of mean errors that counts as none

Floats = NDArray[np.float64]


def _intervals(share: float, missing: float) -> Callable[[NDArray[Any], int], Any]:
    def make(y: NDArray[Any], seed: int) -> Any:
        table = partial_labels(y, share, kind=2, random_state=seed).astype(float)
        table[np.random.RandomState(seed + 1).random_sample(len(y)) < missing] = np.nan
        return table

    return make


CONDITIONS: dict[str, Callable[[NDArray[Any], int], Any]] = {
    "exact": lambda y, seed: y,
    "90 % intervals": _intervals(0.9, 0.0),
    "50 % intervals, 20 % missing": _intervals(0.5, 0.2),
}


def _single_models(width: int, seed: int) -> dict[str, tuple[Any, dict[str, Any]]]:
    """Models and what to tune of each."""
    alpha = {"svor__alpha": ALPHAS}
    models: dict[str, tuple[Any, dict[str, Any]]] = {
        "SVOR": (make_pipeline(StandardScaler(), SVOR()), alpha),
        "CumulativeLink": (
            make_pipeline(StandardScaler(), CumulativeLink(tol=1e-4)), {"cumulativelink__alpha": ALPHAS}
        ),
        "splines, SVOR": (
            make_pipeline(SplineTransformer(knots="quantile", extrapolation="linear"), StandardScaler(), SVOR()), alpha
        ),
        "kernel, SVOR": (
            make_pipeline(StandardScaler(), Nystroem(n_components=150, random_state=seed), SVOR()),
            {"svor__alpha": ALPHAS[1:], "nystroem__gamma": [0.1 / width, 0.3 / width, 1.0 / width]},
        ),
    }  # fmt: skip
    models["BoostedThresholds"] = (BoostedThresholds(random_state=seed, n_jobs=1, verbose=False), TREES)
    return models


TREES: dict[str, Any] = {}  # how many trees, and how large, they find by folds and rules of their own

LINEAR = {"SVOR": SVOR(), "CumulativeLink": CumulativeLink(tol=1e-4)}
GIVEN, AUTO, TABLE = "{}, default alpha", "{}, alpha=auto", "TableModel({})"


def _single_fits() -> dict[str, Any]:
    """Models that are fitted once: strengths as they are given, chosen by themselves, and in a model of tables."""
    found: dict[str, Any] = {}
    for name, estimator in LINEAR.items():
        chosen = clone(estimator).set_params(alpha="auto")
        found[GIVEN.format(name)] = make_pipeline(StandardScaler(), estimator)
        found[AUTO.format(name)] = make_pipeline(StandardScaler(), chosen)
        found[TABLE.format(name)] = TableModel(chosen)
    return found


@experiment(sequences=1, rounds=MOST_TRAINING, seed=0)
def run(job: Job) -> Report:
    """Mean absolute errors of single tuned models, of the command's default and of AutoOrdinal.

    Sequences are splits; rounds are the training rows at most. Writes ``choosing``: errors (CSV), page
    (Markdown), and the units.
    """
    found, skipped = load_each(SETS, lambda name: datasets.load(name, job.data_dir))
    units = Units(job.unit_file(NAME))
    rows: list[_Row] = []
    for name, data in found.items():
        X, y = _ready(data)
        for number, condition in enumerate(CONDITIONS):
            job.progress(name, number, len(CONDITIONS))
            for split in range(max(job.sequences, FEWEST_SPLITS)):
                rows.append(_judge(name, X, y, condition, split, job, units))
        job.progress(name, len(CONDITIONS), len(CONDITIONS))
    return _report(job, rows, skipped)


@dataclass(frozen=True)
class _Row:
    """Errors on the test part, by method; splits beyond those of the job have single fits alone."""

    data_set: str
    condition: str
    split: int
    n_training: int
    errors: dict[str, float]
    singles: tuple[str, ...]
    chosen: str
    seconds: dict[str, float]

    @property
    def best(self) -> str:
        return min(self.singles, key=self.errors.__getitem__)

    def above(self, method: str) -> float:
        """Relative excess over the best single model."""
        return self.errors[method] / max(self.errors[self.best], 1e-12) - 1.0


def _ready(data: Any) -> tuple[Floats, NDArray[Any]]:
    X = np.asarray(data.X, dtype=np.float64)
    X = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    classes, codes = np.unique(data.y, return_inverse=True)
    if data.y.dtype.kind == "f" or classes.size > 12:
        cuts = np.unique(np.quantile(np.asarray(data.y, dtype=np.float64), np.arange(1, N_GRADES) / N_GRADES))
        return X, np.searchsorted(cuts, data.y, side="left") + 1
    order = getattr(data, "classes", None)
    if data.y.dtype.kind in "OU" and order is not None:
        codes = np.array([list(order).index(value) for value in data.y])
    return X, codes + 1


def _judge(name: str, X: Floats, y: NDArray[Any], condition: str, split: int, job: Job, units: Units) -> _Row:
    seed = job.seed + split
    order = np.random.RandomState(seed).permutation(len(y))
    n_training = min(int(job.rounds or MOST_TRAINING), int(0.7 * len(y)))
    train, test = order[:n_training], order[n_training:][:MOST_TEST]
    classes = list(range(1, int(y.max()) + 1))
    labels = encode(CONDITIONS[condition](y[train], seed), classes)
    Z, T = X[train], X[test]

    def error(model: Any) -> float:
        return float(mean_absolute_error(y[test], model.predict(T), classes=classes))

    errors: dict[str, float] = {}
    seconds: dict[str, float] = {}
    known_by = {"data": fingerprint(Z, labels.lower, labels.upper), "split": split, "seed": job.seed}
    chosen = ""

    def fitted(method: str, model: Any, work: Callable[[], dict[str, Any]], **more: Any) -> dict[str, Any]:
        unit = units.once(f"{method}: {name}, {condition}", {**known_by, "model": repr(model), **more}, work)
        errors[method], seconds[method] = unit["mae"], unit["seconds"]
        return unit

    def alone(model: Any) -> dict[str, Any]:
        return {"mae": error(_quietly(model, Z, labels))}

    for method, model in _single_fits().items():
        fitted(method, model, partial(alone, model))
    if split >= job.sequences:
        return _Row(name, condition, split, n_training, errors, (), chosen, seconds)
    singles = _single_models(X.shape[1], seed)
    folds = StratifiedIntervalKFold(FOLDS, shuffle=True, random_state=seed)
    for method, (model, grid) in singles.items():
        search = GridSearchCV(model, grid, cv=folds, scoring=IntervalScorer()) if grid else model
        fitted(method, model, partial(alone, search), grid=repr(grid))
    for method, search in _searches(seed).items():

        def searched(search: Any = search) -> dict[str, Any]:
            found = search.fit(Z, labels)
            return {"mae": error(found), "chosen": found.best_name_}

        chosen = fitted(method, search, searched)["chosen"]
    return _Row(name, condition, split, n_training, errors, tuple(singles), chosen, seconds)


def _quietly(model: Any, X: Floats, labels: Any) -> Any:
    """The model fitted, whatever solvers say about strengths at which they stop early."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return clone(model).fit(X, labels)


def _searches(seed: int) -> dict[str, Any]:
    """The command's default, and a search without a clock, so that it can be repeated: its time is reported."""
    return {
        "rankwise fit": AutoOrdinal(estimators="quick", n_fits=10_000, cv=3, most_rows=5_000, random_state=seed),
        "AutoOrdinal": AutoOrdinal(n_fits=10_000, random_state=seed),
    }


GOALS = {"AutoOrdinal": 0.02, "rankwise fit": 0.05}


def _report(job: Job, every: list[_Row], skipped: dict[str, str]) -> Report:
    rows = [row for row in every if row.singles]
    names = list(dict.fromkeys(row.data_set for row in rows))
    singles = list(rows[0].singles)
    checks: list[Check] = []
    strict: list[Check] = []
    for method, goal in GOALS.items():
        by_set: list[float] = []
        by_line: list[float] = []
        for name in names:
            mine = [row for row in rows if row.data_set == name]
            best = min(sum(row.errors[single] for row in mine) for single in singles)
            by_set.append(sum(row.errors[method] for row in mine) / max(best, 1e-12) - 1.0)
            by_line.append(float(np.mean([row.above(method) for row in mine])))
        for found, judged in ((checks, by_set), (strict, by_line)):
            median = float(np.median(judged))
            found.append(Check(method, median <= goal, f"median set {median:+.1%}, goal at most {goal:+.0%}"))
    conclusions = (
        Conclusion("a search is level with the best single tuned model of each set, on the median set", tuple(checks)),
        Conclusion("and with the best one of each line, in hindsight another for every kind of labels", tuple(strict)),
        _decided(
            "where nobody names an estimator, CumulativeLink is as good as SVOR", every,
            {"TableModel": (TABLE.format("CumulativeLink"), TABLE.format("SVOR"))},
        ),
        _decided(
            'alpha="auto" is as good as cross-validation over a grid', rows,
            {name: (AUTO.format(name), name) for name in LINEAR},
        ),
    )  # fmt: skip
    files = job.files(NAME, "csv", "md")
    methods = [*singles, *GOALS]
    write_table(
        files[0], ["data_set", "condition", "split", "training_rows", *methods, "chosen"],
        [[r.data_set, r.condition, r.split, r.n_training, *(r.errors[m] for m in methods), r.chosen] for r in rows],
    )  # fmt: skip
    tables = []
    for condition in CONDITIONS:
        lines = []
        for name in names:
            mine = [row for row in rows if row.data_set == name and row.condition == condition]
            means = [float(np.mean([row.errors[method] for row in mine])) for method in methods]
            least = min(means)
            cells = [f"**{value:.3f}**" if value == least else f"{value:.3f}" for value in means]
            lines.append([name, str(mine[0].n_training), *cells, mine[0].chosen])
        tables += [f"### {condition}", markdown_table(["set", "rows", *methods, "AutoOrdinal chose"], lines)]
    report = Report(TITLE, tuple(names), skipped, conclusions, (), files)
    taken = {m: sum(row.seconds[m] for row in rows) / len(rows) for m in methods}
    parts = [
        f"# {TITLE}",
        f"`{job.command(NAME)}`",
        f"Mean absolute error in ranks on test rows with exact labels, {len(names)} sets, {len(CONDITIONS)} conditions "
        f"of the training labels, {job.sequences} split(s) each; at most {job.rounds:,} training rows. Single models "
        f"are tuned by GridSearchCV in {FOLDS} interval-aware folds. *rankwise fit* is what the command does without "
        f"--estimator. *AutoOrdinal* tries all its candidates, which takes less than a minute of one core a set. The "
        f"best in a line is bold.",
        report.conclusions_in_words,
        "Processor's seconds a set: " + ", ".join(f"{m} {s:.1f}" for m, s in taken.items()) + ".",
        *tables,
        "### Single fits",
        f"Mean over the conditions, {len({row.split for row in every})} splits each; columns scaled, or a TableModel "
        f"with bent columns.",
        _mean_table(every, names, list(_single_fits())),
        *report.skipped_in_words,
    ]
    write_text(files[1], "\n\n".join(parts) + "\n")
    return report


def _ratios(rows: list[_Row], method: str, other: str) -> Floats:
    """Mean error of a method in units of another's, for every set and condition."""
    cells = dict.fromkeys((row.data_set, row.condition) for row in rows)
    sums = [[sum(r.errors[m] for r in rows if (r.data_set, r.condition) == c) for m in (method, other)] for c in cells]
    return np.array([mine / max(theirs, 1e-12) for mine, theirs in sums])


def _decided(claim: str, rows: list[_Row], pairs: dict[str, tuple[str, str]]) -> Conclusion:
    """Whether each first method is as good as the second by the mean and the median of their ratios."""
    checks = []
    for name, (method, other) in pairs.items():
        ratios = _ratios(rows, method, other)
        mean, median = float(np.exp(np.log(np.maximum(ratios, 1e-12)).mean())) - 1.0, float(np.median(ratios)) - 1.0
        words = f"geometric mean {mean:+.1%}, median {median:+.1%}, at most as large in {(ratios <= 1).mean():.0%}"
        checks.append(Check(name, max(mean, median) <= NOISE, f"{words} of {ratios.size} cells"))
    return Conclusion(claim, tuple(checks))


def _mean_table(rows: list[_Row], names: list[str], methods: list[str]) -> str:
    means = [[float(np.mean([r.errors[m] for r in rows if r.data_set == name])) for m in methods] for name in names]
    lines = [[name, *(f"{value:.3f}" for value in each)] for name, each in zip(names, means, strict=True)]
    return markdown_table(["set", *methods], [*lines, ["mean", *(f"{v:.3f}" for v in np.mean(means, axis=0))]])
