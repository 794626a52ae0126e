"""Machine-learning backend of Label Studio: predictions for its tasks, learning from its annotations.

Label Studio sends tasks to ``POST /predict``, its labelling configuration to ``POST /setup``, and events to ``POST
/webhook``: annotations that are created, updated or deleted, tasks that are deleted, and the start of a training. A
prediction is the class with its probability as score, in the form of the configuration: Rating, Choices or Number, and
a pair of Numbers for the range that holds the class with a probability of 0.8.

All that is learnt is in the log of a store, as in ``rankwise serve``: an annotation is learnt once, however often it
comes; an update takes the place of what was learnt before, and a deletion takes it back. An online estimator learns
each annotation as it comes, any other all of them when training starts.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec
from starlette.routing import Route

from rankwise.annotate.project import project_of
from rankwise.annotate.studio_answers import adopt_answers
from rankwise.annotate.studio_backend import LabelStudioBackend, listed
from rankwise.annotate.studio_log import SOURCE
from rankwise.serve.app import Application, routes
from rankwise.serve.basic import password_or_bearer
from rankwise.serve.gate import LEARN, PREDICT, PUBLIC, READ, Incoming, Reply, reply
from rankwise.serve.limits import Limits
from rankwise.serve.row_model import model_content
from rankwise.serve.server import Address, run
from rankwise.serve.service import Service
from rankwise.serve.store import Store, StoreError
from rankwise.serve.tokens import Tokens

_BODY = msgspec.json.Decoder(dict[str, Any])

log = logging.getLogger("rankwise.serve")


class LabelStudioApplication(Application):
    """Label Studio's protocol behind the gate of the service; a token is a bearer token or a password."""

    def __init__(
        self, backend: LabelStudioBackend, *, tokens: Tokens | None = None, limits: Limits | None = None
    ) -> None:
        self.backend = backend
        services = {backend.service.name: backend.service}
        super().__init__(services, tokens=tokens, limits=limits, credential=password_or_bearer)
        self.asgi.observe = self._observed

    def _routes(self) -> list[Route]:
        return routes([
            ("/", "GET", self.health, PUBLIC),
            ("/health", "GET", self.health, PUBLIC),
            ("/healthz", "GET", self.healthz, PUBLIC),
            ("/readyz", "GET", self.readyz, PUBLIC),
            ("/readyz/learn", "GET", self.ready_to_learn, PUBLIC),
            ("/metrics", "GET", self.metrics, READ),
            ("/versions", "GET", self.known_versions, READ),
            ("/setup", "POST", self.setup, PREDICT),
            ("/predict", "POST", self.predict, PREDICT),
            ("/webhook", "POST", self.webhook, LEARN),
            ("/train", "POST", self.train, LEARN),
        ])  # fmt: skip

    def _observed(self, route: str, status: int, seconds: float) -> None:
        """Count a request, and log events that were refused: Label Studio tells nobody about them."""
        self.requests.observe(route, status, seconds)
        if route == "webhook" and status >= 400:
            hint = "; give the webhook the header Authorization: Bearer TOKEN" if status == 401 else ""
            log.warning("an event of Label Studio was refused%s", hint, extra={"facts": {"status": status}})

    async def health(self, request: Incoming) -> Reply:
        """Whether the backend answers."""
        model = self.backend.service.engine.replica.rows.estimator_name
        return reply({"status": "UP", "model_class": model, "model_version": self.backend.version})

    async def known_versions(self, request: Incoming) -> Reply:
        """The version that answers."""
        return reply({"versions": [self.backend.version]})

    async def setup(self, request: Incoming) -> Reply:
        """Take the labelling configuration of a project."""
        body = await request.json(_BODY)
        self.backend.configuration(body.get("project"), body.get("schema"))
        return reply({"model_version": self.backend.version})

    async def predict(self, request: Incoming) -> Reply:
        """Predictions for tasks."""
        body = await request.json(_BODY)
        tasks = body.get("tasks")
        request.limits.check_rows(len(listed(tasks)))
        configuration = self.backend.configuration(body.get("project"), body.get("label_config"))
        return reply({"results": await self.backend.predict(tasks, configuration)})

    async def webhook(self, request: Incoming) -> Reply:
        """An event; when this returns, what is learnt is on the disk."""
        body = await request.json(_BODY)
        done = await self.backend.take(body.get("action"), body)
        return reply(done, 200 if done["status"] == "ignored" else 201)

    async def train(self, request: Incoming) -> Reply:
        """Train, as older versions of Label Studio ask for it."""
        body = await request.json(_BODY)
        return reply(
            await self.backend.train(body.get("annotations"), body.get("project"), body.get("label_config")), 201
        )


def open_backend(
    model: Path, store: Path, *, answers: Path | None = None, question: str | None = None, accept_loss: bool = False
) -> LabelStudioBackend:
    """Backend of a model file and its store; ``answers`` is the file of JSON lines of an earlier version."""
    content = model_content(model, store)
    with ExitStack() as opened:
        opened_store = opened.enter_context(Store(store, write=True, accept_loss=accept_loss))
        if project_of(opened_store) is not None:
            raise StoreError(f"{store} is the store of 'rankwise annotate': give another file by --store.")
        if answers is not None and answers.exists():
            adopt_answers(answers, opened_store, content)
        service = Service(SOURCE, opened_store, content)
        opened.callback(service.stop)
        backend = LabelStudioBackend(service, question=question)
        opened.pop_all()  # it stays open
    return backend


def serve(
    backend: LabelStudioBackend, address: Address, *, tokens: Tokens | None = None, limits: Limits | None = None,
    ready: Callable[[str], None] | None = None,
) -> None:  # fmt: skip
    """Serve a backend until a signal stops the process. Without tokens, only this machine can be served."""
    run(LabelStudioApplication(backend, tokens=tokens, limits=limits), address, ready=ready)
