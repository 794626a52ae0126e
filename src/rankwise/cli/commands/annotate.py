"""The command ``annotate``: a page on which people label items, exactly or as well as they can."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from rankwise.cli import _estimators
from rankwise.cli._exit import plain_errors
from rankwise.cli._options import AsJSON, Seed, grouped, option, parse_classes, split_columns
from rankwise.cli._outputs import INPUTS
from rankwise.cli.commands.serve import AddressOptions, LogLevel
from rankwise.serve import check_installed

_SHOWN, _ASKED = "What raters see", "What is asked"
_SCALE = "Table with the classes, lowest first, instead of --classes: columns class, name and description."
_WHICH = "What learns after each answer: an online estimator, with parameters if needed."
_GUESS = "Tell raters, after their answer, what the model had guessed. Before it, the guess would lead them."
_STOP = "Advise to stop when ten more minutes are worth less than so many ranks."
_SHARED = "Share of the items that so many raters answer, from the start; the others are answered once."
_SHOW = "Columns to show as a table; may be repeated. Without it and --text, --image, --audio, all."

Strategy = StrEnum("Strategy", ["random", "uncertainty", "information"])
PageLanguage = StrEnum("PageLanguage", ["en", "de"])


@dataclass(frozen=True, kw_only=True)
class ShownOptions:
    """What raters see."""

    text: Annotated[str | None, option("Column with the text to show.", _SHOWN)] = None
    image: Annotated[str | None, option("Column with names of pictures in --media.", _SHOWN)] = None
    audio: Annotated[str | None, option("Column with names of sounds in --media.", _SHOWN)] = None
    show: Annotated[list[str] | None, option(_SHOW, _SHOWN)] = None
    media: Annotated[Path | None, option("Folder of pictures and sounds; nothing else is served.", _SHOWN, "DIR")] = (
        None
    )
    scale: Annotated[Path | None, option(_SCALE, _SHOWN, "FILE")] = None
    title: Annotated[str, option("Heading of the page.", _SHOWN, "TEXT")] = "Annotation"
    language: Annotated[PageLanguage, option("Language of the page; raters can change it.", _SHOWN, None)] = (
        PageLanguage.en
    )
    show_guess: Annotated[bool, option(_GUESS, _SHOWN, None, "--show-guess")] = False


@dataclass(frozen=True, kw_only=True)
class AskOptions:
    """What is asked."""

    raters: Annotated[int, option("Raters who answer each shared item, see --shared.", _ASKED, "N", min=1)] = 1
    shared: Annotated[float, option(_SHARED, _ASKED, "P", min=0.0, max=1.0)] = 0.1
    strategy: Annotated[
        Strategy, option("Random items, uncertain items, or the question that gains most for its time.", _ASKED, None)
    ] = Strategy.uncertainty
    control: Annotated[
        float, option("Share of random items, which measure the error.", _ASKED, "P", min=0.0, max=1.0)
    ] = 0.1
    estimator: Annotated[str, option(_WHICH, _ASKED, "NAME[:PARAM=VALUE,...]")] = "OnlineCumulativeLink"
    ignore: Annotated[list[str] | None, option("Columns that the model does not learn from.", _ASKED)] = None
    id: Annotated[str | None, option("Column that names items; by default id or item, or the row.", _ASKED)] = None
    stop_at: Annotated[float, option(_STOP, _ASKED, "RANKS", min=0.0)] = 0.01


@grouped
def annotate(
    items: Annotated[
        Path, typer.Argument(metavar="ITEMS", help="A table: CSV, Parquet, Arrow, JSON lines or Excel."), INPUTS
    ],
    *,
    classes: Annotated[
        str | None, typer.Option(metavar="A,B,...", help="All classes, lowest first: low,medium,high or 1..5.")
    ] = None,
    labels: Annotated[Path, typer.Option(metavar="FILE", help="Store of the answers, an SQLite file; made if new.")],
    shown: ShownOptions,
    asked: AskOptions,
    address: AddressOptions,
    accept_loss: Annotated[
        bool, typer.Option("--accept-loss", help="Open a store that ends before what was acknowledged.")
    ] = False,
    log_level: Annotated[LogLevel, typer.Option(help="What is logged, as JSON lines on the standard error.")] = (
        LogLevel.warning
    ),
    seed: Seed = 0,
    json: AsJSON = False,
) -> None:
    """Serve a page on which people label items: exact, a range, candidates, or "can't tell".

    rankwise annotate items.csv --classes 1..5 --labels labels.sqlite --text remark

    Open the address that is printed. Answers are on the disk before the next item shows. A model learns from each of
    them and chooses what to ask next. 'rankwise store export labels.sqlite --output labels.csv' gives the labels.
    """
    if (classes is None) == (shown.scale is None):
        raise typer.BadParameter("say what the classes are: --classes LOWEST,...,HIGHEST, or a table, --scale FILE.")
    if (shown.image or shown.audio) and shown.media is None:
        raise typer.BadParameter("--image and --audio need --media DIR, the folder of the files.")
    learner = _learner(asked)
    declared = parse_classes(classes)
    with plain_errors():
        check_installed()
        from rankwise.annotate.desk import DeskPlan
        from rankwise.annotate.items import Shown, read_items
        from rankwise.annotate.media import MediaFolder
        from rankwise.annotate.project import Scale
        from rankwise.annotate.rater_app import Look, serve
        from rankwise.serve.server import log_to_stderr

        log_to_stderr(log_level.value)
        media = None if shown.media is None else MediaFolder(shown.media)
        columns = Shown(text=shown.text, image=shown.image, audio=shown.audio, columns=split_columns(shown.show))
        table = read_items(items, columns, name=asked.id, ignore=split_columns(asked.ignore))
        scale = Scale.read(shown.scale) if shown.scale is not None else Scale.of(declared or [])
        plan = DeskPlan(
            raters=asked.raters, shared=asked.shared, strategy=asked.strategy.value, control=asked.control,
            show_guess=shown.show_guess, stop_at=asked.stop_at, seed=seed,
        )  # fmt: skip
        look = Look(title=shown.title, language=shown.language.value)
        listening = address.listening(f"{len(table):,} items", {"items": len(table)}, json)
        serve(
            table, scale, labels, learner, plan, look, media, accept_loss=accept_loss, waiting=_compiling, **listening
        )


def _compiling() -> None:
    if sys.stderr.isatty():
        typer.echo("compiling the model, which takes up to a minute the first time ...", err=True)


def _learner(asked: AskOptions) -> Any:
    learner = _estimators.make_contestant(asked.estimator, streams=True)
    if not hasattr(learner, "partial_fit"):
        raise typer.BadParameter(
            f"--estimator must learn answer by answer, and {type(learner).__name__} is a batch estimator."
        )
    if asked.strategy is not Strategy.random and not hasattr(learner, "predict_proba"):
        raise typer.BadParameter(
            f"{type(learner).__name__} has no class probabilities: give --strategy random, or another --estimator."
        )
    return learner
