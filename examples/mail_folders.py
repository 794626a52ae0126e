"""File mail from a stream: rank the folders for every message, then learn where its owner put it.

With a directory of the Enron mail (named in RANKWISE_DATA, or next to the checkout) the messages are those of a real
user, otherwise made up. New words and folders may appear at any time; a message may belong to several folders.

Run: python examples/mail_folders.py [user]
"""

import re
import sys
from collections.abc import Iterable, Iterator

import numpy as np

from rankwise import LabelRanker
from rankwise.datasets import DatasetNotFoundError, load_enron_folders

Message = tuple[str, list[str]]  # text, folders

TOPICS = {
    "deals": "gas deal volume price contract counterparty confirm desk",
    "travel": "flight hotel ticket airport trip itinerary booking car",
    "expenses": "receipt invoice amount reimburse approve report card total",
    "people": "interview resume candidate offer position hire team salary",
    "family": "dinner kids weekend school birthday photos mom home",
}
CHAT = "please thanks see attached call today tomorrow meeting let know time week new send questions all"


def made_up_mail(n: int, seed: int = 0) -> Iterator[Message]:
    """Mail about one or two topics; the last topic comes up half-way."""
    rng = np.random.default_rng(seed)
    for i in range(n):
        known = list(TOPICS) if i >= n // 2 else list(TOPICS)[:-1]
        folders = rng.choice(known, size=1 + (rng.random() < 0.2), replace=False).tolist()
        words = rng.choice(CHAT.split(), size=6).tolist()
        for folder in folders:
            words += rng.choice(TOPICS[folder].split(), size=2).tolist()
        yield " ".join(rng.permutation(words)), folders


def mail_of(user: str) -> Iterator[Message]:
    """Mail of an Enron user, every message in one folder."""
    mail = load_enron_folders(user)
    return ((text, [folder]) for text, folder in zip(mail.texts, mail.y.tolist(), strict=True))


def words_of(text: str) -> dict[str, float]:
    return dict.fromkeys(re.findall(r"\w\w+", text.lower()), 1.0)


def file_mail(messages: Iterable[Message], every: int) -> list[tuple[int, int, float, float]]:
    """Print and return, every so many messages: how many, known folders, share right at once, in the first three."""
    model = LabelRanker(update="joint", C=0.02)
    lines, right, among_three = [], [], []
    print("messages  folders  right at once  in the first three   (of the last messages)")
    for n, (text, folders) in enumerate(messages, start=1):
        words = words_of(text)
        ranking = model.rank_one(words)  # all folders so far, best first
        right.append(model.predict_one(words) in folders)
        among_three.append(any(folder in folders for folder in ranking[:3]))
        model.learn_one(words, folders)
        if n % every == 0:
            lines.append((n, len(model.classes_), float(np.mean(right)), float(np.mean(among_three))))
            print("{:8}  {:7}  {:13.0%}  {:18.0%}".format(*lines[-1]))
            right, among_three = [], []
    return lines


def main(user: str = "sanders-r") -> list[tuple[int, int, float, float]]:
    try:
        messages, every = mail_of(user), 200
    except DatasetNotFoundError:
        print("No Enron mail here, so the messages are made up.")
        messages, every = made_up_mail(600), 100
    return file_mail(messages, every)


if __name__ == "__main__":
    main(*sys.argv[1:2])
