"""The command ``label-studio``: a model as the machine-learning backend of Label Studio."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rankwise.cli._exit import plain_errors
from rankwise.cli._options import Model, grouped

_ANSWERS = "JSON lines to which annotations are added; a batch estimator learns from all of them."
_TOKEN = "File with the password that Label Studio must give (basic authentication)."


@grouped
def label_studio(
    model: Model,
    *,
    host: Annotated[str, typer.Option(help="Address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen at.")] = 9090,
    answers: Annotated[Path | None, typer.Option(metavar="FILE", help=_ANSWERS, dir_okay=False)] = None,
    token_file: Annotated[Path | None, typer.Option(metavar="FILE", help=_TOKEN, exists=True, dir_okay=False)] = None,
) -> None:
    """Predict Label Studio's tasks with a model, and learn from its annotations.

    rankwise label-studio model.rankwise --port 9090

    Connect it in Label Studio as a model. Columns of the model are entries of a task's data. An online estimator learns
    every annotation as it comes and is saved to the same file; others learn when training is started.
    """
    with plain_errors():
        from rankwise._extras import require
        from rankwise.annotate import LabelStudioBackend, label_studio_app

        server = require("uvicorn", "the backend of Label Studio needs uvicorn: pip install 'rankwise[serve]'")
        token = None if token_file is None else token_file.read_text(encoding="utf-8").strip()
        if token == "":
            raise typer.BadParameter(f"{token_file} is empty: it must hold the token.")
        app = label_studio_app(LabelStudioBackend(model, answers), token)
        server.run(app, host=host, port=port, log_level="warning")
