"""The documentation: its pictures can be drawn again, and it names everything that is public."""

import re
import runpy
from importlib import import_module
from inspect import getdoc, isclass, isfunction
from pathlib import Path

import pytest

import rankwise

DOCS = Path(__file__).resolve().parent.parent / "docs"


@pytest.fixture(scope="module")
def figures():
    return runpy.run_path(str(DOCS / "figures.py"))


def test_every_picture_can_be_drawn_again(figures, tmp_path):
    drawn = figures["main"](tmp_path)
    assert len(drawn) == len(figures["FIGURES"])
    for path in drawn:
        assert path.read_text(encoding="utf-8").startswith("<?xml")
        assert (DOCS / "images" / path.name).exists(), f"make figures: {path.name} is not in docs/images"


def test_pages_show_pictures_that_exist_and_all_that_are_drawn(figures):
    shown = set()
    for page in DOCS.rglob("*.md"):
        for target in re.findall(r"!\[[^\]]+\]\(([^)]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
            shown.add(Path(target).stem)
    assert set(figures["FIGURES"]) <= shown


def test_the_table_of_estimators_names_all_of_them():
    page = (DOCS / "choose.md").read_text(encoding="utf-8")
    packages = {"rankwise.online", "rankwise.batch", "rankwise.label_ranking", "rankwise.structured"}
    estimators = {name for name, package in rankwise._HOME.items() if package in packages}
    assert len(estimators) > 15
    assert estimators <= set(re.findall(r"`(\w+)`", page))


def test_every_page_is_in_the_table_of_contents():
    contents = (DOCS.parent / "mkdocs.yml").read_text(encoding="utf-8")
    missing = [page for page in DOCS.rglob("*.md") if f" {page.relative_to(DOCS).as_posix()}\n" not in contents]
    assert not missing


def test_what_users_see_has_docstrings():
    missing = []
    for path in sorted(Path(rankwise.__file__).parent.glob("*/__init__.py")):
        package = path.parent.name
        if package in ("torch", "dask", "onnx", "river"):  # need their extras; their own tests have doctests
            continue
        module = import_module(f"rankwise.{package}")
        for name in getattr(module, "__all__", ()):
            value = getattr(module, name)
            if not (isclass(value) or isfunction(value)):
                continue
            methods = [(f".{at}", one) for at, one in vars(value).items() if isfunction(one)] if isclass(value) else []
            for at, one in [("", value), *methods]:
                if not at.startswith("._") and not getdoc(one):
                    missing.append(f"{package}.{name}{at}")
    assert missing == []
