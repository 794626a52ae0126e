"""One name, one thing: no two modules and no two classes of the package share a name."""

import ast
from collections import defaultdict
from pathlib import Path

import rankwise

PACKAGE = Path(rankwise.__file__).parent
MODULES = [path for path in sorted(PACKAGE.rglob("*.py")) if path.stem not in ("__init__", "__main__")]


def _shared(places):
    return {name: sorted(map(str, paths)) for name, paths in places.items() if len(paths) > 1}


def test_modules_have_names_of_their_own():
    """A command is named after what it starts."""
    places = defaultdict(list)
    for path in MODULES:
        if path.parent.name != "commands":
            places[path.stem].append(path.relative_to(PACKAGE))
    assert len(places) > 200
    assert _shared(places) == {}


def test_classes_have_names_of_their_own():
    """Estimators on Dask are named after those on one machine."""
    places = defaultdict(list)
    for path in MODULES:
        if path.parent.name != "dask":
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.ClassDef):
                    places[node.name].append(path.relative_to(PACKAGE))
    assert len(places) > 200
    assert _shared(places) == {}
