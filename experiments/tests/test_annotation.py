"""Annotation played through: savings, and a run on a set made here."""

from types import SimpleNamespace

import numpy as np
import pytest

from rankwise import datasets
from rankwise.datasets import make_ordinal
from rankwise_experiments import annotation


def test_the_saving_is_the_time_that_is_left():
    exact = np.linspace(1.0, 0.5, annotation.GRID.size)[None]
    fast = np.interp(2 * annotation.GRID, annotation.GRID, exact[0])[None]
    assert annotation.saving(fast, exact) == pytest.approx(0.5, abs=0.03)
    assert annotation.saving(exact, exact) == pytest.approx(0.0)
    assert annotation.saving(exact + 1.0, exact) == -1.0


def test_a_run_in_small(tmp_path, monkeypatch):
    X, y = make_ordinal(300, 4, 5, noise=0.2, random_state=0)

    def load(name, data_dir):
        if name != "ERA":
            raise datasets.DatasetNotFoundError(f"no {name}")
        return SimpleNamespace(X=X, y=y)

    monkeypatch.setattr(datasets, "load", load)
    monkeypatch.setattr(annotation, "MINUTES", 6.0)
    report = annotation.run(tmp_path, sequences=1)
    assert report.ran == ("ERA",)
    assert len(report.skipped) == 5
    assert {path.suffix for path in report.files} == {".csv", ".png", ".md"}
    assert all(path.exists() for path in report.files)


def test_without_data_nothing_is_written(tmp_path, monkeypatch):
    def load(name, data_dir):
        raise datasets.DatasetNotFoundError(f"no {name}")

    monkeypatch.setattr(datasets, "load", load)
    assert annotation.run(tmp_path / "out").ran == ()
    assert not (tmp_path / "out").exists()
