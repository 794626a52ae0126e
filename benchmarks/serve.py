"""The service on the loopback: single rows and bulk, beside a bare endpoint that parses the same JSON.

The client is ``wrk`` (16 connections) where it is installed, else threads of our own; runs are bounded in time. A busy
machine hits both sides, which take turns; CPU seconds of the server for each request are less disturbed than rates.
"""

from __future__ import annotations

import http.client
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import rankwise as rw
from benchmarks._timing import Result, seconds
from rankwise.datasets import make_ordinal

SECONDS, ROUNDS, CONNECTIONS = 3, 3, 16
MILLION = int(os.environ.get("RANKWISE_BENCH_FEEDBACKS", "1000000"))
REQUESTS = int(os.environ.get("RANKWISE_BENCH_REQUESTS", "1000000"))
COLUMNS = [f"c{j}" for j in range(20)]
BARE = """
import socket, sys, uvicorn
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route
async def answer(request):
    await request.json()
    return JSONResponse({"classes": [1, 2, 3, 4, 5], "rows": [{"id": "p", "class": 5, "version": "1.0"}]})
listener = socket.socket(); listener.bind(("127.0.0.1", 0)); listener.listen(1024)
print('{"url": "http://127.0.0.1:%d"}' % listener.getsockname()[1], flush=True)
config = uvicorn.Config(Starlette(routes=[Route("/v1/predict", answer, methods=["POST"])]), log_level="error")
uvicorn.Server(config).run([listener])
"""


class Served:
    """A server process; ``url`` when it is ready."""

    def __init__(self, command: list[str]) -> None:
        self.process = subprocess.Popen(
            [sys.executable, *command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert self.process.stdout is not None
        self.url = json.loads(self.process.stdout.readline())["url"]
        self.port = int(self.url.rpartition(":")[2])

    def __enter__(self) -> Served:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)
        assert self.process.stdout is not None
        self.process.stdout.close()

    def cpu(self) -> float:
        """CPU seconds of the process so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self) -> float:
        """Megabytes that it holds."""
        return int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6

    def post(self, path: str, body: bytes, media_type: str = "application/json") -> bytes:
        """Make one request; return the body of the answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
        try:
            connection.request("POST", path, body, {"Content-Type": media_type})
            answer = connection.getresponse()
            said = answer.read()
            assert answer.status == 200, said[:500]
            return said
        finally:
            connection.close()


class Load:
    """Requests in a second, the 99th percentile of their times, and CPU seconds of the server for each."""

    def __init__(self, server: Served, path: str, body: bytes, *, rate: float = 0.0, duration: float = SECONDS) -> None:
        before = server.cpu()
        run = _with_wrk if shutil.which("wrk") else _with_threads
        n, self.slowest, took = run(server, path, body, rate, duration)
        self.n, self.rate, self.cpu = n, n / took, (server.cpu() - before) / max(1, n)


def _with_wrk(server: Served, path: str, body: bytes, rate: float, duration: float) -> tuple[int, float, float]:
    pause = f"function delay() return math.random(0, {2000 * CONNECTIONS / rate:.0f}) end" if rate else ""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "body").write_bytes(body)
        script = Path(folder) / "post.lua"
        script.write_text(
            f'wrk.method = "POST"\nwrk.headers["Content-Type"] = "application/json"\n'
            f'local file = io.open("{folder}/body")\nwrk.body = file:read("*a")\nfile:close()\n{pause}\n'
        )
        command = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{duration:g}s", "--latency", "-s", str(script)]
        said = subprocess.run([*command, server.url + path], capture_output=True, text=True, check=True).stdout
    assert "Non-2xx" not in said, said
    n, took = re.search(r"(\d+) requests in ([\d.]+)s", said).groups()  # type: ignore[union-attr]
    value, unit = re.search(r"99%\s+([\d.]+)(us|ms|s)", said).groups()  # type: ignore[union-attr]
    return int(n), float(value) * {"us": 1e-6, "ms": 1e-3, "s": 1.0}[unit], float(took)


def _with_threads(server: Served, path: str, body: bytes, rate: float, duration: float) -> tuple[int, float, float]:
    times: list[float] = []
    end = time.perf_counter() + duration

    def client() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        while time.perf_counter() < end:
            start = time.perf_counter()
            connection.request("POST", path, body, {"Content-Type": "application/json"})
            connection.getresponse().read()
            times.append(time.perf_counter() - start)
            if rate:
                time.sleep(CONNECTIONS / rate)
        connection.close()

    threads = [threading.Thread(target=client) for _ in range(CONNECTIONS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(times), float(np.quantile(times, 0.99)), duration


def _models(folder: Path) -> tuple[Path, Path, np.ndarray, np.ndarray]:
    X, y = make_ordinal(20_000, 20, 5, noise=0.3, random_state=0)
    table = pa.table({name: X[:, j] for j, name in enumerate(COLUMNS)})
    link = getattr(rw, "OnlineCumulativeLink", None) or rw.CumulativeLink
    options: dict[str, Any] = {"classes": [1, 2, 3, 4, 5]} if link is not rw.CumulativeLink else {}
    rw.save(rw.TableModel(link(**options)).fit(table.slice(0, 2000), y[:2000]), folder / "link.rankwise")
    pril = rw.TableModel(rw.PRIL(classes=[1, 2, 3, 4, 5], random_state=0)).fit(table.slice(0, 2000), y[:2000])
    rw.save(pril, folder / "pril.rankwise")
    return folder / "link.rankwise", folder / "pril.rankwise", X, y


def _feedback(X: np.ndarray, y: np.ndarray) -> bytes:
    rows = [{"features": dict(zip(COLUMNS, row, strict=True)), "label": f"{max(1, k - 1)}-{k}"}
            for row, k in zip(X.tolist(), y.tolist(), strict=True)]  # fmt: skip
    return json.dumps({"rows": rows}).encode()


def _row(X: np.ndarray) -> bytes:
    return json.dumps({"rows": [dict(zip(COLUMNS, X[0].tolist(), strict=True))]}).encode()


def _serving(model: Path) -> Served:
    store = str(model.with_suffix(".sqlite"))
    return Served(["-m", "rankwise", "serve", str(model), "--store", store, "--port", "0", "--json"])


def _best(loads: list[Load]) -> Load:
    return max(loads, key=lambda load: load.rate)


def serve() -> Iterator[Result]:
    with tempfile.TemporaryDirectory(prefix="rankwise-bench-") as name, ExitStack() as stack:
        folder = Path(name)
        link, pril, X, y = _models(folder)

        bare = stack.enter_context(Served(["-c", BARE]))
        predicting, learning = (stack.enter_context(_serving(model)) for model in (link, pril))
        one = _row(X)
        tell = _feedback(X[:1], y[:1])
        for server, path, body in ((bare, "/v1/predict", one), (predicting, "/v1/predict", one),
                                   (learning, "/v1/feedback", tell)):  # fmt: skip
            server.post(path, body)
        memory = [predicting.memory(), learning.memory()]
        found: dict[str, list[Load]] = {"bare": [], "predict": [], "feedback": []}
        for _ in range(ROUNDS):
            found["bare"].append(Load(bare, "/v1/predict", one))
            found["predict"].append(Load(predicting, "/v1/predict", one))
            found["feedback"].append(Load(learning, "/v1/feedback", tell))
        least = _best(found["bare"])
        for what, goal in (("predict", 0.4), ("feedback", 0.25)):
            ours = _best(found[what])
            said = "single-row predict with probabilities" if what == "predict" else "durable single-row feedback"
            yield _rate(f"{said}, {CONNECTIONS} connections", ours.rate, least.rate, goal)
            cpu = min(load.cpu for load in found[what]), min(load.cpu for load in found["bare"])
            yield _ratio("  CPU of the server for a request", seconds(cpu[0]), seconds(cpu[1]), cpu[1] / cpu[0], goal)
        paces = [Load(predicting, "/v1/predict", one, rate=_best(found["predict"]).rate / 3) for _ in range(ROUNDS)]
        paced = min(paces, key=lambda load: load.slowest)
        what = f"predict, 99th percentile at {paced.rate:,.0f} requests a second"
        yield Result(what, seconds(paced.slowest), "", paced.slowest / 0.015, "< 15 ms", paced.slowest < 0.015)
        yield _commits(folder)
        yield from _bulk(learning, predicting, X, y)
        yield from _beside(learning, one, X, y)
        for server, before, what in ((predicting, memory[0], "predictions"), (learning, memory[1], "feedback")):
            now = server.memory()
            yield Result(f"memory after all {what}", f"{now:.0f} MB", f"{before:.0f} MB at first", now / before,
                         "< 400 MB", now < 400)  # fmt: skip


def _rate(what: str, ours: float, theirs: float, goal: float) -> Result:
    return _ratio(what, f"{ours:,.0f}/s", f"{theirs:,.0f}/s", ours / theirs, goal)


def _ratio(what: str, ours: str, theirs: str, ratio: float, goal: float) -> Result:
    return Result(what, ours, theirs, ratio, f">= {goal:g} x", ratio >= goal)


def _commits(folder: Path) -> Result:
    """Commits of one row that SQLite makes on this disk, to judge the feedback by; no goal of ours."""
    import sqlite3

    connection = sqlite3.connect(folder / "commits.sqlite", isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("CREATE TABLE rows (x)")
    n, start = 0, time.perf_counter()
    while time.perf_counter() - start < 2:
        connection.execute("INSERT INTO rows VALUES (1)")
        n += 1
    connection.close()
    return Result("  commits of SQLite alone on this disk", f"{n / 2:,.0f}/s", "", 1.0, "for comparison", True)


def _bulk(learning: Served, predicting: Served, X: np.ndarray, y: np.ndarray) -> Iterator[Result]:
    body = _feedback(X[:10_000], y[:10_000])
    took = []
    for _ in range(4):
        start = time.perf_counter()
        learning.post("/v1/feedback", body)
        took.append(time.perf_counter() - start)
    rate = 10_000 / min(took)
    yield Result("bulk feedback, JSON, 20 columns", f"{rate:,.0f} rows/s", "", rate / 30_000, ">= 30,000", rate >= 3e4)
    table = pa.table({name: np.tile(X[:, j], 10) for j, name in enumerate(COLUMNS)})
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    took = []
    for _ in range(4):
        start = time.perf_counter()
        predicting.post("/v1/predict", sink.getvalue(), "application/vnd.apache.arrow.stream")
        took.append(time.perf_counter() - start)
    rate = table.num_rows / min(took)
    yield Result("bulk predict, Arrow, 20 columns", f"{rate:,.0f} rows/s", "", rate / 3e5, ">= 300,000", rate >= 3e5)


def _beside(learning: Served, one: bytes, X: np.ndarray, y: np.ndarray) -> Iterator[Result]:
    """Predictions of the model that learns, alone and while feedback comes as fast as one client can send it.

    As many of them as the service answers, and the slowest where there are few.
    """
    body, stop = _feedback(X[:1000], y[:1000]), threading.Event()

    def tell() -> None:
        while not stop.is_set():
            learning.post("/v1/feedback", body)

    def loads() -> tuple[Load, Load]:
        return Load(learning, "/v1/predict", one), Load(learning, "/v1/predict", one, rate=300)

    alone, beside = [], []
    for _ in range(ROUNDS):
        alone.append(loads())
        stop.clear()
        thread = threading.Thread(target=tell)
        thread.start()
        beside.append(loads())
        stop.set()
        thread.join()
    ours, theirs = (max(many.rate for many, _ in found) for found in (beside, alone))
    yield _rate("predict beside heavy feedback vs alone, 16 connections", ours, theirs, 0.5)
    ours, theirs = (min(few.slowest for _, few in found) for found in (beside, alone))
    yield Result("  99th percentile at 300 requests a second", seconds(ours), seconds(theirs), ours / theirs, "<= 2 x",
                 ours <= 2 * theirs)  # fmt: skip


def serve_memory() -> Iterator[Result]:
    """Memory of the server over a million predictions, in parts; at most a quarter of an hour."""
    with tempfile.TemporaryDirectory(prefix="rankwise-bench-") as name:
        link, _, X, _ = _models(Path(name))
        one, n, end, held = _row(X), 0, time.monotonic() + 900, []
        with _serving(link) as server:
            while n < REQUESTS and time.monotonic() < end:
                n += Load(server, "/v1/predict", one, duration=10).n
                held.append(server.memory())
        first, last = held[len(held) // 10], held[-1]  # after what the first requests bring with them
        yield Result(f"memory over {n:,} predictions", f"{last:.0f} MB", f"{first:.0f} MB after a tenth", last / first,
                     "< 400 MB, flat", last < 400 and last < 1.05 * first)  # fmt: skip


def serve_store() -> Iterator[Result]:
    """A store of a million feedbacks: how long until it is ready, and until all of it is verified."""
    from rankwise.serve.engine import Engine
    from rankwise.serve.replica import built
    from rankwise.serve.store import Store
    from rankwise.serve.verify import verify
    from rankwise.serve.writer import Settings

    with tempfile.TemporaryDirectory(prefix="rankwise-bench-") as name:
        _, pril, X, y = _models(Path(name))
        rows = [dict(zip(COLUMNS, row, strict=True)) for row in X[:10_000].tolist()]
        labels = [f"{max(1, k - 1)}-{k}" for k in y[:10_000].tolist()]
        path = Path(name) / "million.sqlite"
        store = Store(path, write=True)
        engine = Engine(store, pril.read_bytes(), Settings(snapshot_every=50_000)).start()
        start = time.perf_counter()
        for k in range(0, MILLION, len(rows)):
            engine.feedback(rows, [f"f{k + i}" for i in range(len(rows))], labels)
        filled = time.perf_counter() - start
        engine._stopping = True  # as a crash would: no last snapshot
        with engine._wake:
            engine._wake.notify()
        engine._thread.join()
        store.close()
        start = time.perf_counter()
        with Store(path, write=True) as again:
            built(again, again.versions()[-1])
        ready = time.perf_counter() - start
        what = f"store of {MILLION:,} feedbacks ({path.stat().st_size / 1e6:,.0f} MB, filled in {filled:.0f} s)"
        yield Result(f"{what}: ready", seconds(ready), "", ready / 30, "< 30 s", ready < 30)
        start = time.perf_counter()
        with Store(path) as again:
            checks = list(verify(again))
        took = time.perf_counter() - start
        sound = all(check.is_equal for check in checks)
        yield Result(f"  verified whole, {len(checks)} checks", seconds(took), "", took / 300, "< 300 s",
                     sound and took < 300)  # fmt: skip


ALL = [serve, serve_memory, serve_store]
