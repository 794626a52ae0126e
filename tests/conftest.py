"""Settings and fixtures for all tests."""

import os

import numpy as np
import pytest
from hypothesis import settings

settings.register_profile("default", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("default")
os.environ.setdefault("MPLBACKEND", "Agg")


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20261115)
