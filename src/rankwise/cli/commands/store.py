"""The commands of ``store``, on the log of a service: inspect, agreement, export, model, repair, import."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rankwise.cli._exit import MANY_SKIPPED, plain_errors
from rankwise.cli._options import AsJSON, Model, Overwrite, grouped
from rankwise.cli._outputs import NEW_MODEL, NEW_TABLE
from rankwise.cli._print import print_facts, print_json, print_written, some
from rankwise.cli.commands.convert import ITEMS, Tool
from rankwise.serve import check_installed

Store = Annotated[
    Path, typer.Argument(metavar="STORE", help="The store of 'rankwise serve' or 'annotate'; it may be in use.")
]
_OUTPUT = "File to write; its name says the format."


def inspect(store: Store, json: AsJSON = False) -> None:
    """Show what a store holds: events, versions, snapshots."""
    with plain_errors():
        check_installed()
        from rankwise.serve.transfer import inspect

        contents = inspect(store)
    if json:
        print_json(contents)
        return
    facts = {"events": f"{contents['events']:,}"}
    facts |= {kind: f"{count:,}" for kind, count in sorted(contents["kinds"].items())}
    for line in contents["versions"]:
        places = some([f"{seq:,}" for seq in line["snapshots"]]) if line["snapshots"] else "none"
        facts[f"version {line['version']}"] = f"{line['reason']} at event {line['began']:,}; snapshots at {places}"
    facts |= {
        "digest": contents["digest"],
        "challengers": str(contents["challengers"]),
        "size": f"{contents['bytes']:,} bytes",
    }
    print_facts(facts)


@grouped
def export(
    store: Store,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help=_OUTPUT), NEW_TABLE],
    *,
    answers_to: Annotated[Tool | None, typer.Option(help="Of annotations: write a file for this tool.")] = None,
    items: Annotated[Path | None, typer.Option(metavar="FILE", help=ITEMS, exists=True, dir_okay=False)] = None,
    events: Annotated[
        bool, typer.Option("--events", help="Write every event as it came: who sent, corrected and retracted what.")
    ] = False,
    overwrite: Overwrite = False,
    json: AsJSON = False,
) -> None:
    """Write the feedback of a store to a table: id, seq, label, weight and all features.

    rankwise store export feedback.sqlite --output feedback.parquet

    Corrections are in it, and what was retracted is not. 'rankwise fit' reads it with --label label --weight weight
    --ignore id,seq. A store of 'rankwise annotate' gives item, rater, label, seconds and note of every answer, in the
    order in which they were learnt, or with --answers-to a file of an annotation tool. This file has the columns of the
    items that the model learns from, or those of --items.
    """
    with plain_errors():
        check_installed()
        from rankwise.annotate.export import export_answers
        from rankwise.annotate.project import project_of
        from rankwise.io import read_items
        from rankwise.serve import store as stores
        from rankwise.serve.transfer import export_events, export_log

        if events and answers_to is not None:
            raise typer.BadParameter("--events and --answers-to exclude each other.")
        with stores.Store(store) as opened:
            has_answers = project_of(opened) is not None
        if items is not None and answers_to is None:
            raise typer.BadParameter("--items is what a tool shows: it needs --answers-to.")
        if events:
            n = export_events(store, output)
        elif answers_to is not None or has_answers:
            shown = None if items is None else read_items(items)
            n = export_answers(store, output, None if answers_to is None else answers_to.value, items=shown)
        else:
            n = export_log(store, output)
    print_written(output, n, 0, json)


@grouped
def model(
    store: Store,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Model file to write."), NEW_MODEL],
    *,
    overwrite: Overwrite = False,
    json: AsJSON = False,
) -> None:
    """Write the model of a store, as of its last event, to a model file.

    rankwise store model labels.sqlite --output model.rankwise
    """
    with plain_errors():
        check_installed()
        from rankwise.serve.transfer import export_model

        name = export_model(store, output)
    if json:
        print_json({"output": str(output), "version": name})
    else:
        print_facts({"version": name, "output": str(output)})


def agreement(store: Store, json: AsJSON = False) -> None:
    """Show how far the raters of 'rankwise annotate' agree, on which items they differ, and what was decided.

    rankwise store agreement labels.sqlite

    Alpha is Krippendorff's for ordered classes, kappa Cohen's with quadratic weights, on items where both answers are
    exact. Raters differ on an item if no class is possible by both answers.
    """
    with plain_errors():
        check_installed()
        from rankwise.annotate.agreement import agreement_in, in_lines
        from rankwise.serve import store as stores

        with stores.Store(store) as opened:
            facts = agreement_in(opened)
    if json:
        print_json(facts)
        return
    for line in in_lines(facts):
        typer.echo(line)


def repair(
    store: Annotated[Path, typer.Argument(metavar="STORE", help="The damaged store; it is only read.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="The new store; it must not be there.")
    ],
    json: AsJSON = False,
) -> None:
    """Save what can be read of a damaged store in a new file, and list what cannot.

    rankwise store repair feedback.sqlite --output repaired.sqlite

    Events that cannot be read, or that do not match their digests, are left out and listed with their ids. An event
    behind a lost one is saved and listed as unproven: its digest covers the lost one. The exit code is 0 if everything
    was saved, else 3.
    """
    with plain_errors():
        check_installed()
        from rankwise.serve.repair import repair

        report = repair(store, output)
    if json:
        print_json(report.to_plain())
    else:
        for what, events in (("lost", report.lost), ("changed", report.changed), ("unproven", report.unproven)):
            for seq, id in events:
                typer.echo(f"{what}: event {seq} ({id})")
        for line in report.others:
            typer.echo(f"lost: {line}")
        facts = {"events": f"{report.events:,} saved, {len(report.lost):,} lost, {len(report.changed):,} changed"}
        if report.version is not None:
            facts["version"] = f"{report.version} begins, with the newest snapshot"
        if not report.has_model:
            facts["model"] = "none could be saved; 'rankwise serve MODEL --accept-loss' learns all events anew"
        print_facts({**facts, "output": str(output)})
    raise typer.Exit(0 if report.is_whole else MANY_SKIPPED)


def import_(
    table: Annotated[Path, typer.Argument(metavar="FILE", help="A table with a column 'label'; id and weight if any.")],
    model: Model,
    store: Annotated[Path, typer.Option("--store", metavar="FILE", help="Store to fill; made if new.")],
    accept_loss: Annotated[
        bool, typer.Option("--accept-loss", help="Fill it although acknowledged events of it are gone.")
    ] = False,
    json: AsJSON = False,
) -> None:
    """Learn the rows of a table as feedback, in their order: for a new model, or to move a store.

    rankwise store import feedback.parquet model.rankwise --store new.sqlite

    Rows whose ids the store holds are not learnt again, so that an import that was interrupted can be repeated.
    """
    with plain_errors():
        check_installed()
        from rankwise.serve.transfer import import_log

        n = import_log(table, model, store, accept_loss=accept_loss)
    print_written(store, n, 0, json)
