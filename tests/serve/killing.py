"""Servers that are killed under load, and what must be true afterwards."""

import http.client
import json
import math
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from rankwise.serve.replica import built
from rankwise.serve.store import Store
from rankwise.serve.verify import verify


def free_port():
    with socket.socket() as some:
        some.bind(("127.0.0.1", 0))
        return some.getsockname()[1]


class Nursery:
    """A process that forks servers; ``model`` is one that it warms up with."""

    def __init__(self, model):
        command = [sys.executable, str(Path(__file__).with_name("nursery.py")), str(model)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline().strip() == "warm"

    def start(self, described):
        """Fork a server; return its process id and URL."""
        self.process.stdin.write(json.dumps(described) + "\n")
        self.process.stdin.flush()
        return tuple(json.loads(self.process.stdout.readline())[key] for key in ("pid", "url"))

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(120)  # ending a process of this size takes its time on a busy machine


class Servers:
    """Servers on one store and port, one after the other."""

    def __init__(self, nursery, folder, content, described=None, **settings):
        self.store, self.port, self._nursery, self.pid = folder / "feedback.sqlite", free_port(), nursery, 0
        model = folder / "model.rankwise"
        model.write_bytes(content)
        self._described = {"model": str(model), "store": str(self.store), "port": self.port, "settings": settings}
        self._described |= described or {}

    def start(self):
        self.pid, url = self._nursery.start(self._described)
        return url

    def kill(self, number=signal.SIGKILL):
        os.kill(self.pid, number)
        while _lives(self.pid):
            time.sleep(0.002)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.pid and _lives(self.pid):
            self.kill()


def _lives(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


class Load:
    """Clients that give feedback and do not rest until each of theirs is acknowledged."""

    def __init__(self, port, stream, n_clients=4, seed=0):
        self.port, self.stream = port, stream
        self.acknowledged, self.answers, self.ids = [], {}, set()
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._random = random.Random(seed)
        self.threads = [threading.Thread(target=self._client, args=(k,)) for k in range(n_clients)]
        for thread in self.threads:
            thread.start()

    def _client(self, k):
        rows, labels = self.stream
        connection, i = None, 0
        while not self._stop.is_set():
            n = 1 + (i + k) % 3
            ids = [f"c{k}-{i}-{j}" for j in range(n)]
            picked = [(k * 7919 + i * 31 + j) % len(rows) for j in range(n)]
            body = {"rows": [{"id": id, "features": rows[p], "label": labels[p]}
                             for id, p in zip(ids, picked, strict=True)]}  # fmt: skip
            key = None
            if k % 2:  # no ids of their own: the key tells that it is the same request
                key, ids = f"c{k}-{i}", [f"c{k}-{i}/{j}" for j in range(n)]
                for row in body["rows"]:
                    del row["id"]
            with self._lock:
                self.ids |= set(ids)
            answer, connection = self._until_done("POST", "/v1/feedback", body, connection, key)
            if answer is None:
                break
            with self._lock:
                self.acknowledged += ids
                for row in answer["rows"]:
                    self.answers[row["id"]] = row["seq"]
            if i % 40 == 39:
                _, connection = self._until_done("PUT", f"/v1/feedback/{ids[0]}", {"label": "1-2"}, connection)
            i += 1
        if connection is not None:
            connection.close()

    def _until_done(self, method, path, body, connection, key=None):
        while not self._stop.is_set():
            try:
                if connection is None:
                    connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
                headers = {"Content-Type": "application/json"} | ({} if key is None else {"Idempotency-Key": key})
                connection.request(method, path, json.dumps(body), headers)
                answer = connection.getresponse()
                said = answer.read()
                if answer.status in (200, 202):
                    return json.loads(said), connection
                assert answer.status == 503, said
            except (OSError, http.client.HTTPException):
                if connection is not None:
                    connection.close()
                connection = None
            time.sleep(0.005)
        return None, connection

    def stop(self):
        self._stop.set()
        for thread in self.threads:
            thread.join()


@dataclass
class Soak:
    """What became of a server that was killed again and again, and of what clients were told."""

    kills: int
    acknowledged: int  # feedbacks
    logged: int  # feedbacks in the log, among them some whose answer was lost with the server
    lost: int
    doubled: int
    misplaced: int  # at another place than was told
    wrong: list  # in words, also what --verify finds

    def __str__(self):
        return (
            f"{self.kills} kills, {self.acknowledged} acknowledged feedbacks, {self.logged} in the log: "
            f"{self.lost} lost, {self.doubled} doubled, {self.misplaced} misplaced, {len(self.wrong)} wrong in all"
        )


def kill_often(nursery, folder, content, stream, times, seed=0, seconds=math.inf):
    """Kill a server at random moments under load, so many times or as often as the seconds allow."""
    moments, end, kills = random.Random(seed), time.monotonic() + seconds, 0
    with Servers(nursery, folder, content, snapshot_every=100, keep=4) as servers:
        load = Load(servers.port, stream, seed=seed)
        try:
            while kills < times and time.monotonic() < end:
                servers.start()
                time.sleep(moments.expovariate(1 / 0.15))
                servers.kill()
                kills += 1
            servers.start()
            time.sleep(0.2)
        finally:
            load.stop()
        servers.kill(signal.SIGTERM)
    return what_became(servers.store, load, kills)


def what_became(path, load, kills):
    """Compare a store with what clients were told."""
    with Store(path) as store:
        places = store.connection.execute("SELECT id, seq FROM log WHERE kind = 'feedback'").fetchall()
        times, seqs = Counter(id for id, _ in places), dict(places)
        lost = [id for id in load.acknowledged if not times[id]]
        doubled = [id for id, n in times.items() if n > 1]
        misplaced = [id for id, seq in load.answers.items() if id in seqs and seqs[id] != seq]
        wrong = [f"{id}: lost" for id in lost] + [f"{id}: doubled" for id in doubled]
        wrong += [f"{id}: told {load.answers[id]}, is {seqs[id]}" for id in misplaced]
        wrong += [f"{id}: nobody sent it" for id in seqs.keys() - load.ids]
        wrong += [check.what for check in verify(store) if not check.is_equal]
        served = built(store, store.versions()[-1])
        wrong += [] if served.progress.loss.n_rows else ["nothing was learnt"]
    return Soak(kills, len(load.acknowledged), len(places), len(lost), len(doubled), len(misplaced), wrong)
