"""The application for raters: their page, its requests, and the server that runs it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Annotated, Any

import msgspec
from starlette.routing import Route

from rankwise.annotate.desk import Desk, DeskPlan
from rankwise.annotate.items import Items
from rankwise.annotate.media import MediaFolder
from rankwise.annotate.preparing import PreparedApplication
from rankwise.annotate.project import Scale, open_project
from rankwise.serve import page
from rankwise.serve.app import Application, routes
from rankwise.serve.gate import ADMIN, LEARN, PUBLIC, READ, Incoming, Reply, reply
from rankwise.serve.launch import require_tokens
from rankwise.serve.limits import Limits
from rankwise.serve.messages import Id
from rankwise.serve.problems import Problem
from rankwise.serve.row_model import warm_up
from rankwise.serve.server import Address, run
from rankwise.serve.tokens import Tokens

_HERE = "rankwise.annotate"
_STATIC = ("agreement.js", "annotate.css", "annotate.js", "kept.js", "typing.js", "texts.json")
_LARGEST_BODY = 100_000  # bytes of an answer
#: For media: opening one by its address runs no script that is in it.
_NO_SCRIPT = [(b"content-security-policy", b"default-src 'none'; style-src 'unsafe-inline'; sandbox")]

Rater = Annotated[
    str, msgspec.Meta(min_length=1, max_length=100, pattern=r"^[^\x00-\x1f\x7f]*[^\s\x00-\x1f\x7f][^\x00-\x1f\x7f]*$")
]
Seconds = Annotated[float, msgspec.Meta(ge=0.0, le=86_400.0)]
Note = Annotated[str, msgspec.Meta(max_length=5000)]
AnswerId = Annotated[str, msgspec.Meta(min_length=1, max_length=400)]


class RaterBody(msgspec.Struct, forbid_unknown_fields=True):
    """Who asks; where tokens are used, the token tells.

    A page names its project, since another may be served at its address meanwhile, and the items whose answers it
    still keeps.
    """

    rater: Rater | None = None
    project: str | None = None
    holding: Annotated[list[Id], msgspec.Meta(max_length=1000)] = []


class AnswerBody(RaterBody, forbid_unknown_fields=True, kw_only=True):
    """An answer: codes of the possible classes; none if the rater cannot tell."""

    id: AnswerId
    item: Id
    admitted: list[int]
    seconds: Seconds
    note: Note = ""


class UndoBody(RaterBody, forbid_unknown_fields=True, kw_only=True):
    """An answer to take back."""

    id: AnswerId


_NEXT = msgspec.json.Decoder(RaterBody)
_ANSWER = msgspec.json.Decoder(AnswerBody)
_UNDO = msgspec.json.Decoder(UndoBody)


@dataclass(frozen=True, kw_only=True)
class Look:
    """Title and language of the page."""

    title: str = "Annotation"
    language: str = "en"  # a key of ``texts.json``; raters can change it


class AnnotationApplication(Application):
    """The page of raters behind the gate of the service; with tokens, the name behind a token is the rater's."""

    def __init__(
        self, desk: Desk, look: Look, media: MediaFolder | None = None, *, tokens: Tokens | None = None,
        limits: Limits | None = None,
    ) -> None:  # fmt: skip
        self.desk, self.look, self.media, self._has_tokens = desk, look, media, tokens is not None
        super().__init__({desk.service.name: desk.service}, tokens=tokens, limits=limits)

    def _routes(self) -> list[Route]:
        return routes([
            *self._common_routes(),
            *((f"/{name}", "GET", page.served(name, _HERE), PUBLIC) for name in _STATIC),
            ("/v1/project", "GET", self.project, LEARN),
            ("/v1/items/{number:int}/{kind}", "GET", self.file, LEARN),
            ("/v1/model", "GET", self.model, READ),
            ("/v1/progress", "GET", self.progress, READ),
            ("/v1/events", "GET", self.events, READ),
            ("/v1/next", "POST", self.next, LEARN),
            ("/v1/answers", "POST", self.answer, LEARN),
            ("/v1/undo", "POST", self.undo, LEARN),
            ("/v1/agreement", "GET", self.agreement, ADMIN),
            ("/v1/decisions", "POST", self.decide, ADMIN),
            ("/v1/decisions/undo", "POST", self.undo_decision, ADMIN),
            ("/v1/decisions/{number:int}", "GET", self.to_decide, ADMIN),
        ])  # fmt: skip

    def _rater(self, request: Incoming, body: RaterBody) -> str:
        """Who asks: by the token, or as the page says."""
        if body.project not in (None, self.desk.project):
            raise Problem(412, "another project is served here now.")
        if not self._has_tokens:
            if body.rater is None:
                raise Problem(422, "who asks? Give a rater.")
            return body.rater.strip()
        name: str = request.scope["rankwise.name"]
        if not name:
            raise Problem(403, "this token has no name behind it: raters need one.")
        return name

    async def page(self, request: Incoming) -> Reply:
        """The page."""
        shell = page.static("annotate.html", _HERE)
        for place, text in (("title", self.look.title), ("language", self.look.language)):
            shell = shell.replace("{{" + place + "}}", escape(text))
        return page.html(shell, blobs=True)

    async def project(self, request: Incoming) -> Reply:
        """The scale, and how raters are recognised."""
        scale, desk = self.desk.scale, self.desk
        shown = zip(scale.names, scale.descriptions, scale.keys, strict=True)
        classes = [{"name": name, "description": text, "key": key} for name, text, key in shown]
        return reply({
            "project": desk.project, "classes": classes, "language": self.look.language, "items": len(desk.items),
            "raters": desk.plan.raters, "decides": request.scope["rankwise.role"] >= ADMIN,
            "name": request.scope["rankwise.name"] if self._has_tokens else None, "learns": desk.can_learn,
        })  # fmt: skip

    async def next(self, request: Incoming) -> Reply:
        """The next question of a rater."""
        body = await request.json(_NEXT)
        return reply(self.desk.next(self._rater(request, body), body.holding))

    async def answer(self, request: Incoming) -> Reply:
        """Log an answer; when this returns, it is on the disk."""
        body = await request.json(_ANSWER)
        rater = self._rater(request, body)
        saved = await self.desk.answer(rater, body.id, body.item, body.admitted, body.seconds, body.note)
        return reply({**saved, **self.desk.next(rater, body.holding)})

    async def undo(self, request: Incoming) -> Reply:
        """Take back an answer."""
        body = await request.json(_UNDO)
        rater = self._rater(request, body)
        return reply({**await self.desk.undo(rater, body.id), **self.desk.next(rater, body.holding)})

    async def agreement(self, request: Incoming) -> Reply:
        """How far raters agree, and items on which they differ."""
        return reply(self.desk.decisions.agreement())

    async def to_decide(self, request: Incoming) -> Reply:
        """An item with the answers of its raters."""
        number = int(request.path["number"])
        if not 0 <= number < len(self.desk.items):
            raise Problem(404, "there is no such item.")
        return reply(self.desk.decisions.to_decide(number))

    async def decide(self, request: Incoming) -> Reply:
        """Log a decision."""
        body = await request.json(_ANSWER)
        rater = self._rater(request, body)
        saved = await self.desk.decisions.decide(rater, body.id, body.item, body.admitted, body.seconds, body.note)
        return reply({**saved, **self.desk.next(rater, body.holding)})

    async def undo_decision(self, request: Incoming) -> Reply:
        """Take back a decision."""
        body = await request.json(_UNDO)
        return reply(await self.desk.decisions.undo(self._rater(request, body), body.id))

    async def file(self, request: Incoming) -> Reply:
        """Image or sound of an item; clients name the item, never a file."""
        number, kind = int(request.path["number"]), request.path["kind"]
        if kind not in ("image", "audio") or not 0 <= number < len(self.desk.items):
            raise Problem(404, "there is no such file.")
        name = self.desk.items.file(number, kind)
        if name is None or self.media is None:
            raise Problem(404, f"this item has no {kind}.")
        content, media_type = await self.desk.service.in_thread(self.media.read, name)
        if not media_type.startswith(kind):
            raise Problem(415, f"the file of this item is not {kind}.")
        return Reply(content, media_type=media_type, headers=list(_NO_SCRIPT))

    async def progress(self, request: Incoming) -> Reply:
        """Progress of everyone."""
        return reply(self.desk.state())


def serve(
    items: Items, scale: Scale, store: Path, estimator: Any, plan: DeskPlan, look: Look, media: MediaFolder | None,
    address: Address, *, tokens: Tokens | None = None, accept_loss: bool = False,
    ready: Callable[[str], None] | None = None, waiting: Callable[[], None] | None = None,
) -> None:  # fmt: skip
    """Serve the page of a project until a signal stops the process.

    ``waiting`` is called if the project takes more than a moment to open, as a new one does when it compiles.
    """
    require_tokens(address, tokens)

    def opened() -> AnnotationApplication:
        service = open_project(store, items, scale, estimator, accept_loss=accept_loss)
        try:
            warm_up(service.engine.replica.rows.model)
            desk = Desk(service, items, scale, plan)
        except BaseException:
            service.stop()
            raise
        return AnnotationApplication(desk, look, media, tokens=tokens, limits=Limits(_LARGEST_BODY))

    application = PreparedApplication(opened, look.title, look.language, waiting)
    run(application, address, ready=ready, prepare=application.prepare)
