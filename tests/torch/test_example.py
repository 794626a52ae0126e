"""The example learns from intervals, and the code and numbers of its page are right."""

import re
import runpy
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="needs PyTorch: make test-torch")

ROOT = Path(__file__).resolve().parent.parent.parent


def page():
    return (ROOT / "docs" / "families" / "torch.md").read_text(encoding="utf-8")


def test_the_network_gains_from_intervals_and_the_page_says_how_much(capsys):
    off = runpy.run_path(str(ROOT / "examples" / "neural_network.py"))["main"]()
    assert len(capsys.readouterr().out.splitlines()) == 4
    exact, mixed, few, linear = off.values()
    assert exact < mixed < few < linear
    # Not to the digit: rounding, and with it the path of the training, depends on the machine.
    quoted = [float(number) for number in re.findall(r"\d\.\d\d", page())]
    assert quoted == pytest.approx([mixed, few, exact, linear], abs=0.08)


def test_code_of_the_page_runs():
    (code,) = re.findall(r"```python\n(.*?)```", page(), flags=re.DOTALL)
    names = {}
    exec(code, names)
    assert names["network"][-1].weight.grad.any()
    *_, last = code.strip().splitlines()
    assert set(eval(last.partition("#")[0], names)) <= {"low", "mid", "high"}
