"""Tests and intervals on simulated data: how often tests reject what holds, and intervals cover what is true.

Every data set has 800 rows, four classes and a cumulative link that holds: a number with weight 1, a number without
effect, a category whose three levels differ, and a category of three levels without effect. The tests about what has no
effect should reject in 5 % of the data sets, and intervals at 95 % should cover the true weights, thresholds and
marginal effects in 95 %. From 500 data sets a share of 3 to 7 %, or 93 to 97 %, is in order. ``all`` are all settings
together.

- **Matrix**: ``CumulativeLink(alpha=0)`` on indicators made by hand. **Table**: ``TableModel`` with a ``TableEncoder``,
  which leaves out reference levels.
- **Intervals**: a third of the labels is exact, a third is one of the groups 1-2 and 3-4, and a third says only on
  which side of a random class the true one is.
- **Weights** are counts: numbers have three values, and equal rows are one row with a weight.
- **Penalty**: the default, ``alpha=0.001``, which is small at this number of rows. **All levels**: likewise, with an
  encoder that keeps all indicators, for the test of parallel lines.
- **Splines**: numbers as splines, tested as whole columns.

The power is the share of rejections where the tested effect exists: a weight of 0.25, levels that differ by 0.4, or
weights of 0.6, 1 and 1.4 at the three thresholds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats
from scipy.special import expit, ndtr

from rankwise import CumulativeLink, TableEncoder, TableModel
from rankwise.evaluation import format_table
from rankwise.explanations import marginal_effects, parallel_lines
from rankwise_experiments._journal import Units
from rankwise_experiments._report import Check, Report, judged, write_table, write_text
from rankwise_experiments._study import Job, experiment

Floats = NDArray[np.float64]

NAME = "inference"
TITLE = "Tests and intervals: rejections of what holds, coverage of what is true"
N_ROWS = 800
BLOCK = 50  # data sets that are kept together when they are finished
CUTS = np.array([-1.0, 0.3, 1.5])
LEVELS = {"region": ("north", "south", "west"), "group": ("a", "b", "c")}
SHARES = (0.5, 0.3, 0.2)
LEVEL = 0.05
REJECTS, COVERS = (0.03, 0.07), (0.93, 0.97)
POWER = 0.5


@dataclass(frozen=True)
class Truth:
    """Weights of the cumulative link: of the two numbers, of the levels but the first; slopes by threshold."""

    noise: float = 0.0
    group: tuple[float, float] = (0.0, 0.0)
    slopes: tuple[float, float, float] = (1.0, 1.0, 1.0)
    region: tuple[float, float] = (0.5, -0.5)

    @property
    def weights(self) -> Floats:
        """Weights of the columns of :func:`design`, at the middle threshold."""
        return np.array([self.slopes[1], self.noise, *self.region, *self.group])


NULL = Truth()
ALTERNATIVES = {
    "number": replace(NULL, noise=0.25),
    "category": replace(NULL, group=(0.4, -0.4)),
    "parallel lines": replace(NULL, slopes=(0.6, 1.0, 1.4)),
}


@dataclass(frozen=True)
class Setting:
    """How the data are given, and to which model."""

    table: bool = False
    intervals: bool = False
    counts: bool = False
    link: str = "logit"
    alpha: float = 0.0
    numbers: str = "linear"
    drop_first: bool | str = "auto"


SETTINGS: Mapping[str, Setting] = {
    "matrix": Setting(),
    "matrix, intervals": Setting(intervals=True),
    "matrix, weights": Setting(counts=True),
    "matrix, probit": Setting(link="probit"),
    "matrix, penalty": Setting(alpha=1e-3),
    "table": Setting(table=True),
    "table, intervals": Setting(table=True, intervals=True),
    "table, weights": Setting(table=True, counts=True),
    "table, intervals and weights": Setting(table=True, intervals=True, counts=True),
    "table, splines": Setting(table=True, numbers="spline"),
    "table, all levels": Setting(table=True, alpha=1e-3, drop_first=False),
}


class Hits(dict[str, list[int]]):
    """In how many data sets something happened, and of how many, by what it was."""

    def add(self, found: Mapping[str, Any]) -> None:
        """Add one data set, or the counts of several."""
        for name, hit in found.items():
            hits, n = hit if isinstance(hit, list) else (int(hit), 1)
            self[name] = [hits + self.get(name, [0, 0])[0], n + self.get(name, [0, 0])[1]]

    def share(self, name: str) -> float:
        """Share of the data sets."""
        hits, n = self[name]
        return hits / n


@dataclass(frozen=True)
class Data:
    """Rows, labels [lower, upper] from 1, and counts; None without."""

    frame: pd.DataFrame
    labels: NDArray[np.int64]
    weight: Floats | None


@experiment(sequences=500, seed=0)
def run(job: Job) -> Report:
    """Simulate as many data sets as there are sequences, for every setting, without effects and with them.

    Writes ``inference``: a table (CSV) and a page (Markdown).
    """
    units = Units(job.unit_file(NAME))
    kinds = ("rejections", "coverage", "power")
    every = {kind: {name: Hits() for name in SETTINGS} for kind in kinds}
    for place, (name, setting) in enumerate(SETTINGS.items()):
        for first in range(0, job.sequences, BLOCK):
            sequences = range(first, min(first + BLOCK, job.sequences))
            known_by = {"setting": asdict(setting), "seed": [job.seed, place], "sequences": [first, sequences.stop]}
            found = units.once(name, known_by, partial(_counts, setting, [job.seed, place], sequences))
            for kind in kinds:
                every[kind][name].add(found[kind])
            job.progress(name, sequences.stop, job.sequences)
    rejections, coverage, power = (every[kind] for kind in kinds)
    conclusions = judged(
        [
            ("tests reject what holds in 3 to 7 % of the data sets", _within(rejections, REJECTS)),
            ("intervals at 95 % cover what is true in 93 to 97 % of the data sets", _within(coverage, COVERS)),
            ("tests find these effects in more than half of the data sets", _within(power, (POWER, 1.0))),
        ]
    )
    csv_file, page = job.files(NAME, "csv", "md")
    report = Report(TITLE, tuple(SETTINGS), {}, conclusions, (), (csv_file, page))
    rows = [
        (kind, setting, what, hits.share(what), hits[what][1])
        for kind, by_setting in every.items()
        for setting, hits in by_setting.items()
        for what in hits
    ]
    write_table(csv_file, ("kind", "setting", "about", "share", "data_sets"), rows)
    write_text(page, _page(job, report, every))
    return report


def _counts(setting: Setting, seed: list[int], sequences: range) -> dict[str, Any]:
    """Counts of some data sets."""
    rejections, coverage, power = Hits(), Hits(), Hits()
    for sequence in sequences:
        rng = np.random.default_rng([*seed, sequence])
        p, covered = judge(setting, simulate(setting, NULL, rng), NULL)
        rejections.add({test: value < LEVEL for test, value in p.items()})
        coverage.add(covered)
        if sequence % 10 == 0:  # power needs no such accuracy
            for about, truth in ALTERNATIVES.items():
                p, _ = judge(setting, simulate(setting, truth, rng), truth)
                power.add({test: value < LEVEL for test, value in p.items() if is_about(test, about)})
    return {"rejections": rejections, "coverage": coverage, "power": power}


def is_about(test: str, about: str) -> bool:
    """Whether a test is about one of the alternatives."""
    return test == about or test.endswith(f", {about}")


def _within(found: Mapping[str, Hits], bounds: tuple[float, float]) -> list[Check]:
    return [
        Check(f"{setting}: {what}", bounds[0] <= hits.share(what) <= bounds[1], f"{100 * hits.share(what):.1f} %")
        for setting, hits in found.items()
        for what in hits
    ]


def _page(job: Job, report: Report, every: Mapping[str, Mapping[str, Hits]]) -> str:
    parts = [f"# {TITLE}", f"Made by `{job.command(NAME, 'sequences', 'seed')}`.", _about()]
    for title, kind in (
        ("Share of data sets in which a test rejects what holds, in per cent", "rejections"),
        ("Share in which an interval at 95 % covers what is true, in per cent", "coverage"),
        ("Power, in per cent", "power"),
    ):
        parts.append(f"{title}:\n\n```\n{format_table(_rows(every[kind]))}\n```")
    checks = [check for one in report.conclusions[:2] for check in one.checks]
    outside = [check for check in checks if not check.holds]
    low, high = np.ceil(REJECTS[0] * job.sequences) - 1, np.floor(REJECTS[1] * job.sequences)
    chance = stats.binom.cdf(low, job.sequences, LEVEL) + stats.binom.sf(high, job.sequences, LEVEL)
    error = 100 * np.sqrt(LEVEL * (1 - LEVEL) / job.sequences)
    parts.append(
        f"A share of 5 % of {job.sequences} data sets has a standard error of {error:.1f} %. Of {len(checks)} exact "
        f"tests and intervals about {chance * len(checks):.0f} would have a share outside of 3 to 7 %, or 93 to 97 %, "
        f"by chance. Here {len(outside)} have one{':' if outside else '.'}"
    )
    parts += ["\n".join(f"- {check.where}: {check.numbers}" for check in outside)] * bool(outside)
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _rows(found: Mapping[str, Hits]) -> list[dict[str, str]]:
    """A row for each test or interval, a column for each setting, and one for all of them together."""
    together = Hits()
    for hits in found.values():
        together.add(hits)
    columns = {name: hits for name, hits in found.items() if hits} | {"all": together}
    return [
        {"": what} | {name: f"{100 * hits.share(what):.1f}" if what in hits else "" for name, hits in columns.items()}
        for what in together
    ]


def _about() -> str:
    return "\n\n".join((__doc__ or "").replace("``", "`").split("\n\n")[1:])


# -- data --------------------------------------------------------------------------------------------------------------


def simulate(setting: Setting, truth: Truth, rng: np.random.Generator, n: int = N_ROWS) -> Data:
    """One data set."""
    numbers = rng.integers(-1, 2, (n, 2)) * 1.2 if setting.counts else rng.normal(size=(n, 2))
    frame = pd.DataFrame({"size": numbers[:, 0], "noise": numbers[:, 1]})
    for name, levels in LEVELS.items():
        frame[name] = rng.choice(levels, n, p=SHARES)
    X = design(frame)
    other = X[:, 1:] @ truth.weights[1:]
    scores = X[:, :1] * np.array(truth.slopes) + other[:, None]
    above = np.minimum.accumulate(_distribution(setting.link, scores - CUTS), axis=1)
    y = (rng.random((n, 1)) < above).sum(axis=1) + 1
    labels = np.column_stack([y, y])
    if setting.intervals:
        kind, cut = rng.integers(3, size=n), rng.integers(1, 4, n)
        first = 2 * ((y - 1) // 2) + 1
        labels[kind == 1] = np.column_stack([first, first + 1])[kind == 1]
        sides = np.where((y <= cut)[:, None], np.column_stack([np.ones(n), cut]), np.column_stack([cut + 1, 4 + 0 * y]))
        labels[kind == 2] = sides[kind == 2]
    if not setting.counts:
        return Data(frame, labels, None)
    ends = pd.DataFrame(labels, columns=["lower", "upper"])
    cells = pd.concat([frame, ends], axis=1).value_counts(sort=False).reset_index()
    frame = cells[list(frame.columns)]
    # Encoders take the most frequent level for reference, the truth the first one: among cells another may lead.
    if any(frame[name].value_counts().idxmax() != levels[0] for name, levels in LEVELS.items()):
        return simulate(setting, truth, rng, n)
    return Data(frame, cells[["lower", "upper"]].to_numpy(), cells["count"].to_numpy(float))


def design(frame: pd.DataFrame) -> Floats:
    """Numbers, and indicators of all levels but the first."""
    columns = [frame["size"], frame["noise"]]
    columns += [frame[name] == level for name, levels in LEVELS.items() for level in levels[1:]]
    return np.column_stack([np.asarray(column, dtype=np.float64) for column in columns])


def _distribution(link: str, z: Floats) -> Floats:
    return np.asarray(expit(z) if link == "logit" else ndtr(z))


# -- what the library says, against the truth --------------------------------------------------------------------------


def judge(setting: Setting, data: Data, truth: Truth) -> tuple[dict[str, float], dict[str, bool]]:
    """Values p of the tests of one data set, and whether the intervals cover the truth."""
    link = CumulativeLink(setting.link, alpha=setting.alpha, classes=[1, 2, 3, 4])
    return (_of_table if setting.table else _of_matrix)(setting, link, data, truth)


def _of_matrix(setting: Setting, link: CumulativeLink, data: Data, truth: Truth) -> tuple[Any, Any]:
    X = design(data.frame)
    rows = X, data.labels, data.weight
    model = link.fit(*rows)
    found, effects = model.inference(*rows), marginal_effects(model, *rows)
    p = {"Wald, number": found.loc["x1", "p"], "marginal effect, number": effects.loc[("x1", 1), "p"]}
    if setting.alpha == 0.0:
        for name, columns in (("number", [1]), ("category", [4, 5])):
            p[f"likelihood ratio, {name}"] = model.likelihood_ratio_test(X, data.labels, columns, data.weight).p
    if setting.link == "logit":
        p |= _lines(model, *rows, feature="x1")
    slopes = _slopes(setting.link, X, data.weight, truth)
    covered = {
        "weight of a number": _covers(found.loc["x0"], truth.weights[0]),
        "weight of a level": _covers(found.loc["x2"], truth.weights[2]),
        "threshold": _covers(found.loc["1|2"], CUTS[0]),
        "marginal effect of a number": _covers(effects.loc[("x0", 1)], slopes[0] * truth.weights[0]),
        "marginal effect of an indicator": _covers(effects.loc[("x2", 3)], slopes[2] * truth.weights[2]),
    }
    return p, covered


def _of_table(setting: Setting, link: CumulativeLink, data: Data, truth: Truth) -> tuple[Any, Any]:
    encoder = TableEncoder(numbers=setting.numbers, scaling="none", drop_first=setting.drop_first)
    rows = data.frame, data.labels, data.weight
    model = TableModel(link, encoder).fit(*rows)
    feature = "noise" if setting.numbers == "linear" else ""
    p = _lines(model, *rows, feature=feature)
    if setting.alpha > 0.0:
        return p, {}
    found, effects = model.inference(*rows), model.marginal_effects(*rows)
    p["marginal effect, number"] = effects.loc[("noise", 1), "p"]
    p["marginal effect, category"] = effects.loc[("group=b", 1), "p"]
    for name, column in (("number", "noise"), ("category", "group")):
        of_column = found["column"] == column
        p[f"Wald, {name}"] = found.loc[of_column, "p_column"].iloc[0]
        p[f"likelihood ratio, {name}"] = model.likelihood_ratio_test(*rows[:2], column, data.weight).p
    X = design(data.frame)
    slopes = _slopes(setting.link, X, data.weight, truth)
    south = _probability_of_three(setting.link, X, data.weight, truth)
    covered = {
        "weight of a level": _covers(found.loc["region=south"], truth.region[0]),
        "marginal effect of a number": _covers(effects.loc[("size", 1)], slopes[0] * truth.weights[0]),
        "marginal effect of a level": _covers(effects.loc[("region=south", 3)], south),
    }
    if setting.numbers == "linear":
        covered["weight of a number"] = _covers(found.loc["size"], truth.weights[0])
        covered["threshold"] = _covers(found.loc["1|2"], CUTS[0])
    return p, covered


def _lines(model: Any, X: Any, labels: Any, weight: Any, *, feature: str) -> dict[str, float]:
    lines = parallel_lines(model, X, labels, weight)
    found = {"parallel lines": lines.p_all}
    if feature:
        found["parallel lines, one feature"] = float(lines.p[lines.columns.index(feature)])
    return found


def _covers(row: Any, value: float) -> bool:
    return bool(row["lower"] <= value <= row["upper"])


def _mean(values: Floats, weight: Floats | None) -> Floats:
    return np.asarray(np.average(values, axis=0, weights=weight))


def _slopes(link: str, X: Floats, weight: Floats | None, truth: Truth) -> Floats:
    """Mean change of the probability of each class for one unit of the score, by class 0, 1, 2, 3."""
    z = CUTS - (X @ truth.weights)[:, None]
    density = expit(z) * expit(-z) if link == "logit" else np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi)
    return np.asarray(-np.diff(_mean(density, weight), prepend=0.0, append=0.0))


def _probability_of_three(link: str, X: Floats, weight: Floats | None, truth: Truth) -> float:
    """Mean difference of P(y = 3) between south and north."""
    sides = []
    for south in (1.0, 0.0):
        moved = X.copy()
        moved[:, 2:4] = south, 0.0
        below = _distribution(link, CUTS - (moved @ truth.weights)[:, None])
        sides.append(float(_mean(below[:, 2] - below[:, 1], weight)))
    return sides[0] - sides[1]
