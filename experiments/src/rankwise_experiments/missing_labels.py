"""Multi-label sets with entries missing: learn from what is annotated, or from what is left after a makeshift.

Emotions, yeast, scene and enron (Mulan). A third of the rows is kept complete for testing; of the others' entries, 0 to
90 percent go missing, each with the same probability (property A). Three ways to learn, with the same learner
(:class:`rankwise.MissingLabelClassifier`, its default parameters):

- **annotated entries**: the additive surrogate of the partial loss, on every entry that is there;
- **complete rows**: rows with a missing entry are dropped;
- **missing is negative**: a missing entry counts as "label does not apply".

A label that is left without any entry is predicted not to apply. The first two coincide where nothing is missing, and
so does the third. Features are scaled to mean 0 and deviation 1, but for the words of enron. The thesis names this
setting (Yu et al., 2014, is its binary additive surrogate) without an experiment on it: the numbers are ours alone.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rankwise import MissingLabelClassifier, datasets
from rankwise.evaluation import format_table
from rankwise_experiments._private import INK, OKABE_ITO, QUIET, SMALL, load_matplotlib, quiet_frame
from rankwise_experiments._report import (
    Check,
    Conclusion,
    ProgressCallback,
    Report,
    no_progress,
    paired,
    write_figure,
    write_table,
    write_text,
)
from rankwise_experiments._study import Job, experiment, load_each

Floats = NDArray[np.float64]

NAME = "missing-labels"
TITLE = "Multi-label learning with missing entries: what is annotated, against dropping rows and against guessing"
SHARES = (0.0, 0.25, 0.5, 0.75, 0.9)
ANNOTATED, COMPLETE, NEGATIVE = "annotated entries", "complete rows", "missing is negative"


def _complete_rows(Y: Floats) -> Floats:
    return np.where(np.isnan(Y).any(axis=1, keepdims=True), np.nan, Y)


#: What each way to learn makes of a table with missing entries.
METHODS: Mapping[str, Callable[[Floats], Floats]] = {
    ANNOTATED: lambda Y: Y,
    COMPLETE: _complete_rows,
    NEGATIVE: np.nan_to_num,
}


@dataclass(frozen=True, eq=False)
class Outcome:
    """Hamming loss and micro-averaged F1 on complete test rows, shape (splits, methods, shares) each."""

    loss: Floats
    f1: Floats

    def difference(self, method: str, share: int) -> tuple[float, float]:
        """Mean of how much more a method loses than annotated entries do, and its standard error."""
        rows = list(METHODS)
        gap = self.loss[:, rows.index(method), share] - self.loss[:, rows.index(ANNOTATED), share]
        return paired(gap)


@experiment(sequences=5, rounds=None, seed=0, least={"rounds": 30})
def run(job: Job) -> Report:
    """Learn in three ways from tables of which 0, 25, 50, 75 and 90 percent are missing.

    Sequences are random splits of each set, rounds the rows of it that are used. Writes ``missing-labels``: a table
    (CSV), a figure and the conclusions (text).
    """
    load_matplotlib()  # what cannot be drawn shall be known before the work, not after
    sets, skipped = load_each(datasets.MULTILABEL_NAMES, lambda name: datasets.load_multilabel(name, job.data_dir))
    outcomes: dict[str, Outcome] = {}
    files: list[Path] = []
    for name, data in sets.items():
        seed = job.seed, datasets.MULTILABEL_NAMES.index(name)
        outcomes[name] = measure(data, job.sequences, job.rounds, seed, job.progress)
        files = [_write_csv(job.output, outcomes)]  # after every set: what is finished is kept
    if outcomes:
        files += [write_figure(job.output / f"{NAME}.png", _draw(outcomes)), job.output / f"{NAME}.txt"]
    report = Report(TITLE, tuple(outcomes), skipped, _judge(outcomes), _notes(outcomes), tuple(files))
    if outcomes:
        write_text(job.output / f"{NAME}.txt", f"{report}\n")
    return report


def measure(
    data: datasets.MultilabelDataset,
    splits: int,
    rows: int | None = None,
    seed: tuple[int, int] = (0, 0),
    progress: ProgressCallback = no_progress,
) -> Outcome:
    """Learn in every way from every share, on the same splits and the same missing entries.

    Parameters
    ----------
    data : MultilabelDataset
        The set.
    splits : int
        How many random splits.
    rows : int, optional
        Rows that are used; all by default.
    seed : two ints
        Seed, and the number of the set. What is missing at one share is also missing at every larger one.
    progress : callable, optional
        Told the set's name, the splits done and all splits.
    """
    loss, f1 = (np.empty((splits, len(METHODS), len(SHARES))) for _ in range(2))
    progress(data.name, 0, splits)
    for i in range(splits):
        generator = np.random.default_rng(np.random.SeedSequence(seed[0], spawn_key=(seed[1], i)))
        order = generator.permutation(len(data.Y))[:rows]
        train, test = np.split(order, [2 * len(order) // 3])
        X_train, X_test = _features(data.X[train], data.X[test])
        chance = generator.random((train.size, data.Y.shape[1]))
        for k, share in enumerate(SHARES):
            Y = np.where(chance < share, np.nan, data.Y[train])
            for j, makeshift in enumerate(METHODS.values()):
                predicted = _learn(X_train, makeshift(Y), X_test, seed[0])
                loss[i, j, k], f1[i, j, k] = _quality(data.Y[test], predicted)
        progress(data.name, i + 1, splits)
    return Outcome(loss, f1)


def _features(train: Floats, test: Floats) -> tuple[Any, Any]:
    """Scaled by the training rows; features that are mostly zero stay as they are, in CSR."""
    if np.mean(train != 0) < 0.2:
        return sparse.csr_array(train), sparse.csr_array(test)
    mean, spread = train.mean(axis=0), train.std(axis=0)
    spread[spread == 0] = 1.0
    return (train - mean) / spread, (test - mean) / spread


def _learn(X: Any, Y: Floats, X_test: Any, seed: int) -> NDArray[np.bool_]:
    """Predictions of what is learnt from Y; a label without any entry is predicted not to apply."""
    predicted = np.zeros((X_test.shape[0], Y.shape[1]), dtype=bool)
    known = ~np.isnan(Y).all(axis=0)
    if known.any():
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*all annotated entries are of one class")
            model = MissingLabelClassifier(random_state=seed).fit(X, Y[:, known])
        predicted[:, known] = model.predict(X_test) == 1
    return predicted


def _quality(truth: NDArray[np.int64], predicted: NDArray[np.bool_]) -> tuple[float, float]:
    """Hamming loss and micro-averaged F1."""
    right = int(np.count_nonzero(predicted & (truth == 1)))
    return float(np.mean(predicted != (truth == 1))), 2 * right / max(int(predicted.sum() + truth.sum()), 1)


# -- conclusions and files ---------------------------------------------------------------------------------------------


def _judge(outcomes: Mapping[str, Outcome]) -> tuple[Conclusion, ...]:
    beyond = "by more than two standard errors of the paired difference of Hamming losses"
    found = []
    for method, what in ((COMPLETE, "dropping incomplete rows"), (NEGATIVE, "treating missing as negative")):
        checks = []
        for name, outcome in outcomes.items():
            for k, share in enumerate(SHARES[1:], start=1):
                mean, error = outcome.difference(method, k)
                numbers = f"{method}: {mean:+.4f} ± {error:.4f}"
                checks.append(Check(f"{name}, {share:.0%} missing", bool(mean - 2 * error > 0), numbers))
        if checks:
            found.append(Conclusion(f"learning from annotated entries beats {what} ({beyond})", tuple(checks)))
    same = []
    for name, outcome in outcomes.items():
        complete = outcome.loss[:, :, 0]
        alike = bool(np.all(complete == complete[:, :1]))
        same.append(Check(name, alike, f"Hamming loss {complete.mean():.4f}"))
    if same:
        found.append(Conclusion("without missing entries all three are the same", tuple(same)))
    return tuple(found)


def _notes(outcomes: Mapping[str, Outcome]) -> tuple[str, ...]:
    if not outcomes:
        return ()
    parts = []
    for title, what in (("Hamming loss in percent", "loss"), ("Micro-averaged F1 in percent", "f1")):
        rows = []
        for name, outcome in outcomes.items():
            values = 100 * getattr(outcome, what).mean(axis=0)
            for method, of_method in zip(METHODS, values, strict=True):
                cells = {f"{share:.0%} missing": f"{v:.1f}" for share, v in zip(SHARES, of_method, strict=True)}
                rows.append({"data set": name, "learnt from": method, **cells})
        parts.append(f"{title}, on complete test rows, mean of the splits:\n{format_table(rows)}")
    return tuple(parts)


def _write_csv(output: Path, outcomes: Mapping[str, Outcome]) -> Path:
    rows = []
    for name, outcome in outcomes.items():
        for j, method in enumerate(METHODS):
            for k, share in enumerate(SHARES):
                loss, f1 = outcome.loss[:, j, k], outcome.f1[:, j, k]
                spread = float(loss.std(ddof=1)) if loss.size > 1 else float("nan")
                rows.append((name, method, share, float(loss.mean()), spread, float(f1.mean()), loss.size))
    header = ("data_set", "learnt_from", "missing", "hamming_loss", "standard_deviation", "micro_f1", "splits")
    return write_table(output / f"{NAME}.csv", header, rows)


def _draw(outcomes: Mapping[str, Outcome]) -> Any:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(2.7 * len(outcomes) + 0.4, 3.3), layout="constrained")
    panels, percent = figure.subplots(1, len(outcomes), squeeze=False)[0], [100 * share for share in SHARES]
    for ax, (name, outcome) in zip(panels, outcomes.items(), strict=True):
        means = 100 * outcome.loss.mean(axis=0)
        for method, colour, marker, mean in zip(METHODS, OKABE_ITO, "os^", means, strict=False):
            look = dict(color=colour, marker=marker, markersize=4, linewidth=1.8)
            ax.plot(percent, mean, label=method, **look)
        ax.set_xticks(percent)
        ax.set_title(name, fontsize=10, color=INK)
        ax.set_xlabel("entries missing, percent", fontsize=SMALL, color=QUIET)
        ax.set_ylim(bottom=0)
        quiet_frame(ax, keep=("left", "bottom"))
    panels[0].set_ylabel("Hamming loss, percent", fontsize=SMALL, color=QUIET)
    handles, names = panels[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=3, frameon=False, fontsize=SMALL)
    return figure
