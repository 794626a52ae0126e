"""Settings and fixtures for all tests."""

import os

import numpy as np
import pytest
from hypothesis import settings

settings.register_profile("quick", deadline=None, derandomize=True, print_blob=True, max_examples=40)
settings.register_profile("thorough", settings.get_profile("quick"), max_examples=150)  # make test-all
settings.load_profile("quick")
os.environ.setdefault("MPLBACKEND", "Agg")


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20261115)
