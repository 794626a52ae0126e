"""From files to a running service."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from rankwise.serve.app import Application
from rankwise.serve.gate import is_loopback
from rankwise.serve.limits import Limits
from rankwise.serve.row_model import model_content
from rankwise.serve.server import Address, run
from rankwise.serve.service import Service
from rankwise.serve.store import Store, StoreError
from rankwise.serve.tokens import Tokens
from rankwise.serve.writer import Settings

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
MODEL_SUFFIX, STORE_SUFFIX = ".rankwise", ".sqlite"


def models_in(folder: Path) -> dict[str, tuple[Path, Path]]:
    """Models of a directory by name, each with the file of its store in the same directory."""
    models = {path.stem: (path, path.with_suffix(STORE_SUFFIX)) for path in sorted(folder.glob(f"*{MODEL_SUFFIX}"))}
    if not models:
        raise StoreError(f"{folder} holds no model, NAME{MODEL_SUFFIX}.")
    for name in models:
        if not _NAME.fullmatch(name):
            raise StoreError(f"{folder / name}: a name in a path is made of letters, digits, '.', '_' and '-'.")
    return models


def open_services(
    models: dict[str, tuple[Path | None, Path]], settings: Settings, *, accept_loss: bool = False
) -> dict[str, Service]:
    """Services of models, each recovered from its store; if one fails, all others are closed."""
    services: dict[str, Service] = {}
    with ExitStack() as opened:
        for name, (model, path) in models.items():
            content = None if model is None else model_content(model, path)
            store = opened.enter_context(Store(path, write=True, accept_loss=accept_loss))
            services[name] = Service(name, store, content, settings)
            opened.callback(services[name].stop)
        opened.pop_all()  # they stay open
    return services


def serve(
    services: dict[str, Service], address: Address, *, tokens: Tokens | None = None, limits: Limits | None = None,
    ready: Callable[[str], None] | None = None,
) -> None:  # fmt: skip
    """Serve until a signal stops the process. Without tokens, only this machine can be served."""
    require_tokens(address, tokens)
    run(Application(services, tokens=tokens, limits=limits), address, ready=ready)


def require_tokens(address: Address, tokens: Tokens | None) -> None:
    """Refuse to listen to other machines without tokens."""
    if tokens is None and not is_loopback(address.host):
        raise ValueError(f"{address.host} can be reached from outside: give tokens (--token-file).")
