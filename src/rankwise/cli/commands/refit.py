"""The command ``refit``: a challenger for the model of a store."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rankwise.cli._exit import plain_errors
from rankwise.cli._options import AsJSON
from rankwise.cli._print import print_facts, print_json
from rankwise.serve import check_installed


def refit(
    store: Annotated[Path | None, typer.Argument(metavar="STORE", help="The store of 'rankwise serve'.")] = None,
    at: Annotated[Path | None, typer.Option("--store", metavar="FILE", help="The same as an option.")] = None,
    *,
    test_share: Annotated[float, typer.Option(min=0.01, max=0.9, help="Share of the feedback to compare on.")] = 0.2,
    least: Annotated[int, typer.Option(min=2, help="Fewest rows to train on, and to compare on.")] = 50,
    margin: Annotated[float, typer.Option(min=0, help="Standard errors by which it must be better.")] = 1.0,
    json: AsJSON = False,
) -> None:
    """Train the model of a store anew on its feedback, and serve the new one if it is better.

    rankwise refit feedback.sqlite

    The newest feedback, which the new model does not learn from, decides. A server that runs on the store takes over
    the better model within seconds; the old one stays among its versions.
    """
    path = store or at
    if path is None or (store is not None and at is not None):
        raise typer.BadParameter("which store? Give it once: rankwise refit FILE.")
    with plain_errors():
        check_installed()
        from rankwise.serve.refit import refit as run

        report = run(path, test_share=test_share, least=least, margin=margin)
    if json:
        print_json(report)
        return
    difference = f"{report['difference']:+.4f} (standard error {report['difference_se']:.4f})"
    print_facts(
        {
            "trained on": f"{report['rows']:,} feedbacks, up to event {report['trained_to']:,}",
            "compared on": f"the {report['test_rows']:,} newest",
            "error": f"{report['error']:.4f}, of the model that is served {report['champion_error']:.4f}: {difference}",
            "decision": _decision(report),
        }
    )


def _decision(report: dict[str, object]) -> str:
    if not report["better"]:
        return "not better: the model stays"
    return "better: the server takes it over" if report["version"] is None else f"better: version {report['version']}"
