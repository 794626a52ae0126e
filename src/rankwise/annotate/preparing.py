"""What is served while a project is opened: a new one compiles first, for up to a minute on a busy machine."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from contextlib import AsyncExitStack
from html import escape
from typing import Any

from rankwise.serve import page
from rankwise.serve.app import Application
from rankwise.serve.gate import Reply
from rankwise.serve.problems import MEDIA_TYPE, Problem
from rankwise.serve.request_log import RequestLog

_QUICK = 1.0  # seconds of which nobody needs to be told


class PreparedApplication:
    """Asks clients to wait until ``opened`` has returned an application, in a thread, and then is that application.

    ``waiting`` is called if that takes longer than a moment.
    """

    def __init__(
        self, opened: Callable[[], Application], title: str, language: str, waiting: Callable[[], None] | None = None
    ) -> None:
        self.opened, self.title, self.language, self.waiting = opened, title, language, waiting
        self.application: Application | None = None
        self.asgi = self
        self.request_log: RequestLog | None = None
        self._running = AsyncExitStack()

    async def prepare(self) -> None:
        """Open the application, and start it."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Application] = loop.create_future()

        def settle(action: Callable[..., None], value: Any) -> None:
            if not future.done():
                action(value)

        def open_it() -> None:
            try:
                settled = future.set_result, self.opened()
            except BaseException as error:
                settled = future.set_exception, error  # type: ignore[assignment]
            if not loop.is_closed():
                loop.call_soon_threadsafe(settle, *settled)

        threading.Thread(target=open_it, name="rankwise-open", daemon=True).start()
        told = loop.call_later(_QUICK, self.waiting) if self.waiting is not None else None
        try:
            application = await future
        finally:
            if told is not None:
                told.cancel()
        application.asgi.request_log = self.request_log
        await self._running.enter_async_context(application._lifespan(None))
        self.application = application

    def reload(self) -> None:
        """Read the tokens again, and open the request log anew."""
        if self.application is not None:
            self.application.reload()
        elif self.request_log is not None:
            self.request_log.reopen()

    def refused(self, client: str, status: int, reason: str) -> None:
        """Count and log what came to the server and was no request."""
        if self.application is not None:
            self.application.refused(client, status, reason)

    def close_streams(self) -> None:
        """End server-sent events, so that the server can stop."""
        if self.application is not None:
            self.application.close_streams()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass a request on, or ask to come again."""
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        elif self.application is not None:
            await self.application.asgi(scope, receive, send)
        elif scope["type"] == "http":
            await self._wait(scope["path"]).send_to(send)

    async def _lifespan(self, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self._running.aclose()
        await send({"type": "lifespan.shutdown.complete"})

    def _wait(self, path: str) -> Reply:
        headers = [(b"retry-after", b"2"), (b"cache-control", b"no-store")]
        text = json.loads(page.static("texts.json", __package__))[self.language]["preparing"]
        if path != "/":
            problem = Problem(503, text)
            return Reply(problem.body(""), problem.status, MEDIA_TYPE, headers)
        shell = page.static("preparing.html", __package__)
        for place, words in (("title", self.title), ("language", self.language), ("text", text)):
            shell = shell.replace("{{" + place + "}}", escape(words))
        answer = page.html(shell)
        answer.status, answer.headers = 503, [*answer.headers, *headers]
        return answer
