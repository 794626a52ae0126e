"""The PRIL paper's streams of examples, and average losses of several learners over many of them.

The sequences of a stream are independent of each other and of the other streams: sequence i has its own random numbers,
made from the seed, the stream and i, so fewer sequences are the first ones of more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankwise import datasets
from rankwise.evaluation import Progress
from rankwise.features import polynomial_features
from rankwise_experiments._report import ProgressCallback, no_progress
from rankwise_experiments._study import DataDir, load_each

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

#: Rows, exact labels and all classes of one sequence, and a seed for imprecise labels -> what a learner did.
Learner = Callable[[Floats, Codes, Codes, int], Progress]

N_SYNTHETIC = 10_000
N_POINTS = 100


@dataclass(frozen=True, eq=False)
class Stream:
    """Source of sequences: ``draw(generator)`` gives rows, in the kernel's feature space, and exact labels."""

    name: str
    place: int  # among all streams: part of the seed, so that a stream's numbers do not depend on which others run
    n_rounds: int
    classes: Codes
    draw: Callable[[np.random.Generator], tuple[Floats, Codes]]


@dataclass(frozen=True, eq=False)
class Curves:
    """Average loss of each learner after some rounds, in every sequence.

    Attributes
    ----------
    names : tuple of str
        The learners.
    rounds : int array of shape (p,)
        Logarithmically spaced rounds, the last one included.
    values : array of shape (n_sequences, n_learners, p)
        Average losses.
    """

    names: tuple[str, ...]
    rounds: Codes
    values: Floats

    @property
    def mean(self) -> dict[str, Floats]:
        """Mean over the sequences, by learner."""
        return dict(zip(self.names, self.values.mean(axis=0), strict=True))

    @property
    def standard_error(self) -> dict[str, Floats]:
        """Standard error of the mean, by learner; NaN for a single sequence or infinite losses."""
        n = self.values.shape[0]
        error = np.full(self.values.shape[1:], np.nan)
        if n > 1:
            with np.errstate(invalid="ignore"):  # a learner that diverged has infinite losses
                error = self.values.std(axis=0, ddof=1) / np.sqrt(n)
        return dict(zip(self.names, error, strict=True))

    def final(self, name: str) -> Floats:
        """Average loss over all rounds in each sequence."""
        return np.asarray(self.values[:, self.names.index(name), -1])

    def average(self, name: str, after: int) -> float:
        """Mean of the average loss at the first kept round that is not before ``after``."""
        return float(self.mean[name][np.searchsorted(self.rounds, after)])


def pril_streams(data_dir: DataDir = None, rounds: int | None = None) -> tuple[list[Stream], dict[str, str]]:
    """Return the paper's three data sets in their kernels' feature spaces, and why others are missing.

    Parameters
    ----------
    data_dir : path, optional
        As in :func:`rankwise.datasets.load`.
    rounds : int, optional
        Length of the sequences: 10,000 for the synthetic set, all rows for the real ones by default and at most.
    """
    if rounds is not None and rounds < 1:
        raise ValueError(f"rounds must be at least 1. Got {rounds!r} instead.")
    n_synthetic = N_SYNTHETIC if rounds is None else rounds

    def draw_synthetic(generator: np.random.Generator) -> tuple[Floats, Codes]:
        X, y = datasets.make_pril_synthetic(n_synthetic, random_state=generator)
        return polynomial_features(X, 2), y

    streams = [Stream("synthetic", 0, n_synthetic, np.arange(1, 6), draw_synthetic)]
    loaders: dict[str, tuple[Callable[..., datasets.Dataset], int]] = {
        "parkinsons": (datasets.load_parkinsons, 1),
        "abalone": (datasets.load_abalone, 3),
    }
    sets, skipped = load_each(loaders, lambda name: loaders[name][0](data_dir=data_dir))
    for place, (name, (_, degree)) in enumerate(loaders.items(), start=1):
        if name in sets:
            data = sets[name]
            # The paper's kernel of degree 1 is x.z, without the constant that the feature map would add.
            features = data.X if degree == 1 else polynomial_features(data.X, degree)
            streams.append(_shuffled(name, place, features, data.y, rounds))
    return streams, skipped


def _shuffled(name: str, place: int, X: Floats, y: Codes, rounds: int | None) -> Stream:
    n = len(y) if rounds is None else min(rounds, len(y))

    def draw(generator: np.random.Generator) -> tuple[Floats, Codes]:
        order = generator.permutation(len(y))[:n]
        return X[order], y[order]

    return Stream(name, place, n, np.arange(1, y.max() + 1), draw)


def average_losses(
    stream: Stream,
    learners: Mapping[str, Learner],
    *,
    sequences: int,
    seed: int = 0,
    progress: ProgressCallback = no_progress,
) -> Curves:
    """Run every learner over the same sequences.

    One after the other: a pass takes about a millisecond, of which so little is compiled code that threads only wait
    for each other.

    Parameters
    ----------
    stream : Stream
        Where sequences come from.
    learners : mapping of str to Learner
        What runs over them.
    sequences : int
        How many sequences.
    seed : int, default 0
        Seed of everything random.
    progress : callable, optional
        Told the stream's name, the sequences done and all sequences.
    """
    if sequences < 1:
        raise ValueError(f"sequences must be at least 1. Got {sequences!r} instead.")
    rounds = np.unique(np.geomspace(1, stream.n_rounds, N_POINTS).round().astype(np.int64))
    values = np.empty((sequences, len(learners), rounds.size))
    progress(stream.name, 0, sequences)
    for i in range(sequences):
        for_rows, for_labels = np.random.SeedSequence(seed, spawn_key=(stream.place, i)).spawn(2)
        X, y = stream.draw(np.random.default_rng(for_rows))
        label_seed = int(for_labels.generate_state(1)[0])
        for j, learn in enumerate(learners.values()):
            values[i, j] = learn(X, y, stream.classes, label_seed).average[rounds - 1]
        progress(stream.name, i + 1, sequences)
    return Curves(tuple(learners), rounds, values)
