"""Handwritten words: sequences of letters as images."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rankwise.datasets._find import DatasetDamagedError, locate_offline, read_rows

FILE = "ocr/letter.data"
N_PIXELS = 128
_SHAPE = (52152, 6877)  # letters and words


@dataclass(frozen=True, eq=False)
class Words:
    """Words as sequences of letters.

    Attributes
    ----------
    X : list of ndarray of shape (T, 128), float64
        Pixels of each letter, 16 rows of 8, 0 or 1.
    y : list of ndarray of shape (T,), str
        The letters, a to z. The first letter of each word, a capital, was left out by those who made the set.
    fold : ndarray of shape (n_words,), int64
        0..9.
    description : str
        What it is.
    source : str
        The file it was read from.
    """

    X: list[NDArray[np.float64]] = field(repr=False)
    y: list[NDArray[np.str_]] = field(repr=False)
    fold: NDArray[np.int64] = field(repr=False)
    description: str
    source: str


def load_ocr(data_dir: str | os.PathLike[str] | None = None) -> Words:
    """Load the handwritten words of Kassel, as Taskar, Guestrin and Koller prepared them: 6877 words in ten folds.

    Parameters
    ----------
    data_dir : path or None, default=None
        A directory that holds ``ocr/letter.data``, plain or gzipped; otherwise it is looked for as in :func:`load`, but
        not on OpenML, which does not have it.

    Returns
    -------
    Words
    """
    path = locate_offline("ocr", FILE, data_dir)
    # id, letter, id of the next letter of the word or -1, word, position, fold, pixels
    rows = read_rows(path, lambda stream: [line.split() for line in stream], "ascii")
    try:
        if any(len(row) != 6 + N_PIXELS for row in rows):
            raise ValueError(f"a row does not have {6 + N_PIXELS} columns")
        pixels = np.array([row[6:] for row in rows], dtype=np.float64)
        letters = np.array([row[1] for row in rows])
        ends = np.flatnonzero(np.array([row[2] for row in rows]) == "-1") + 1
        fold = np.array([int(rows[end - 1][5]) for end in ends], dtype=np.int64)
    except ValueError as error:
        raise DatasetDamagedError(f"{path} is damaged: {error}.") from error
    if (len(rows), ends.size) != _SHAPE or ends[-1] != len(rows):
        raise DatasetDamagedError(
            f"{path} does not hold the data set 'ocr': it has {len(rows)} letters in {ends.size} words, "
            f"not {_SHAPE[0]} in {_SHAPE[1]}."
        )
    return Words(
        X=np.split(pixels, ends[:-1]),
        y=np.split(letters, ends[:-1]),
        fold=fold,
        description="Handwritten words (Kassel; Taskar, Guestrin and Koller): letters of 6877 words, 16 x 8 pixels.",
        source=str(path),
    )
