"""What clients are told: nothing about options of the command or parameters of Python, which they cannot change."""

import ast
import re
from pathlib import Path

import pyarrow as pa
import pytest

import rankwise as rw
from rankwise._words import words_of_the_command
from rankwise.persistence import to_bytes
from tests.serve.test_app import arrow, served  # noqa: F401 - a fixture

_FORBIDDEN = re.compile(r"--[a-z]|\b(?:classes|kinds|slips|missing|encoder|estimator)=")
_SOURCES = Path(rw.__file__).parent
#: Messages of the start, which the operator reads; "refit" starts a command.
_OF_THE_START = {
    "launch.py": 1,
    "store_file.py": 3,
    "writer.py": 1,
    "label_studio.py": 1,
    "media.py": 1,
    "service.py": 1,
}


@pytest.fixture(scope="module")
def strict():
    """Content of the file of a model that takes no missing values, with a column of words."""
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"size": [1.0, 2.0, 3.0, 4.0] * 5, "colour": ["red", "blue"] * 10, "day": ["2024-01-02"] * 20})
    frame["day"] = [f"2024-01-{k + 1:02d}" for k in range(20)]
    encoder = rw.TableEncoder(missing="refuse", slips="refuse")
    return to_bytes(rw.TableModel(rw.PRIL(classes=[1, 2, 3]), encoder).fit(frame, [1, 2, 3, 1] * 5))


def test_no_answer_names_an_option_or_a_parameter(served, strict):  # noqa: F811
    good = {"size": 1.0, "colour": "red", "day": "2024-01-05"}
    bad = [{"size": "12 kg"}, {"size": None}, {"size": "abc"}, {"size": "1,5"}, {"day": "soon"}, {"day": None},
           {"colour": None}, {"size": True}, {"size": 1e308}]  # fmt: skip
    labels = ["9", "1|3", "a-b", "3 out of 7", ">=foo", "?", "", "1-9", "7 - great", "red|blue", "x" * 500, "<2 or 3"]

    async def test(client):
        said = []
        for values in bad:
            row = {**good, **values}
            # fmt: off
            answers = [await client.post("/v1/predict", json={"rows": [row]}),
                       await client.post("/v1/explain", json={"rows": [row]}),
                       await client.post("/v1/feedback", json={"rows": [{"label": "1", "features": row}]}),
                       await client.post("/v1/predict", **arrow(pa.Table.from_pylist([row]))),
                       await client.post("/v1/feedback", **arrow(pa.Table.from_pylist([row | {"label": "1"}])))]
            # fmt: on
            said += [answer.text for answer in answers if answer.status_code != 200]
        for label in labels:
            answer = await client.post("/v1/feedback", json={"rows": [{"label": label, "features": good}]})
            said += [answer.text] * (answer.status_code != 200)
        assert len(said) > 30
        assert [text for text in said if _FORBIDDEN.search(text)] == []

    with words_of_the_command():  # as in 'rankwise serve'
        served(test, {"model": strict})


def test_options_are_named_at_the_start_alone():
    found = {}
    for path in [*_SOURCES.glob("serve/*.py"), *_SOURCES.glob("annotate/*.py")]:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        docs = {id(node.body[0].value) for node in ast.walk(tree)
                if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and node.body
                and isinstance(node.body[0], ast.Expr)}  # fmt: skip
        named = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)
                 and id(node) not in docs and re.search(r"--[a-z]", node.value)]  # fmt: skip
        if named:
            found[path.name] = len(named)
    assert found == _OF_THE_START
