"""Table 1 of "A Unified Algorithmic Approach for Efficient Online Label Ranking" (Shalev-Shwartz and Singer).

Three updates of two complexity functions rank the folders of every message before they are told the right one. The
users, the stream and the mistakes are the paper's: seven Enron employees, messages in the order of their dates, one
pass, and a mistake whenever the right folder is not strictly above all others. A message is the set of its words in
subject and text (:func:`rankwise.datasets.load_enron_folders`), a 0/1 vector that is not scaled. All folders are
declared beforehand, as in the paper, whose set of labels is predefined: a folder that no message has gone to yet takes
part with the weights it started with. For the entropy the words of the whole stream are declared too: it starts with
weights 1/d, so their number d counts; for the squared norm a word matters when it comes.

**Parameters.** The paper does not say which C and margin it took. Here they are chosen for each of the six variants on
one user only, the one with the most messages (kaminski-v), from grids of 1, 2, 5: the fewest mistakes, and among equals
the smallest margin, then the smallest C. The other users are run with what was chosen. Update I has no margin, and with
the squared norm no C either; with the squared norm only C divided by the margin matters, so that the margin is 1.

All users are run over all grids all the same: it says what another user's choice would have given. Every pass is a unit
of work that is kept when finished, so that a run that was stopped goes on where it was.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise import LabelRanker, __version__, datasets
from rankwise.datasets import MailFolders
from rankwise_experiments._enron_report import (
    PERCEPTRON,
    TITLE,
    VARIANTS,
    Mailbox,
    Parameters,
    Results,
    Variant,
    write_report,
)
from rankwise_experiments._journal import Journal, digest
from rankwise_experiments._report import Report
from rankwise_experiments._study import DataDir, Job, experiment, load_each

EUCLIDEAN_CS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
ENTROPIC_CS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0)
ENTROPIC_MARGINS = (0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1)

ALL_FIELDS = ("from", "to", "cc", "subject", "text")
N_FREQUENT = 100


def grid(variant: Variant) -> tuple[Parameters, ...]:
    """Parameters among which a variant chooses, the preferred ones of equals first."""
    margins: Iterable[float] = (1.0,)
    if variant == PERCEPTRON:
        Cs: Iterable[float] = (1.0,)
    elif variant.complexity == "euclidean":
        Cs = EUCLIDEAN_CS
    else:
        Cs = ENTROPIC_CS
        margins = margins if variant.update == "fixed" else ENTROPIC_MARGINS
    return tuple(Parameters(C, margin) for margin in margins for C in Cs)


@experiment(rounds=None)
def run_table(job: Job) -> Report:
    """Table 1: mistakes of updates I, II and III with squared norm and entropy, beside the paper's.

    Rounds are the messages of each user, the first ones. Writes ``enron``: the table and all passes (CSV), a page
    (Markdown), conclusions (text), and the units. A user whose mail is nowhere is skipped.
    """
    mail, skipped = load_each(datasets.ENRON_USERS, lambda user: _load(user, job.data_dir))
    if not mail:
        return Report(TITLE, (), skipped, (), (), ())
    journal = Journal(job.unit_file("enron"))
    mailboxes: dict[str, Mailbox] = {}
    results: Results = {}
    units = [(variant, parameters) for variant in VARIANTS for parameters in grid(variant)]
    for user, (messages, with_people) in mail.items():
        n = len(messages.y) if job.rounds is None else min(job.rounds, len(messages.y))
        stream = _Stream(user, messages.X[:n], messages.y[:n], np.unique(messages.y), journal)
        results[user] = {variant: {} for variant in VARIANTS}
        for done, (variant, parameters) in enumerate(units):
            job.progress(user, done, len(units))
            results[user][variant][parameters] = stream.mistakes(variant, parameters)
        other_words = {
            "also of senders and recipients": with_people.X[:n],
            f"without the {N_FREQUENT} most frequent": _without_frequent_words(messages.X)[:n],
        }
        mailboxes[user] = Mailbox(
            n_messages=n,
            n_folders=len(stream.folders),
            n_firsts=len(np.unique(stream.y)),
            other_words={words: replace(stream, X=X).mistakes(*units[0]) for words, X in other_words.items()},
        )
        job.progress(user, len(units), len(units))
    chooser = max(mail, key=lambda user: len(mail[user][0].y))
    return write_report(job.output, mailboxes, results, chooser, skipped, job.command("enron", "rounds"))


def _load(user: str, data_dir: DataDir) -> tuple[MailFolders, MailFolders]:
    """Mail of a user with the words of subject and text, and with those of all fields."""
    return (
        datasets.load_enron_folders(user, data_dir=data_dir),
        datasets.load_enron_folders(user, fields=ALL_FIELDS, data_dir=data_dir),
    )


def _without_frequent_words(X: Any) -> Any:
    """Columns of X but those of the words that the most messages have."""
    by_frequency = np.argsort(-X.getnnz(axis=0), kind="stable")
    return X[:, np.sort(by_frequency[N_FREQUENT:])]


@dataclass(frozen=True, eq=False)
class _Stream:
    """Messages in their order, and the passes over them that are finished."""

    user: str
    X: Any
    y: NDArray[np.str_]
    folders: NDArray[np.str_]
    journal: Journal

    @cached_property
    def fingerprint(self) -> str:
        """What tells these messages from others."""
        arrays = self.X.indptr, self.X.indices, self.y, self.folders
        return digest([self.X.shape, [hashlib.sha256(array.tobytes()).hexdigest() for array in arrays]])

    def mistakes(self, variant: Variant, parameters: Parameters) -> int:
        """Messages whose folder was not above all others, in one pass."""
        how = {**asdict(variant), **asdict(parameters)}
        unit = {**how, "data": self.fingerprint, "version": __version__}
        result = self.journal.get(unit)
        if result is None:
            model = LabelRanker(**how, fit_intercept=False, classes=self.folders).partial_fit(self.X, self.y)
            result = {"mistakes": model.n_mistakes_}
            self.journal.put(unit, result, user=self.user, **how)
        return int(result["mistakes"])
