"""The application over HTTP, without a socket."""

import asyncio
import io
import json
from contextlib import asynccontextmanager

import httpx
import pyarrow as pa
import pytest

import rankwise
from rankwise.datasets import make_ordinal
from rankwise.serve.app import Application
from rankwise.serve.gate import ARROW
from rankwise.serve.limits import Limits, RateLimiter
from rankwise.serve.problems import Problem
from rankwise.serve.service import Service
from rankwise.serve.store import Store
from rankwise.serve.tokens import TokenFileError, Tokens
from rankwise.serve.writer import Settings

JSON_TYPE = {"content-type": "application/json"}


@pytest.fixture
def served(tmp_path, online):
    """Run a coroutine that gets a client of an application."""

    def run(test, contents=None, base_url="http://localhost", settings=None, **options):
        async def main():
            made = contents or {"model": online}
            services = {
                name: Service(name, Store(tmp_path / f"{name}.sqlite", write=True), content, settings or Settings())
                for name, content in made.items()
            }
            application = Application(services, **options)
            async with lifespan(application):
                transport = httpx.ASGITransport(application.asgi)
                async with httpx.AsyncClient(transport=transport, base_url=base_url) as client:
                    client.application = application
                    return await test(client)

        return asyncio.run(main())

    return run


@asynccontextmanager
async def lifespan(application):
    async with application._lifespan(None):
        yield


def problem(answer, status):
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    said = answer.json()
    assert said["status"] == status
    assert said["instance"].endswith(answer.headers["x-request-id"])
    return said


def arrow(table):
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return {"content": sink.getvalue(), "headers": {"content-type": ARROW}}


def feedback(stream, start, stop, **more):
    rows, labels = stream
    return {"rows": [{"id": f"f{i}", "features": rows[i], "label": labels[i], **more} for i in range(start, stop)]}


def test_predictions(served, stream, batch):
    async def test(client):
        answer = (await client.post("/v1/predict", json={"rows": stream[0][:3], "level": 0.8})).json()
        assert answer["classes"] == [1, 2, 3, 4, 5]
        model = rankwise.persistence.from_bytes(batch)
        frame = pytest.importorskip("pandas").DataFrame(stream[0][:3])
        assert [row["class"] for row in answer["rows"]] == model.predict(frame).tolist()
        assert [row["probabilities"] for row in answer["rows"]] == model.predict_proba(frame).tolist()
        assert [row["interval"] for row in answer["rows"]] == model.predict_interval(frame, 0.8).tolist()
        assert {row["version"] for row in answer["rows"]} == {"1.0"}
        assert len({row["id"] for row in answer["rows"]}) == 3
        table = pa.Table.from_pylist(stream[0][:50])
        found = pa.ipc.open_stream((await client.post("/v1/predict?level=0.8", **arrow(table))).content).read_all()
        rows = (await client.post("/v1/predict", json={"rows": stream[0][:50], "level": 0.8})).json()["rows"]
        assert found["class"].to_pylist() == [row["class"] for row in rows]
        assert found["P(2)"].to_pylist() == [row["probabilities"][1] for row in rows]
        assert found["lower"].to_pylist() == [row["interval"][0] for row in rows]
        many = (await client.post("/v1/predict", json={"rows": stream[0]})).json()["rows"]  # in a thread
        assert [row["class"] for row in many[:3]] == [row["class"] for row in answer["rows"]]

    served(test, {"model": batch})


def test_requests_that_come_together_are_answered_each_by_itself(served, stream):
    async def test(client):
        bodies = [{"rows": [row]} for row in stream[0][:20]]
        bodies[7] = {"rows": [{**stream[0][7], "c1": "much"}]}
        answers = await asyncio.gather(*(client.post("/v1/predict", json=body) for body in bodies))
        assert [answer.status_code for answer in answers] == [200] * 7 + [422] + [200] * 12
        said = problem(answers[7], 422)
        assert said["errors"] == [{"row": 0, "column": "c1", "detail": "a number is needed. Got the text 'much'."}]

    served(test)


def test_a_client_that_went_away_keeps_nobody_from_an_answer(served, stream, monkeypatch):
    async def test(client):
        service = client.application.only
        monkeypatch.setattr(service, "_answers", lambda rows, level: 1 / 0)
        asked = [asyncio.ensure_future(service.predict([row], None, 0.9, False)) for row in stream[0][:3]]
        await asyncio.sleep(0)
        asked[0].cancel()
        found = await asyncio.wait_for(asyncio.gather(*asked, return_exceptions=True), 5)
        assert [type(error) for error in found] == [asyncio.CancelledError, ZeroDivisionError, ZeroDivisionError]

    served(test)


def test_the_page_shows_the_id_of_each_feedback(served, stream):
    async def test(client):
        await client.post("/v1/feedback", json=feedback(stream, 0, 4))
        shown = client.application.only.state()["feedback"]
        assert [(entry["id"], entry["seq"]) for entry in shown] == [("f3", 4), ("f2", 3), ("f1", 2)]

    served(test)


def test_feedback_is_learnt_once(served, stream):
    async def test(client):
        body = feedback(stream, 0, 4)
        first = await client.post("/v1/feedback", json=body)
        assert first.json() == {"rows": [{"id": f"f{i}", "seq": i + 1} for i in range(4)]}
        version = (await client.get("/v1/model")).json()["version"]
        again = await client.post("/v1/feedback", json=body)
        assert again.content == first.content
        assert (await client.get("/v1/model")).json()["version"] == version == "1.4"
        nameless = {"rows": [{k: v for k, v in row.items() if k != "id"} for row in body["rows"]]}
        key = {"Idempotency-Key": "order-66"}
        with_key = await client.post("/v1/feedback", json=nameless, headers=key)
        assert (await client.post("/v1/feedback", json=nameless, headers=key)).content == with_key.content
        assert [row["seq"] for row in with_key.json()["rows"]] == [5, 6, 7, 8]
        without = await client.post("/v1/feedback", json=nameless)  # nothing says that these are the same
        assert [row["seq"] for row in without.json()["rows"]] == [9, 10, 11, 12]
        body["rows"][2]["label"] = "1"
        said = problem(await client.post("/v1/feedback", json=body), 409)
        assert "row 2: feedback 'f2' was given before" in said["detail"]

    served(test)


@pytest.mark.parametrize("own_ids", [True, False])
def test_a_key_is_for_one_request(served, stream, own_ids):
    """Other rows under a key that was used are refused, also after a restart."""
    key = {"Idempotency-Key": "order-66"}

    def body(start, stop, **more):
        rows = feedback(stream, start, stop, **more)["rows"]
        return {"rows": rows if own_ids else [{k: v for k, v in row.items() if k != "id"} for row in rows]}

    others = [body(10, 14), body(0, 3), body(0, 5), body(0, 4, weight=2), body(0, 4, context={"a": 1})]

    async def test(client):
        first = await client.post("/v1/feedback", json=body(0, 4), headers=key)
        assert first.status_code == 200
        log = (await client.get("/v1/model")).json()["log"]
        for other in others:
            said = problem(await client.post("/v1/feedback", json=other, headers=key), 409)
            assert "Idempotency-Key 'order-66' was used for another request" in said["detail"]
        assert (await client.post("/v1/feedback", json=body(0, 4), headers=key)).content == first.content
        assert (await client.get("/v1/model")).json()["log"] == log == 4

    served(test)
    served(test)


def test_two_requests_with_one_key_that_come_together(served, stream):
    async def test(client):
        key = {"Idempotency-Key": "k"}
        sent = [feedback(stream, 0, 2), feedback(stream, 4, 6), feedback(stream, 0, 2)]
        answers = await asyncio.gather(*(client.post("/v1/feedback", json=body, headers=key) for body in sent))
        assert [answer.status_code for answer in answers] == [200, 409, 200]
        assert (await client.get("/v1/model")).json()["log"] == 2

    served(test)


def test_labels_of_every_notation(served, stream):
    async def test(client):
        labels = ["3", 3, 3.0, "3-5", ">=4", "<2", "2|3", "?", None, "at least 4"]
        rows = [{"features": stream[0][i], "label": label} for i, label in enumerate(labels)]
        answer = await client.post("/v1/feedback", json={"rows": rows})
        assert answer.status_code == 200, answer.text
        said = problem(await client.post("/v1/feedback", json={"rows": [rows[0], {**rows[1], "label": "9"}]}), 422)
        assert (said["errors"][0]["row"], said["errors"][0]["column"]) == (1, "label")
        said = problem(await client.post("/v1/feedback", json={"rows": [{**rows[0], "label": "2|4"}]}), 422)
        assert "gaps" in said["detail"]  # which PRIL does not learn from
        assert (await client.get("/v1/model")).json()["log"] == 10

    served(test)


def test_feedback_by_the_id_of_a_prediction(served, stream):
    async def test(client):
        body = {"rows": stream[0][:2], "remember": True, "ids": ["mine", "yours"]}
        assert (await client.post("/v1/predict", json=body)).status_code == 200
        answer = await client.post("/v1/feedback", json={"rows": [{"id": "mine", "label": "2"}]})
        assert answer.json() == {"rows": [{"id": "mine", "seq": 1}]}
        assert (
            await client.post("/v1/feedback", json={"rows": [{"id": "mine", "label": "2"}]})
        ).json() == answer.json()
        other = {"rows": [{"id": "second rater", "prediction_id": "mine", "label": "3"}]}
        assert (await client.post("/v1/feedback", json=other)).json()["rows"][0]["seq"] == 2
        said = problem(await client.post("/v1/feedback", json={"rows": [{"id": "nobody", "label": "3"}]}), 422)
        assert "no prediction 'nobody' is remembered" in said["detail"]

    served(test)


def test_feedback_as_arrow_is_the_same_model(served, stream, tmp_path):
    rows, labels = stream

    async def as_json(client):
        await client.post("/v1/feedback", json=feedback(stream, 0, 500))
        return client.application.only.engine.replica.digest()

    async def as_arrow(client):
        lines = [{**rows[i], "label": labels[i], "id": f"f{i}", "weight": 1.0} for i in range(500)]
        answer = await client.post("/v1/feedback", **arrow(pa.Table.from_pylist(lines)))
        assert len(answer.json()["rows"]) == 500
        return client.application.only.engine.replica.digest()

    first = served(as_json)
    for file in tmp_path.iterdir():
        file.unlink()
    assert served(as_arrow) == first


def test_corrections(served, stream):
    async def test(client):
        await client.post("/v1/feedback", json=feedback(stream, 0, 30))
        before = client.application.only.engine.replica.digest()
        answer = await client.put("/v1/feedback/f7", json={"label": "1", "weight": 2})
        assert answer.status_code == 202
        assert answer.json() == {"id": "f7", "seq": 8, "state": "correction"}
        assert (await client.put("/v1/feedback/f7", json={"label": "1", "weight": 2})).json() == answer.json()
        for _ in range(300):
            if not (await client.get("/v1/model")).json()["correcting"]:
                break
            await asyncio.sleep(0.02)
        assert client.application.only.engine.replica.digest() != before
        assert (await client.get("/v1/feedback/f7")).json()["label"] == "1"
        assert (await client.delete("/v1/feedback/f7")).json()["state"] == "retraction"
        problem(await client.put("/v1/feedback/f7", json={"label": "77"}), 422)
        problem(await client.put("/v1/feedback/none", json={"label": "1"}), 404)
        problem(await client.get("/v1/feedback/none"), 404)

    served(test)


def test_versions_and_rollback(served, stream):
    async def test(client):
        await client.post("/v1/feedback", json=feedback(stream, 0, 30))
        answer = await client.post("/v1/versions/rollback", json={"version": 1, "seq": 10})
        assert answer.json() == {"version": 2}
        await client.post("/v1/feedback", json=feedback(stream, 30, 60))
        found = (await client.get("/v1/versions")).json()["versions"]
        assert [(line["version"], line["current"], line["reason"]) for line in found] == [
            (2, True, "rollback"), (1, False, "start")
        ]  # fmt: skip
        assert found[0]["progress"]["rows"] + found[0]["progress"]["unlabelled_rows"] == 30
        assert found[1]["progress"]["rows"] + found[1]["progress"]["unlabelled_rows"] == 30
        assert found[0]["change"] == pytest.approx(found[0]["progress"]["error"] - found[1]["progress"]["error"])
        problem(await client.post("/v1/versions/rollback", json={"version": 7}), 404)
        problem(await client.post("/v1/versions/promote", json={"challenger": 7}), 404)

    served(test)


def test_metrics_and_health(served, stream, batch):
    async def test(client):
        assert (await client.get("/healthz")).json()["status"] == "ok"
        assert (await client.get("/readyz/learn")).json()["learn"]
        await client.post("/v1/predict", json={"rows": stream[0] * 2})
        await client.post("/v1/predict", json={"rows": [{**row, "c0": row["c0"] + 100} for row in stream[0] * 5]})
        await client.post("/v1/feedback", json=feedback(stream, 0, 100))
        text = (await client.get("/metrics")).text
        values = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
        assert values['rankwise_predictions_total{model="model"}'] == "4200"
        assert values['rankwise_feedback_total{model="model"}'] == "100"
        least, most = (float(values[f'rankwise_progressive_error{{model="model",end="{end}"}}'])
                       for end in ("least", "most"))  # fmt: skip
        assert 0 < least < most
        assert 0 < float(values['rankwise_covered{model="model",end="least"}']) <= 1
        assert float(values['rankwise_column_drift{model="model",column="c0"}']) > 10
        assert float(values['rankwise_column_drift{model="model",column="c1"}']) < 1
        assert float(values['rankwise_class_drift{model="model"}']) > 0.2
        assert values['rankwise_requests_total{route="predict",status="200"}'] == "2"
        assert values['rankwise_request_seconds_count{route="feedback"}'] == "1"
        client.application.only.engine.broken = "disk is full"
        problem(await client.get("/readyz/learn"), 503)
        assert (await client.get("/readyz")).json()["trouble"] == {"model": "disk is full"}

    served(test, {"model": batch})


def test_the_description_names_every_path(served):
    async def test(client):
        found = (await client.get("/openapi.json")).json()
        assert found["openapi"] == "3.1.0"
        for path in ("predict", "feedback", "feedback/{id}", "model", "versions", "explain", "events"):
            assert f"/v1/{path}" in found["paths"]
            assert f"/v1/models/{{model}}/{path}" in found["paths"]
        for name in ("PredictBody", "FeedbackBody", "Problem"):
            assert name in found["components"]["schemas"]

    served(test)


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "/v1/predict", b"{", 400),
        ("POST", "/v1/predict", b"\xff\xfe", 400),
        ("POST", "/v1/predict", b"[" * 100_000, 422),
        ("POST", "/v1/predict", b'{"rows": 3}', 422),
        ("POST", "/v1/predict", b'{"rows": [{"c0": [1]}]}', 422),
        ("POST", "/v1/predict", b'{"rows": [{"c0": 1}]}', 422),
        ("POST", "/v1/predict", b'{"rows": [{"c0": 1e400, "c1": 1, "c2": 1, "c3": 1}]}', 422),
        ("POST", "/v1/predict", b'{"rows": [{"c0": NaN, "c1": 1, "c2": 1, "c3": 1}]}', 400),
        ("POST", "/v1/predict", b'{"rows": [{"c0": 1%s, "c1": 1, "c2": 1, "c3": 1}]}' % (b"0" * 400), 422),
        ("POST", "/v1/predict", b'{"rows": [{"c0": true, "c1": 1, "c2": 1, "c3": 1}]}', 422),
        ("POST", "/v1/predict", '{"rows": [{"c0": "\u0661\u0662", "c1": 1, "c2": 1, "c3": 1}]}'.encode(), 422),
        ("POST", "/v1/predict", '{"rows": [{"c0": "\uff11", "c1": 1, "c2": 1, "c3": 1}]}'.encode(), 422),
        ("POST", "/v1/predict", b'{"rows": [{"c0": "1e400", "c1": 1, "c2": 1, "c3": 1}]}', 422),
        ("POST", "/v1/predict", b'{"rows": [{"c0": Infinity, "c1": 1, "c2": 1, "c3": 1}]}', 400),
        ("POST", "/v1/explain", b'{"rows": [{"c0": true, "c1": 1, "c2": 1, "c3": 1}]}', 422),
        ("POST", "/v1/predict", b'{"rows": [{"c0": 1, "c1": 1, "c2": 1, "c3": 1, "c0": 2}]}', 422),
        ("POST", "/v1/predict", b'{"rows": [{"c0": 1, "c1": 1, "c2": 1, "c3": 1, "a:b": 0, "a\\u003ab": 2}]}', 422),
        ("POST", "/v1/predict", b'{"rows": [], "rows": []}', 422),
        ("POST", "/v1/predict", b'{"rows": [], "level": 0.9, "level": 0.5}', 422),
        ("POST", "/v1/feedback", b'{"rows": [{"label": "1", "label": "2", "features": {"c0": 1, "c1": 1, "c2": 1, '
                                 b'"c3": 1}}]}', 422),
        ("POST", "/v1/feedback", b'{"rows": [{"label": "1", "features": {"c0": 1, "c1": 1, "c2": 1, "c3": true}}]}',
         422),
        ("POST", "/v1/feedback", b'{"rows": [{"label": "1", "features": {"c0": 1, "c1": 1, "c2": 1, "c3": 1}, '
                                 b'"weight": 1, "weight": 1.0}]}', 422),
        ("PUT", "/v1/feedback/f0", b'{"label": "1", "label": "2"}', 422),
        ("POST", "/v1/versions/rollback", b'{"version": 1, "version": 2}', 422),
        ("POST", "/v1/predict", b'{"rows": [], "level": 1}', 422),
        ("POST", "/v1/predict", b'{"rows": [], "wrong": 1}', 422),
        ("POST", "/v1/feedback", b'{"rows": [{"label": "1"}]}', 422),
        ("POST", "/v1/feedback", b'{"rows": [{"label": true, "features": {}}]}', 422),
        ("POST", "/v1/feedback", b'{"rows": [{"label": "1", "weight": -1, "features": {}}]}', 422),
        ("POST", "/v1/feedback", b'{"rows": [{"id": "", "label": "1", "features": {}}]}', 422),
        ("POST", "/v1/versions/promote", b'{"challenger": 1%s}' % (b"0" * 30), 422),
        ("GET", "/v1/predict", b"", 405),
        ("GET", "/v2", b"", 404),
        ("GET", "/v1/models/other/model", b"", 404),
        ("GET", "/../../etc/passwd", b"", 404),
        ("GET", "/page.css/../page.js", b"", 200),
    ],
)  # fmt: skip
def test_bad_requests_get_clear_answers(served, method, path, body, status):
    async def test(client):
        answer = await client.request(method, path, content=body, headers={"content-type": "application/json"})
        if status == 200:
            return
        said = problem(answer, status)
        assert said["detail"]
        assert "Traceback" not in answer.text
        assert (await client.get("/v1/model")).json()["log"] == 0

    served(test)


@pytest.mark.parametrize(
    "name", ["Host", "Authorization", "Idempotency-Key", "Content-Type", "Content-Length", "Origin", "X-Request-ID"]
)
def test_a_header_that_counts_comes_once(served, stream, name):
    async def test(client):
        values = {"Host": "localhost", "Content-Type": "application/json", "Content-Length": "2"}
        value = values.get(name, "http://localhost" if name == "Origin" else "abc")
        headers = [("Host", "localhost"), ("Content-Type", "application/json")]
        twice = [pair for pair in headers if pair[0] != name] + [(name, value)] * 2
        said = problem(await client.post("/v1/feedback", content=b"{}", headers=twice), 400)
        assert f"the header {name.lower()!r} came twice" in said["detail"]

    served(test)


def test_keys_of_long_bodies_come_once(served, stream):
    rows = [{**row, "note": "a: b" if i % 2 else "c"} for i, row in enumerate(stream[0] * 8)]

    async def test(client):
        whole = json.dumps({"rows": rows})
        assert len(whole) > 200_000
        for text in (whole, json.dumps({"rows": rows, "level": 0.9, "ids": [f"urn:{i}" for i in range(len(rows))]})):
            assert (await client.post("/v1/predict", content=text, headers=JSON_TYPE)).status_code == 200
        doubled = whole[: -len("}]}")] + ', "note": "d"}]}'
        said = problem(await client.post("/v1/predict", content=doubled, headers=JSON_TYPE), 422)
        assert "the key 'note' comes twice" in said["detail"]

    served(test)


def test_other_types_of_bodies(served, stream):
    async def test(client):
        said = problem(await client.post("/v1/predict", content=b"{}", headers={"content-type": "text/plain"}), 415)
        assert "application/json" in said["detail"]
        problem(await client.post("/v1/predict", content=b"no arrow", headers={"content-type": ARROW}), 400)
        table = pa.Table.from_pylist(stream[0][:3])
        problem(await client.post("/v1/predict", **arrow(table.drop(["c2"]))), 422)
        lists = pa.array([[1]] * 3)
        problem(await client.post("/v1/predict", **arrow(table.append_column("id", lists))), 422)
        problem(await client.post("/v1/feedback", **arrow(table)), 422)  # without labels
        dates = pa.table({"c0": pa.array([0], pa.timestamp("s")), "label": ["1"]})
        problem(await client.post("/v1/feedback", **arrow(dates)), 422)
        problem(await client.post("/v1/predict?level=2", **arrow(table)), 422)

    served(test)


def test_limits(served, stream):
    async def test(client):
        problem(await client.post("/v1/predict", json={"rows": stream[0][:3]}), 413)
        big = {"rows": [{**stream[0][0], "note": "x" * 5000}]}
        problem(await client.post("/v1/predict", json=big), 413)

        async def endless():
            for _ in range(100):
                yield b'{"rows": ['

        headers = {"content-type": "application/json"}
        problem(await client.post("/v1/predict", content=endless(), headers=headers), 413)

        async def slow():
            yield b"{"
            await asyncio.sleep(5)
            yield b"}"

        problem(await client.post("/v1/predict", content=slow(), headers=headers), 408)

    served(test, limits=Limits(body=900, rows=2, seconds=0.3))


def test_a_client_has_as_many_requests_as_its_bucket_has_whole_tokens(monkeypatch):
    now = [100.0]
    monkeypatch.setattr("rankwise.serve.limits.time.monotonic", lambda: now[0])
    limiter = RateLimiter(0.5)  # a full bucket holds one

    def waits(client):
        try:
            limiter.check(client)
        except Problem as refused:
            return int(refused.headers["Retry-After"])
        return 0

    assert [waits("a"), waits("a"), waits("b")] == [0, 2, 0]
    now[0] += 1.5
    assert waits("a") == 1
    now[0] += 1
    assert [waits("a"), waits("a")] == [0, 2]


def test_rates(served, stream):
    async def test(client):
        answers = [await client.get("/v1/model") for _ in range(12)]
        assert [answer.status_code for answer in answers[:10]] == [200] * 10
        problem(answers[-1], 429)
        assert int(answers[-1].headers["retry-after"]) >= 1  # in whole seconds, and after that it is allowed

    served(test, limits=Limits(rate=5.0))


class TestTokens:
    @pytest.fixture
    def tokens(self, tmp_path):
        path = tmp_path / "tokens"
        digest = "a1f3" * 16
        path.write_text(
            f"# ours\nread reads-and-reads-only\npredict predicts-something me\nlearn sha256:{digest}\n"
            "admin administrator-of-all\n"
        )
        return path

    def test_roles(self, served, stream, tokens):
        async def test(client):
            def bearer(token):
                return {"Authorization": f"Bearer {token}"}

            said = problem(await client.get("/v1/model"), 401)
            assert "token" in said["detail"]
            problem(await client.get("/v1/model", headers=bearer("wrong-token-altogether")), 401)
            read, predict, admin = map(bearer, ("reads-and-reads-only", "predicts-something", "administrator-of-all"))
            assert (await client.get("/v1/model", headers=read)).status_code == 200
            rows = {"rows": stream[0][:1]}
            problem(await client.post("/v1/predict", json=rows, headers=read), 403)
            assert (await client.post("/v1/predict", json=rows, headers=predict)).status_code == 200
            said = problem(await client.post("/v1/feedback", json=feedback(stream, 0, 1), headers=predict), 403)
            assert "'learn' is needed" in said["detail"]
            assert (await client.post("/v1/feedback", json=feedback(stream, 0, 1), headers=admin)).status_code == 200
            for path in ("/healthz", "/readyz", "/", "/page.js", "/openapi.json"):
                assert (await client.get(path)).status_code == 200

        served(test, tokens=Tokens(tokens), base_url="http://elsewhere.example")

    def test_the_file_may_change(self, served, tokens):
        async def test(client):
            known = client.application.asgi.tokens
            new = {"Authorization": "Bearer brand-new-token-here"}
            problem(await client.get("/v1/model", headers=new), 401)
            tokens.write_text("read brand-new-token-here\n")
            known._looked = 0.0
            assert (await client.get("/v1/model", headers=new)).status_code == 200
            old = {"Authorization": "Bearer reads-and-reads-only"}
            problem(await client.get("/v1/model", headers=old), 401)
            for broken in (b"half a li", b"read \xff\xfe-is-no-text-at-all"):
                tokens.write_bytes(broken)
                known._looked = 0.0
                assert (await client.get("/v1/model", headers=new)).status_code == 200  # the tokens before hold

        served(test, tokens=Tokens(tokens))

    @pytest.mark.parametrize(
        "text", ["", "# none\n", "king long-enough-to-be-one\n", "read short\n", "read sha256:12\n"]
    )
    def test_bad_files(self, tmp_path, text):
        (tmp_path / "tokens").write_text(text)
        with pytest.raises(TokenFileError) as error:
            Tokens(tmp_path / "tokens")
        assert "long-enough" not in str(error.value)  # a log must not hold a token


def test_pages_of_other_sites_cannot_ask_through_the_browser(served, stream):
    async def test(client):
        rows = {"rows": stream[0][:1]}
        problem(await client.post("/v1/predict", json=rows, headers={"Host": "evil.example"}), 403)
        problem(await client.post("/v1/predict", json=rows, headers={"Origin": "http://evil.example"}), 403)
        own = {"Host": "127.0.0.1:8321", "Origin": "http://127.0.0.1:8321"}
        assert (await client.post("/v1/predict", json=rows, headers=own)).status_code == 200

    served(test)


def test_the_page_is_whole_and_strict(served):
    async def test(client):
        page = await client.get("/")
        assert "default-src 'none'" in page.headers["content-security-policy"]
        assert page.headers["x-content-type-options"] == "nosniff"
        for text in (page.text, (await client.get("/page.js")).text, (await client.get("/page.css")).text):
            assert "http://" not in text.replace("http://www.w3.org/2000/svg", "")
            assert "https://" not in text
        assert "<script>" not in page.text
        assert "style=" not in page.text

    served(test)


def test_many_models(served, stream, online, batch):
    async def test(client):
        names = {"models": [{"name": "a", "version": "1.0"}, {"name": "b-<i>", "version": "1.0"}]}
        assert (await client.get("/v1/models")).json() == names
        rows = {"rows": stream[0][:1]}
        problem(await client.post("/v1/predict", json=rows), 404)
        assert "probabilities" in (await client.post("/v1/models/b-%3Ci%3E/predict", json=rows)).json()["rows"][0]
        await client.post("/v1/models/a/feedback", json=feedback(stream, 0, 5))
        assert [line["version"] for line in (await client.get("/v1/models")).json()["models"]] == ["1.5", "1.0"]
        page = (await client.get("/")).text
        assert 'href="/models/b-%3Ci%3E"' in page
        assert "<i>" not in page
        assert (await client.get("/models/a")).status_code == 200
        assert 'rankwise_feedback_total{model="a"} 5' in (await client.get("/metrics")).text

    served(test, {"a": online, "b-<i>": batch})


def test_events_tell_what_changes(served, stream):
    async def test(client):
        hub = client.application.only.hub
        hub.every = 0.01
        events = hub.stream()
        first = await anext(events)
        assert first.startswith(b'data: {"model":')
        await client.post("/v1/feedback", json=feedback(stream, 0, 5))
        while b'"version":"1.5"' not in (await anext(events)):
            pass
        assert hub.n_listeners == 1
        await events.aclose()
        assert hub.n_listeners == 0

    served(test)


def test_explanations(served, stream):
    async def test(client):
        problem(await client.get("/v1/explain"), 409)
        assert (await client.post("/v1/explain", json={"rows": []})).json() == {"version": "1.0", "rows": []}
        await client.post("/v1/feedback", json=feedback(stream, 0, 5))
        found = (await client.get("/v1/explain")).json()
        assert len(found["importance"]) == 4
        assert found["rows"] == 5
        row = (await client.post("/v1/explain", json={"rows": stream[0][:1]})).json()["rows"][0]
        model = client.application.services["model"].engine.replica.rows.model
        score = model.project(pa.Table.from_pylist(stream[0][:1]))
        assert set(row["contributions"]) == set(stream[0][0])
        assert row["base"] + sum(row["contributions"].values()) == pytest.approx(score[0], abs=1e-9)

    served(test)


def test_explanations_of_a_model_without_names(served):
    X, y = make_ordinal(200, 3, 5, random_state=0)
    model = rankwise.PRIL(random_state=0).fit(X, y)

    async def test(client):
        row = dict(zip(("x0", "x1", "x2"), X[0].tolist(), strict=True))
        found = (await client.post("/v1/explain", json={"rows": [row]})).json()["rows"][0]
        assert found["base"] + sum(found["contributions"].values()) == pytest.approx(model.project(X[:1])[0], abs=1e-9)
        assert set(found["contributions"]) == set(row)
        problem(await client.post("/v1/explain", json={"rows": [{"x0": 1.0}]}), 422)

    served(test, {"model": rankwise.persistence.to_bytes(model)})
