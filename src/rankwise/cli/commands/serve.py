"""The command ``serve``: predictions and feedback over HTTP."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer

from rankwise.cli._exit import BAD_DATA, plain_errors
from rankwise.cli._options import AsJSON, grouped, option
from rankwise.cli._print import print_json
from rankwise.serve import check_installed

LogLevel = StrEnum("LogLevel", ["debug", "info", "warning", "error"])
_ADDRESS, _LIMITS, _LOG = "Address and access", "Limits", "Log and snapshots"
_TOKENS = (
    "Tokens, one a line: a role (read, predict, learn or admin) and the token. Any host but the loopback needs them."
)
_REQUESTS = "Append a line of JSON for each request to this file; SIGHUP opens it anew, for log rotation."
_REFIT = "Train a challenger in another process after so many new feedbacks, and serve it if it is better."


@dataclass(frozen=True, kw_only=True)
class AddressOptions:
    """Where to listen, and who may ask."""

    host: Annotated[str, option("Address to listen on.", _ADDRESS, "HOST")] = "127.0.0.1"
    port: Annotated[int, option("Port to listen on; 0 takes a free one.", _ADDRESS, "PORT", min=0, max=65535)] = 8321
    token_file: Annotated[Path | None, option(_TOKENS, _ADDRESS, "FILE")] = None
    certificate: Annotated[Path | None, option("Certificate for HTTPS, PEM.", _ADDRESS, "FILE")] = None
    key: Annotated[Path | None, option("Its private key, PEM.", _ADDRESS, "FILE")] = None
    request_log: Annotated[Path | None, option(_REQUESTS, _ADDRESS, "FILE")] = None
    role_alone: ClassVar[str | None] = None  # of a token without a role

    def __post_init__(self) -> None:
        if (self.certificate is None) != (self.key is None):
            raise typer.BadParameter("--certificate and --key belong together.")

    def listening(self, what: str, facts: dict[str, Any], as_json: bool) -> dict[str, Any]:
        """Address, tokens and what to print once requests are accepted: keywords of the functions that serve."""
        from rankwise.serve.server import Address
        from rankwise.serve.tokens import Tokens

        def ready(url: str) -> None:
            if as_json:
                print_json({"url": url, **facts})
            else:
                typer.echo(f"{what} at {url} (Ctrl-C stops)")

        tokens = None if self.token_file is None else Tokens(self.token_file, self.role_alone)
        return {
            "address": Address(self.host, self.port, self.certificate, self.key, self.request_log),
            "tokens": tokens,
            "ready": ready,
        }


@dataclass(frozen=True, kw_only=True)
class LimitOptions:
    """What a client may ask for."""

    max_body: Annotated[int, option("Bytes of a request.", _LIMITS, "N", min=1000)] = 64 * 2**20
    max_rows: Annotated[int, option("Rows of a JSON request.", _LIMITS, "N", min=1)] = 100_000
    rate: Annotated[float, option("Requests of one client in a second; 0: any number.", _LIMITS, "N", min=0)] = 0.0
    timeout: Annotated[float, option("Seconds in which a request must have come.", _LIMITS, "S", min=0.1)] = 30.0


@dataclass(frozen=True, kw_only=True)
class LogOptions:
    """How feedback is kept."""

    snapshot_every: Annotated[int, option("Feedbacks between two snapshots.", _LOG, "N", min=1)] = 10_000
    keep: Annotated[int, option("Snapshots to keep.", _LOG, "N", min=1)] = 10
    remember: Annotated[int, option("Predictions whose features may be remembered.", _LOG, "N", min=1)] = 1_000_000
    refit_after: Annotated[int, option(_REFIT, _LOG, "N", min=0)] = 0
    accept_loss: Annotated[
        bool, option("Open a store that ends before what was acknowledged.", _LOG, None, "--accept-loss")
    ] = False
    log_level: Annotated[LogLevel, option("What is logged, as JSON lines on the standard error.", _LOG, None)] = (
        LogLevel.info
    )


@grouped
def serve(
    model: Annotated[Path | None, typer.Argument(metavar="MODEL", help="A model file, from 'rankwise fit'.")] = None,
    *,
    store: Annotated[Path | None, typer.Option(metavar="FILE", help="Its store, an SQLite file; made if new.")] = None,
    models: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Serve every NAME.rankwise in a directory, each with NAME.sqlite."),
    ] = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="Do not serve: replay the whole log and compare every bit.")
    ] = False,
    address: AddressOptions,
    limits: LimitOptions,
    log: LogOptions,
    json: AsJSON = False,
) -> None:
    """Serve a model that learns: predictions, and feedback that is on the disk before it is acknowledged.

    rankwise serve model.rankwise --store feedback.sqlite

    Ask with POST /v1/predict, tell with POST /v1/feedback; the page is at /, the description at /openapi.json. The
    model is a snapshot and a replay of the log: after any crash it is the same, to the bit, and --verify proves it.
    """
    if (model is None or store is None) == (models is None):
        raise typer.BadParameter("serve one model (MODEL and --store FILE) or several (--models DIR).")
    with plain_errors():
        check_installed()
        from rankwise.serve.launch import models_in

        chosen: dict[str, Any] = models_in(models) if models is not None else {_name(model): (model, store)}
        if verify:
            sound = [_verified(name, model.read_bytes(), path, json) for name, (model, path) in chosen.items()]
            raise typer.Exit(0 if all(sound) else BAD_DATA)
        from rankwise.serve.launch import open_services, require_tokens, serve
        from rankwise.serve.limits import Limits
        from rankwise.serve.server import log_to_stderr
        from rankwise.serve.writer import Settings

        log_to_stderr(log.log_level.value)
        listening = address.listening(f"serving {', '.join(chosen)}", {"models": list(chosen)}, json)
        settings = Settings(log.snapshot_every, log.keep, log.remember, refit_after=log.refit_after)
        require_tokens(listening["address"], listening["tokens"])  # before stores are made
        services = open_services(chosen, settings, accept_loss=log.accept_loss)
        serve(services, limits=Limits(limits.max_body, limits.max_rows, limits.rate, limits.timeout), **listening)


def _name(model: Path | None) -> str:
    import re

    return re.sub(r"[^A-Za-z0-9._-]", "-", model.stem) if model is not None else ""


def _verified(name: str, content: bytes, path: Path, json: bool) -> bool:
    from rankwise.serve.store import Store
    from rankwise.serve.verify import verify

    with Store(path) as store:
        checks = list(verify(store, content))
        events = store.last
    if json:
        results = [{"what": check.what, "equal": check.is_equal} for check in checks]
        print_json({"model": name, "events": events, "checks": results})
    else:
        for check in checks:
            typer.echo(f"{name}: {'equal    ' if check.is_equal else 'DIFFERENT'} {check.what}")
    return all(check.is_equal for check in checks)
