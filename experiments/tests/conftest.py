"""Settings and fixtures for the tests of the experiments."""

import os
from urllib.error import URLError

import numpy as np
import pytest
import sklearn.datasets

os.environ.setdefault("MPLBACKEND", "Agg")


@pytest.fixture
def nowhere(monkeypatch):
    """No data but those that a test names, and no network."""

    def refuse(**kwargs):
        raise URLError("no network in tests")

    monkeypatch.delenv("RANKWISE_DATA", raising=False)
    monkeypatch.setattr("rankwise.datasets._find._beside_checkout", lambda: None)
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", refuse)


@pytest.fixture
def rng():
    return np.random.default_rng(20261115)
