"""Mail of seven Enron employees, who filed it in folders."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.datasets._check import one_of
from rankwise.datasets._find import DatasetDamagedError, read_offline

#: Folders and messages of every user.
_SIZES = {
    "beck-s": (101, 1971),
    "farmer-d": (25, 3672),
    "kaminski-v": (41, 4477),
    "kitchen-l": (46, 3931),
    "lokay-m": (11, 2493),
    "sanders-r": (30, 1188),
    "williams-w3": (18, 2769),
}
ENRON_USERS = tuple(_SIZES)
"""The users of :func:`load_enron_folders`."""

_FIELDS = ("from", "to", "cc", "subject", "text")
_COLUMNS = ("user", "folder", "date", "message_id", *_FIELDS)


@dataclass(frozen=True, eq=False)
class MailFolders:
    """The messages of one user in the order of their dates.

    Attributes
    ----------
    name : str
        The user.
    X : CSR matrix of shape (n_messages, n_words), float64
        1 where a message has a word.
    y : ndarray of shape (n_messages,), str
        The folder of each message.
    feature_names : tuple of str
        The words, in alphabetical order.
    texts : tuple of str
        The texts from which the words were taken.
    dates : ndarray of shape (n_messages,), datetime64[s]
        When each message was sent, UTC.
    """

    name: str
    X: Any = field(repr=False)
    y: NDArray[Any] = field(repr=False)
    feature_names: tuple[str, ...] = field(repr=False)
    texts: tuple[str, ...] = field(repr=False)
    dates: NDArray[np.datetime64] = field(repr=False)


def load_enron_folders(
    user: str, *, fields: Sequence[str] = ("subject", "text"), data_dir: str | os.PathLike[str] | None = None
) -> MailFolders:
    """Load the mail of an Enron employee, the folder of every message, and which words it has.

    A word is a run of at least two letters, digits or underscores, in lower case: the tokens of scikit-learn's
    ``CountVectorizer``. There is a column for every word of the whole stream. The folders are those of Bekkerman,
    McCallum and Huang 2004: no inbox, no sent mail, at least three messages, subfolders on a level with the others.
    kitchen-l lacks one of their 47 folders, lokay-m has four messages more than theirs.

    Parameters
    ----------
    user : str
        One of ``ENRON_USERS``.
    fields : sequence of {"from", "to", "cc", "subject", "text"}, default ("subject", "text")
        The parts of a message from which words are taken.
    data_dir : path or None, default=None
        A directory with ``enron_folders/{user}.csv``, plain or gzipped; found as in :func:`load`, but not downloaded.

    Raises
    ------
    DatasetNotFoundError, DatasetDamagedError
        As in :func:`load`.
    """
    from sklearn.feature_extraction.text import CountVectorizer  # slow to import, and only needed here

    owner = "load_enron_folders"
    one_of(owner, "user", user, ENRON_USERS)
    if isinstance(fields, str) or not fields or not set(fields) <= set(_FIELDS):
        allowed = ", ".join(map(repr, _FIELDS))
        raise ValueError(f"The 'fields' parameter of {owner} must be some of {allowed}. Got {fields!r} instead.")
    file = f"enron_folders/{user}.csv"
    table = read_offline(f"Enron mail of {user}", file, _COLUMNS, data_dir)
    lacking = [column for column in _COLUMNS if column not in table]
    if lacking:
        raise DatasetDamagedError(f"{file} is damaged: it lacks the column {lacking[0]!r}.")
    folders = table["folder"]
    sizes = len(set(folders)), folders.size  # no folder is one more
    if sizes != _SIZES[user]:
        raise DatasetDamagedError(
            "{} is damaged: it has {} folders with {} messages, not {} with {}.".format(file, *sizes, *_SIZES[user])
        )
    dates = _moments(file, table["date"])
    order = np.argsort(dates, kind="stable")
    columns = [[cell or "" for cell in table[name][order]] for name in fields]
    texts = tuple("\n".join(message) for message in zip(*columns, strict=True))
    vectorizer = CountVectorizer(binary=True, dtype=np.float64)
    X = vectorizer.fit_transform(texts)
    X.sort_indices()  # once, not in every pass over the rows
    words = tuple(vectorizer.get_feature_names_out().tolist())
    return MailFolders(user, X, folders[order].astype(np.str_), words, texts, dates[order])


def _moments(file: str, cells: NDArray[Any]) -> NDArray[np.datetime64]:
    """Read dates such as 2001-05-14T16:39:00Z."""
    try:
        return np.array([cell.removesuffix("Z") for cell in cells], dtype="datetime64[s]")
    except (AttributeError, ValueError) as error:
        raise DatasetDamagedError(f"{file} is damaged: column 'date' has something that is no date: {error}") from error
