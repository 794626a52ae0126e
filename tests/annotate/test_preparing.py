"""A project that is being opened, as a new one that compiles: clients are asked to wait, and the terminal is told."""

import asyncio
import contextlib
import os
import pty
import signal
import subprocess
import sys
import threading

import httpx
import pytest

from rankwise.annotate.preparing import PreparedApplication
from rankwise.annotate.rater_app import AnnotationApplication, Look
from rankwise.serve.store import StoreError
from tests.annotate.conftest import write_items


def while_it_opens(opened, test, waiting=None):
    """Run ``test`` with a client and the preparation, in the lifespan of a server."""

    async def main():
        application = PreparedApplication(opened, "A <b> title", "de", waiting)
        asked, told = asyncio.Queue(), asyncio.Queue()
        running = asyncio.create_task(application.asgi({"type": "lifespan"}, asked.get, told.put))
        await asked.put({"type": "lifespan.startup"})
        assert (await told.get())["type"] == "lifespan.startup.complete"
        transport = httpx.ASGITransport(application.asgi)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            try:
                return await test(client, asyncio.create_task(application.prepare()))
            finally:
                await asked.put({"type": "lifespan.shutdown"})
                await running

    return asyncio.run(main())


def test_the_page_says_that_it_is_prepared_and_then_is_there(desk_of):
    may_open, told = threading.Event(), []

    def opened():
        assert may_open.wait(60)
        return AnnotationApplication(desk_of(), Look())

    async def test(client, prepared):
        page = await client.get("/")
        assert page.status_code == 503
        assert 'http-equiv="refresh"' in page.text
        assert "<h1>A &lt;b&gt; title</h1>" in page.text
        assert "wird vorbereitet" in page.text
        other = await client.get("/v1/project")
        assert (other.status_code, other.headers["retry-after"]) == (503, "2")
        await asyncio.sleep(1.2)
        assert told == ["waiting"]
        may_open.set()
        await prepared
        assert (await client.get("/")).status_code == 200
        assert (await client.get("/readyz/learn")).status_code == 200
        assert (await client.post("/v1/next", json={"rater": "ann"})).json()["question"] is not None

    while_it_opens(opened, test, lambda: told.append("waiting"))


def test_nothing_is_said_about_a_moment_and_errors_come_through():
    told = []

    def opened():
        raise StoreError("another project")

    async def test(client, prepared):
        with pytest.raises(StoreError, match="another project"):
            await prepared
        await asyncio.sleep(1.2)

    while_it_opens(opened, test, lambda: told.append("waiting"))
    assert told == []


@pytest.mark.slow
def test_a_new_project_that_compiles_says_so_on_a_terminal(tmp_path):
    """With an empty cache, as after an installation."""
    write_items(tmp_path, "id,size\n1,2\n2,3\n3,1\n")
    master, terminal = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "rankwise", "annotate", "items.csv", "--labels", "l.sqlite", "--classes", "1..3",
         "--port", "0"],
        cwd=tmp_path, stdin=terminal, stdout=terminal, stderr=terminal,
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")},
    )  # fmt: skip
    os.close(terminal)
    said = b""
    with contextlib.suppress(OSError):  # the other end is closed when it ends
        while chunk := os.read(master, 1000):
            said += chunk
            if b"Ctrl-C" in chunk:
                process.send_signal(signal.SIGTERM)
    os.close(master)
    assert process.wait(60) == 0, said
    assert said.count(b"compiling the model") == 1
    assert said.index(b"compiling") < said.index(b"3 items at http")
