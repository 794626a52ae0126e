"""Running an application: one process, signals, connections that are slow or dead, logs.

SIGTERM and SIGINT stop in order: no new connections, requests in flight are finished, the log is flushed and a
snapshot is taken. SIGHUP reads tokens and certificates again and opens the request log anew.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import signal
import socket
import ssl
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvicorn

from rankwise.serve._memory import return_large_blocks, spare_long_lived_objects
from rankwise.serve.problems import MEDIA_TYPE, Problem
from rankwise.serve.request_log import RequestLog, moment

_LONGEST_HEAD = 65_536  # bytes of a request before its body
_SWEEP = 10.0  # seconds after which a connection without a request is closed

log = logging.getLogger("rankwise.serve")


@dataclass(frozen=True)
class Address:
    """Where to listen, and with which certificate."""

    host: str = "127.0.0.1"
    port: int = 8321
    certificate: Path | None = None
    key: Path | None = None
    request_log: Path | None = None  # where requests are logged


class JSONLines(logging.Formatter):
    """One JSON object a line: time, level, what happened, and facts."""

    def format(self, record: logging.LogRecord) -> str:
        """Format a record."""
        entry = {"time": moment(record.created), "level": record.levelname.lower(), "event": record.getMessage()}
        entry |= getattr(record, "facts", {})
        if record.exc_info:
            entry["traceback"] = self.formatException(record.exc_info)
        return json.dumps(entry, default=str)


def log_to_stderr(level: str = "info") -> None:
    """Write the service's log to the standard error, as JSON lines."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JSONLines())
    for logger in (log, logging.getLogger("uvicorn")):
        logger.handlers[:] = [handler]
        logger.setLevel(level.upper() if logger is log else logging.WARNING)
        logger.propagate = False
    _ignore_hangups()  # before there is anything to reload


def _ignore_hangups() -> None:
    with contextlib.suppress(AttributeError, ValueError):  # Windows, or not the main thread
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # which stays until the process has ended


class _Server(uvicorn.Server):
    """Server that ends streams before it waits for requests, and closes silent connections."""

    def __init__(self, config: uvicorn.Config, application: Any, address: Address) -> None:
        super().__init__(config)
        self._application, self._address = application, address
        self._silent: dict[Any, float] = {}
        self._swept = 0.0

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop in order at the first signal; further ones change nothing."""
        loop = asyncio.get_running_loop()
        stops = [signal.SIGTERM, signal.SIGINT]
        try:
            for number in stops:
                loop.add_signal_handler(number, self._stop, number)
            if hasattr(signal, "SIGHUP"):
                loop.add_signal_handler(signal.SIGHUP, self._reload)
        except (NotImplementedError, RuntimeError, ValueError):  # Windows, or not the main thread
            stops = []
        try:
            yield
        finally:
            for number in stops:
                loop.remove_signal_handler(number)
            _ignore_hangups()

    def _reload(self) -> None:
        """Read again what may have changed; what cannot be used leaves what was there before."""
        log.info("reloading", extra={"facts": {"signal": "SIGHUP"}})
        self._application.reload()
        certificate, key, used = self._address.certificate, self._address.key, self.config.ssl
        if certificate is None or used is None:
            return
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key)  # a pair that fits
            used.load_cert_chain(certificate, key)
        except OSError as error:  # among them ssl.SSLError
            log.error("the certificate cannot be used, the one before holds: %s", error)

    def _stop(self, number: int) -> None:
        log.info("stopping", extra={"facts": {"signal": signal.Signals(number).name}})
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop: streams first, which would never end by themselves."""
        self._application.close_streams()
        await super().shutdown(sockets)

    async def on_tick(self, counter: int) -> bool:
        """Look after connections, now and then."""
        now = time.monotonic()
        if now - self._swept > 1.0:
            self._swept = now
            self._sweep(now)
        stop: bool = await super().on_tick(counter)
        return stop

    def _sweep(self, now: float) -> None:
        """Close connections that have been open for a while without a whole request."""
        quiet = (c for c in self.server_state.connections if getattr(c, "cycle", None) is None)
        silent = {connection: self._silent.get(connection, now) for connection in quiet}
        for connection, since in silent.items():
            if now - since > _SWEEP and connection.transport is not None:
                connection.transport.close()
        self._silent = silent


def _protocol(refused: Callable[[str, int, str], None]) -> Any:
    """uvicorn's protocol with a bound on what comes before a body; its fast parser has none of its own.

    ``refused`` gets client, status and reason of what is no request at all, and so never comes to the application.
    """
    try:
        from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
    except ImportError:
        return "h11"

    class Bounded(HttpToolsProtocol):  # type: ignore[misc, unused-ignore]
        head = 0
        in_head = True

        def on_message_begin(self) -> None:
            self.in_head, self.head = True, 0
            super().on_message_begin()

        def on_headers_complete(self) -> None:
            self.in_head = False
            super().on_headers_complete()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self.in_head:
                self.head += len(data)
                if self.head > _LONGEST_HEAD and self.transport is not None and not self.transport.is_closing():
                    refused(self._name(), 431, "the headers are too long")
                    self.transport.close()

        def send_400_response(self, msg: str) -> None:
            reason = str(sys.exc_info()[1] or msg)
            refused(self._name(), 400, reason)
            body = Problem(400, f"this is no HTTP request that can be read: {reason}.").body("none")
            head = (f"HTTP/1.1 400 Bad Request\r\ncontent-type: {MEDIA_TYPE}\r\ncontent-length: {len(body)}\r\n"
                    "connection: close\r\n\r\n")  # fmt: skip
            self.transport.write(head.encode() + body)
            self.transport.close()

        def _name(self) -> str:
            return self.client[0] if self.client else ""

    return Bounded


def run(
    application: Any, address: Address, *, ready: Callable[[str], None] | None = None,
    prepare: Callable[[], Awaitable[None]] | None = None,
) -> None:  # fmt: skip
    """Serve an application until a signal stops it.

    It has ``asgi``, what to run, ``close_streams``, ``reload`` and ``refused``. Port 0 takes a free one; ``ready`` gets
    the URL when requests are accepted and ``prepare`` has ended, during which the application asks clients to wait.
    """
    return_large_blocks()
    if address.request_log is not None:
        application.asgi.request_log = RequestLog(address.request_log)
    sys.setswitchinterval(0.0002)  # so long the event loop may wait for the writer and bulk work
    config = uvicorn.Config(
        application.asgi, http=_protocol(application.refused), log_config=None, access_log=False, server_header=False,
        date_header=False,
        proxy_headers=False, ws="none", timeout_keep_alive=20, timeout_graceful_shutdown=30, limit_concurrency=2000,
        ssl_certfile=address.certificate, ssl_keyfile=address.key, lifespan="on",
    )  # fmt: skip
    server = _Server(config, application, address)
    listener = _listen(address)
    scheme = "http" if address.certificate is None else "https"
    host, port = listener.getsockname()[:2]
    url = f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"

    async def serve() -> None:
        task = asyncio.ensure_future(server.serve([listener]))
        while not server.started and not task.done():
            await asyncio.sleep(0.01)
        if server.started and prepare is not None:
            await asyncio.wait({preparing := asyncio.ensure_future(prepare()), task}, return_when="FIRST_COMPLETED")
            if preparing.done() and preparing.exception() is not None:
                server.should_exit = True
                await task
                preparing.result()
            preparing.cancel()  # stopped before it was ready
        if server.started and not task.done():
            spare_long_lived_objects()
            log.info("ready", extra={"facts": {"url": url}})
            if ready is not None:
                ready(url)
        await task

    factory = config.get_loop_factory() if hasattr(config, "get_loop_factory") else None
    with asyncio.Runner(loop_factory=factory) as runner:
        runner.run(serve())


def _listen(address: Address) -> socket.socket:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    listener = socket.socket(family)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((address.host, address.port))
    except OSError as error:
        listener.close()
        raise OSError(error.errno, error.strerror, f"{address.host}:{address.port}") from None
    listener.listen(1024)
    listener.setblocking(False)
    return listener
