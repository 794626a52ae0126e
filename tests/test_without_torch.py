"""PyTorch is optional: only rankwise.torch asks for it, and says what to install where it is missing."""

import importlib
import subprocess
import sys

import pytest

ASK_FOR_EVERYTHING = """
import importlib, sys
from contextlib import suppress
from pathlib import Path

class Watch:
    asked = []

    def find_spec(self, name, path=None, target=None):
        self.asked.append(name.partition(".")[0])

sys.meta_path.insert(0, Watch())
import rankwise
names = [name for name in rankwise.__all__ if getattr(rankwise, name) is not None]
home = Path(rankwise.__file__).parent
files = [file.relative_to(home) for file in home.rglob("*.py")]
modules = [file for file in files if file.parts[0] not in ("torch", "__main__.py")]
for module in modules:
    with suppress(ImportError):  # another extra may be missing
        importlib.import_module(".".join(["rankwise", *module.with_suffix("").parts]).removesuffix(".__init__"))
assert "torch" not in Watch.asked, "something asks for torch, be it there or not"
print(len(names), len(modules))
"""


def test_no_other_part_of_rankwise_imports_torch():
    done = subprocess.run([sys.executable, "-c", ASK_FOR_EVERYTHING], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    n_names, n_modules = map(int, done.stdout.split())
    assert n_names > 15
    assert n_modules > 30


@pytest.fixture
def not_loaded(monkeypatch):
    for module in [m for m in sys.modules if m == "torch" or m.startswith("rankwise.torch")]:
        monkeypatch.delitem(sys.modules, module)


@pytest.mark.usefixtures("not_loaded")
def test_without_torch_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r"^rankwise\.torch needs PyTorch: pip install 'rankwise\[torch\]'$"):
        importlib.import_module("rankwise.torch")


@pytest.mark.usefixtures("not_loaded")
def test_a_broken_torch_speaks_for_itself(monkeypatch, tmp_path):
    (tmp_path / "torch.py").write_text("import something_that_torch_needs")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="something_that_torch_needs"):
        importlib.import_module("rankwise.torch")
