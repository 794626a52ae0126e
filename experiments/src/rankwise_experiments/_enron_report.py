"""What the mail experiment found: choice of parameters, the paper's table beside ours, conclusions, files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise, product
from pathlib import Path

import numpy as np

from rankwise.evaluation import format_table
from rankwise_experiments._report import (
    Check,
    Conclusion,
    Report,
    chain,
    judged,
    records_as_markdown,
    write_table,
    write_text,
)

TITLE = "Label ranking by dual ascent, Table 1: mail folders"
COMPLEXITIES = ("euclidean", "entropic")
NUMERALS = {"fixed": "I", "optimal": "II", "joint": "III"}
UPDATES = tuple(NUMERALS)


@dataclass(frozen=True)
class Variant:
    """An update of a complexity function."""

    complexity: str
    update: str

    def __str__(self) -> str:
        return f"{NUMERALS[self.update]} {self.complexity}"


@dataclass(frozen=True)
class Parameters:
    """What a variant is run with."""

    C: float
    margin: float


@dataclass(frozen=True)
class Mailbox:
    """A user's messages.

    Attributes
    ----------
    n_messages, n_folders : int
        How many there are.
    n_firsts : int
        Messages that are the first in their folder.
    other_words : mapping of str to int
        Mistakes of the perceptron with other words, by their description.
    """

    n_messages: int
    n_folders: int
    n_firsts: int
    other_words: Mapping[str, int]

    def percent(self, mistakes: int) -> float:
        """Mistakes in percent of the messages."""
        return 100 * mistakes / self.n_messages


#: As the columns of the paper's table.
VARIANTS = tuple(Variant(complexity, update) for complexity, update in product(COMPLEXITIES, UPDATES))
#: Update I with the squared norm, which has no parameters.
PERCEPTRON = VARIANTS[0]

#: Mistakes in percent, as printed.
PAPER = {
    user: dict(zip(VARIANTS, row, strict=True))
    for user, row in {
        "beck-s": (58.5, 55.2, 51.9, 54.0, 50.2, 47.1),
        "farmer-d": (29.5, 23.3, 22.7, 27.6, 22.6, 22.0),
        "kaminski-v": (50.2, 44.5, 41.9, 46.7, 42.9, 40.0),
        "kitchen-l": (48.2, 41.9, 40.4, 41.9, 38.3, 36.0),
        "lokay-m": (24.9, 19.1, 18.4, 24.0, 18.7, 18.2),
        "sanders-r": (31.7, 28.3, 27.2, 28.3, 24.2, 23.4),
        "williams-w3": (5.0, 4.5, 4.4, 4.2, 3.4, 3.1),
    }.items()
}
#: Folders and messages, as printed.
PAPER_SIZES = {
    "beck-s": (101, 1971),
    "farmer-d": (25, 3672),
    "kaminski-v": (41, 4477),
    "kitchen-l": (47, 4015),
    "lokay-m": (11, 2489),
    "sanders-r": (30, 1188),
    "williams-w3": (18, 2769),
}

#: "Of the paper's size" means: between half and twice the mean over the users. "Near" means: by so many points.
SIZE, NEAR = 2.0, 3.0

Results = dict[str, dict[Variant, dict[Parameters, int]]]
"""Mistakes by user, variant and parameters."""
Choice = dict[Variant, Parameters]
Table = dict[str, dict[Variant, float]]
"""Mistakes in percent by user and variant."""

LEGEND = """\
Mistakes in percent of the messages: the right folder was not strictly above all others. C and margin of every variant
were chosen on {chooser}, the user with the most messages: the fewest mistakes there, of equals the smallest margin,
then the smallest C. All other users are run with what was chosen."""
OUTCOME = """\
{held} of the {total} comparisons of the paper hold (I > II and II > III for both complexity functions, euclidean >
entropic for all updates, every user)."""
SMALLER = """\
The entropy improves on the squared norm by less than in the paper, also with every user's own best
parameters. The paper's parameters and words are not known, so the reason is not either."""
CHOOSERS = """\
How many of the comparisons hold when another user chooses; the last line is hindsight, every user's own best."""
WORDS = """\
The paper does not say what a word is, nor which parts of a message it read; here words are runs of two or more letters,
digits or underscores in subject and text, in lower case. Update I with the squared norm, which has no parameters, shows
how much that matters."""
FIRSTS = """\
The paper's set of labels is predefined, so all folders are declared before the first message. The first message of a
folder can hardly be right: {firsts:.1f} % of all messages are such."""

Section = tuple[str, list[dict[str, str]]]
"""Words, and a table below them."""


def write_report(
    output: Path,
    mailboxes: Mapping[str, Mailbox],
    results: Results,
    chooser: str,
    skipped: Mapping[str, str],
    command: str,
) -> Report:
    """Choose parameters, judge, and write all files.

    Parameters
    ----------
    output : Path
        Directory for the files.
    mailboxes : mapping of str to Mailbox
        The users.
    results : Results
        All passes.
    chooser : str
        The user on whom parameters are chosen.
    skipped : mapping of str to str
        Users without mail, with the reason.
    command : str
        What makes the page again.
    """
    own = {user: choose(results[user]) for user in mailboxes}
    choice = own[chooser]
    ours = percentages(mailboxes, results, dict.fromkeys(mailboxes, choice))
    hindsight = percentages(mailboxes, results, own)
    sections: dict[str, Section] = {
        "Table": (_outcome(mailboxes, ours, hindsight, chooser), _main_table(mailboxes, ours, chooser)),
        "Parameters": (f"Chosen on {chooser}:", _parameter_table(choice)),
        "Another user's choice": (CHOOSERS, _chooser_table(mailboxes, results, own)),
        "Other words": (WORDS, _word_table(mailboxes, ours)),
        "New folders": (FIRSTS.format(firsts=_firsts(mailboxes)), _first_table(mailboxes)),
    }
    page, text = output / "enron.md", output / "enron.txt"
    files = (*_write_csv(output, mailboxes, results, choice), page, text)
    notes = "\n\n".join(f"{words}\n{format_table(rows)}" for words, rows in sections.values())
    report = Report(TITLE, tuple(mailboxes), skipped, judge(ours, hindsight), (notes,), files)
    write_text(page, _page(report, sections, command))
    write_text(text, f"{report}\n")
    return report


def choose(passes: Mapping[Variant, Mapping[Parameters, int]]) -> Choice:
    """Parameters with the fewest mistakes for every variant, of equals the first."""
    return {variant: min(mistakes, key=lambda p: mistakes[p]) for variant, mistakes in passes.items()}


def percentages(mailboxes: Mapping[str, Mailbox], results: Results, choices: Mapping[str, Choice]) -> Table:
    """Mistakes in percent of every user with the parameters chosen for that user."""
    return {
        user: {v: mailbox.percent(results[user][v][choices[user][v]]) for v in VARIANTS}
        for user, mailbox in mailboxes.items()
    }


# -- the paper's conclusions -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Comparison:
    """Two variants of which the first makes more mistakes, the paper says."""

    worse: Variant
    better: Variant

    def __str__(self) -> str:
        if self.worse.complexity == self.better.complexity:
            return f"{self.worse.complexity} {NUMERALS[self.worse.update]} > {NUMERALS[self.better.update]}"
        return f"{NUMERALS[self.worse.update]} {self.worse.complexity} > {self.better.complexity}"

    def gain(self, numbers: Mapping[Variant, float]) -> float:
        """By how much the second is better."""
        return numbers[self.worse] - numbers[self.better]

    def mean_gain(self, table: Table) -> float:
        """The same, mean over the users."""
        return float(np.mean([self.gain(numbers) for numbers in table.values()]))


OF_UPDATES = tuple(Comparison(Variant(c, u), Variant(c, v)) for c in COMPLEXITIES for u, v in pairwise(UPDATES))
OF_COMPLEXITIES = tuple(Comparison(*(Variant(c, update) for c in COMPLEXITIES)) for update in UPDATES)
COMPARISONS = OF_UPDATES + OF_COMPLEXITIES


def judge(ours: Table, hindsight: Table) -> tuple[Conclusion, ...]:
    """Judge the paper's conclusions on our numbers; ``hindsight`` are those of every user's own best parameters."""
    order, gains = [], []
    for user, complexity in product(ours, COMPLEXITIES):
        numbers = [ours[user][Variant(complexity, update)] for update in UPDATES]
        steps = [earlier - later for earlier, later in pairwise(numbers)]
        where = f"{user}, {complexity}"
        order.append(Check(where, min(steps) > 0, chain(numbers, 2)))
        gains.append(Check(where, steps[0] > steps[1], f"{steps[0]:+.2f} and {steps[1]:+.2f} points"))
    complexities = [
        Check(f"{user}, {c}", c.gain(ours[user]) > 0, chain([ours[user][c.worse], ours[user][c.better]], 2))
        for user, c in product(ours, OF_COMPLEXITIES)
    ]
    sizes = []
    for c in COMPARISONS:
        mine, theirs, best = (c.mean_gain(table) for table in (ours, _printed(ours), hindsight))
        numbers_said = f"{mine:.2f}, paper {theirs:.2f} (every user's own best: {best:.2f})"
        sizes.append(Check(str(c), theirs / SIZE <= mine <= theirs * SIZE, numbers_said))
    levels = []
    for variant in VARIANTS:
        distance = float(np.mean([abs(ours[user][variant] - PAPER[user][variant]) for user in ours]))
        levels.append(Check(str(variant), distance <= NEAR, f"{distance:.2f} points"))
    wanted = [
        ("update I makes more mistakes than update II, and II more than III", order),
        ("the squared norm makes more mistakes than the entropy", complexities),
        ("update II improves more on I than III on II", gains),
        (f"mean improvement in points is the paper's (at least 1/{SIZE:g} of it, at most {SIZE:g} times)", sizes),
        (f"mistakes are the paper's (mean distance over the users at most {NEAR:g} points)", levels),
    ]
    return judged(wanted)


def _printed(users: Iterable[str]) -> Table:
    return {user: PAPER[user] for user in users}


# -- words and tables --------------------------------------------------------------------------------------------------


def _outcome(mailboxes: Mapping[str, Mailbox], ours: Table, hindsight: Table, chooser: str) -> str:
    """How the numbers were made, how many comparisons hold, which do not, and by how many messages."""
    missed = [(user, c) for user, c in product(ours, COMPARISONS) if c.gain(ours[user]) <= 0]
    total = len(ours) * len(COMPARISONS)
    text = f"{LEGEND.format(chooser=chooser)}\n\n{OUTCOME.format(held=total - len(missed), total=total)}"
    if missed:
        lacks = [round(-c.gain(ours[user]) * mailboxes[user].n_messages / 100) for user, c in missed]
        listed = [f"- {user}, {c}: {n} messages the other way" for (user, c), n in zip(missed, lacks, strict=True)]
        text += "\nNot:\n\n" + "\n".join(listed)
    if all(c.mean_gain(hindsight) < c.mean_gain(_printed(ours)) for c in OF_COMPLEXITIES):
        text += f"\n\n{SMALLER}"
    return text


def _firsts(mailboxes: Mapping[str, Mailbox]) -> float:
    """First messages in their folders, in percent of all messages."""
    return 100 * sum(m.n_firsts for m in mailboxes.values()) / sum(m.n_messages for m in mailboxes.values())


def _main_table(mailboxes: Mapping[str, Mailbox], ours: Table, chooser: str) -> list[dict[str, str]]:
    rows = []
    for user, mailbox in mailboxes.items():
        sizes = {"ours": (mailbox.n_folders, mailbox.n_messages), "paper": PAPER_SIZES[user]}
        for whose, numbers in (("ours", ours[user]), ("paper", PAPER[user])):
            folders, messages = sizes[whose]
            row = {"user": f"{user}{' (chooses)' if user == chooser else ''}", "whose": whose}
            row |= {"folders": str(folders), "messages": str(messages)}
            rows.append(row | {str(variant): f"{numbers[variant]:.1f}" for variant in VARIANTS})
    return rows


def _parameter_table(choice: Choice) -> list[dict[str, str]]:
    return [
        {
            "variant": str(variant),
            "C": "any" if variant == PERCEPTRON else f"{parameters.C:g}",
            "margin": "none" if variant.update == "fixed" else f"{parameters.margin:g}",
        }
        for variant, parameters in choice.items()
    ]


def _chooser_table(
    mailboxes: Mapping[str, Mailbox], results: Results, own: Mapping[str, Choice]
) -> list[dict[str, str]]:
    choices = {user: dict.fromkeys(mailboxes, own[user]) for user in mailboxes} | {"everyone": dict(own)}
    rows = []
    for who, choice in choices.items():
        table = percentages(mailboxes, results, choice)
        held = {c: sum(c.gain(numbers) > 0 for numbers in table.values()) for c in COMPARISONS}
        counts = {str(c): str(n) for c, n in held.items()}
        rows.append({"who chooses": who, **counts, f"all {len(table) * len(held)}": str(sum(held.values()))})
    return rows


def _word_table(mailboxes: Mapping[str, Mailbox], ours: Table) -> list[dict[str, str]]:
    return [
        {"user": user, "here": f"{ours[user][PERCEPTRON]:.1f}"}
        | {words: f"{mailbox.percent(mistakes):.1f}" for words, mistakes in mailbox.other_words.items()}
        | {"paper": f"{PAPER[user][PERCEPTRON]:.1f}"}
        for user, mailbox in mailboxes.items()
    ]


def _first_table(mailboxes: Mapping[str, Mailbox]) -> list[dict[str, str]]:
    return [
        {"user": user, "first messages, percent": f"{mailbox.percent(mailbox.n_firsts):.1f}"}
        for user, mailbox in mailboxes.items()
    ]


# -- files -------------------------------------------------------------------------------------------------------------


def _write_csv(output: Path, mailboxes: Mapping[str, Mailbox], results: Results, choice: Choice) -> tuple[Path, Path]:
    table, passes = [], []
    for user, variant in product(mailboxes, VARIANTS):
        mailbox = mailboxes[user]
        key = user, variant.complexity, NUMERALS[variant.update]
        for parameters, mistakes in results[user][variant].items():
            numbers = parameters.C, parameters.margin, mistakes, mailbox.n_messages, mailbox.percent(mistakes)
            passes.append((*key, *numbers))
            if parameters == choice[variant]:
                table.append((*key, *numbers, PAPER[user][variant]))
    header = ("user", "complexity", "update", "C", "margin", "mistakes", "messages", "percent")
    return (
        write_table(output / "enron.csv", (*header, "paper_percent"), table),
        write_table(output / "enron-passes.csv", header, passes),
    )


def _page(report: Report, sections: Mapping[str, Section], command: str) -> str:
    """Return the whole report in Markdown, with the command that makes it."""
    first, *others = (
        f"## {heading}\n\n{words}\n\n{records_as_markdown(rows)}" for heading, (words, rows) in sections.items()
    )
    conclusions = [f"```\n{conclusion}\n```" for conclusion in report.conclusions]
    parts = [
        f"# {report.title}",
        f"Made by `{command}`.",
        *report.skipped_in_words,
        first,
        "## Conclusions",
        *conclusions,
        *others,
    ]
    return "\n\n".join(parts) + "\n"
