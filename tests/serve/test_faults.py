"""What goes wrong in the world: kills, full disks, dead clients, two servers; in real processes on the loopback."""

import contextlib
import json
import os
import random
import signal
import socket
import sqlite3
import subprocess
import sys
import time

import httpx
import numpy as np
import pytest

import rankwise
from rankwise.serve.replica import latest
from rankwise.serve.store import Store, StoreError
from rankwise.serve.verify import verify
from tests.serve.killing import Servers, free_port, kill_often

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def test_kills_lose_nothing(nursery, tmp_path, online, stream):
    soak = kill_often(nursery, tmp_path, online, stream, 6)
    assert soak.wrong == []
    assert soak.acknowledged > 20


@pytest.mark.attack
def test_many_kills(nursery, tmp_path, online, stream):
    """``RANKWISE_KILLS`` is how many, 200 by default; ``RANKWISE_SECONDS`` ends it earlier."""
    times, seconds = int(os.environ.get("RANKWISE_KILLS", "200")), float(os.environ.get("RANKWISE_SECONDS", "3600"))
    soak = kill_often(nursery, tmp_path, online, stream, times, seed=1, seconds=seconds)
    print(soak)
    assert soak.wrong == []
    assert soak.acknowledged > 2 * soak.kills


@pytest.fixture(scope="module")
def server(nursery, tmp_path_factory, online):
    """A server that several tests share."""
    with Servers(nursery, tmp_path_factory.mktemp("served"), online) as servers:
        yield servers.start(), servers


def rss(pid):
    with open(f"/proc/{pid}/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_the_client_learns_predicts_and_changes_its_mind(server, stream):
    pd = pytest.importorskip("pandas")
    rows, labels = stream
    with rankwise.Client(server[0]) as client:
        before = client.model()["log"]
        ids = client.learn(rows[:20], labels[:20])
        assert client.model()["log"] == before + 20
        client.learn(rows[:20], labels[:20], ids=ids)  # again: nothing happens
        assert client.model()["log"] == before + 20
        client.learn(pd.DataFrame(rows[20:23]), [1, (2, 3), None], sample_weight=[1, 2, 3])
        found = client.predict(pd.DataFrame(rows[:7]), level=np.float64(0.9))
        assert list(found["class"]) == [answer["class"] for answer in client.predict(rows[:7])]
        assert client.predict_one(rows[0]) == found["class"][0]
        numpys = {name: np.float32(value) for name, value in rows[0].items()} | {"c0": np.int64(2), "c1": np.nan}
        assert client.predict_one(numpys) == client.predict_one({**numpys, "c0": 2, "c1": None})
        client.learn_one(rows[0], (4, 5))
        client.correct(ids[3], 5)
        client.retract(ids[4])
        remembered = client.predict(rows[30:32], remember=True)
        client.learn(None, ["1", "2"], ids=[answer["id"] for answer in remembered])
        assert client.versions()["versions"][0]["version"] == 1
        with pytest.raises(rankwise.ServiceError, match=r"422.*is not one of the classes") as error:
            client.learn(rows[:1], ["17"])
        assert error.value.errors[0]["column"] == "label"
        with pytest.raises(ValueError, match="of the same number"):
            client.learn(rows[:2], ["1"])


def test_the_client_waits_for_a_server_that_is_restarted(server, stream):
    url, servers = server
    with rankwise.Client(url) as client:
        client.model()
        servers.kill()
        servers.start()
        assert client.learn(stream[0][:2], stream[1][:2])


def test_the_client_gives_up(stream):
    with (
        rankwise.Client(f"http://127.0.0.1:{free_port()}", retries=1) as client,
        pytest.raises(httpx.ConnectError),
    ):
        client.model()


def test_malformed_bodies_do_no_harm(server, stream):
    url, servers = server
    good = json.dumps({"rows": [{"id": "never", "features": stream[0][0], "label": "1"}]}).encode()
    noise = random.Random(0)
    with httpx.Client(base_url=url) as client:
        before = client.get("/v1/model").json()["log"]
        statuses = set()
        memory = 0
        for i in range(1500):
            cut = bytearray(good[: noise.randrange(1, len(good) - 3)])
            for _ in range(noise.randrange(4)):
                cut[noise.randrange(len(cut))] = noise.randrange(256)
            path = ("/v1/feedback", "/v1/predict")[i % 2]
            answer = client.post(path, content=bytes(cut), headers={"content-type": "application/json"})
            statuses.add(answer.status_code)
            assert answer.headers["content-type"] == "application/problem+json"
            if i == 500:
                memory = rss(servers.pid)
        assert statuses <= {400, 422}
        assert client.get("/v1/model").json()["log"] == before
        assert rss(servers.pid) < memory + 20e6


def test_slow_and_half_open_clients_stop_nobody(server, stream):
    url = server[0]
    port = int(url.rpartition(":")[2])
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_connection(("127.0.0.1", port))) for _ in range(50)]
        for k, half in enumerate(sockets):  # nothing, half a head, half a body
            half.sendall((b"", b"POST /v1/predict HTTP/1.1\r\nHost: lo", _HALF_BODY)[k % 3])
        with rankwise.Client(url) as client:
            assert len(client.predict(stream[0][:3])) == 3
        flood = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
        flood.settimeout(20)
        with contextlib.suppress(OSError):  # it is cut off in the middle
            flood.sendall(b"GET / HTTP/1.1\r\nX-Long: " + b"x" * 200_000)
            assert flood.recv(1000) == b""
        with rankwise.Client(url) as client:
            assert len(client.predict(stream[0][:3])) == 3


_HALF_BODY = (
    b"POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{"
)


def test_sigterm_finishes_what_came_and_takes_a_snapshot(nursery, tmp_path, online, stream):
    store = tmp_path / "feedback.sqlite"
    with Servers(nursery, tmp_path, online) as servers:
        url = servers.start()
        with httpx.Client(base_url=url) as client, client.stream("GET", "/v1/events") as events:
            next(events.iter_bytes())  # a page that listens must not keep the server alive
            with rankwise.Client(url) as other:
                other.learn(stream[0][:50], stream[1][:50])
            servers.kill(signal.SIGTERM)
    with Store(store) as reader:
        assert reader.last == 50
        assert [snapshot.seq for snapshot in reader.snapshots(1)] == [50]
        assert all(check.is_equal for check in verify(reader))


@pytest.mark.slow
def test_the_command_serves_refuses_a_second_server_and_verifies(tmp_path, online, stream):
    model, store = tmp_path / "model.rankwise", tmp_path / "feedback.sqlite"
    model.write_bytes(online)
    command = [sys.executable, "-m", "rankwise", "serve", str(model), "--store", str(store), "--port", "0", "--json"]
    first = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        url = json.loads(first.stdout.readline())["url"]
        with rankwise.Client(url) as client:
            client.learn(stream[0][:5], stream[1][:5])
        second = subprocess.run(command, capture_output=True, text=True)
        assert second.returncode == 1
        assert "another process writes to" in second.stderr
    finally:
        first.send_signal(signal.SIGTERM)
        said = first.communicate(timeout=60)[1]
    assert first.returncode == 0
    assert [json.loads(line)["event"] for line in said.splitlines()] == ["ready", "stopping", "snapshot"]
    proof = subprocess.run([*command, "--verify"], capture_output=True, text=True)
    assert proof.returncode == 0
    assert {check["equal"] for check in json.loads(proof.stdout)["checks"]} == {True}
    outside = subprocess.run([*command, "--host", "0.0.0.0"], capture_output=True, text=True)
    assert outside.returncode == 1
    assert "give tokens" in outside.stderr


def test_a_read_only_store_is_refused(tmp_path, online, monkeypatch):
    path = tmp_path / "feedback.sqlite"
    Store(path, write=True).close()
    real = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda name, **options: real(name.replace("rwc", "ro"), **options))
    with pytest.raises(StoreError, match="readonly"):
        Store(path, write=True)


def test_a_torn_end_of_the_wal_is_no_loss(nursery, tmp_path, online, stream):
    """What a power failure in the middle of a commit leaves: frames without a commit, or half of one."""
    store = tmp_path / "feedback.sqlite"
    with Servers(nursery, tmp_path, online) as servers:
        with rankwise.Client(servers.start()) as client:
            client.learn(stream[0][:30], stream[1][:30])
        servers.kill()
    wal = tmp_path / "feedback.sqlite-wal"
    whole = wal.read_bytes()
    assert len(whole) > 4096
    wal.write_bytes(whole + os.urandom(3000))
    with Store(store, write=True) as opened:
        assert opened.last == 30
        assert all(check.is_equal for check in verify(opened))


def test_a_cut_wal_is_recognised(nursery, tmp_path, online, stream):
    store = tmp_path / "feedback.sqlite"
    with Servers(nursery, tmp_path, online) as servers:
        with rankwise.Client(servers.start()) as client:
            for i in range(5):
                client.learn(stream[0][i : i + 1], stream[1][i : i + 1])
        servers.kill()
    wal = tmp_path / "feedback.sqlite-wal"
    wal.write_bytes(wal.read_bytes()[:-5000])
    with pytest.raises(StoreError, match="event 5 was acknowledged"):
        Store(store, write=True)
    with Store(store, write=True, accept_loss=True) as opened:
        assert 0 < opened.last < 5
        assert all(check.is_equal for check in verify(opened))


def test_a_clock_that_is_set_back_changes_nothing(tmp_path, online, stream, monkeypatch):
    from rankwise.serve.engine import Engine

    engine = Engine(Store(tmp_path / "feedback.sqlite", write=True), online).start()
    moments = iter(range(10_000_000, 0, -1))
    monkeypatch.setattr(time, "time", lambda: float(next(moments)))
    for i in range(20):
        engine.feedback([stream[0][i]], [f"f{i}"], [stream[1][i]])
    digest = engine.replica.digest()
    engine.stop()
    engine.store.close()
    with Store(tmp_path / "feedback.sqlite") as store:
        assert [row.id for chunk in store.rows([(0, None)]) for row in chunk] == [f"f{i}" for i in range(20)]
        assert latest(store, store.versions()[0]).digest() == digest
