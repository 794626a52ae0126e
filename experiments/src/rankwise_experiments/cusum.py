"""Tables 1 and 2 of "Cumulative Sum Ranking" (Milidiu and Rocha): nine sets, 20 partitions, 5 and 10 bins.

The model is the paper's: scaled inputs, the hidden layer of a network with 1000 units trained by least squares
(:class:`rankwise.HiddenFeatures`), averaged CuSum Rank with the loss as margin. The partitions are Chu and
Ghahramani's own, the 20 that the paper used.

The paper chooses "feature normalization method, number of epochs for convergence, regularization parameters" on one
partition and says no more. Here: standardised or scaled to [0, 1], epochs and size of the margin of CuSum Rank, by
cross-validation within the *training part of partition 1*. No test part is looked at, not even that partition's, so the
mean is over all 20. (Every partition holds the same rows: what is a training row here is a test row of others. That
cannot be otherwise in this benchmark, for the paper's choice or ours.) Peers choose their parameters by the same rule,
on standardised inputs.

Every choice and every partition is a unit of work that is kept when finished: a run that was stopped goes on where it
was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from importlib import import_module, metadata
from importlib.util import find_spec
from itertools import product
from typing import Any

import numpy as np
import sklearn
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from rankwise import CuSumRank, HiddenFeatures, __version__, datasets
from rankwise_experiments._cusum_report import PAPER, Outcome, Results, write_report
from rankwise_experiments._journal import Journal, fingerprint
from rankwise_experiments._report import Report
from rankwise_experiments._study import DataDir, Job, experiment, load_each
from rankwise_experiments._tuned import Consecutive, Method, Partition, choose, judge

N_PARTITIONS = 20


@dataclass(frozen=True)
class Settings:
    """Sizes and grids.

    Attributes
    ----------
    n_hidden, patience, max_iter : int
        The network: hidden units, epochs without improvement before it stops, most epochs. The first two are the
        paper's.
    deltas, epochs : tuples
        CuSum Rank: sizes of the margin, passes over the rows.
    alphas : tuple
        Regularisation of LogisticAT.
    Cs, gammas : tuples
        Regularisation and kernel width of SVOR.
    predictions : int
        Fewest predictions by which parameters are chosen.
    """

    n_hidden: int = 1000
    patience: int = 100
    max_iter: int = 5000
    deltas: tuple[float, ...] = (1, 10, 100, 1000)
    epochs: tuple[int, ...] = (10, 30, 100, 300, 1000)
    alphas: tuple[float, ...] = (0.01, 0.1, 1, 10, 100)
    Cs: tuple[float, ...] = (0.1, 1, 10, 100)
    gammas: tuple[float, ...] = (0.01, 0.1, 1)
    predictions: int = 300


@experiment(sequences=N_PARTITIONS, seed=0)
def run_tables(job: Job, *, settings: Settings | None = None) -> Report:
    """Tables 1 and 2: the mean absolute error of hidden features with CuSum Rank beside the paper's and two peers'.

    Sequences are partitions to judge on: the first ones, at most all 20. Writes ``cusum-tables``: results (CSV),
    tables (Markdown), conclusions (text), and the units.

    Parameters
    ----------
    job : Job
        What to run.
    settings : Settings, optional
        Sizes and grids.
    """
    settings = settings or Settings()
    sets, skipped = _load(job.data_dir)
    peers, absent = _peers(settings)
    journal = Journal(job.unit_file("cusum-tables"))
    results: Results = {}
    for bins, parts in sets.items():
        table = _Table(bins, [_ours(bins, settings), *peers], settings.predictions, journal, job)
        results[bins] = table.run(parts)
    columns = [_ours(5, settings).name, *(peer.name for peer in peers), *absent]
    return write_report(job.output, results, columns, absent, skipped, {"seed": job.seed, **asdict(settings)})


def _load(data_dir: DataDir) -> tuple[dict[int, dict[str, list[Partition]]], dict[str, str]]:
    """Partitions by number of bins and set, and why others are missing."""
    places = {f"{name}, {bins} bins": (name, bins) for bins, name in product(PAPER, datasets.CHU_NAMES)}
    loaded, skipped = load_each(places, lambda place: list(datasets.load_chu_partitions(*places[place], data_dir)))
    found: dict[int, dict[str, list[Partition]]] = {}
    for place, parts in loaded.items():
        name, bins = places[place]
        found.setdefault(bins, {})[name] = parts
    return found, skipped


# -- methods -----------------------------------------------------------------------------------------------------------


def _ours(bins: int, settings: Settings) -> Method:
    classes = list(range(1, bins + 1))  # a training part of few rows need not have them all
    hidden = HiddenFeatures(
        settings.n_hidden, n_iter_no_change=settings.patience, max_iter=settings.max_iter, classes=classes
    )
    return Method(
        "rankwise CuSum",
        fronts={
            "standardised": make_pipeline(StandardScaler(), hidden),
            "in [0, 1]": make_pipeline(MinMaxScaler(), hidden),
        },
        backs={
            f"delta={delta:g}, {n} epochs": CuSumRank(delta=delta, n_epochs=n, average=True, classes=classes)
            # The most regularised first: it wins where the cross-validation cannot tell.
            for n, delta in product(sorted(settings.epochs), sorted(settings.deltas, reverse=True))
        },
        versions={"rankwise": __version__, "scikit-learn": sklearn.__version__},
        dtype=np.float32,
        ours=True,
    )


def _peers(settings: Settings) -> tuple[list[Method], dict[str, str]]:
    """Methods of other packages, and why others are absent."""
    backs = {
        ("mord LogisticAT", "mord", "LogisticAT"): [{"alpha": alpha} for alpha in settings.alphas],
        ("skordinal SVOR", "skordinal.classifiers", "SVOR"): [
            {"C": C, "gamma": gamma} for C, gamma in product(settings.Cs, settings.gammas)
        ],
    }
    peers, absent = [], {}
    for (name, module, classifier), grid in backs.items():
        package = module.partition(".")[0]
        if find_spec(package) is None:
            absent[name] = "not installed"
            continue
        try:
            make = getattr(import_module(module), classifier)
            version = metadata.version(package)
        except Exception as error:  # whatever a package of somebody else's does when it is imported
            absent[name] = f"failed: {_reason(error)}"
        else:
            models = {
                ", ".join(f"{k}={v:g}" for k, v in parameters.items()): Consecutive(make(**parameters))
                for parameters in grid
            }
            versions = {package: version, "scikit-learn": sklearn.__version__}
            peers.append(Method(name, {"standardised": StandardScaler()}, models, versions))
    return peers, absent


# -- units -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Table:
    """The work behind one table."""

    bins: int
    methods: list[Method]
    predictions: int
    journal: Journal
    job: Job

    @property
    def n_partitions(self) -> int:
        """Partitions to judge on."""
        return min(self.job.sequences, N_PARTITIONS)

    def run(self, sets: Mapping[str, list[Partition]]) -> dict[str, dict[str, Outcome]]:
        """Outcome of every method on every set."""
        units = 1 + self.n_partitions
        total = len(sets) * len(self.methods) * units
        results: dict[str, dict[str, Outcome]] = {name: {} for name in sets}
        for place, (name, method) in enumerate(product(sets, self.methods)):
            for done, outcome in enumerate(self._steps(method, name, sets[name])):
                self.job.progress(f"{self.bins} bins", place * units + done, total)
                results[name][method.name] = outcome
        self.job.progress(f"{self.bins} bins", total, total)
        return results

    def _steps(self, method: Method, name: str, parts: list[Partition]) -> Iterator[Outcome]:
        """What is known of a method on a set after every unit."""
        yield Outcome()
        choice = self._choose(method, name, parts[0])
        tests: list[dict[str, Any]] = []
        yield Outcome.of(choice, tests)
        for number, part in enumerate(parts[: self.n_partitions] if "failed" not in choice else [], start=1):
            tests.append(self._judge(method, choice, name, number, part))
            yield Outcome.of(choice, tests)

    def _choose(self, method: Method, name: str, part: Partition) -> dict[str, Any]:
        X, y, *_ = part
        seed = self._seed(name, 0)
        unit = {**method.settings(), "data": fingerprint(X, y), "predictions": self.predictions, "seed": seed}
        return self._once(
            unit,
            f"{method.name}: {name}, {self.bins} bins, choice of parameters",
            lambda: choose(method, X, y, predictions=self.predictions, seed=seed),
            method.ours,
        )

    def _judge(
        self, method: Method, choice: Mapping[str, Any], name: str, number: int, part: Partition
    ) -> dict[str, Any]:
        front, back = choice["front"], choice["back"]
        chosen = replace(method, fronts={front: method.fronts[front]}, backs={back: method.backs[back]})
        seed = self._seed(name, number)
        return self._once(
            {**chosen.settings(), "data": fingerprint(*part), "seed": seed},
            f"{method.name}: {name}, {self.bins} bins, partition {number}",
            lambda: judge(chosen, front, back, part, seed=seed),
            method.ours,
        )

    def _once(
        self, unit: Mapping[str, Any], what: str, work: Callable[[], dict[str, Any]], ours: bool
    ) -> dict[str, Any]:
        """Result of a unit of work: from the journal, or else done now."""
        result = self.journal.get(unit)
        if result is None:
            try:
                result = work()
            except Exception as error:
                if ours:
                    raise
                result = {"failed": _reason(error)}
            self.journal.put(unit, result, what=what)
        return result

    def _seed(self, name: str, number: int) -> int:
        place = self.bins, datasets.CHU_NAMES.index(name), number
        return int(np.random.SeedSequence(self.job.seed, spawn_key=place).generate_state(1)[0])


def _reason(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())
