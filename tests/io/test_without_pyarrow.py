"""pyarrow is optional: nothing but rankwise.io asks for it, which says what to install where it is missing."""

import importlib
import subprocess
import sys

import pytest

WITHOUT = """
import sys
sys.modules["pyarrow"] = None  # every import of it fails
import rankwise
print(rankwise.labels.parse_labels(["3-5"]).tolist(), len([rankwise.PRIL, rankwise.VILMA, rankwise.save]))
"""


def test_everything_else_works_without_pyarrow():
    done = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=False)
    assert done.stdout == "[[3, 5]] 3\n", done.stderr


def test_without_pyarrow_the_error_says_what_to_install(monkeypatch):
    for module in [m for m in sys.modules if m == "rankwise.io" or m.startswith("rankwise.io.")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"^rankwise\.io needs pyarrow: pip install 'rankwise\[io\]'$"):
        importlib.import_module("rankwise.io")
