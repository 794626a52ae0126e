import json

import pytest

pytest.importorskip("starlette")

from rankwise.annotate.items import Items, Shown, read_items
from rankwise.io import TableError
from tests.annotate.conftest import write_items


@pytest.fixture
def path(tmp_path):
    return write_items(tmp_path, "id,remark,size,photo,when\n07,good,1.5,a.png,2024-01-02\n8,,2,,2024-01-03\n")


def test_names_features_and_what_is_shown(path):
    items = read_items(path, Shown(text="remark", image="photo"))
    assert items.names == ["07", "8"]
    assert items.features == ["remark", "size", "when"]
    assert items.rows[0] == {"remark": "good", "size": 1.5, "when": "2024-01-02"}
    assert items.rows[1]["remark"] is None
    assert json.dumps(items.rows)
    assert items.describe(0) == {
        "item": "07", "number": 0, "text": "good", "table": [], "image": True, "audio": False,
    }  # fmt: skip
    assert items.describe(1)["text"] == ""
    assert not items.describe(1)["image"]
    assert items.file(0, "image") == "a.png"


def test_without_anything_to_show_all_columns_are_a_table(path):
    items = read_items(path, Shown(), ignore=["when"])
    assert items.describe(0)["table"] == [
        ["remark", "good"],
        ["size", "1.5"],
        ["photo", "a.png"],
        ["when", "2024-01-02"],
    ]
    assert items.features == ["remark", "size", "photo"]
    chosen = read_items(path, Shown(columns=["size"]))
    assert chosen.describe(1)["table"] == [["size", "2"]]


def test_rows_are_numbered_without_names():
    items = Items({"size": [1, 2]}, Shown())
    assert items.names == ["1", "2"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"shown": Shown(text="remarks")}, "no column 'remarks'. Did you mean 'remark'?"),
        ({"shown": Shown(image="x")}, "no column 'x'. The columns are 'id'"),
        ({"shown": Shown(), "name": "remark"}, "row 2, column 'remark': a name of an item has 1 to 200 characters"),
        ({"shown": Shown(), "ignore": ["what"]}, "no column 'what'"),
    ],
)
def test_wrong_columns(path, options, words):
    with pytest.raises(TableError, match=words.replace("?", r"\?")) as caught:
        read_items(path, options.pop("shown"), **options)
    assert str(caught.value).startswith(str(path))


def test_names_must_differ(tmp_path):
    (tmp_path / "items.csv").write_text("item,a\n1,2\n1,3\n")
    with pytest.raises(TableError, match="'1' occurs twice"):
        read_items(tmp_path / "items.csv", Shown())


def test_there_must_be_items(tmp_path):
    (tmp_path / "items.csv").write_text("item,a\n")
    with pytest.raises(TableError, match="no items"):
        read_items(tmp_path / "items.csv", Shown())


def test_huge_texts_are_cut_on_the_page_only():
    items = Items({"text": ["x" * 200_000]}, Shown(text="text"))
    assert len(items.describe(0)["text"]) == 100_004
    assert len(items.rows[0]["text"]) == 200_000
