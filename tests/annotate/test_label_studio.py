"""Requests in the form in which Label Studio sends them, and what the store holds afterwards."""

import base64
import json
import logging
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import numpy as np
import pandas as pd
import pytest

from rankwise import PRIL, CumulativeLink, OnlineCumulativeLink, TableModel, load, save
from tests.cli.commands import fail

pytest.importorskip("starlette")
pytest.importorskip("httpx")
pytest.importorskip("msgspec")
from starlette.testclient import TestClient

from rankwise.annotate.label_studio import LabelStudioApplication, open_backend
from rankwise.serve.limits import Limits
from rankwise.serve.replica import built
from rankwise.serve.store import Store, StoreError
from rankwise.serve.tokens import Tokens
from rankwise.serve.verify import verify

CONFIGURATION = """
<View>
  <Text name="text" value="$text"/>
  <Rating name="stars" toName="text" maxRating="5"/>
  <Number name="lower" toName="text" min="1" max="5"/>
  <Number name="upper" toName="text" min="1" max="5"/>
</View>
"""
TOKEN = "a-long-enough-secret"
CHOICES = '<View><Choices name="grade" toName="t" choice="multiple">{}</Choices><Text name="t" value="$text"/></View>'


def model_file(path, estimator):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"length": rng.normal(size=200), "kind": rng.choice(["a", "b"], 200)})
    stars = np.clip(np.rint(3 + frame["length"] + (frame["kind"] == "a")), 1, 5).astype(int)
    save(TableModel(estimator).fit(frame, stars), path)
    return path


@pytest.fixture
def online(tmp_path):
    return model_file(tmp_path / "model.rankwise", OnlineCumulativeLink(classes=range(1, 6), random_state=0))


@pytest.fixture
def batch(tmp_path):
    return model_file(tmp_path / "model.rankwise", CumulativeLink(classes=range(1, 6)))


def store_of(path):
    return path.with_suffix(".sqlite")


@contextmanager
def studio(path, tokens=None, limits=None, question=None, answers=None, base_url="http://localhost:9090"):
    backend = open_backend(path, store_of(path), question=question, answers=answers)
    application = LabelStudioApplication(backend, tokens=tokens, limits=limits)
    with TestClient(application.asgi, base_url=base_url) as http:
        http.backend = backend
        yield http


@pytest.fixture
def tokens(tmp_path):
    path = tmp_path / "tokens.txt"
    path.write_text(f"{TOKEN}\nread another-long-secret  reader\n")
    return Tokens(path, "learn")


def learnt(path):
    """Labels that count, by the id of their feedback."""
    with Store(store_of(path)) as store:
        return {row.id: row.label for rows in store.rows([(0, None)]) for row in rows}


def bits(path):
    """Coefficients of the model that the log gives."""
    with Store(store_of(path)) as store:
        assert all(check.is_equal for check in verify(store))
        model = built(store, store.current()).rows.model
        return np.concatenate([model.estimator_.coef_.ravel(), model.estimator_.thresholds_.ravel()])


def task(number, length, kind="a"):
    return {
        "id": number,
        "data": {"length": length, "kind": kind, "text": "any", "tags": ["nested", {"x": 1}]},
        "meta": {},
        "created_at": "2026-01-01T00:00:00.100000Z",
        "updated_at": "2026-01-01T00:00:00.200000Z",
        "is_labeled": True,
        "inner_id": number,
        "total_annotations": 1,
        "project": 3,
    }


PROJECT = {"id": 3, "title": "stars", "label_config": CONFIGURATION}
START = datetime(2026, 1, 1, tzinfo=UTC)


def webhook(number, result, action="ANNOTATION_CREATED", length=0.0, at=0, **more):
    updated = (START + timedelta(seconds=at)).isoformat().replace("+00:00", "Z")
    annotation = {
        "id": number,
        "result": result,
        "was_cancelled": False,
        "ground_truth": False,
        "created_at": "2026-01-01T00:00:00Z",
        "updated_at": updated,
        "lead_time": 4.2,
        "prediction": {},
        "result_count": len(result),
        "unique_id": f"1667030b-806e-42b1-8e75-{number:012d}",
        "task": number,
        "project": 3,
        "completed_by": 1,
        "parent_annotation": None,
        **more,
    }
    return {"action": action, "annotation": annotation, "project": PROJECT, "task": task(number, length)}


def updated(number, result, at, **more):
    return webhook(number, result, "ANNOTATION_UPDATED", at=at, **more)


def deleted(*numbers):
    return {"action": "ANNOTATIONS_DELETED", "annotations": [{"id": n} for n in numbers], "project": PROJECT}


def region(name, kind, value):
    return {"id": "x", "from_name": name, "to_name": "text", "type": kind, "value": {kind: value}, "origin": "manual"}


def rating(stars):
    return [region("stars", "rating", stars)]


def numbers(lower, upper):
    return [region("lower", "number", lower), region("upper", "number", upper)]


def tell(http, *events, status=201):
    answers = [http.post("/webhook", json=event) for event in events]
    assert {answer.status_code for answer in answers} == {status}, answers[-1].text
    return answers[-1].json()


# -- predictions ---------------------------------------------------------------------------------------------------


def test_health_setup_and_versions(batch):
    with studio(batch) as http:
        health = http.get("/health").json()
        assert health["status"] == "UP"
        assert http.get("/").json() == health
        body = {
            "project": "3.1700000000",
            "schema": CONFIGURATION,
            "hostname": "http://x",
            "access_token": "t",
            "extra_params": None,
        }
        version = http.post("/setup", json=body).json()
        assert version == {"model_version": "CumulativeLink-1"} == {"model_version": health["model_version"]}
        assert http.get("/versions").json() == {"versions": ["CumulativeLink-1"]}
        assert http.post("/validate", json={"config": CONFIGURATION}).status_code == 404


def test_predictions_have_the_form_of_the_configuration(batch):
    tasks = [task(1, -2.0), task(2, 1.5)]
    request = {"tasks": tasks, "project": "3.1", "label_config": CONFIGURATION, "params": {"login": None}}
    with studio(batch) as http:
        answer = http.post("/predict", json=request)
    assert answer.status_code == 200
    P = load(batch).predict_proba(pd.DataFrame([t["data"] for t in tasks])[["length", "kind"]])
    for place, prediction in enumerate(answer.json()["results"]):
        said = {region["from_name"]: region["value"] for region in prediction["result"]}
        stars = said["stars"]["rating"]
        assert prediction["score"] == pytest.approx(P[place, stars - 1])
        assert prediction["model_version"] == "CumulativeLink-1"
        low, high = said["lower"]["number"], said["upper"]["number"]
        assert low <= stars <= high
        assert P[place, low - 1 : high].sum() >= 0.8
        assert {region["to_name"] for region in prediction["result"]} == {"text"}


def test_a_prediction_takes_the_options_of_the_configuration(batch):
    options = "".join(f'<Choice value="{k} stars" alias="{k}"/>' for k in range(1, 6))
    with studio(batch) as http:
        body = {"tasks": [task(1, 0.0)], "label_config": CHOICES.format(options)}
        (choice,) = http.post("/predict", json=body).json()["results"][0]["result"]
        body["label_config"] = '<View><Number name="grade" toName="t"/><Text name="t" value="$text"/></View>'
        (number,) = http.post("/predict", json=body).json()["results"][0]["result"]
    assert (choice["type"], choice["from_name"]) == ("choices", "grade")
    assert choice["value"]["choices"][0] in list("12345")
    assert number["type"] == "number"
    assert number["value"] == {"number": int(choice["value"]["choices"][0])}


def test_predictions_of_a_model_without_probabilities(tmp_path):
    path = model_file(tmp_path / "model.rankwise", PRIL(classes=range(1, 6), random_state=0))
    with studio(path) as http:
        (prediction,) = http.post("/predict", json={"tasks": [task(1, 0)], "label_config": CONFIGURATION}).json()[
            "results"
        ]
    assert "score" not in prediction
    assert [r["from_name"] for r in prediction["result"]] == ["stars"]


def test_the_control_with_the_class_must_be_plain(batch):
    two = CONFIGURATION.replace("<Text", '<Rating name="mood" toName="text" maxRating="5"/><Text')
    topic = CONFIGURATION.replace("<Text", '<Choices name="topic" toName="text"><Choice value="x"/></Choices><Text')
    predict = {"tasks": [task(1, 0.0)], "label_config": two}
    with studio(batch) as http:
        answer = http.post("/setup", json={"project": "3.1", "schema": two})
        assert answer.status_code == 422
        which = "which control holds the class: mood, stars? Name it when the backend is started."
        assert answer.json()["detail"] == which
        event = webhook(1, [region("topic", "choices", ["x"]), *rating(2)])
        event["project"] = {"id": 3, "label_config": topic}  # only one of its controls holds all classes
        tell(http, event)
    assert learnt(batch) == {"label-studio/1": "2"}
    with studio(batch, question="stars") as http:
        regions = http.post("/predict", json=predict).json()["results"][0]["result"]
        assert regions[0]["from_name"] == "stars"
    with studio(batch, question="quality") as http:
        assert "has no control 'quality'; it has mood, stars" in http.post("/predict", json=predict).json()["detail"]


# -- learning --------------------------------------------------------------------------------------------------------


def test_a_webhook_that_comes_three_times_is_learnt_once(online):
    before = online.read_bytes()
    with studio(online) as http:
        done = tell(http, webhook(1, rating(1)))
        assert done["learnt"] == 1
        assert done["model_version"].startswith("OnlineCumulativeLink-1.1")
        assert tell(http, webhook(1, rating(1)), webhook(1, rating(1)))["known"] == 1
    once = bits(online)
    with studio(online) as http:  # and after a restart
        assert tell(http, webhook(1, rating(1)))["known"] == 1
    assert learnt(online) == {"label-studio/1": "1"}
    np.testing.assert_array_equal(bits(online), once)
    assert online.read_bytes() == before


def test_an_update_takes_the_place_of_the_old_label(online, tmp_path):
    other = model_file(tmp_path / "other.rankwise", OnlineCumulativeLink(classes=range(1, 6), random_state=0))
    with studio(online) as http:
        tell(http, webhook(1, rating(1)), webhook(2, rating(2)))
        assert tell(http, updated(1, numbers(3, 4), at=5))["corrected"] == 1
        assert tell(http, updated(1, numbers(3, 4), at=5))["known"] == 1
    with studio(other) as http:
        tell(http, webhook(1, numbers(3, 4)), webhook(2, rating(2)))
    assert learnt(online) == {"label-studio/1": "3-4", "label-studio/2": "2"}
    np.testing.assert_array_equal(bits(online), bits(other))


def test_deletions_take_back_what_was_learnt(online, tmp_path):
    other = model_file(tmp_path / "other.rankwise", OnlineCumulativeLink(classes=range(1, 6), random_state=0))
    with studio(online) as http:
        tell(http, *(webhook(n, rating(n)) for n in range(1, 6)))
        assert tell(http, deleted(1, 2))["retracted"] == 2
        assert tell(http, deleted(1))["deleted"] == 1
        one = {"action": "ANNOTATION_DELETED", "annotation": {"id": 3}, "project": PROJECT}
        assert tell(http, one)["retracted"] == 1
        tasks = {"action": "TASKS_DELETED", "tasks": [{"id": 4}], "project": PROJECT}
        assert tell(http, tasks)["retracted"] == 1
        assert "retracted" not in tell(http, tasks)
    with studio(online) as http:  # what comes late changes nothing, after a restart either
        assert tell(http, webhook(1, rating(1)), updated(2, rating(5), at=9))["deleted"] == 1
        assert tell(http, updated(4, rating(5), at=9))["deleted"] == 1
        assert tell(http, updated(40, rating(5), at=9) | {"task": task(4, 0.0)})["deleted"] == 1
    with studio(other) as http:
        tell(http, webhook(5, rating(5)))
    assert learnt(online) == {"label-studio/5": "5"}
    np.testing.assert_array_equal(bits(online), bits(other))


@pytest.mark.parametrize("restart", [False, True])
def test_events_in_another_order_end_the_same(online, restart):
    events = [
        updated(1, rating(4), at=8),
        updated(1, rating(2), at=5),
        webhook(1, rating(1)),
        deleted(2),  # before it came
        webhook(2, rating(1)),
        webhook(3, []),
        updated(3, rating(3), at=2),
        updated(3, [], at=1),
        webhook(4, rating(1)),
        updated(4, [], at=4, was_cancelled=True),
        updated(4, rating(5), at=3),
        webhook(5, rating(2)),
        updated(5, rating(2), at=7),  # the same label, but newer than the next
        updated(5, rating(4), at=6),
        webhook(6, rating(2)),
        updated(6, [], at=1),
        updated(6, rating(5), at=2),
    ]
    for some in [[event] for event in events] if restart else [events]:
        with studio(online) as http:
            tell(http, *some)
    assert learnt(online) == {
        "label-studio/1": "4",
        "label-studio/3": "3",
        "label-studio/5": "2",
        "label-studio/6": "5",
    }
    bits(online)


def test_several_annotations_in_one_event_are_taken_together(online):
    event = webhook(1, rating(1))
    both = {
        "action": "ANNOTATIONS_CREATED",
        "annotation": [event["annotation"], webhook(2, rating(2))["annotation"]],
        "task": [event["task"], task(2, 0.5)],
        "project": PROJECT,
    }
    with studio(online) as http:
        bad = json.loads(json.dumps(both))
        bad["annotation"][1]["result"] = rating(9)
        assert tell(http, bad, status=422)["detail"].count("9")
        assert learnt(online) == {}
        assert tell(http, both)["learnt"] == 2
    assert learnt(online) == {"label-studio/1": "1", "label-studio/2": "2"}


def test_an_edited_task_is_learnt_anew(online):
    with studio(online) as http:
        tell(http, webhook(1, rating(1), length=0.0))
        tell(http, updated(1, rating(2), at=1, length=1.5))
        tell(http, updated(1, rating(3), at=2, length=1.5), webhook(1, rating(1)))
    assert learnt(online) == {"label-studio/1/2": "3"}


def test_candidates_with_gaps(tmp_path):
    options = "".join(f'<Choice value="{k}"/>' for k in range(1, 6))
    event = webhook(1, [region("grade", "choices", ["1", "3"])])
    event["project"] = {"id": 3, "label_config": CHOICES.format(options)}
    for name, estimator, label in [
        ("a", OnlineCumulativeLink(classes=range(1, 6), random_state=0), "1-3"),
        ("b", CumulativeLink(classes=range(1, 6)), "1|3"),
    ]:
        path = model_file(tmp_path / f"{name}.rankwise", estimator)
        with studio(path) as http:
            tell(http, event)
        assert learnt(path) == {"label-studio/1": label}
        with Store(store_of(path)) as store:
            (context,) = store.connection.execute("SELECT context FROM log").fetchone()
        assert json.loads(context)["said"] == "1|3"


def test_classes_with_names_that_look_like_numbers(tmp_path):
    path = tmp_path / "model.rankwise"
    frame = pd.DataFrame({"length": np.arange(40.0), "kind": ["a", "b"] * 20})
    classes = ["10", "9", "high"]
    save(TableModel(OnlineCumulativeLink(classes=classes)).fit(frame, np.resize(classes, 40)), path)
    event = webhook(1, [region("grade", "choices", ["9", "high"])])
    event["project"] = {"id": 3, "label_config": CHOICES.format("".join(f'<Choice value="{c}"/>' for c in classes))}
    with studio(path) as http:
        tell(http, event)
    assert learnt(path) == {"label-studio/1": "9-high"}


def test_a_batch_model_learns_all_annotations_when_asked(batch):
    start = {"action": "START_TRAINING", "project": PROJECT}

    def stars_of(http):
        body = {"tasks": [task(1, 2.0)], "label_config": CONFIGURATION}
        return http.post("/predict", json=body).json()["results"][0]["result"][0]["value"]["rating"]

    with studio(batch) as http:
        assert tell(http, start)["trained"] == 0
        for number in range(40):
            length = number / 10 - 2
            stars = int(np.clip(round(3 - length), 1, 5))  # the other way round than the model knows
            said = rating(stars) if number % 2 else numbers(stars, min(stars + 1, 5))
            tell(http, webhook(number, said, length=length))
        tell(http, deleted(39))
        assert http.get("/health").json()["model_version"] == "CumulativeLink-1"
        assert stars_of(http) >= 4
        done = tell(http, start)
        assert (done["trained"], done["model_version"]) == (39, "CumulativeLink-2")
        assert stars_of(http) <= 2
    with studio(batch) as http:  # after a restart nothing is lost
        assert stars_of(http) <= 2
        assert http.post("/train", json={}).json()["trained"] == 39


def test_training_takes_the_annotations_that_come_with_it(batch):
    exported = []
    for number in range(8):
        event = webhook(number, rating(1 + number % 5), length=number / 4)
        exported.append({**event["task"], "annotations": [event["annotation"]], "predictions": [7]})
    body = {"annotations": exported, "project": "3.1", "label_config": CONFIGURATION, "params": {}}
    with studio(batch) as http:
        assert http.post("/train", json=body).json()["trained"] == 8
        assert http.post("/train", json=body).json()["trained"] == 8


def test_annotations_kept_by_an_earlier_version(tmp_path, batch):
    kept = tmp_path / "answers.jsonl"
    lines = [{"annotation": 7, "data": task(7, 0.5)["data"], "label": "1"}]
    lines.append({"annotation": 7, "data": task(7, 0.5)["data"], "label": "4"})
    whole = "".join(json.dumps(line) + "\n" for line in lines)
    kept.write_text(whole + '{"annotation": 8, "da')
    for _ in range(2):
        with studio(batch, answers=kept) as http:
            assert tell(http, webhook(7, rating(2)))["known"] == 1
    assert learnt(batch) == {"label-studio/7": "4"}
    with studio(batch, answers=kept) as http:
        tell(http, updated(7, rating(5), at=3, length=0.5))
    assert learnt(batch) == {"label-studio/7": "5"}
    assert kept.read_text().startswith(whole)
    other = model_file(tmp_path / "online.rankwise", OnlineCumulativeLink(classes=range(1, 6), random_state=0))
    with studio(other, answers=kept) as http:  # the model has learnt them already
        assert tell(http, webhook(7, rating(4)))["known"] == 1
    assert learnt(other) == {}
    with studio(other, answers=tmp_path / "none.jsonl"):
        pass


@pytest.mark.parametrize("content", ["item,label\na,3", '{"annotation": 1\n', "{}x", "{}\n", "3", '{"annotation": 1}'])
def test_another_file_of_answers_is_refused_and_left_as_it_is(batch, tmp_path, content):
    kept = tmp_path / "answers.jsonl"
    kept.write_text(content)
    with pytest.raises(StoreError, match="not an annotation that was kept"), studio(batch, answers=kept):
        pass
    assert kept.read_text() == content


def test_another_label_studio_with_the_same_numbers_is_refused(online):
    with studio(online) as http:
        tell(http, webhook(1, rating(1)))
        other = tell(http, updated(1, rating(2), at=9, unique_id="another"), status=409)
        assert "another Label Studio" in other["detail"]
    assert learnt(online) == {"label-studio/1": "1"}


def test_another_model_needs_another_store(online):
    with studio(online) as http:
        tell(http, webhook(1, rating(1)))
    model_file(online, CumulativeLink(classes=range(1, 6)))
    with pytest.raises(StoreError, match="begun with another model"), studio(online):
        pass


def test_events_of_other_kinds_are_ignored(online):
    with studio(online) as http:
        for action in ("PROJECT_UPDATED", "TASKS_CREATED", "LABEL_LINK_CREATED", None, 3):
            done = tell(http, {"action": action, "project": PROJECT}, status=200)
            assert done["status"] == "ignored"


@pytest.mark.parametrize(
    ("path", "body", "status", "message"),
    [
        ("/predict", b"{", 400, "not JSON"),
        ("/predict", b'{"x":' + b"[" * 9_000, 400, "nested too deeply"),
        ("/predict", b"[]", 422, "Expected `object`"),
        ("/predict", b'{"tasks": 3}', 422, "must be a list"),
        ("/predict", b'{"tasks": [{"data": 3}]}', 422, "JSON object with 'data'"),
        ("/predict", b'{"tasks": [{"data": {"length": 1}}]}', 422, "kind"),
        ("/predict", b'{"tasks": [{"data": {"length": [1], "kind": "a"}}]}', 422, "length"),
        ("/predict", b'{"tasks": [{"data": {"length": 1%s, "kind": "a"}}]}' % (b"0" * 400), 422, "64 bits"),
        ("/predict", b'{"tasks": [], "x": "%s"}' % (b"y" * 20_000), 413, "larger than 10000 bytes"),
        ("/webhook", b'{"action": "ANNOTATION_CREATED"}', 422, "let the webhook send its payload"),
        ("/webhook", b'{"action": "ANNOTATIONS_DELETED"}', 422, "'annotations' must be"),
        ("/webhook", b'{"action": "TASKS_DELETED", "tasks": [{"id": "1"}]}', 422, "'tasks' must be"),
        ("/webhook", json.dumps(webhook(1, rating(9))).encode(), 422, "9 is not one of the classes"),
        ("/webhook", json.dumps(webhook(1, numbers(4, 2))).encode(), 422, ""),
        ("/webhook", json.dumps(webhook(1, rating(1), id="1")).encode(), 422, "its number"),
    ],
)
def test_bad_requests_change_nothing(online, path, body, status, message):
    with studio(online, limits=Limits(body=10_000)) as http:
        answer = http.post(path, content=body, headers={"content-type": "application/json"})
        assert http.backend.service.engine.store.last == 0
    assert answer.status_code == status, answer.text
    assert message in answer.json()["detail"]


# -- who may ask -------------------------------------------------------------------------------------------------------


def test_events_that_are_refused_are_logged(batch, tokens, caplog, monkeypatch):
    monkeypatch.setattr(logging.getLogger("rankwise.serve"), "propagate", True)
    with studio(batch, tokens) as http, caplog.at_level("WARNING", "rankwise.serve"):
        assert http.post("/webhook", json=webhook(1, rating(1))).status_code == 401
    assert "give the webhook the header Authorization: Bearer TOKEN" in caplog.text


def test_a_token_is_the_password_or_a_bearer_token(batch, tokens):
    def basic(text):
        return {"Authorization": "Basic " + base64.b64encode(text.encode()).decode()}

    right = [basic(f"me:{TOKEN}"), basic(f":{TOKEN}"), {"Authorization": f"Bearer {TOKEN}"}]
    wrong = [{}, basic("me:wrong"), basic(TOKEN), {"Authorization": "Basic ###"}, {"Authorization": TOKEN}]
    with studio(batch, tokens, base_url="http://backend.example:9090") as http:
        assert http.get("/health").status_code == 200
        for headers in wrong:
            assert http.post("/predict", json={"tasks": []}, headers=headers).status_code == 401
            assert http.post("/webhook", json=webhook(1, rating(1)), headers=headers).status_code == 401
        for headers in right:
            assert http.post("/webhook", json=webhook(1, rating(1)), headers=headers).status_code == 201
        reader = {"Authorization": "Bearer another-long-secret"}
        assert http.post("/webhook", json=webhook(2, rating(1)), headers=reader).status_code == 403
        # A browser that knows the password sends it along with requests of any page.
        evil = {**basic(f"me:{TOKEN}"), "Origin": "http://evil.example"}
        assert http.post("/webhook", json=webhook(3, rating(1)), headers=evil).status_code == 403
    assert learnt(batch) == {"label-studio/1": "1"}


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"content-type": "text/plain"}, 415),
        ({"content-type": "application/x-www-form-urlencoded"}, 415),
        ({}, 415),
        ({"content-type": "application/json", "origin": "http://evil.example"}, 403),
        ({"content-type": "application/json", "origin": "null"}, 403),
        ({"content-type": "text/plain", "origin": "http://evil.example"}, 403),
        ({"content-type": "application/json", "host": "evil.example:9090"}, 403),
        ({"content-type": "application/json; charset=utf-8"}, 201),
    ],
)
def test_a_page_of_another_site_teaches_nothing(online, headers, status):
    with studio(online) as http:
        answer = http.post("/webhook", content=json.dumps(webhook(1, rating(1))).encode(), headers=headers)
    assert answer.status_code == status
    assert bool(learnt(online)) == (status == 201)


def test_the_command_refuses_other_hosts_without_tokens(online, tmp_path):
    result = fail(1, "label-studio", online, "--host", "0.0.0.0")
    assert result is None or "give tokens" in str(result)
    assert not store_of(online).exists()
    (tmp_path / "empty.txt").write_text("\n")
    fail(1, "label-studio", online, "--token-file", tmp_path / "empty.txt")
    (tmp_path / "short.txt").write_text("secret\n")
    fail(1, "label-studio", online, "--token-file", tmp_path / "short.txt")
