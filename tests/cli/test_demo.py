import re

import pytest

from rankwise.cli import _demo_comparison


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    return _demo_comparison.run(tmp_path_factory.mktemp("demo") / "new" / "demo.png")


def test_one_table_for_each_data_set(result):
    assert [title.split(":")[0] for title in result.tables] == ["Synthetic", "Diabetes"]
    for rows in result.tables.values():
        assert [row["model"] for row in rows].count("PRIL") == 4
        assert {row["labels it saw"] for row in rows if row["model"] != "PRIL"} == {"exact"}
        assert all(row["labels it saw"] != "exact" for row in rows if row["model"] == "PRIL")
        for row in rows:
            shares = [float(row[name].rstrip("%")) for name in ("exactly right", "within one rank")]
            assert 0 < shares[0] < shares[1] <= 100


def test_intervals_cost_little(result):
    rows = next(iter(result.tables.values()))
    mae = {(row["model"], row["labels it saw"]): float(row["MAE"]) for row in rows}
    exact = mae["PRank", "exact"]
    assert exact < 0.2
    for kind in (1, 2):
        assert exact <= mae["PRIL", f"75% type {kind}, 25% exact"] < exact + 0.05


def test_text_and_picture(result):
    text = str(result)
    assert len(re.findall("^PRank ", text, re.MULTILINE)) == 2
    assert "type 2: the rank and both its neighbours" in text
    assert result.picture.read_bytes().startswith(b"\x89PNG")
    assert [p.name for p in result.picture.parent.iterdir()] == ["demo.png"]
