"""ONNX and river are optional: only their packages import them, and say what to install where they are missing."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import rankwise

ASK_FOR_ALL_NAMES = """
import sys
from pathlib import Path
import rankwise
names = [name for name in rankwise.__all__ if getattr(rankwise, name) is not None]
loaded = {name.partition(".")[0] for name in sys.modules}
assert not loaded & {"onnx", "onnxruntime", "river"}, loaded
print(len(names))
"""


def test_rankwise_imports_neither():
    done = subprocess.run([sys.executable, "-c", ASK_FOR_ALL_NAMES], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 15


@pytest.fixture
def not_loaded(monkeypatch, request):
    name = request.getfixturevalue("package")
    for module in [m for m in sys.modules if m == name or m.startswith((f"{name}.", f"rankwise.{name}"))]:
        monkeypatch.delitem(sys.modules, module)


@pytest.mark.parametrize("package", ["onnx", "river"])
@pytest.mark.usefixtures("not_loaded")
def test_the_error_says_what_to_install(package, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=rf"needs the package {package}: pip install 'rankwise\[{package}\]'$"):
        importlib.import_module(f"rankwise.{package}")


@pytest.mark.parametrize("package", ["onnx", "river"])
@pytest.mark.usefixtures("not_loaded")
def test_a_broken_package_speaks_for_itself(package, monkeypatch, tmp_path):
    (tmp_path / f"{package}.py").write_text("import something_that_it_needs")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="something_that_it_needs"):
        importlib.import_module(f"rankwise.{package}")


def test_type_checkers_see_every_public_name_as_exported():
    """A strict type checker takes ``import X as X`` for an export, and nothing else in a package with lazy names."""
    tree = ast.parse(Path(rankwise.__file__).read_text(encoding="utf-8"))
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    exported = [alias.name for node in block.body for alias in node.names if alias.asname == alias.name]
    for node in block.body:  # and all names of a star's ``__all__``
        if any(alias.name == "*" for alias in node.names):
            exported += importlib.import_module(node.module).__all__
    assert sorted(exported) == sorted(set(rankwise.__all__) - {"__version__"})
