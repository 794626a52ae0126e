"""Files of Label Studio: exports of a server, and what it takes; with one that runs, the way there and back."""

import csv
import json

import pytest

from rankwise.io import TableError, read_answers, read_items, write_answers
from rankwise.labels import encode
from tests.cli.commands import fail, run, succeed
from tests.io.label_studio_server import ADDRESS, EXPORTS, FORMATS, LabelStudio, configuration

ITEMS = ["a", "a", "b", "b", "c", "d"]
RATERS = ["Ann", "Bo", "Ann", "Bo", "Ann", "Ann"]
TABLE = {"item": ITEMS, "rater": RATERS, "seconds": [1.5, 2, 3, None, 5, 6]}
SHOWN = {item: {"text": f'This is {item};\n"Größe"', "length": 3} for item in "abcd"}
LABELS = {
    "rating": ([1, 2, 3, 4, 5], [3, (2, 4), (4, None), None, 5, 1]),
    "number": (list(range(11)), [0, (2, 4), (9, None), None, 10, 1]),
    "choices": ([1, 2, 3, 4, 5], [3, {1, 3}, (4, None), None, 5, 1]),
}
NAMED = ["bad", "middling", "good"], ["bad", ("middling", "good"), {"bad", "good"}, None, "good", "middling"]
EXPORTED = {
    "rating": [2, (2, 4), (2, 4), (None, 3), None],
    "choices": ["good", frozenset({"bad", "good"}), frozenset({"bad", "good"}), "middling", None],
    "number": [0, 10, 10, (0, 7), (8, None)],
}


def of(path, **more):
    """Answers of a file, in an order of their own."""
    read = read_answers(path, "label-studio", **more)
    return sorted(zip(*read.values(), strict=True), key=str)


def lines_of(path):
    """Content of a JSON_MIN or CSV export, with a function that writes other content in its place."""
    if path.suffix == ".json":
        return json.loads(path.read_text()), lambda lines: path.write_text(json.dumps(lines))
    delimiter = {".csv": ",", ".tsv": "\t"}[path.suffix]
    with path.open(newline="") as file:
        lines = list(csv.DictReader(file, delimiter=delimiter))

    def write(lines):
        with path.open("w", newline="") as file:
            names = list(dict.fromkeys(name for line in lines for name in line))
            writer = csv.DictWriter(file, names, delimiter=delimiter)
            writer.writeheader()
            writer.writerows(lines)

    return lines, write


@pytest.mark.parametrize("kind", EXPORTED)
@pytest.mark.parametrize("format", FORMATS)
def test_exports_of_a_server(kind, format):
    read = read_answers(EXPORTS / f"{kind}.{FORMATS[format]}", "label-studio")
    assert sorted(read["label"], key=str) == sorted(EXPORTED[kind], key=str)
    assert set(read["rater"]) == {1}
    assert of(EXPORTS / f"{kind}.{FORMATS[format]}") == of(EXPORTS / f"{kind}.json")


@pytest.mark.parametrize("format", ["JSON", "JSON_MIN"])
def test_the_format_of_json_is_recognised(format):
    assert len(read_answers(EXPORTS / f"rating.{FORMATS[format]}")["item"]) == 5


@pytest.mark.parametrize("format", FORMATS)
def test_the_command_converts_all_rows(tmp_path, format):
    source, table = EXPORTS / f"number.{FORMATS[format]}", tmp_path / "answers.csv"
    options = "--answers-from", "label-studio", "--classes", "0..10", "-o", str(table)
    assert run("convert", str(source), *options).exit_code == 0
    labels = [line.split(",")[2] for line in table.read_text().splitlines()[1:]]
    assert sorted(labels) == ["0", "0-7", "10", "10", "8-10"]


@pytest.mark.parametrize("format", ["JSON_MIN", "CSV", "TSV"])
def test_one_choice_looks_like_data(tmp_path, format):
    path = tmp_path / f"export.{FORMATS[format]}"
    path.write_bytes((EXPORTS / f"choices.{FORMATS[format]}").read_bytes())
    lines, write = lines_of(path)
    write([line for line in lines if "choices" not in str(line.get("label"))])  # single ones are left
    with pytest.raises(TableError, match=r"which entry holds the class: .*label, .*text\? Name it as the question"):
        read_answers(path, "label-studio")
    assert sorted(read_answers(path, "label-studio", question="label")["label"], key=str) == [None, "good", "middling"]
    with pytest.raises(TableError, match=r"no answer has a control 'grade'; there are .*label"):
        read_answers(path, "label-studio", question="grade")


@pytest.mark.parametrize("format", ["JSON_MIN", "CSV", "TSV"])
def test_choices_beside_ranges(tmp_path, format):
    path = tmp_path / f"export.{FORMATS[format]}"
    path.write_bytes((EXPORTS / f"rating.{FORMATS[format]}").read_bytes())
    lines, write = lines_of(path)
    for line in lines:
        if "rating" in str(line.get("label")):
            line["label"] = "good"
    write(lines)
    with pytest.raises(TableError, match="which entry holds the class: label"):
        read_answers(path, "label-studio")
    write([line for line in lines if line.get("label") != "good"])
    assert len(read_answers(path, "label-studio")["label"]) == 4


def test_two_controls_with_a_class_must_be_told_apart(tmp_path):
    path = tmp_path / "export.json"
    tasks = json.loads((EXPORTS / "rating.json").read_text())
    tasks[1]["annotations"][0]["result"] = [
        {"from_name": "mood", "to_name": "item", "type": "rating", "value": {"rating": 1}}
    ]
    path.write_text(json.dumps(tasks))
    with pytest.raises(TableError, match="which control holds the class: label, mood"):
        read_answers(path)
    assert read_answers(path, question="mood")["label"].count(1) == 1
    minimal = json.loads((EXPORTS / "rating.min.json").read_text())
    minimal[1]["mood"] = [{"rating": 1}]
    path.write_text(json.dumps(minimal))
    with pytest.raises(TableError, match="which control holds the class: label, mood"):
        read_answers(path)


def test_an_annotation_has_one_label(tmp_path):
    path = tmp_path / "export.json"
    tasks = json.loads((EXPORTS / "rating.json").read_text())
    result = tasks[0]["annotations"][0]["result"]
    result.append(dict(result[0], value={"rating": 5}))
    path.write_text(json.dumps(tasks))
    with pytest.raises(TableError, match=r"item 5: one annotation has several values of 'label': 2, 5"):
        read_answers(path)


@pytest.mark.parametrize("content", ['[{"x": 1}]', '[{"id": 3, "text": "any"}]', '[{"fields": {}}]', '{"a": 1}'])
def test_other_json_is_no_export_without_answers(tmp_path, content):
    path = tmp_path / "export.json"
    path.write_text(content)
    with pytest.raises(TableError):
        read_answers(path, "label-studio")
    options = "--answers-from", "label-studio", "--classes", "1..5", "-o", tmp_path / "answers.csv"
    fail(1, "convert", path, *options)
    assert not (tmp_path / "answers.csv").exists()


def test_another_csv_is_no_export(tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text("item,rater,label\na,b,3\n")
    with pytest.raises(TableError, match="no column 'annotation_id'"):
        read_answers(path, "label-studio")


# -- what is written ---------------------------------------------------------------------------------------------------


def written(tmp_path, labels, classes):
    path = tmp_path / "tasks.json"
    write_answers({**TABLE, "label": labels}, path, "label-studio", classes=classes, items=SHOWN)
    return path, json.loads(path.read_text())


@pytest.mark.parametrize("kind", LABELS)
def test_a_file_has_one_kind_of_control_no_authors_and_the_text(tmp_path, kind):
    classes, labels = LABELS[kind]
    _, tasks = written(tmp_path, labels, classes)
    annotations = [annotation for task in tasks for annotation in task["annotations"]]
    assert not any("completed_by" in annotation or annotation["ground_truth"] for annotation in annotations)
    types = {r["from_name"]: r["type"] for annotation in annotations for r in annotation["result"]}
    assert types["label"] == kind
    assert {r["to_name"] for annotation in annotations for r in annotation["result"]} == {"item"}
    assert tasks[0]["data"] == {**SHOWN["a"], "item": "a"}


@pytest.mark.parametrize(("classes", "labels"), [*LABELS.values(), NAMED])
def test_what_is_written_is_read_back(tmp_path, classes, labels):
    path, _ = written(tmp_path, labels, classes)
    read = read_answers(path)
    assert (read["item"], read["rater"]) == (ITEMS, RATERS)
    assert encode(read["label"], classes).tolist() == encode(labels, classes).tolist()


def test_the_command_writes_what_the_items_are(tmp_path):
    (tmp_path / "answers.csv").write_text("item,rater,label\n007,Ann,2-4\n8,Ann,1\n9,Ann,?\n")
    (tmp_path / "texts.csv").write_text("id,text,length\n007,Late,4\n8,,0\n")
    to = "--answers-to", "label-studio", "--classes", "1..5", "-o", tmp_path / "tasks.json"
    succeed("convert", tmp_path / "answers.csv", *to, "--items", tmp_path / "texts.csv")
    first, *others = [task["data"] for task in json.loads((tmp_path / "tasks.json").read_text())]
    assert first == {"text": "Late", "length": 4, "item": "007"}
    assert others == [{"text": None, "length": 0, "item": "8"}, {"item": "9"}]
    fail(2, "convert", tmp_path / "answers.csv", "--items", tmp_path / "texts.csv", "-o", tmp_path / "other.json")


@pytest.mark.parametrize("table", ["name,text\na,b\n", "id,text\na,b\na,c\n", "id,text\n,c\n"])
def test_items_without_a_name_of_their_own_are_refused(tmp_path, table):
    (tmp_path / "items.csv").write_text(table)
    with pytest.raises(TableError, match=r"name"):
        read_items(tmp_path / "items.csv")


def test_items_that_are_not_unique_are_not_names(tmp_path):
    path = tmp_path / "export.json"
    tasks = [{"id": n, "data": {"item": "pen"}, "annotations": [{"completed_by": 1, "result": []}]} for n in (3, 4)]
    path.write_text(json.dumps(tasks))
    assert read_answers(path)["item"] == [3, 4]


@pytest.mark.skipif(not ADDRESS, reason="no Label Studio: see tests/io/label_studio_server.py for how to start one")
@pytest.mark.parametrize("given", [*LABELS.values(), NAMED], ids=[*LABELS, "named"])
def test_there_and_back(tmp_path, given):
    classes, labels = given
    _, tasks = written(tmp_path, labels, classes)
    server = LabelStudio()
    types = {r["from_name"]: r["type"] for task in tasks for a in task["annotations"] for r in a["result"]}
    project = server.new_project(configuration(types["label"], classes), tasks)
    (d,) = (task["id"] for task in server.tasks(project) if task["data"]["item"] == "d")
    server.annotate(d, [{"from_name": "upper", "to_name": "item", "type": "number", "value": {"number": 2}}])
    expected = sorted(map(str, encode(labels, classes).tolist()))
    for path in server.export(project, tmp_path, "back").values():
        read = read_answers(path, "label-studio", question="label")
        own = [n for n, rater in enumerate(read["rater"]) if rater in RATERS]
        assert sorted((read["item"][n], read["rater"][n]) for n in own) == sorted(zip(ITEMS, RATERS, strict=True))
        assert sorted(map(str, encode([read["label"][n] for n in own], classes).tolist())) == expected
        (new,) = set(range(len(read["item"]))) - set(own)
        assert (read["item"][new], read["label"][new]) == ("d", (None, 2))
