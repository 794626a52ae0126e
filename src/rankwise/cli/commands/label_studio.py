"""The command ``label-studio``: a model as the machine-learning backend of Label Studio."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer

from rankwise.cli._exit import plain_errors
from rankwise.cli._options import AsJSON, Model, grouped, option
from rankwise.cli.commands.serve import AddressOptions, LogLevel
from rankwise.serve import check_installed

_ADDRESS = "Address and access"
_STORE = "Store of all that is learnt, an SQLite file; made if new. By default the model's name with .sqlite."
_ANSWERS = "Annotations that an earlier version kept as JSON lines; they are taken into the store."
_QUESTION = "Control with the class, where the labelling configuration has several that could be it."
_TOKENS = (
    "Tokens, one a line: alone, or behind a role as in 'rankwise serve'. Label Studio gives one as password. Any host "
    "but the loopback needs them."
)


@dataclass(frozen=True, kw_only=True)
class StudioAddressOptions(AddressOptions):
    """Where to listen, and who may ask."""

    port: Annotated[int, option("Port to listen on; 0 takes a free one.", _ADDRESS, "PORT", min=0, max=65535)] = 9090
    token_file: Annotated[Path | None, option(_TOKENS, _ADDRESS, "FILE")] = None
    role_alone: ClassVar[str | None] = "learn"


@grouped
def label_studio(
    model: Model,
    *,
    store: Annotated[Path | None, typer.Option(metavar="FILE", help=_STORE, dir_okay=False)] = None,
    question: Annotated[str | None, typer.Option(metavar="NAME", help=_QUESTION)] = None,
    answers: Annotated[Path | None, typer.Option(metavar="FILE", help=_ANSWERS, dir_okay=False)] = None,
    address: StudioAddressOptions,
    accept_loss: Annotated[
        bool, typer.Option("--accept-loss", help="Open a store that ends before what was acknowledged.")
    ] = False,
    log_level: Annotated[LogLevel, typer.Option(help="What is logged, as JSON lines on the standard error.")] = (
        LogLevel.warning
    ),
    json: AsJSON = False,
) -> None:
    """Predict Label Studio's tasks with a model, and learn from its annotations.

    rankwise label-studio model.rankwise --port 9090

    Connect it in Label Studio as a model. Columns of the model are entries of a task's data. An online estimator learns
    every annotation as it comes; others learn when training is started. What is learnt is in the store and the model
    file stays as it is: 'rankwise store model STORE --output FILE' writes the model that has learnt.
    """
    with plain_errors():
        check_installed()
        from rankwise.annotate.label_studio import open_backend, serve
        from rankwise.serve.launch import STORE_SUFFIX, require_tokens
        from rankwise.serve.server import log_to_stderr

        log_to_stderr(log_level.value)
        path = model.with_suffix(STORE_SUFFIX) if store is None else store
        facts: dict[str, Any] = {"store": str(path)}
        listening = address.listening(f"{model.name}, learning into {path},", facts, json)
        require_tokens(listening["address"], listening["tokens"])
        backend = open_backend(model, path, answers=answers, question=question, accept_loss=accept_loss)
        serve(backend, **listening)
