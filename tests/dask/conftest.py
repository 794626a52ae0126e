import pytest


@pytest.fixture
def without_a_cluster():
    """Tasks run in this thread, one after the other."""
    import dask

    with dask.config.set(scheduler="sync"):
        yield
