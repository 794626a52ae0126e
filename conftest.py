"""What pytest leaves alone: doctests of rooms that need PyTorch or Dask, where there is none.

`make test-torch` and `make test-dask` have them.
"""

from importlib.util import find_spec

collect_ignore = [f"src/rankwise/{room}" for room in ("torch", "dask") if find_spec(room) is None]
