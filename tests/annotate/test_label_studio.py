"""Requests in the form in which Label Studio sends them."""

import base64
import json

import numpy as np
import pandas as pd
import pytest

from rankwise import PRIL, CumulativeLink, OnlineCumulativeLink, TableModel, load, save
from tests.cli.commands import fail

pytest.importorskip("starlette")
pytest.importorskip("httpx")
from starlette.testclient import TestClient

from rankwise.annotate import LabelStudioBackend, label_studio_app

CONFIGURATION = """
<View>
  <Text name="text" value="$text"/>
  <Rating name="stars" toName="text" maxRating="5"/>
  <Number name="lower" toName="text" min="1" max="5"/>
  <Number name="upper" toName="text" min="1" max="5"/>
</View>
"""


def model_file(path, estimator):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"length": rng.normal(size=200), "kind": rng.choice(["a", "b"], 200)})
    stars = np.clip(np.rint(3 + frame["length"] + (frame["kind"] == "a")), 1, 5).astype(int)
    save(TableModel(estimator).fit(frame, stars), path)
    return path


@pytest.fixture
def batch(tmp_path):
    path = model_file(tmp_path / "model.rankwise", CumulativeLink(classes=range(1, 6)))
    return LabelStudioBackend(path, tmp_path / "answers.jsonl")


def client(backend, token=None):
    return TestClient(label_studio_app(backend, token))


def task(number, length, kind="a"):
    return {
        "id": number,
        "data": {"length": length, "kind": kind, "text": "any"},
        "meta": {},
        "created_at": "2026-01-01T00:00:00Z",
        "annotations": [],
        "predictions": [],
        "project": 3,
    }


def webhook(number, result, action="ANNOTATION_CREATED", length=0.0):
    return {
        "action": action,
        "annotation": {"id": number, "result": result, "completed_by": 1, "was_cancelled": False, "lead_time": 4.2},
        "project": {"id": 3, "title": "stars", "label_config": CONFIGURATION},
        "task": task(number, length),
    }


def rating(stars):
    return [{"id": "x", "from_name": "stars", "to_name": "text", "type": "rating", "value": {"rating": stars}}]


def numbers(lower, upper):
    ends = {"lower": lower, "upper": upper}
    return [
        {"from_name": name, "to_name": "text", "type": "number", "value": {"number": end}} for name, end in ends.items()
    ]


def test_health_and_setup(batch):
    with client(batch) as http:
        assert http.get("/health").json()["status"] == "UP"
        assert http.get("/").status_code == 200
        body = {"project": "3.1700000000", "schema": CONFIGURATION, "hostname": "http://x", "access_token": "t"}
        assert http.post("/setup", json=body).json() == {"model_version": "CumulativeLink-0"}


def test_predictions_have_the_form_of_the_configuration(batch):
    tasks = [task(1, -2.0), task(2, 1.5)]
    with client(batch) as http:
        answer = http.post(
            "/predict", json={"tasks": tasks, "project": "3.1", "label_config": CONFIGURATION, "params": {}}
        )
    assert answer.status_code == 200
    results = answer.json()["results"]
    model = load(batch.path)
    P = model.predict_proba(pd.DataFrame([t["data"] for t in tasks])[["length", "kind"]])
    for place, prediction in enumerate(results):
        said = {region["from_name"]: region["value"] for region in prediction["result"]}
        stars = said["stars"]["rating"]
        assert prediction["score"] == pytest.approx(P[place, stars - 1])
        low, high = said["lower"]["number"], said["upper"]["number"]
        assert low <= stars <= high
        assert P[place, low - 1 : high].sum() >= 0.8
        assert {region["to_name"] for region in prediction["result"]} == {"text"}


def test_choices(batch):
    configuration = '<View><Choices name="grade" toName="t"><Choice value="1"/></Choices><Text name="t"/></View>'
    with client(batch) as http:
        answer = http.post("/predict", json={"tasks": [task(1, 0.0)], "label_config": configuration})
    (region,) = answer.json()["results"][0]["result"]
    assert region["type"] == "choices"
    assert region["from_name"] == "grade"
    assert region["value"]["choices"][0] in "12345"


def test_an_online_model_learns_every_annotation_and_is_saved(tmp_path):
    path = tmp_path / "model.rankwise"
    model_file(path, OnlineCumulativeLink(classes=range(1, 6)))
    backend = LabelStudioBackend(path)
    before = path.read_bytes()
    with client(backend) as http:
        answer = http.post("/webhook", json=webhook(1, rating(1)))
    assert answer.status_code == 201
    assert answer.json()["learnt"] == 1
    assert path.read_bytes() != before


def test_a_batch_model_keeps_annotations_and_learns_them_when_asked(batch):
    with client(batch) as http:
        http.post("/setup", json={"schema": CONFIGURATION})
        for number in range(40):
            length = number / 10 - 2
            stars = int(np.clip(round(3 - length), 1, 5))  # the other way round than the model knows
            said = rating(stars) if number % 2 else numbers(stars, min(stars + 1, 5))
            answer = http.post("/webhook", json=webhook(number, said, length=length))
            assert answer.status_code == 201
            assert answer.json() == {"learnt": 0, "kept": number + 1, "model_version": "CumulativeLink-0"}
        high = http.post("/predict", json={"tasks": [task(1, 2.0)]}).json()["results"][0]["result"][0]["value"][
            "rating"
        ]
        assert high >= 4
        trained = http.post("/webhook", json={"action": "START_TRAINING", "project": {"id": 3}}).json()
        assert trained["learnt"] == 40
        low = http.post("/predict", json={"tasks": [task(1, 2.0)]}).json()["results"][0]["result"][0]["value"]["rating"]
        assert low <= 2
    again = LabelStudioBackend(batch.path, batch._log)  # after a restart nothing is lost
    assert again.train()["learnt"] == 40
    assert json.loads(batch._log.read_text().splitlines()[0])["label"] == "5"


@pytest.mark.parametrize("cut", [3, 40])
def test_a_line_that_a_crash_cut_is_removed(batch, cut):
    with client(batch) as http:
        http.post("/webhook", json=webhook(1, rating(2)))
    whole = batch._log.read_bytes()
    batch._log.write_bytes(whole + whole[:cut])
    again = LabelStudioBackend(batch.path, batch._log)
    assert batch._log.read_bytes() == whole
    with client(again) as http:
        http.post("/webhook", json=webhook(2, rating(3)))
    assert len(LabelStudioBackend(batch.path, batch._log)._answers) == 2


def test_a_last_line_without_its_end_is_kept(batch):
    with client(batch) as http:
        http.post("/webhook", json=webhook(1, rating(2)))
    batch._log.write_bytes(batch._log.read_bytes().rstrip())
    with client(LabelStudioBackend(batch.path, batch._log)) as http:
        http.post("/webhook", json=webhook(2, rating(3)))
    assert len(LabelStudioBackend(batch.path, batch._log)._answers) == 2


@pytest.mark.parametrize(
    "content", [b"item,label\na,3", b'{"annotation": 1\n', b"{}x", b"{}\n", b"3", b'{"annotation": 1}']
)
def test_another_file_is_refused_and_left_as_it_is(batch, content):
    batch._log.write_bytes(content)
    with pytest.raises(ValueError, match="not an annotation that was kept"):
        LabelStudioBackend(batch.path, batch._log)
    assert batch._log.read_bytes() == content


def test_an_updated_annotation_takes_the_place_of_the_first(batch):
    with client(batch) as http:
        http.post("/webhook", json=webhook(7, rating(1)))
        answer = http.post("/webhook", json=webhook(7, rating(4), action="ANNOTATION_UPDATED"))
        assert answer.json()["kept"] == 1
        ignored = http.post("/webhook", json=webhook(8, [])).json()
        assert ignored == {"learnt": 0, "ignored": "an annotation that says nothing"}
        deleted = http.post("/webhook", json={"action": "ANNOTATIONS_DELETED", "annotations": [{"id": 7}]}).json()
        assert deleted == {"learnt": 0, "ignored": "ANNOTATIONS_DELETED"}
    assert next(iter(batch._answers.values()))[1] == "4"


@pytest.mark.parametrize(
    ("path", "body", "message"),
    [
        ("/predict", b"{", "no JSON"),
        ("/predict", b"[]", "must be a JSON object"),
        ("/predict", b'{"tasks": []}', "at least one task"),
        ("/predict", b'{"tasks": [{"data": 3}]}', "JSON object with 'data'"),
        ("/predict", b'{"tasks": [{"data": {"length": 1}}]}', "entry 'kind'"),
        ("/predict", b'{"tasks": [{"data": {"length": [1], "kind": "a"}}]}', "length"),
        (
            "/predict",
            b'{"tasks": [{"data": {"length": 1%s, "kind": "a"}}]}' % (b"0" * 400),
            "cannot be read as columns",
        ),
        ("/webhook", b'{"action": "ANNOTATION_CREATED"}', "'annotation' must be"),
        ("/webhook", json.dumps(webhook(1, rating(9))).encode(), "9 is not one of the classes"),
    ],
)
def test_bad_requests_change_nothing(batch, path, body, message):
    before = batch.path.read_bytes()
    with client(batch) as http:
        answer = http.post(path, content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 400
    assert message in answer.json()["error"]
    assert batch.path.read_bytes() == before
    assert not batch._answers


def test_a_token_is_asked_for(batch):
    with client(batch, "secret") as http:
        assert http.post("/predict", json={"tasks": [task(1, 0.0)]}).status_code == 401
        wrong = base64.b64encode(b"me:wrong").decode()
        assert http.post("/train", json={}, headers={"Authorization": f"Basic {wrong}"}).status_code == 401
        assert http.post("/train", json={}, headers={"Authorization": "Basic ###"}).status_code == 401
        right = base64.b64encode(b"me:secret").decode()
        assert http.post("/train", json={}, headers={"Authorization": f"Basic {right}"}).status_code == 201
        assert http.get("/health").status_code == 200


def test_models_without_probabilities_are_refused(tmp_path):
    path = model_file(tmp_path / "model.rankwise", PRIL(classes=range(1, 6), random_state=0))
    with pytest.raises(ValueError, match="class probabilities and named columns"):
        LabelStudioBackend(path)
    result = fail(1, "label-studio", path)
    assert result is None or "probabilities" in str(result)
