"""Files that version 0.1.0 wrote are read by this one, and say the same."""

import json
import sqlite3
import zipfile
from pathlib import Path

import numpy as np
import pytest

import rankwise as rw

HERE = Path(__file__).parent


def _names(archive):
    with zipfile.ZipFile(HERE / archive) as opened:
        return [name for name in opened.namelist() if not name.endswith(".json")]


def _equal(now, before):
    """The same classes; the same numbers but for what another order of sums explains."""
    assert len(now) == len(before)
    for one, other in zip(now, before, strict=True):
        value = np.asarray(other)
        if value.dtype == float:
            np.testing.assert_allclose(np.asarray(one, dtype=float), value, rtol=1e-6, atol=1e-9)
        else:
            np.testing.assert_array_equal(np.asarray(one), value)


@pytest.fixture(scope="module")
def models():
    with zipfile.ZipFile(HERE / "models.zip") as archive:
        return json.loads(archive.read("answers.json")), {n: archive.read(n) for n in _names("models.zip")}


@pytest.mark.parametrize("name", _names("models.zip"))
def test_models_say_what_they_said(name, models, tmp_path):
    from tests.recorded.models_of_before import answers

    before, contents = models
    (tmp_path / name).write_bytes(contents[name])
    stem = name.removesuffix(".rankwise")
    now = answers(stem, rw.load(tmp_path / name))
    assert now.keys() >= before[stem].keys()
    for method, said in before[stem].items():
        _equal(now[method], said)


@pytest.fixture
def stores(tmp_path):
    pytest.importorskip("msgspec")
    pytest.importorskip("starlette")
    with zipfile.ZipFile(HERE / "stores.zip") as archive:
        archive.extractall(tmp_path)
    return tmp_path, json.loads((tmp_path / "expected.json").read_text())


def test_a_log_is_verified_and_goes_on(stores):
    from rankwise.serve.engine import Engine
    from rankwise.serve.store import Store
    from rankwise.serve.verify import verify
    from rankwise.serve.writer import Settings
    from tests.recorded.models_of_before import table

    folder, expected = stores
    with sqlite3.connect(folder / "feedback.sqlite") as connection:
        last = connection.execute("SELECT max(seq) FROM log").fetchone()
    connection.close()
    reader = Store(folder / "feedback.sqlite")
    assert all(check.is_equal for check in verify(reader))
    reader.close()
    engine = Engine(Store(folder / "feedback.sqlite", write=True), None, Settings()).start()
    try:
        assert expected["feedback"]["counts"].items() <= engine.store.counts().items()
        frame = table()[["size", "second"]].fillna(0.0).rename(columns={"size": "a", "second": "b"})
        predicted = engine.replica.rows.model.predict(frame.assign(c=0.5, d=1.0)[40:]).tolist()
        assert predicted == expected["feedback"]["predict"]
        (place,) = engine.feedback([{"a": 0.0, "b": 1.0, "c": 0.0, "d": 0.0}], ["new"], ["3"])
        assert place > last[0]
    finally:
        engine.stop()
        engine.store.close()


def test_answers_of_a_project_are_kept(stores):
    from rankwise.annotate.desk import Desk, DeskPlan
    from rankwise.annotate.project import Scale, logged_answers, open_project
    from rankwise.online import OnlineCumulativeLink
    from tests.annotate.conftest import CLASSES, make_items

    folder, expected = stores
    items, scale = make_items(), Scale.of(CLASSES)
    service = open_project(folder / "labels.sqlite", items, scale, OnlineCumulativeLink())
    try:
        Desk(service, items, scale, DeskPlan(raters=2))
        named = ("item", "rater", "label")
        store = service.engine.store
        answers = [{**{n: a[n] for n in named}, "undone": undone} for a, undone in logged_answers(store)]
    finally:
        service.stop()
    assert answers == expected["annotation"]["answers"]
