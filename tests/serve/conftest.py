"""Models and rows that the tests of the service share."""

import numpy as np
import pytest

import rankwise as rw
from rankwise.datasets import make_ordinal
from rankwise.persistence import to_bytes

pytest.importorskip("msgspec")
pytest.importorskip("starlette")

COLUMNS = [f"c{j}" for j in range(4)]


@pytest.fixture(scope="session")
def stream():
    """Rows as JSON brings them, and labels in several notations."""
    X, y = make_ordinal(600, 4, 5, noise=0.4, random_state=0)
    rows = [dict(zip(COLUMNS, row, strict=True)) for row in X.tolist()]
    labels = [str(k) for k in y]
    for i in range(0, 600, 3):
        labels[i] = f"{max(1, y[i] - 1)}-{y[i]}"
    for i in range(1, 600, 17):
        labels[i] = "?"
    for i in range(2, 600, 19):
        labels[i] = f">={y[i]}"
    return rows, labels


@pytest.fixture(scope="session")
def online(stream):
    """Content of the file of an online model that has learnt the first hundred rows."""
    frame = pytest.importorskip("pandas").DataFrame(stream[0])
    model = rw.TableModel(rw.PRIL(classes=[1, 2, 3, 4, 5], random_state=0)).fit(frame[:100], stream[1][:100])
    return to_bytes(model)


@pytest.fixture(scope="module")
def nursery(tmp_path_factory, online):
    """A process that forks servers."""
    from tests.serve.killing import Nursery

    model = tmp_path_factory.mktemp("nursery") / "model.rankwise"
    model.write_bytes(online)
    made = Nursery(model)
    yield made
    made.close()


@pytest.fixture(scope="session")
def batch(stream):
    """Content of the file of a model with probabilities that does not learn on."""
    frame = pytest.importorskip("pandas").DataFrame(stream[0])
    return to_bytes(rw.TableModel(rw.CumulativeLink()).fit(frame[:100], stream[1][:100]))


@pytest.fixture(scope="session")
def mixed():
    """Content of the file of an online model with columns of every kind, and rows for it."""
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "size": np.where(rng.random(80) < 0.2, np.nan, rng.standard_normal(80)),
            "colour": rng.choice(["red", "green", "12"], 80),
            "remark": rng.choice(["a very good long thing", "not so good after all it broke"], 80),
            "new": rng.random(80) < 0.5,
        }
    )
    y = rng.integers(1, 4, 80)
    model = rw.TableModel(rw.PRIL(classes=[1, 2, 3], random_state=0)).fit(frame, y)
    rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
    return to_bytes(model), rows, y.tolist()
