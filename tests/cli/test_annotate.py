"""`rankwise annotate` and what it refuses; `rankwise store` on its stores."""

import json

import pytest

pytest.importorskip("starlette")

from rankwise.annotation.questions import STRATEGIES
from rankwise.cli.commands.annotate import PageLanguage, Strategy
from rankwise.io import read_answers
from tests.annotate.conftest import Rater, annotated, desk_of, settled, write_items  # noqa: F401
from tests.cli.commands import fail, succeed


@pytest.fixture
def items(tmp_path):
    return write_items(tmp_path, "id,remark,photo\n1,good,a.png\n2,bad,b.png\n")


def test_choices_are_those_of_the_library():
    assert [choice.value for choice in Strategy] == list(STRATEGIES)
    assert [choice.value for choice in PageLanguage] == ["en", "de"]


@pytest.mark.parametrize(
    ("options", "words", "code"),
    [
        ([], "what the classes are: --classes", 2),
        (["--classes", "1"], "at least two classes", 2),
        (["--classes", "1..3", "--text", "remarks"], "no column 'remarks'. Did you mean 'remark'?", 1),
        (["--classes", "1..3", "--image", "photo"], "need --media DIR", 2),
        (["--classes", "1..3", "--image", "photo", "--media", "nowhere"], "nowhere: the folder of images", 1),
        (["--classes", "1..3", "--ignore", "what"], "no column 'what'", 1),
        (["--classes", "1..3", "--estimator", "PRIL"], "no class probabilities: give --strategy random", 2),
        (["--classes", "1..3", "--estimator", "SVOR"], "is a batch estimator", 2),
        (["--classes", "1..3", "--host", "0.0.0.0"], "give tokens (--token-file)", 1),
        (["--classes", "1..60"], "2 to 50 classes. Got 60", 1),
        (["--classes", "1..3", "--certificate", "c.pem"], "belong together", 2),
    ],
)
def test_wrong_usage_is_told_in_one_line(items, tmp_path, options, words, code):
    assert words in fail(code, "annotate", items, "--labels", tmp_path / "labels.sqlite", *options)
    assert not (tmp_path / "labels.sqlite").exists()


def test_files_that_are_not_what_they_should_be(items, tmp_path):
    items.write_text("id,remark\n")
    assert "there are no items" in fail(1, "annotate", items, "--labels", tmp_path / "l", "--classes", "1..3")
    items.write_text("id,remark\n1,good\n")
    assert "scale.csv" in fail(1, "annotate", items, "--labels", tmp_path / "l", "--scale", tmp_path / "scale.csv")
    (tmp_path / "l").write_bytes(b"no database at all, " * 100)
    assert "cannot be opened as a store" in fail(1, "annotate", items, "--labels", tmp_path / "l", "--classes", "1..3")


def test_labels_are_exported_in_every_format(annotated, tmp_path):  # noqa: F811
    async def test(client):
        ann = Rater(client, "ann")
        await ann.next()
        for admitted in ([1], [1, 2], [3, 4], [], [0, 3]):
            await ann.answer(admitted, note="=a, note")
        await ann.undo()
        await settled(client.desk)
        return list(client.desk._answers.values())

    given = annotated(test)
    store = tmp_path / "labels.sqlite"
    table = succeed("store", "export", store, "--output", tmp_path / "labels.csv")
    assert "4" in table
    for suffix in ("csv", "parquet", "jsonl"):
        succeed("store", "export", store, "--output", tmp_path / f"labels.{suffix}")
        answers = read_answers(tmp_path / f"labels.{suffix}", format=suffix)
        assert answers["label"] == ["2", "2-3", "4-5", "?"]
        assert answers["item"] == [f"i{g.item}" for g in given if not g.undone]
        assert answers["rater"] == ["ann"] * 4
        assert answers["seconds"] == [6.0] * 4
    for tool in ("label-studio", "argilla", "potato"):
        output = tmp_path / f"{tool}.json"
        succeed("store", "export", store, "--output", output, "--answers-to", tool)
        read = read_answers(output, format=tool)
        assert read["label"][:3] == [2, (2, 3), (4, 5)] or tool == "argilla"
        assert len(read["item"]) >= 3
    tasks = json.loads((tmp_path / "label-studio.json").read_text())
    assert {"item", "size", "price"} <= tasks[0]["data"].keys()
    assert tasks[0]["data"]["item"] == answers["item"][0]
    said = json.loads(succeed("store", "model", store, "--output", tmp_path / "model.rankwise", "--json"))
    assert said["version"].startswith("1.6")
    assert "OnlineCumulativeLink" in succeed("info", tmp_path / "model.rankwise")
    assert "retraction" in succeed("store", "inspect", store)


def test_agreement_is_told_in_lines_and_as_json(annotated, tmp_path):  # noqa: F811
    from tests.annotate.test_decisions import Judge, two_raters

    async def test(client):
        lines = (await two_raters(client))["differences"]
        await Judge(client, "cleo").decide(lines[0], [1])
        await settled(client.desk)
        return (await client.get("/v1/agreement")).json()

    given = annotated(test, raters=2, shared=1.0)
    store = tmp_path / "labels.sqlite"
    facts = json.loads(succeed("store", "agreement", store, "--json"))
    assert facts["alpha"] == given["alpha"]
    assert len(facts["differences"]) == 4
    said = succeed("store", "agreement", store)
    assert f"alpha {given['alpha']:.3f}, overlap 0.667, 2 raters" in said
    assert "12 items, overlap 0.667, alpha " in said
    assert said.count("; decided by cleo: 2") == 1
    assert "holds no annotations" in fail(1, "store", "agreement", _store_of_a_service(tmp_path))


def _store_of_a_service(folder):
    from rankwise.annotate.project import new_model
    from rankwise.persistence import to_bytes
    from rankwise.serve.service import Service
    from rankwise.serve.store import Store
    from tests.annotate.conftest import CLASSES, make_items

    path = folder / "served.sqlite"
    Service("model", Store(path, write=True), to_bytes(new_model(make_items(), CLASSES))).stop()
    return path
