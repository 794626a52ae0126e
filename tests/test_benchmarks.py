"""The table of the benchmarks is printed whatever happens on the way."""

import pytest

from benchmarks import structured
from benchmarks.__main__ import run
from benchmarks._timing import Result


def good():
    yield Result.faster("quick", 1.0, 2.0, 1.5)


def failing():
    yield Result.faster("half", 1.0, 2.0, 1.5)
    raise ValueError("no luck")


def interrupted():
    yield Result.faster("begun", 1.0, 2.0, 1.5)
    raise KeyboardInterrupt


def test_what_lacks_its_data_is_skipped(monkeypatch, capsys):
    monkeypatch.delenv("RANKWISE_DATA", raising=False)
    monkeypatch.setattr("rankwise.datasets._find._beside_checkout", lambda: None)
    assert run({"words": structured.words, "good": good}) == 0
    out = capsys.readouterr().out
    assert "quick" in out
    assert "skipped words: The data set 'ocr' was not found. Give a directory that holds ocr/letter.data" in out


@pytest.mark.parametrize(
    ("bad", "code", "remark"),
    [
        (failing, 1, "failed bad: ValueError: no luck"),
        (interrupted, 130, "stopped in bad: nothing after it has run"),
    ],
)
def test_an_error_costs_one_benchmark(capsys, bad, code, remark):
    assert run({"first": good, "bad": bad, "last": good}) == code
    out = capsys.readouterr().out
    assert out.count("quick") == (2 if bad is failing else 1)
    assert next(bad()).what in out
    assert out.endswith(f"{remark}\n")


def test_no_result_at_all(capsys):
    assert run({}) == 0
    assert "no results" in capsys.readouterr().out
