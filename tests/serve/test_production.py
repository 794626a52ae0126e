"""What production brings: HTTPS, a disk that is full, a schedule of challengers, thousands of broken requests."""

import json
import os
import random
import resource
import shutil
import signal
import ssl
import subprocess
import sys
import time
from pathlib import Path

import httpx
import numpy as np
import pytest

import rankwise as rw
from rankwise.datasets import make_ordinal

COLUMNS = [f"c{j}" for j in range(4)]


class Serving:
    """``rankwise serve`` as a process of its own."""

    def __init__(self, folder, content, *options, limit=None):
        (folder / "m.rankwise").write_bytes(content)
        command = [sys.executable, "-m", "rankwise", "serve", folder / "m.rankwise", "--store", folder / "f.sqlite"]
        self.process = subprocess.Popen(
            [*map(str, command), "--port", "0", "--json", *map(str, options)],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, preexec_fn=limit,
        )  # fmt: skip
        self.url = json.loads(self.process.stdout.readline())["url"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)
        self.process.stdout.close()


def _small_files():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # a write beyond the limit is an error, as on a full disk
    resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, 600_000))


@pytest.mark.slow
def test_a_disk_that_takes_no_more_bytes(tmp_path, online, stream):
    acknowledged = []
    with Serving(tmp_path, online, limit=_small_files) as served, httpx.Client(base_url=served.url) as client:
        statuses = set()
        for i in range(300):
            row = {"id": f"r{i}", "features": {**stream[0][i], "note": "x" * 4000}, "label": stream[1][i]}
            answer = client.post("/v1/feedback", json={"rows": [row]})
            statuses.add(answer.status_code)
            if answer.status_code == 200:
                acknowledged.append(row["id"])
            elif answer.status_code >= 500:
                assert answer.headers["content-type"] == "application/problem+json"
                break
        assert max(statuses) in (500, 503, 507)
        assert client.get("/readyz/learn").status_code == 503
        assert client.post("/v1/predict", json={"rows": [stream[0][0]]}).status_code == 200  # goes on to predict
    with Serving(tmp_path, online) as served, httpx.Client(base_url=served.url) as client:  # more room again
        assert len(acknowledged) > 10
        assert client.get("/v1/model").json()["log"] == len(acknowledged)
        assert all(client.get(f"/v1/feedback/{id}").status_code == 200 for id in acknowledged)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("openssl") is None, reason="makes a certificate")
def test_https(tmp_path, online, stream):
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost", "-keyout", tmp_path / "key.pem",
         "-out", tmp_path / "cert.pem"], check=True, capture_output=True,
    )  # fmt: skip
    options = ["--certificate", tmp_path / "cert.pem", "--key", tmp_path / "key.pem"]
    trusted = ssl.create_default_context(cafile=str(tmp_path / "cert.pem"))
    with Serving(tmp_path, online, *options) as served:
        assert served.url.startswith("https://")
        with httpx.Client(base_url=served.url, verify=trusted) as client:
            assert client.post("/v1/predict", json={"rows": [stream[0][0]]}).status_code == 200
        with pytest.raises(httpx.ConnectError, match="certificate"), httpx.Client(base_url=served.url) as client:
            client.get("/healthz")
        with pytest.raises(httpx.HTTPError), httpx.Client(base_url=served.url.replace("https", "http")) as client:
            client.get("/healthz")


@pytest.mark.slow
def test_a_schedule_trains_and_promotes_a_challenger(tmp_path):
    pd = pytest.importorskip("pandas")
    X, y = make_ordinal(700, 4, 5, noise=0.2, random_state=0)
    poor = rw.TableModel(rw.CumulativeLink()).fit(pd.DataFrame(X[:40], columns=COLUMNS), np.roll(y[:40], 7))
    rw.save(poor, tmp_path / "poor.rankwise")
    rows = [{"features": dict(zip(COLUMNS, x, strict=True)), "label": str(k)}
            for x, k in zip(X[100:600].tolist(), y[100:600].tolist(), strict=True)]  # fmt: skip
    content = (tmp_path / "poor.rankwise").read_bytes()
    with Serving(tmp_path, content, "--refit-after", "400") as served, httpx.Client(base_url=served.url) as client:
        assert client.post("/v1/feedback", json={"rows": rows}).status_code == 200
        for _ in range(600):
            found = client.get("/v1/versions").json()
            if len(found["versions"]) > 1:
                break
            time.sleep(0.2)
        assert [version["reason"] for version in found["versions"]] == ["promotion", "start"]
        assert found["challengers"][0]["state"] == "promoted"


@pytest.mark.slow
def test_ten_thousand_malformed_bodies(tmp_path, online, stream):
    good = json.dumps({"rows": [{"id": "never", "features": stream[0][0], "label": "1"}]}).encode()
    noise = random.Random(1)
    with Serving(tmp_path, online) as served, httpx.Client(base_url=served.url) as client:
        held = []
        for i in range(10_000):
            body = bytearray(good[: noise.randrange(1, len(good) - 3)])
            for _ in range(noise.randrange(4)):
                body[noise.randrange(len(body))] = noise.randrange(256)
            path = ("/v1/feedback", "/v1/predict", "/v1/explain")[i % 3]
            answer = client.post(path, content=bytes(body), headers={"content-type": "application/json"})
            assert answer.status_code in (400, 422)
            assert answer.json()["detail"]
            if i in (2000, 9999):
                held.append(_memory(served.process.pid))
        assert held[1] < held[0] + 10e6
        assert client.get("/v1/model").json()["log"] == 0


def _memory(pid):
    with open(f"/proc/{pid}/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd")
def test_the_systemd_unit_is_valid(tmp_path):
    text = (Path(__file__).parents[2] / "examples" / "service" / "rankwise.service").read_text(encoding="utf-8")
    unit = tmp_path / "rankwise.service"
    unit.write_text(text.replace("/opt/rankwise/bin/rankwise", shutil.which("true")))
    found = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True)
    assert found.returncode == 0
    assert "rankwise.service" not in found.stderr
