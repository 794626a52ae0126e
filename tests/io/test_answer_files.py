"""Files of annotation tools: forms as their exports have them, and round trips."""

import json

import numpy as np
import pytest

from rankwise.io import ANNOTATION_FORMATS, TableError, read_answers, write_answers
from rankwise.labels import encode
from tests.cli.commands import run

TABLE = {
    "item": ["a", "a", "b", "b", "c"],
    "rater": ["ann@x.org", "bo@x.org", "ann@x.org", "bo@x.org", "ann@x.org"],
    "label": [3, (2, 4), (4, None), {1, 3}, None],
}
CLASSES = [1, 2, 3, 4, 5]


@pytest.mark.parametrize("name", [*ANNOTATION_FORMATS, "csv", "parquet", "jsonl"])
def test_what_is_written_is_read_back(tmp_path, name):
    path = tmp_path / (f"answers.{name}" if name in ("csv", "parquet", "jsonl") else "answers.json")
    known = name if name in ANNOTATION_FORMATS else None
    assert write_answers({**TABLE, "seconds": [1.5, 2, 3, 4, 5]}, path, known, classes=CLASSES) == 5
    back = read_answers(path, known)
    rows = dict(
        zip(zip(back["item"], back["rater"], strict=True), encode(back["label"], CLASSES).tolist(), strict=True)
    )
    expected = encode(TABLE["label"], CLASSES).tolist()
    keys = list(zip(TABLE["item"], TABLE["rater"], strict=True))
    assert rows == {key: label for key, label in zip(keys, expected, strict=True) if key in rows}
    assert len(rows) == 5
    if name != "argilla":  # it keeps no times
        assert sorted(back["seconds"]) == [1.5, 2, 3, 4, 5]


@pytest.mark.parametrize("name", ["label-studio", "argilla"])
def test_predictions_have_scores(tmp_path, name):
    path = tmp_path / "predicted.json"
    table = {"item": ["a", "b"], "rater": ["v1", "v1"], "label": [3, (1, 2)], "score": [0.7, 0.5]}
    write_answers(table, path, name, classes=CLASSES)
    assert read_answers(path, predictions=True) | {"seconds": None} == {**table, "seconds": None}
    assert read_answers(path)["item"] == []


@pytest.mark.parametrize("name", ANNOTATION_FORMATS)
def test_classes_with_names(tmp_path, name):
    table = {"item": [1, 2], "rater": [1, 1], "label": ["mid", ("low", "mid")]}
    write_answers(table, tmp_path / "a.json", name, classes=["low", "mid", "high"])
    back = read_answers(tmp_path / "a.json", name)
    assert encode(back["label"], ["low", "mid", "high"]).tolist() == ["mid", ("low", "mid")]


@pytest.mark.parametrize("name", [*ANNOTATION_FORMATS, "csv"])
def test_columns_may_be_arrays(tmp_path, name):
    table = {
        "item": np.array([7, 0]),
        "rater": np.array([1, 2]),
        "label": np.array([1, 2]),
        "seconds": np.array([1.5, np.nan]),
    }
    known = name if name in ANNOTATION_FORMATS else None
    write_answers(table, tmp_path / f"answers.{name}", known, classes=CLASSES)
    back = read_answers(tmp_path / f"answers.{name}", known)
    raters = ["1", "2"] if name == "label-studio" else [1, 2]  # it has names in a text
    assert (back["item"], back["rater"], list(map(int, back["label"]))) == ([7, 0], raters, [1, 2])
    if name != "argilla":  # it keeps no times
        assert back["seconds"] == [1.5, None]


ALL_CLASSES = "item,rater,label\na,x,3-5\nb,x,4-5\nc,y,5\nd,y,3|5\ne,y,?\nf,y,>=3\n"


@pytest.mark.parametrize("classes", [[], ["--classes", "3..5"]])
@pytest.mark.parametrize("name", [*ANNOTATION_FORMATS, "csv"])
def test_a_range_of_all_classes_is_no_missing_answer(tmp_path, name, classes):
    source = tmp_path / "answers.csv"
    source.write_text(ALL_CLASSES)
    output = tmp_path / ("back.csv" if name == "csv" else "back.json")
    if name == "csv":
        assert run("convert", str(source), "--answers-to", "potato", "-o", str(tmp_path / "a.json")).exit_code == 0
        options = [str(tmp_path / "a.json"), "--answers-from", "potato"]
    else:
        options = [str(source), "--answers-to", name]
    assert run("convert", *options, *classes, "-o", str(output)).exit_code == 0
    back = read_answers(output, None if name == "csv" else name)
    labels = dict(zip(back["item"], back["label"], strict=True))
    expected = {"a": "3-5", "b": "4-5", "c": "5", "d": "3|5", "e": "?", "f": ">=3"} if name == "csv" else {
        "a": (3, 5), "b": (4, 5), "c": 5, "d": frozenset({3, 5}), "e": None, "f": (3, None)
    }  # fmt: skip
    assert labels == expected


def test_labels_as_arrays_and_names_of_all_classes(tmp_path):
    table = {"item": ["a", "b"], "rater": ["x", "x"]}
    write_answers({**table, "label": np.array([[1.0, 2.0], [2.0, np.nan]])}, tmp_path / "a.json", "label-studio")
    assert read_answers(tmp_path / "a.json")["label"] == [(1, 2), 2]
    write_answers({**table, "label": ["low-mid", "mid"]}, tmp_path / "a.csv", classes=["low", "mid"])
    assert read_answers(tmp_path / "a.csv")["label"] == ["low-mid", "mid"]


def test_errors_about_answers_name_the_file_and_the_line(tmp_path):
    source, target = tmp_path / "answers.csv", str(tmp_path / "a.json")
    source.write_text(ALL_CLASSES)
    message = run("convert", str(source), "--answers-to", "argilla", "--classes", "1,2,3", "-o", target).stderr
    assert f"file {source}, row 1 (line 2): 'label': the label '3-5' is not one of the classes [1, 2, 3]" in message
    assert "'4-5' (row 2 (line 3))" in message
    assert run("convert", str(source), "--answers-to", "argilla", "-o", target).exit_code == 0
    message = run("convert", target, "--answers-from", "argilla", "--classes", "4,5", "-o", str(tmp_path / "b.csv"))
    assert f"file {target}, item 'a', rater 'x': 'label': " in message.stderr


def test_a_file_for_a_tool_has_no_name_of_a_table(tmp_path):
    source, target = tmp_path / "answers.csv", tmp_path / "tasks.csv"
    source.write_text(ALL_CLASSES)
    message = run("convert", str(source), "--answers-to", "label-studio", "-o", str(target)).stderr
    assert f"file {target}: a file for label-studio is JSON, so its name must end with .json." in message
    assert not target.exists()


def test_the_command_names_the_option_for_the_question(tmp_path):
    results = [{"from_name": name, "type": "rating", "value": {"rating": 4}} for name in ("stars", "mood")]
    path = tmp_path / "a.json"
    path.write_text(json.dumps([{"id": 1, "data": {}, "annotations": [{"result": results}]}]))
    message = run("convert", str(path), "--answers-from", "label-studio", "-o", str(tmp_path / "a.csv")).stderr
    assert "which control holds the class: mood, stars? Name it with --question." in message


LABEL_STUDIO = [
    {
        "id": 12,
        "annotations": [
            {
                "id": 31,
                "completed_by": {"id": 1, "email": "ann@x.org"},
                "result": [
                    {"value": {"rating": 4}, "id": "q1", "from_name": "stars", "to_name": "text", "type": "rating"},
                    {
                        "value": {"text": ["well"]},
                        "id": "q2",
                        "from_name": "note",
                        "to_name": "text",
                        "type": "textarea",
                    },
                ],
                "was_cancelled": False,
                "ground_truth": False,
                "lead_time": 8.25,
            },
            {"id": 32, "completed_by": 2, "result": [], "was_cancelled": True, "lead_time": 1.0},
            {"id": 33, "completed_by": 3, "result": [], "was_cancelled": False, "lead_time": 2.0},
            {
                "id": 34,
                "completed_by": 4,
                "result": [
                    {"value": {"number": 3}, "id": "n1", "from_name": "lower", "to_name": "text", "type": "number"}
                ],
            },
        ],
        "predictions": [
            {
                "id": 5,
                "model_version": "m1",
                "score": 0.91,
                "result": [{"value": {"rating": 5}, "from_name": "stars", "to_name": "text", "type": "rating"}],
            }
        ],
        "data": {"text": "Arrived late."},
        "project": 1,
    }
]
ARGILLA_1 = [
    {
        "id": "r1",
        "fields": {"text": "Arrived late."},
        "responses": [
            {"user_id": "u1", "status": "submitted", "values": {"stars": {"value": 2}}},
            {"user_id": "u2", "status": "discarded", "values": {"stars": {"value": 5}}},
        ],
        "suggestions": [{"question_name": "stars", "value": 3, "score": 0.4, "agent": "m"}],
    }
]
POTATO = [
    {
        "user_id": "u1",
        "instance_id": "1",
        "displayed_text": "Hi",
        "label_annotations": {"formality": {"range_low": "25", "range_high": "75"}},
        "span_annotations": [],
        "behavioral_data": {"time_spent": 12.5},
    },
    {"user_id": "u1", "instance_id": "2", "label_annotations": {"formality": {"low": True, "high": False}}},
    {"user_id": "u1", "instance_id": "3", "label_annotations": {"formality": {"scale_4": "4"}}},
    {"user_id": "u1", "instance_id": "4", "label_annotations": {"formality": {"slider": 1}}},
    {"user_id": "u1", "instance_id": "5", "label_annotations": {"formality": {"slider": 0}}},
]


def test_an_export_of_label_studio(tmp_path):
    path = tmp_path / "export.json"
    path.write_text(json.dumps(LABEL_STUDIO))
    found = read_answers(path)
    assert found == {
        "item": [12, 12, 12],
        "rater": ["ann@x.org", 3, 4],
        "label": [4, None, (3, None)],
        "seconds": [8.25, 2.0, None],
    }
    assert read_answers(path, predictions=True)["label"] == [5]
    with pytest.raises(TableError, match="no answer has a control 'other'; there are stars"):
        read_answers(path, question="other")


def test_records_of_argilla_1(tmp_path):
    path = tmp_path / "records.json"
    path.write_text(json.dumps(ARGILLA_1))
    assert read_answers(path) == {"item": ["r1"], "rater": ["u1"], "label": [2], "seconds": [None]}
    assert read_answers(path, predictions=True)["score"] == [0.4]


def test_instances_of_potato(tmp_path):
    path = tmp_path / "annotated_instances.jsonl"
    path.write_text("\n".join(json.dumps(line) for line in POTATO))
    assert read_answers(path)["label"] == [(25, 75), "low", 4, 1, 0]
    assert read_answers(path)["seconds"] == [12.5, None, None, None, None]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is no JSON"),
        ("[" * 100_000, "is no JSON"),
        ('[{"x": 1}]', "JSON of no annotation tool"),
        ('[{"data": {}, "annotations": [3]}]', "must be a JSON object"),
        ('[{"fields": {}, "responses": {"q": [1]}}]', "is no argilla export"),
    ],
)
def test_other_content_is_refused(tmp_path, content, message):
    path = tmp_path / "bad.json"
    path.write_text(content)
    with pytest.raises(TableError, match=message):
        read_answers(path)


@pytest.mark.parametrize("format", ANNOTATION_FORMATS)
def test_other_content_in_a_format_that_was_named_is_refused(tmp_path, format):
    path = tmp_path / "bad.json"
    path.write_text('{"x": 1}\n' if format == "potato" else '[{"x": 1}]')
    with pytest.raises(TableError, match="has no '"):
        read_answers(path, format)


@pytest.mark.parametrize("suffix", ["csv", "tsv"])
def test_names_in_tables_stay_names(tmp_path, suffix):
    path = tmp_path / f"answers.{suffix}"
    path.write_text("item,rater,label\n007,1,2\n7,2,3\n".replace(",", "," if suffix == "csv" else "\t"))
    read = read_answers(path)
    assert (read["item"], read["rater"]) == (["007", "7"], [1, 2])


def test_a_table_without_the_columns_is_refused(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("item,label\n1,2\n")
    with pytest.raises(TableError, match="no column 'rater'"):
        read_answers(path)


def test_the_command_converts_answers(tmp_path):
    export, table, again = tmp_path / "export.json", tmp_path / "answers.csv", tmp_path / "again.json"
    export.write_text(json.dumps(LABEL_STUDIO))
    to_csv = ["convert", str(export), "--answers-from", "label-studio", "--classes", "1..5", "-o", str(table)]
    assert run(*to_csv).exit_code == 0
    assert table.read_text().splitlines()[1:] == ["12,ann@x.org,4,8.25", "12,3,?,2", "12,4,3-5,"]
    back = ["convert", str(table), "--answers-to", "argilla", "--classes", "1..5", "-o", str(again)]
    assert run(*back).exit_code == 0
    assert read_answers(again)["label"] == [4, None, (3, 5)]
