import matplotlib as mpl
import pytest
from matplotlib import pyplot

from rankwise.datasets import make_ordinal


@pytest.fixture(autouse=True)
def agg():
    before = mpl.get_backend()
    mpl.use("Agg")
    yield
    pyplot.close("all")
    mpl.use(before)


@pytest.fixture(scope="session")
def data():
    return make_ordinal(400, 4, 5, noise=0.2, random_state=0)
