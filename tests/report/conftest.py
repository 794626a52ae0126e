import numpy as np
import pytest

from rankwise import PRIL
from rankwise.annotation import partial_labels
from rankwise.datasets import make_ordinal

NAMES = np.array(["awful", "poor", "fair", "good", "superb"])


@pytest.fixture(scope="session")
def data():
    """Rows, exact labels, and labels of all kinds."""
    X, y = make_ordinal(900, 4, 5, noise=0.4, random_state=0)
    said = [tuple(ends) for ends in partial_labels(NAMES[y - 1], 0.5, 2, classes=NAMES, random_state=0).tolist()]
    said[400:420] = [None] * 20
    said[420:430] = [{"awful", "fair", "superb"}] * 10
    return X, NAMES[y - 1], said


@pytest.fixture(scope="session")
def model(data):
    X, y, _ = data
    return PRIL(classes=NAMES, random_state=0).fit(X[:300], y[:300])
