"""From items to a running page."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from rankwise.annotate.app import AnnotationApplication, Look
from rankwise.annotate.desk import Desk, Plan
from rankwise.annotate.items import Items
from rankwise.annotate.media import MediaFolder
from rankwise.annotate.project import Scale, open_project
from rankwise.serve.launch import require_tokens
from rankwise.serve.limits import Limits
from rankwise.serve.server import Address, run
from rankwise.serve.tokens import Tokens

_LARGEST_BODY = 100_000  # bytes of an answer


def serve(
    items: Items, scale: Scale, store: Path, estimator: Any, plan: Plan, look: Look, media: MediaFolder | None,
    address: Address, *, tokens: Tokens | None = None, accept_loss: bool = False,
    ready: Callable[[str], None] | None = None,
) -> None:  # fmt: skip
    """Serve the page of a project until a signal stops the process."""
    require_tokens(address, tokens)
    service = open_project(store, items, scale, estimator, accept_loss=accept_loss)
    try:
        desk = Desk(service, items, scale, plan)
    except BaseException:
        service.stop()
        raise
    run(AnnotationApplication(desk, look, media, tokens=tokens, limits=Limits(_LARGEST_BODY)), address, ready=ready)
