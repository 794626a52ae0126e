"""The application: its paths and their endpoints."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from starlette.routing import Route, Router

from rankwise._version import __version__
from rankwise._words import words_of_the_service
from rankwise.serve import messages, page
from rankwise.serve.gate import (
    ADMIN,
    ARROW,
    LEARN,
    PREDICT,
    PUBLIC,
    READ,
    Endpoint,
    Headers,
    Incoming,
    Reply,
    RequestGate,
    bearer_token,
    reply,
)
from rankwise.serve.limits import Limits
from rankwise.serve.openapi import document
from rankwise.serve.problems import Problem
from rankwise.serve.service import Service
from rankwise.serve.tokens import Tokens
from rankwise.serve.watch import Exposition, Requests

_LONG = 100_000  # bytes of JSON that are read beside the event loop


class Application:
    """All models that are served, by their names, behind one gate; a server runs ``asgi``."""

    def __init__(
        self, services: Mapping[str, Service], *, tokens: Tokens | None = None, limits: Limits | None = None,
        credential: Callable[[Headers], str | None] = bearer_token,
    ) -> None:  # fmt: skip
        self.services: dict[str, Service] = dict(services)
        self.only = next(iter(services.values())) if len(services) == 1 else None
        self.requests = Requests()
        self.is_ready = False
        router = Router(self._routes(), default=self._nothing_here, lifespan=self._lifespan)
        router.redirect_slashes = False
        self.asgi = RequestGate(
            router, tokens=tokens, limits=limits, observe=self.requests.observe, credential=credential
        )

    def _routes(self) -> list[Route]:
        of_a_model = [
            ("predict", "POST", self.predict, PREDICT),
            ("feedback", "POST", self.feedback, LEARN),
            ("feedback/{id:path}", "GET", self.one_feedback, READ),
            ("feedback/{id:path}", "PUT", self.correct, ADMIN),
            ("feedback/{id:path}", "DELETE", self.retract, ADMIN),
            ("model", "GET", self.model, READ),
            ("versions", "GET", self.versions, READ),
            ("versions/rollback", "POST", self.roll_back, ADMIN),
            ("versions/promote", "POST", self.promote, ADMIN),
            ("explain", "GET", self.explain_model, READ),
            ("explain", "POST", self.explain_rows, PREDICT),
            ("events", "GET", self.events, READ),
        ]
        of_all = [
            *self._common_routes(),
            ("/openapi.json", "GET", self.openapi, PUBLIC),
            ("/v1/models", "GET", self.models, READ),
            ("/models/{model}", "GET", self.page, PUBLIC),
            ("/page.js", "GET", page.served("page.js"), PUBLIC),
        ]
        return [*routes(of_a_model, "/v1/"), *routes(of_a_model, "/v1/models/{model}/"), *routes(of_all)]

    def _common_routes(self) -> list[tuple[str, str, Any, int]]:
        """Routes that the application for raters has too."""
        return [
            ("/", "GET", self.page, PUBLIC),
            ("/page.css", "GET", page.served("page.css"), PUBLIC),
            ("/common.js", "GET", page.served("common.js"), PUBLIC),
            ("/healthz", "GET", self.healthz, PUBLIC),
            ("/readyz", "GET", self.readyz, PUBLIC),
            ("/readyz/learn", "GET", self.ready_to_learn, PUBLIC),
            ("/metrics", "GET", self.metrics, READ),
        ]

    @asynccontextmanager
    async def _lifespan(self, _: Any) -> AsyncIterator[None]:
        with words_of_the_service():
            for service in self.services.values():
                service.start()
            self.is_ready = True
            try:
                yield
            finally:
                self.is_ready = False
                for service in self.services.values():
                    await asyncio.to_thread(service.stop)

    def reload(self) -> None:
        """Read the tokens again, and open the request log anew: other programs may have replaced the files."""
        if self.asgi.tokens is not None:
            self.asgi.tokens.reload()
        if self.asgi.request_log is not None:
            self.asgi.request_log.reopen()

    def refused(self, client: str, status: int, reason: str) -> None:
        """Count and log what came to the server and was no request."""
        self.requests.observe("malformed", status, 0.0)
        if self.asgi.request_log is not None:
            self.asgi.request_log.write(client=client, status=status, route="malformed", reason=reason)

    def close_streams(self) -> None:
        """End server-sent events, so that the server can stop."""
        for service in self.services.values():
            service.hub.close()

    async def _nothing_here(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            raise Problem(404, f"there is nothing at {scope['path'][:200]!r}; /openapi.json lists what there is.")

    def _service(self, request: Incoming) -> Service:
        name = request.path.get("model")
        if name is None and self.only is not None:
            return self.only
        if name not in self.services:
            known = ", ".join(sorted(self.services)[:20])
            raise Problem(404, f"name one of the models in the path, /v1/models/NAME/...: {known}.")
        return self.services[name]

    # -- predictions and feedback ------------------------------------------------------------------------------------

    async def predict(self, request: Incoming) -> Reply:
        """Answers for rows, as JSON or Arrow."""
        service = self._service(request)
        if request.media_type == ARROW:
            level = messages.level_in(request.query)
            answers = await service.in_thread(_predict_arrow, service, await request.body(), level)
            return Reply(answers, media_type=ARROW)
        body = await _json_rows(service, request, messages.PREDICT)
        rows = await service.predict(body.rows, body.ids, body.level, body.remember)
        return reply({"classes": service.engine.replica.rows.classes, "rows": rows})

    async def feedback(self, request: Incoming) -> Reply:
        """Log and learn rows."""
        service = self._service(request)
        key = request.header(b"idempotency-key")
        if key is not None and not 0 < len(key) <= 150:
            raise Problem(422, "an Idempotency-Key has 1 to 150 characters.")
        if request.media_type == ARROW:
            rows = await service.in_thread(_arrow_feedback, await request.body())
        else:
            rows = (await _json_rows(service, request, messages.FEEDBACK)).rows
        return reply({"rows": await service.learn(rows, key, request.actor)})

    async def one_feedback(self, request: Incoming) -> Reply:
        """The feedback under an id, as last corrected."""
        reader, id = self._service(request).reader, request.path["id"]
        seq, kind, label, weight, _ = reader.find([id]).get(id, (0, "", "", 0.0, ""))
        if kind != "feedback":
            raise Problem(404, f"there is no feedback {id[:200]!r}.")
        changes = reader.changes(seq, seq, reader.newest())
        state, new_label, new_weight = changes.get(seq, (kind, label, weight))
        now = {"id": id, "seq": seq, "label": new_label, "weight": new_weight, "state": state}
        return reply({**now, "history": reader.history(seq)})

    async def correct(self, request: Incoming) -> Reply:
        """Change the label of an earlier feedback."""
        service = self._service(request)
        body = await request.json(messages.CORRECTION)
        label = messages.label_text(body.label)
        service.engine.replica.rows.labels([label])
        done = service.engine.change(
            request.path["id"], label, body.weight, service.future(), actor=request.actor
        )  # fmt: skip
        return reply(await done, 202)

    async def retract(self, request: Incoming) -> Reply:
        """Take back an earlier feedback."""
        service = self._service(request)
        done = service.engine.change(request.path["id"], None, None, service.future(), actor=request.actor)
        return reply(await done, 202)

    # -- the model ---------------------------------------------------------------------------------------------------

    async def models(self, request: Incoming) -> Reply:
        """Names of all models."""
        return reply({"models": [{"name": name, "version": service.engine.replica.name}
                                 for name, service in self.services.items()]})  # fmt: skip

    async def model(self, request: Incoming) -> Reply:
        """What is served."""
        return reply(self._service(request).describe())

    async def versions(self, request: Incoming) -> Reply:
        """All versions, newest first, and challengers."""
        service = self._service(request)
        lines = service.reader.connection.execute("SELECT number, at, state, report FROM challengers ORDER BY number")
        challengers = [{"challenger": n, "at": at, "state": state, "report": msgspec.Raw(report.encode())}
                       for n, at, state, report in lines]  # fmt: skip
        return reply({"versions": service.versions(), "challengers": challengers})

    async def roll_back(self, request: Incoming) -> Reply:
        """Serve an earlier model again."""
        service = self._service(request)
        body = await request.json(messages.ROLLBACK)
        return reply(
            {"version": await service.engine.roll_back(body.version, body.seq, service.future(), request.actor)}
        )

    async def promote(self, request: Incoming) -> Reply:
        """Serve a challenger."""
        service = self._service(request)
        body = await request.json(messages.PROMOTE)
        return reply({"version": await service.engine.promote(body.challenger, service.future(), request.actor)})

    async def explain_model(self, request: Incoming) -> Reply:
        """What matters to the model."""
        service = self._service(request)
        return reply(await service.in_thread(service.explain, None))

    async def explain_rows(self, request: Incoming) -> Reply:
        """Why the model gives rows their classes."""
        service = self._service(request)
        body = await _json_rows(service, request, messages.PREDICT)
        return reply(await service.in_thread(service.explain, body.rows))

    async def events(self, request: Incoming) -> Reply:
        """Server-sent events with the state."""
        hub = self._service(request).hub
        if hub.is_full:
            raise Problem(503, "too many pages listen.", headers={"Retry-After": "30"})
        return Reply(media_type="text/event-stream", stream=hub.stream())

    # -- the service -------------------------------------------------------------------------------------------------

    async def healthz(self, request: Incoming) -> Reply:
        """Whether the process answers."""
        return reply({"status": "ok", "rankwise": __version__})

    async def readyz(self, request: Incoming) -> Reply:
        """Whether all models are served; that feedback cannot be written is told, and no reason to go elsewhere."""
        if not self.is_ready:
            raise Problem(503, "not ready: starting or stopping.")
        trouble = self._trouble()
        return reply({"status": "ready", "predict": True, "learn": not trouble, "trouble": trouble})

    async def ready_to_learn(self, request: Incoming) -> Reply:
        """Whether all models are served and feedback can be written."""
        trouble = self._trouble()
        if trouble or not self.is_ready:
            raise Problem(503, f"no feedback can be written: {trouble or 'starting or stopping'}.")
        return reply({"status": "ready", "predict": True, "learn": True, "trouble": {}})

    def _trouble(self) -> dict[str, str]:
        """Models whose feedback cannot be written, and why."""
        return {name: service.engine.broken for name, service in self.services.items() if service.engine.broken}

    async def openapi(self, request: Incoming) -> Reply:
        """Description of all paths."""
        return reply(document(self.services))

    async def page(self, request: Incoming) -> Reply:
        """The page."""
        if self.only is None and "model" not in request.path:
            return page.listing(list(self.services))
        return page.shell(self._service(request).name)

    async def metrics(self, request: Incoming) -> Reply:
        """All metrics, for Prometheus."""
        text = Exposition()
        for (route, status), count in sorted(self.requests.counts.items()):
            text.add("rankwise_requests_total", "counter", "Requests.", count, route=route, status=status)
        text.histogram("rankwise_request_seconds", "Time of requests.", self.requests.times)
        for service in self.services.values():
            _measure(text, service)
        return Reply(text.text().encode(), media_type="text/plain; version=0.0.4; charset=utf-8")


def routes(table: Iterable[tuple[str, str, Any, int]], prefix: str = "") -> list[Route]:
    """Routes of a table with path, method, coroutine and role; a path may have several methods."""
    by_path: dict[str, dict[str, Endpoint]] = {}
    for path, method, handler, role in table:
        name = path.removeprefix("/v1/").strip("/.").partition("/")[0] or "page"
        by_path.setdefault(f"{prefix}{path}", {})[method] = Endpoint(handler, role, name)
    return [Route(path, _ByMethod(endpoints)) for path, endpoints in by_path.items()]


class _ByMethod:
    """Endpoints of one path."""

    def __init__(self, endpoints: Mapping[str, Endpoint]) -> None:
        self.endpoints = dict(endpoints)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        endpoint = self.endpoints.get(scope["method"])
        if endpoint is None:
            allowed = ", ".join(self.endpoints)
            raise Problem(405, f"the methods here are {allowed}.", headers={"Allow": allowed})
        await endpoint(scope, receive, send)


async def _json_rows(service: Service, request: Incoming, decoder: messages.RowsDecoder) -> Any:
    """A JSON body with rows, no more than allowed; a thread reads a long one."""
    text = await request.json_text()
    is_long = len(text) > _LONG
    body = await service.in_thread(decoder.decode_row_by_row, text) if is_long else decoder.decode(text)
    request.limits.check_rows(len(body.rows))
    return body


def _predict_arrow(service: Service, body: bytearray, level: float) -> bytes:
    return messages.arrow_stream(service.predict_table(messages.read_arrow(body), level))


def _arrow_feedback(body: bytearray) -> list[messages.FeedbackRow]:
    """Rows of feedback in an Arrow table: label, id, prediction_id and weight are columns; the others are features."""
    rows = messages.arrow_rows(messages.read_arrow(body))
    own = ("label", "id", "prediction_id", "weight")
    if rows and "label" not in rows[0]:
        raise Problem(422, "the table has no column 'label'.")
    feedback = []
    for row in rows:
        given = {name: row.pop(name) for name in own if name in row}
        if given.get("weight", 1.0) is None:
            given["weight"] = 1.0
        feedback.append(msgspec.convert({**given, "features": row or None}, messages.FeedbackRow))
    return feedback


def _measure(text: Exposition, service: Service) -> None:
    engine, watch, label = service.engine, service.watch, {"model": service.name}
    facts, replica = service.describe(), engine.replica
    progress = facts["progress"]

    def gauge(name: str, help: str, value: float, **more: Any) -> None:
        text.add(f"rankwise_{name}", "gauge", help, value, **label, **more)

    text.add("rankwise_predictions_total", "counter", "Rows predicted.", watch.n_predicted, **label)
    text.add("rankwise_feedback_total", "counter", "Rows of feedback written.", engine.n_rows, **label)
    text.add("rankwise_commits_total", "counter", "Groups of feedback written.", engine.n_groups, **label)
    text.add("rankwise_replays_total", "counter", "Models built again after corrections.", engine.n_replays, **label)
    gauge("queue_rows", "Rows that wait to be written.", engine.n_waiting)
    gauge("queue_age_seconds", "Time that the oldest of them has waited.", engine.queue_age)
    gauge("log_events", "Events in the log.", engine.store.last)
    gauge("version", "Version of the model.", replica.version.version)
    gauge("learnt_to", "Event that the model has learnt up to.", replica.seq)
    gauge("correcting", "Whether a correction is not in the model yet.", facts["correcting"])
    gauge("writable", "Whether the last write succeeded.", engine.broken is None)
    if "error" in progress:
        help = "Progressive error in ranks: at least, and at most, as imprecise feedback leaves it."
        gauge("progressive_error", help, progress["error"], end="least")
        gauge("progressive_error", help, progress["error_at_worst"], end="most")
        help = "The same of recent feedback."
        gauge("recent_error", help, progress["recent_error"], end="least")
        gauge("recent_error", help, progress["recent_error_at_worst"], end="most")
    if "covered_at_least" in progress:
        help = "Share of intervals that covered the label: surely, and possibly."
        gauge("covered", help, progress["covered_at_least"], end="least")
        gauge("covered", help, progress["covered_at_most"], end="most")
    gauge("class_drift", "Distance of recent predictions from the first ones, 0 to 1.", watch.class_drift())
    for column, value in watch.column_drift().items():
        gauge("column_drift", "Shift of a column's recent mean, in standard deviations.", value, column=column)
    for name, count in zip(facts["classes"], watch.class_counts.tolist(), strict=True):
        text.add("rankwise_predicted_total", "counter", "Rows predicted to be of a class.", count, **label,
                 **{"class": name})  # fmt: skip
