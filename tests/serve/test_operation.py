"""What operators do and see: reloads, log files, readiness, who did what; servers are processes of their own."""

import contextlib
import json
import os
import signal
import socket
import sqlite3
import subprocess
import time

import httpx
import pytest

from rankwise.serve.store import Store
from rankwise.serve.tokens import Tokens
from rankwise.serve.verify import verify
from tests.serve.killing import Servers

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
ADA, BO = "a-token-of-ada-00001", "a-token-of-bo-000002"


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


def lines(path, n):
    """The lines of a log, the last of which may come after the answer."""
    until(lambda: path.read_text().count("\n") >= n)
    return [json.loads(line) for line in path.read_text().splitlines()]


def until(condition, seconds=20):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


def rows_of(stream, start, stop):
    rows, labels = stream
    return {"rows": [{"id": f"f{i}", "features": rows[i], "label": labels[i]} for i in range(start, stop)]}


@pytest.fixture
def operated(nursery, tmp_path, online):
    """A server of two models with tokens and logs in files."""
    (tmp_path / "tokens").write_text(f"admin {ADA} ada\npredict {BO} bo\n")
    (tmp_path / "second.rankwise").write_bytes(online)
    described = {"tokens": str(tmp_path / "tokens"), "log": str(tmp_path / "log"),
                 "request_log": str(tmp_path / "requests"),
                 "more": [["second", str(tmp_path / "second.rankwise"), str(tmp_path / "second.sqlite")]]}  # fmt: skip
    with Servers(nursery, tmp_path, online, described) as servers:
        url = servers.start()
        with httpx.Client(base_url=url) as client:
            yield client, servers, tmp_path
        servers.kill(signal.SIGTERM)


def test_the_end_of_trouble_with_tokens_is_logged_where_only_warnings_are(tmp_path, caplog):
    path = tmp_path / "tokens"
    path.write_text(f"admin {ADA} ada\n")
    tokens = Tokens(path)
    with caplog.at_level("WARNING", "rankwise.serve"):
        for text in ("admin short\n", f"admin {ADA[::-1]} ada\n", f"admin {ADA} ada\n"):
            path.write_text(text)
            tokens.reload()
    failed, *rest = (record.getMessage() for record in caplog.records)
    assert "the tokens before hold" in failed
    assert rest == ["tokens read again"]


class TestHangup:
    """SIGHUP reloads, as with daemons."""

    def test_tokens_and_logs_are_reloaded_and_nothing_stops(self, operated, stream):
        client, servers, folder = operated
        path = "/v1/models/second/model"
        assert client.get(path, headers=bearer(ADA)).status_code == 200
        os.rename(folder / "requests", folder / "requests.1")
        stamp = (folder / "tokens").stat()
        (folder / "tokens").write_text(f"admin {ADA[::-1]} ada\npredict {BO} bo\n")
        os.utime(folder / "tokens", ns=(stamp.st_atime_ns, stamp.st_mtime_ns))  # only a signal tells of it
        os.kill(servers.pid, signal.SIGHUP)
        until(lambda: (folder / "requests").exists())
        assert client.get(path, headers=bearer(ADA[::-1])).status_code == 200
        assert client.get(path, headers=bearer(ADA)).status_code == 401
        assert client.post("/v1/models/model/predict", json={"rows": stream[0][:1]}, headers=bearer(BO)).is_success
        assert [line["status"] for line in lines(folder / "requests.1", 1)] == [200]
        assert [line["status"] for line in lines(folder / "requests", 3)] == [200, 401, 200]
        assert {"reloading", "tokens read again"} <= {line["event"] for line in lines(folder / "log", 3)}

    @pytest.mark.parametrize("text", ["wrong\n", "", "admin short\n", None])
    def test_a_broken_token_file_leaves_the_tokens_before(self, operated, text):
        client, servers, folder = operated
        (folder / "tokens").unlink() if text is None else (folder / "tokens").write_text(text)
        for _ in range(3):
            os.kill(servers.pid, signal.SIGHUP)
            until(lambda: "the tokens before hold" in (folder / "log").read_text())
        assert client.get("/v1/models", headers=bearer(ADA)).status_code == 200
        assert client.get("/v1/models", headers=bearer("wrong")).status_code == 401
        said = (folder / "log").read_text()
        assert "Traceback" not in said
        assert "short" not in said

    def test_a_log_that_cannot_be_opened_leaves_the_one_before(self, operated):
        client, servers, folder = operated
        os.rename(folder / "requests", folder / "requests.1")
        (folder / "requests").mkdir()
        os.kill(servers.pid, signal.SIGHUP)
        until(lambda: "the one before is written on" in (folder / "log").read_text())
        assert client.get("/healthz").status_code == 200
        assert [line["path"] for line in lines(folder / "requests.1", 1)] == ["/healthz"]

    @pytest.mark.slow
    @pytest.mark.parametrize("command", ["serve", "annotate"])
    def test_at_any_moment_of_a_command(self, tmp_path, online, command):
        (tmp_path / "m.rankwise").write_bytes(online)
        (tmp_path / "t.csv").write_text("remark\ngood\nbad\n")
        (tmp_path / "tokens").write_text(f"learn {ADA} ada\n")
        options = {"serve": ["m.rankwise", "--store", "s.sqlite"],
                   "annotate": ["t.csv", "--classes", "1..3", "--labels", "s.sqlite", "--text", "remark"]}  # fmt: skip
        process = subprocess.Popen(
            ["rankwise", command, *options[command], "--port", "0", "--json", "--token-file", "tokens", "--request-log",
             "requests", "--log-level", "info"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path,
        )  # fmt: skip
        try:
            until(lambda: (tmp_path / "s.sqlite").exists(), 120)
            os.kill(process.pid, signal.SIGHUP)  # while it starts
            url = json.loads(process.stdout.readline())["url"]
            os.rename(tmp_path / "requests", tmp_path / "requests.1")
            os.kill(process.pid, signal.SIGHUP)
            until((tmp_path / "requests").exists)
            assert httpx.get(f"{url}/healthz").status_code == 200
            process.send_signal(signal.SIGTERM)
            for _ in range(50):  # while it stops
                if process.poll() is not None:
                    break
                os.kill(process.pid, signal.SIGHUP)
                time.sleep(0.01)
            _, said = process.communicate(timeout=60)
        finally:
            if process.poll() is None:
                process.kill()
                process.communicate()
        assert process.returncode == 0, said
        assert "Traceback" not in said
        assert lines(tmp_path / "requests", 1)[0]["path"] == "/healthz"


def test_requests_are_logged_and_secrets_are_not(operated, stream):
    client, servers, folder = operated
    secret = {"features": stream[0][0], "label": "1", "context": {"name": "of-a-patient"}}
    client.post("/v1/models/model/feedback?key=hidden", json={"rows": [secret]}, headers=bearer(ADA))
    client.post("/v1/models/model/feedback", json={"rows": [secret]}, headers=bearer(BO))
    client.post("/v1/models/model/feedback", json={"rows": [secret]}, headers=bearer("unknown-token-0000000"))
    client.get("/nowhere", headers={"X-Request-ID": "mine"})
    port = servers.port
    for raw in (b"no http at all\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n",
                b"POST /v1/predict HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
                b"POST /v1/predict HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}",
                b"GET / HTTP/1.1\r\nX: " + b"x" * 200_000):  # fmt: skip
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.settimeout(20)
            try:
                connection.sendall(raw)
                answer = connection.recv(2000)
            except OSError:
                continue
            if b"X: " not in raw:
                assert answer.startswith(b"HTTP/1.1 400 ")
                assert b"content-type: application/problem+json" in answer
                assert json.loads(answer.partition(b"\r\n\r\n")[2])["status"] == 400
    logged = lines(folder / "requests", 9)
    assert [(line["status"], line.get("actor"), line["route"]) for line in logged[:4]] == [
        (200, "ada", "feedback"), (403, "bo", "feedback"), (401, None, "feedback"), (404, None, "none"),
    ]  # fmt: skip
    assert logged[3]["request"] == "mine"
    assert {"time", "client", "method", "path", "seconds"} <= logged[0].keys()
    assert [(line["status"], line["route"]) for line in logged[4:]] == [(400, "malformed")] * 4 + [(431, "malformed")]
    text = (folder / "requests").read_text() + (folder / "log").read_text()
    for word in ("hidden", "of-a-patient", ADA, BO, "unknown-token", "Bearer"):
        assert word not in text
    assert all(json.loads(line) for line in (folder / "log").read_text().splitlines())
    metrics = client.get("/metrics", headers=bearer(ADA)).text
    for counted in ('route="feedback",status="401"', 'route="feedback",status="403"', 'route="none",status="404"'):
        assert f"rankwise_requests_total{{{counted}}} 1" in metrics
    assert 'rankwise_requests_total{route="malformed",status="400"} 4' in metrics


def test_the_log_tells_who_sent_corrected_and_retracted_what(operated, stream):
    client, _, folder = operated
    path = "/v1/models/model/feedback"
    assert client.post(path, json=rows_of(stream, 0, 2), headers=bearer(ADA)).is_success
    assert client.put(f"{path}/f0", json={"label": "3"}, headers=bearer(ADA)).status_code == 202
    assert client.delete(f"{path}/f0", headers=bearer(ADA)).status_code == 202
    history = client.get(f"{path}/f0", headers=bearer(ADA)).json()["history"]
    assert [(event["kind"], event["actor"]) for event in history] == [
        ("feedback", "ada"), ("correction", "ada"), ("retraction", "ada"),
    ]  # fmt: skip
    with Store(folder / "feedback.sqlite") as store:
        told = store.connection.execute("SELECT DISTINCT actor FROM log").fetchall()
    assert told == [("ada",)]


@pytest.fixture
def small_disk(tmp_path):
    """A folder on a disk of four megabytes."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", folder], capture_output=True).returncode:
        pytest.skip("no file system can be mounted here")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


def test_readiness_comes_back_when_the_disk_has_room_again(nursery, small_disk, online, stream):
    with Servers(nursery, small_disk, online) as servers:
        client = httpx.Client(base_url=servers.start())
        assert client.get("/readyz").json() == {"status": "ready", "predict": True, "learn": True, "trouble": {}}
        assert client.post("/v1/feedback", json=rows_of(stream, 0, 20)).status_code == 200
        ballast = small_disk / "ballast"
        with ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while file.write(b"x" * 4096):
                pass
        statuses = {
            client.post("/v1/feedback", json=rows_of(stream, i, i + 20)).status_code for i in range(20, 120, 20)
        }
        assert statuses <= {200, 503, 507}
        assert statuses & {503, 507}
        refused = client.get("/readyz/learn")
        assert refused.status_code == 503
        assert "no feedback can be written" in refused.json()["detail"]
        able = client.get("/readyz")  # a balancer keeps it: it predicts
        assert (able.status_code, able.json()["learn"], list(able.json()["trouble"])) == (200, False, ["model"])
        assert client.post("/v1/predict", json={"rows": stream[0][:3]}).status_code == 200
        ballast.unlink()
        until(lambda: client.get("/readyz/learn").status_code == 200)  # nobody sent anything
        assert client.post("/v1/feedback", json=rows_of(stream, 0, 120)).status_code == 200
        assert client.get("/v1/model").json()["log"] == 120
        servers.kill(signal.SIGTERM)
        with Store(servers.store) as store:
            assert all(check.is_equal for check in verify(store))
        client.close()


def test_a_damaged_store_predicts_and_does_not_call_itself_writable(nursery, tmp_path, online, stream):
    with Servers(nursery, tmp_path, online) as servers, httpx.Client(base_url=servers.start()) as client:
        assert client.post("/v1/feedback", json=rows_of(stream, 0, 20)).status_code == 200
        with sqlite3.connect(servers.store) as other:
            other.execute("ALTER TABLE log RENAME TO gone")
        answer = client.post("/v1/feedback", json=rows_of(stream, 20, 21))
        assert (answer.status_code, "the store is damaged" in answer.json()["detail"]) == (500, True)
        until(lambda: client.get("/readyz/learn").status_code == 503)
        time.sleep(2.5)  # a try to write a note would succeed
        assert client.get("/readyz/learn").status_code == 503
        assert client.get("/readyz").json()["learn"] is False
        assert client.post("/v1/predict", json={"rows": stream[0][:3]}).status_code == 200
