from urllib.error import URLError

import pytest
import sklearn.datasets


@pytest.fixture(autouse=True)
def offline(monkeypatch):
    def refuse(**kwargs):
        raise URLError("no network in tests")

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", refuse)


@pytest.fixture
def nowhere(monkeypatch):
    """No directory but the one a test gives."""
    monkeypatch.delenv("RANKWISE_DATA", raising=False)
    monkeypatch.setattr("rankwise.datasets._find._beside_checkout", lambda: None)
