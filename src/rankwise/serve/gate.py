"""The gate in front of every endpoint: roles, limits and rates; errors as problems; times and logs.

An endpoint is a coroutine that gets an :class:`Incoming` request and returns a :class:`Reply`. The rest is the same for
all applications.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import re
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs

import msgspec

from rankwise.serve._json_keys import require_unique_keys
from rankwise.serve.limits import Limits, RateLimiter
from rankwise.serve.problems import MEDIA_TYPE, Problem, problem_of
from rankwise.serve.request_log import RequestLog
from rankwise.serve.tokens import ROLES, Tokens

Scope = dict[str, Any]
Headers = list[tuple[bytes, bytes]]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]

JSON = "application/json"
ARROW = "application/vnd.apache.arrow.stream"
PUBLIC, READ, PREDICT, LEARN, ADMIN = -1, 0, 1, 2, 3

_REQUEST_ID = re.compile(rb"[A-Za-z0-9._:-]{1,100}")
_SAFETY = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
]

#: Headers that must not come twice: who reads the first one and who reads the last one would disagree.
_ONCE = frozenset((b"host", b"authorization", b"content-length", b"content-type", b"idempotency-key", b"origin",
                   b"transfer-encoding", b"x-request-id"))  # fmt: skip

log = logging.getLogger("rankwise.serve")


class ClientGoneError(Exception):
    """The client went away before it had sent its request."""


@dataclass(slots=True)
class Reply:
    """An answer, whole or as a stream of chunks."""

    body: bytes = b""
    status: int = 200
    media_type: str = JSON
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    stream: Any = None

    async def send_to(self, send: Send) -> None:
        """Send it through an ASGI channel."""
        headers = [(b"content-type", self.media_type.encode()), *self.headers]
        if self.stream is None:
            headers.append((b"content-length", b"%d" % len(self.body)))
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        if self.stream is not None:
            async for chunk in self.stream:
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
        await send({"type": "http.response.body", "body": self.body})


def reply(value: Any, status: int = 200) -> Reply:
    """A value as JSON."""
    return Reply(msgspec.json.encode(value), status)


class Incoming:
    """A request."""

    __slots__ = ("_receive", "limits", "path", "scope")

    def __init__(self, scope: Scope, receive: Receive, limits: Limits) -> None:
        self.scope, self._receive, self.limits = scope, receive, limits
        self.path: Mapping[str, str] = scope.get("path_params", {})

    def header(self, name: bytes) -> str | None:
        """Value of a header, whose name is in lower case."""
        for key, value in self.scope["headers"]:
            if key == name:
                return str(value.decode("latin-1"))
        return None

    @property
    def actor(self) -> str | None:
        """Name behind the client's token, for the log of feedback; None without one."""
        return self.scope.get("rankwise.name") or None

    @property
    def query(self) -> dict[str, list[str]]:
        """Parameters behind the question mark."""
        try:
            return parse_qs(self.scope.get("query_string", b"").decode("latin-1"), max_num_fields=20)
        except ValueError:
            raise Problem(400, "more than 20 parameters.") from None

    @property
    def media_type(self) -> str:
        """Type of the body, without parameters."""
        return (self.header(b"content-type") or "").partition(";")[0].strip().lower()

    async def body(self) -> bytearray:
        """The whole body, which must arrive in time and be no larger than allowed."""
        most = self.limits.body
        if int(self.header(b"content-length") or 0) > most:
            raise Problem(413, f"the body is larger than {most} bytes. Send it in parts.")
        body = bytearray()  # grows in place: joining chunks at the end would take twice the memory
        try:
            async with asyncio.timeout(self.limits.seconds):
                while True:
                    message = await self._receive()
                    if message["type"] == "http.disconnect":
                        raise ClientGoneError
                    body += message.get("body", b"")
                    if len(body) > most:
                        raise Problem(413, f"the body is larger than {most} bytes. Send it in parts.")
                    if not message.get("more_body"):
                        return body
        except TimeoutError:
            seconds = self.limits.seconds
            raise Problem(
                408, f"the body did not come within {seconds:g} s.", headers={"Connection": "close"}
            ) from None

    async def json_text(self) -> bytearray:
        """The body, which must be JSON by its type."""
        if self.media_type != JSON:
            raise Problem(415, f"the body must be {JSON}. Got {self.media_type[:60] or 'no Content-Type'!r}.")
        return await self.body()

    async def json(self, decoder: Any) -> Any:
        """The body, read by a decoder of msgspec."""
        text = await self.json_text()
        value = decoder.decode(text)
        require_unique_keys(text)
        return value


class Endpoint:
    """A coroutine behind the rank of a role, or PUBLIC, as an ASGI application; its name is for metrics and logs."""

    def __init__(self, handler: Callable[[Incoming], Awaitable[Reply]], role: int, name: str) -> None:
        self.handler, self.role, self.name = handler, role, name

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request that the gate has let in."""
        scope["rankwise.route"] = self.name
        if scope["rankwise.role"] < self.role:
            raise _refusal(scope["rankwise.role"], ROLES[self.role])
        answer = await self.handler(Incoming(scope, receive, scope["rankwise.limits"]))
        await answer.send_to(send)


def bearer_token(headers: Headers) -> str | None:
    """Token of ``Authorization: Bearer TOKEN``."""
    for key, value in headers:
        if key == b"authorization" and value[:7].lower() == b"bearer ":
            return str(value[7:].strip().decode("latin-1"))
    return None


class RequestGate:
    """The gate, as an ASGI application around another that routes to endpoints.

    Without tokens everybody may do everything, which is for the loopback only. ``credential`` finds a client's token.
    ``observe`` gets route, status and seconds of every request; requests that take longer than ``slow`` seconds are
    logged.
    """

    def __init__(
        self, app: Any, *, tokens: Tokens | None = None, limits: Limits | None = None,
        observe: Callable[[str, int, float], None] | None = None, slow: float = 1.0,
        credential: Callable[[Headers], str | None] = bearer_token,
    ) -> None:  # fmt: skip
        self.app, self.tokens, self.limits, self.credential = app, tokens, limits or Limits(), credential
        self.rates = RateLimiter(self.limits.rate)
        self.observe, self.slow = observe, slow
        self.request_log: RequestLog | None = None
        self._prefix, self._count = secrets.token_hex(6), 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in, or answer it with a problem."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = time.perf_counter()
        headers = scope["headers"]
        request_id = self._request_id(headers)
        scope["rankwise.limits"], scope["rankwise.route"], scope["rankwise.name"] = self.limits, "none", ""
        status = 0

        async def sending(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], (b"x-request-id", request_id), *_SAFETY]
            await send(message)

        try:
            scope["rankwise.role"], scope["rankwise.name"] = self._admit(scope, headers)
            await self.app(scope, receive, sending)
        except ClientGoneError:
            status = 499
        except Exception as error:
            problem = problem_of(error)
            if problem is None:
                log.exception("internal error", extra={"facts": {"request": request_id.decode()}})
                problem = Problem(500, "an error of the service; its log has more under this request's id.")
            if status:  # too late for another answer
                raise
            problem_headers = [(name.lower().encode(), value.encode()) for name, value in problem.headers.items()]
            body = problem.body(request_id.decode())
            await Reply(body, problem.status, MEDIA_TYPE, problem_headers).send_to(sending)
        finally:
            seconds = time.perf_counter() - started
            route = scope["rankwise.route"]
            if self.observe is not None:
                self.observe(route, status, seconds)
            if self.request_log is not None:
                self.request_log.write(
                    client=(scope.get("client") or ("",))[0], status=status, path=scope["path"],
                    request=request_id.decode(), actor=scope["rankwise.name"] or None, method=scope["method"],
                    route=route, seconds=round(seconds, 6),
                )  # fmt: skip
            if route != "events" and (seconds > self.slow or status >= 500):
                facts = {"request": request_id.decode(), "route": route, "status": status, "seconds": round(seconds, 4)}
                log.warning("slow or failed request", extra={"facts": facts})

    def _request_id(self, headers: list[tuple[bytes, bytes]]) -> bytes:
        for key, value in headers:
            if key == b"x-request-id" and _REQUEST_ID.fullmatch(value):
                return value
        self._count += 1
        return b"%s-%x" % (self._prefix.encode(), self._count)

    def _admit(self, scope: Scope, headers: list[tuple[bytes, bytes]]) -> tuple[int, str]:
        """Rank of the client's role, and its name."""
        require_once(headers)
        client = scope.get("client") or ("", 0)
        if self.tokens is None:
            _require_own_pages(headers)
            role, name = ADMIN, ""
        else:
            role, name = self.tokens.role_of(self.credential(headers))
        self.rates.check(name or client[0])
        return role, name


def require_once(headers: Headers) -> None:
    """Refuse a request that says something twice that can be said once."""
    seen = set()
    for name, _ in headers:
        if name in _ONCE and name in seen:
            raise Problem(400, f"the header {name.decode()!r} came twice.")
        seen.add(name)


def is_loopback(host: str) -> bool:
    """Whether a host is this machine alone."""
    try:
        return host == "localhost" or ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _require_own_pages(headers: list[tuple[bytes, bytes]]) -> None:
    """Without tokens, refuse requests that another site's page makes through the browser of this machine."""
    values = dict(headers)
    host = values.get(b"host", b"").decode("latin-1")
    name = host.rpartition(":")[0] if re.search(r":\d+$", host) else host
    if host and not is_loopback(name):
        raise Problem(403, "without tokens the service answers to this machine's own names only (localhost).")
    require_own_origin(headers)


def require_own_origin(headers: Headers) -> None:
    """Refuse requests that another site's page makes through a browser; servers send no Origin."""
    values = dict(headers)
    host = values.get(b"host", b"").decode("latin-1")
    origin = values.get(b"origin", b"").decode("latin-1")
    if origin and origin.partition("://")[2] != host:
        raise Problem(403, "requests from pages of other sites are refused.")


def _refusal(role: int, needed: str) -> Problem:
    if role < 0:
        headers = {"WWW-Authenticate": 'Bearer realm="rankwise"'}
        return Problem(401, "a token that the service knows is needed: Authorization: Bearer TOKEN.", headers=headers)
    return Problem(403, f"this token has the role {ROLES[role]!r}, and {needed!r} is needed.")
