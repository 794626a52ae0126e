"""Draw the pictures of the documentation into docs/images, or into a directory given on the command line.

Run: make figures, or python docs/figures.py [DIRECTORY]
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import make_pipeline

from rankwise import (
    PRIL,
    SVOR,
    ChainClassifier,
    CumulativeLink,
    CuSumRank,
    ImportanceWeightedPerceptron,
    LabelRanker,
    PiecewiseMORD,
    PRank,
    TableModel,
    explain,
)
from rankwise.annotation import partial_labels
from rankwise.datasets import make_ordinal
from rankwise.evaluation import progressive
from rankwise.plots import ProgressiveDisplay, ordered_colors

IMAGES = Path(__file__).resolve().parent / "images"
INK, QUIET, FAINT, BLUE, ORANGE = "#222222", "#6b6b6b", "#d9d9d9", "#0072b2", "#d55e00"


# -- boxes and arrows ----------------------------------------------------------------------------------------------


def canvas(width: float, height: float) -> tuple[Figure, Axes]:
    """Empty figure whose units are inches."""
    figure = Figure(figsize=(width, height))
    ax = figure.add_axes((0, 0, 1, 1))
    ax.set(xlim=(0, width), ylim=(0, height))
    ax.axis("off")
    return figure, ax


def box(ax: Axes, x: float, y: float, text: str, width: float = 2.0, *, question: bool = False) -> None:
    """Box with its centre at (x, y)."""
    style = dict(boxstyle="round,pad=0.08", linewidth=1.2, edgecolor=ORANGE if question else BLUE)
    height = 0.5
    patch = matplotlib.patches.FancyBboxPatch(
        (x - width / 2, y - height / 2), width, height, facecolor="#fff4ec" if question else "#eef6fc", **style
    )
    ax.add_patch(patch)
    ax.text(x, y, text, ha="center", va="center", fontsize=9.5, color=INK, linespacing=1.25)


def arrow(ax: Axes, start: tuple[float, float], end: tuple[float, float], text: str = "") -> None:
    """Arrow with a word beside its middle."""
    ax.annotate("", end, start, arrowprops=dict(arrowstyle="-|>", color=QUIET, linewidth=1.0, shrinkA=0, shrinkB=0))
    if text:
        x, y = (start[0] + end[0]) / 2, (start[1] + end[1]) / 2
        ax.text(x, y, text, ha="center", va="center", fontsize=8, color=QUIET,
                bbox=dict(facecolor="white", edgecolor="none", pad=1.0))  # fmt: skip


def network_head() -> Figure:
    """A network whose last layer knows the order of the classes."""
    figure, ax = canvas(8.6, 2.6)
    y, names = 1.75, ["features x", "any network", "CuSumHead:\ncumulative scores", "CuSumMarginLoss"]
    places = [0.95, 2.95, 5.2, 7.55]
    for x, name in zip(places, names, strict=True):
        box(ax, x, y, name, 1.55)
    for a, b in pairwise(places):
        arrow(ax, (a + 0.87, y), (b - 0.87, y))
    box(ax, 7.55, 0.6, "lower and upper\ncodes of the label", 1.55, question=True)
    arrow(ax, (7.55, 0.94), (7.55, y - 0.34))
    box(ax, 5.2, 0.6, "predict: the rank\nwith the best score", 1.55)
    arrow(ax, (5.2, y - 0.34), (5.2, 0.94))
    return figure


# -- the algorithms ------------------------------------------------------------------------------------------------


def quiet(ax: Axes) -> None:
    """Axes with two faint sides and small numbers."""
    for side, spine in ax.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(FAINT)
    ax.tick_params(colors=QUIET, labelsize=8)


def pril_update() -> Figure:
    """One round of PRIL on the score axis: before, and after."""
    figure = Figure(figsize=(7.4, 2.9), layout="constrained")
    thresholds, score, lower, upper = np.array([-3.0, -1.0, 1.0, 3.0]), -1.8, 2, 3
    z = np.where(np.arange(4) < lower, 1, np.where(np.arange(4) >= upper, -1, 0))
    tau = np.where(z * (score - thresholds) <= 0, z, 0)
    step = tau.sum() * 1.0  # |x|^2 = 1
    rows = [("before: the label says 3 or 4", score, thresholds), ("after", score + step, thresholds - tau)]
    for ax, (title, f, t) in zip(figure.subplots(2, 1, sharex=True), rows, strict=True):
        colors = ordered_colors(5)
        ends = np.concatenate([[-4.4], t, [4.4]])
        for k in range(5):
            ax.axvspan(ends[k], ends[k + 1], ymin=0.0, ymax=0.45, color=colors[k], alpha=0.55, linewidth=0)
            ax.text((ends[k] + ends[k + 1]) / 2, 0.22, str(k + 1), ha="center", va="center", fontsize=9, color="white")
        ax.plot([ends[lower], ends[upper + 1]], [0.62, 0.62], color=INK, linewidth=3, solid_capstyle="butt")
        ax.plot(f, 0.62, "o", color=ORANGE, markersize=8, zorder=3)
        ax.set(ylim=(0, 1), xlim=(-4.4, 4.4), yticks=[])
        ax.set_title(title, fontsize=9, color=INK, loc="left")
        quiet(ax)
        ax.spines["left"].set_visible(False)
    ax.set_xlabel("score; the bar is what the label admits, the dot the example", fontsize=8.5, color=QUIET)
    return figure


def progressive_loss() -> Figure:
    """PRank told the truth, PRIL told intervals, both judged by the truth."""
    X, y = make_ordinal(20_000, 10, 5, noise=0.3, random_state=0)
    results = {"PRank, exact labels": progressive(PRank(), X, y)}
    for share in (0.5, 0.9):
        labels = partial_labels(y, share, kind=2, random_state=0)
        results[f"PRIL, {share:.0%} intervals"] = progressive(PRIL(), X, labels, truth=y)
    figure = Figure(figsize=(7.0, 3.4), layout="constrained")
    ProgressiveDisplay.from_results(results, loss_name="mean absolute error so far", ax=figure.add_subplot())
    return figure


def regions(ax: Axes, model: Any, X: np.ndarray, y: np.ndarray, title: str) -> None:
    """The plane in the colours of the predicted classes, and the rows."""
    n_classes = int(y.max())
    colors = ordered_colors(n_classes)
    low, high = X.min(axis=0) - 0.35, X.max(axis=0) + 0.35
    across, up = (np.linspace(low[j], high[j], 300) for j in (0, 1))
    grid = np.array(np.meshgrid(across, up)).reshape(2, -1).T
    shown = np.array(colors)[model.predict(grid).reshape(len(up), len(across)) - 1]
    ax.imshow(shown, origin="lower", extent=(low[0], high[0], low[1], high[1]), alpha=0.35, aspect="auto")
    ax.scatter(*X.T, c=[colors[k - 1] for k in y], s=26, edgecolors="white", linewidths=0.6, zorder=3)
    ax.set_title(f"{title}: {np.abs(model.predict(X) - y).mean():.2f} ranks off", fontsize=9, color=INK)
    ax.set(xticks=[], yticks=[])
    for spine in ax.spines.values():
        spine.set_visible(False)


def cusum_plane() -> Figure:
    """Four points whose ranks lie on no line."""
    X, y = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, 0.0]]), np.array([1, 2, 2, 3])
    figure = Figure(figsize=(6.4, 3.1), layout="constrained")
    models = {"CuSumRank": CuSumRank(n_epochs=50, random_state=0), "PRank": PRank(n_epochs=50, random_state=0)}
    for ax, (name, model) in zip(figure.subplots(1, 2), models.items(), strict=True):
        regions(ax, model.fit(X, y), X, y, name)
    return figure


def arc(n: int = 60) -> tuple[np.ndarray, np.ndarray]:
    """Five classes along an arc, which no single direction puts in order."""
    angle = np.linspace(0, 5, n)
    return np.column_stack([np.cos(angle), np.sin(angle)]), np.repeat([1, 2, 3, 4, 5], n // 5)


def large_margin_plane() -> Figure:
    """Classes on an arc: one direction, a kernel, and one direction for every part."""
    X, y = arc()
    models = {
        "SVOR": SVOR(alpha=1e-4),
        "Nystroem + SVOR": make_pipeline(Nystroem(gamma=1.0, n_components=30, random_state=0), SVOR(alpha=1e-4)),
        "PiecewiseMORD": PiecewiseMORD(cuts=[1, 3, 5], alpha=1e-4),
    }
    figure = Figure(figsize=(9.0, 3.1), layout="constrained")
    for ax, (name, model) in zip(figure.subplots(1, 3), models.items(), strict=True):
        regions(ax, model.fit(X, y), X, y, name)
    return figure


def svor_path() -> Figure:
    """Error on rows held out for every strength of the regulariser, from one call."""
    X, y = make_ordinal(1200, 60, 5, noise=0.6, random_state=0)
    labels = partial_labels(y[:200], 0.5, kind=2, random_state=0)
    alphas = np.geomspace(30, 1e-4, 18)
    models = SVOR().path(X[:200], labels, alphas)
    figure = Figure(figsize=(6.4, 3.0), layout="constrained")
    ax = figure.add_subplot()
    for name, rows, truth, color in (
        ("held out", X[200:], y[200:], ORANGE),
        ("200 rows learnt from", X[:200], y[:200], BLUE),
    ):
        ax.semilogx(
            alphas, [-model.score(rows, truth) for model in models], "o-", color=color, label=name, markersize=4
        )
    ax.set_xlabel("alpha", fontsize=9)
    ax.set_ylabel("ranks off", fontsize=9)
    ax.legend(frameon=False, fontsize=8.5)
    quiet(ax)
    return figure


def importance_cost() -> Figure:
    """Cost of the mistakes of a model that knows the costs and of one that does not."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 6))
    y = (X @ rng.normal(size=(6, 4)) + rng.normal(size=(20_000, 4))).argmax(axis=1)
    cost = np.array([20.0, 1.0, 1.0, 1.0])[y]
    blind = ImportanceWeightedPerceptron(classes=range(4))
    told = ImportanceWeightedPerceptron(classes=range(4))
    figure = Figure(figsize=(6.6, 3.1), layout="constrained")
    ax = figure.add_subplot()
    for name, predicted, color in (
        ("not told the costs", blind.progressive_predict(X, y), BLUE),
        ("told the costs", told.progressive_predict(X, y, sample_weight=cost), ORANGE),
    ):
        ax.plot(np.cumsum(cost * (predicted != y)) / np.cumsum(cost), color=color, label=name)
    ax.set(xscale="log", xlim=(50, len(y)), ylim=(0, 0.75))
    ax.set_xlabel("rounds", fontsize=9)
    ax.set_ylabel("cost of mistakes / cost of all", fontsize=9)
    ax.legend(frameon=False, fontsize=8.5)
    quiet(ax)
    return figure


def label_ranking() -> Figure:
    """Share of rounds in which a relevant label was not above all others, for the three updates."""
    rng = np.random.default_rng(0)
    words = rng.random((20, 300)) < 0.06
    first = rng.integers(0, 20, 4000)
    topics = np.column_stack([first, (first + rng.integers(1, 20, 4000)) % 20])  # two different ones
    X = ((words[topics].any(axis=1) & (rng.random((4000, 300)) < 0.6)) | (rng.random((4000, 300)) < 0.03)).astype(float)
    X /= np.sqrt(np.maximum(X.sum(axis=1, keepdims=True), 1))
    figure = Figure(figsize=(6.6, 3.1), layout="constrained")
    ax = figure.add_subplot()
    for update, color in (("fixed", QUIET), ("optimal", BLUE), ("joint", ORANGE)):
        model = LabelRanker(update=update, C=0.3, average=False, classes=range(20), fit_intercept=False)
        ranking = model.progressive_predict(X, topics.tolist(), top=2)
        wrong = (np.sort(ranking, axis=1) != np.sort(topics, axis=1)).any(axis=1)
        ax.plot(np.cumsum(wrong) / np.arange(1, len(wrong) + 1), color=color, label=update)
    ax.set(xscale="log", xlim=(50, 4000), ylim=(0, 1))
    ax.set_xlabel("rounds", fontsize=9)
    ax.set_ylabel("rankings with a mistake so far", fontsize=9)
    ax.legend(frameon=False, fontsize=8.5, title="update", title_fontsize=8.5)
    quiet(ax)
    return figure


def sequences(n: int, seed: int) -> tuple[list[np.ndarray], np.ndarray]:
    """Sequences of three labels that tend to go round in a circle, each seen through noise."""
    rng = np.random.default_rng(seed)
    steps = np.where(rng.random((n, 8)) < 0.85, 1, 2)
    Y = (rng.integers(3, size=(n, 1)) + np.cumsum(steps, axis=1)) % 3
    return list(np.eye(3)[Y] + 0.8 * rng.normal(size=(n, 8, 3))), Y


def chain_missing() -> Figure:
    """Errors of a chain and of a classifier of single positions, with more and more labels missing."""
    X, Y = sequences(60, 0)
    X_test, Y_test = sequences(200, 1)
    shares = [0.0, 0.5, 0.8, 0.95]
    chain, single = [], []
    for share in shares:
        rng = np.random.default_rng(2)
        seen = [[int(label) if rng.random() < 1 - share else None for label in labels] for labels in Y]
        model = ChainClassifier(solver="perceptron", classes=[0, 1, 2], random_state=0).fit(X, seen)
        chain.append(np.mean(np.concatenate(model.predict(X_test)) != np.concatenate(Y_test)))
        alone = ImportanceWeightedPerceptron(classes=[0, 1, 2], random_state=0)
        alone.fit(np.concatenate(X), [label for labels in seen for label in labels])
        single.append(np.mean(alone.predict(np.concatenate(X_test)) != np.concatenate(Y_test)))
    figure = Figure(figsize=(6.0, 3.0), layout="constrained")
    ax = figure.add_subplot()
    ax.plot(shares, single, "s-", color=BLUE, label="every position on its own")
    ax.plot(shares, chain, "o-", color=ORANGE, label="ChainClassifier")
    ax.set(ylim=(0, None), xticks=shares)
    ax.xaxis.set_major_formatter(matplotlib.ticker.PercentFormatter(1.0))
    ax.set_xlabel("labels missing", fontsize=9)
    ax.set_ylabel("positions wrong", fontsize=9)
    ax.legend(frameon=False, fontsize=8.5)
    quiet(ax)
    return figure


def annotation_tradeoff() -> Figure:
    """What wide labels cost: error of PRIL for more and more intervals, beside dropping them."""
    X, y = make_ordinal(6000, 10, 7, noise=0.3, random_state=1)
    train, test = slice(1000), slice(1000, None)
    shares = np.array([0.0, 0.5, 0.8, 0.9, 0.95, 0.98])
    kept, dropped = [], []
    for share in shares:
        labels = partial_labels(y[train], share, kind=2, random_state=0)
        exact = labels[:, 0] == labels[:, 1]
        kept.append(-PRIL(random_state=0, classes=range(1, 8)).fit(X[train], labels).score(X[test], y[test]))
        alone = PRIL(random_state=0, classes=range(1, 8)).fit(X[train][exact], y[train][exact])
        dropped.append(-alone.score(X[test], y[test]))
    figure = Figure(figsize=(6.4, 3.1), layout="constrained")
    ax = figure.add_subplot()
    ax.plot(shares, dropped, "s-", color=BLUE, label="intervals dropped")
    ax.plot(shares, kept, "o-", color=ORANGE, label="intervals used")
    ax.set(ylim=(0, None))
    ax.xaxis.set_major_formatter(matplotlib.ticker.PercentFormatter(1.0))
    ax.set_xlabel("labels that are intervals of up to three grades, of 1000", fontsize=9)
    ax.set_ylabel("ranks off, of seven", fontsize=9)
    ax.legend(frameon=False, fontsize=8.5)
    quiet(ax)
    return figure


def explain_row() -> Figure:
    """What leads to one prediction: the table and the row of the page "Explaining predictions"."""
    rng = np.random.default_rng(0)
    wines = pd.DataFrame(
        {
            "alcohol": rng.normal(11, 1, 250),
            "sugar": rng.exponential(3, 250),
            "colour": rng.choice(["red", "white"], 250),
        }
    )
    score = wines["alcohol"] - 0.2 * wines["sugar"] + (wines["colour"] == "red") + 0.5 * rng.normal(size=250)
    model = TableModel(CumulativeLink()).fit(wines, np.digitize(score, [10, 11, 12]) + 1)
    figure = Figure(figsize=(6.8, 2.7), layout="constrained")
    explain(model, wines).plot(17, ax=figure.add_subplot())
    return figure


FIGURES: dict[str, Callable[[], Figure]] = {
    "pril-update": pril_update,
    "progressive": progressive_loss,
    "cusum-plane": cusum_plane,
    "importance-cost": importance_cost,
    "label-ranking": label_ranking,
    "large-margin-plane": large_margin_plane,
    "svor-path": svor_path,
    "chain-missing": chain_missing,
    "network-head": network_head,
    "annotation-tradeoff": annotation_tradeoff,
    "explain-row": explain_row,
}


def main(directory: Path = IMAGES) -> list[Path]:
    """Draw all of them; the same versions of the libraries give the same files."""
    directory.mkdir(parents=True, exist_ok=True)
    paths = []
    with matplotlib.rc_context({"svg.hashsalt": "rankwise", "path.simplify_threshold": 0.3}):
        for name, draw in FIGURES.items():
            paths.append(directory / f"{name}.svg")
            draw().savefig(paths[-1], metadata={"Date": None})
    return paths


if __name__ == "__main__":
    for path in main(*map(Path, sys.argv[1:])):
        print(path)
