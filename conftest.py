"""What pytest leaves alone: doctests that need PyTorch, Dask or river, where there is none.

`make test-torch` and `make test-dask` have the first two, `make test` has river; `make test-lowest` has none.
"""

from importlib.util import find_spec

ROOMS = {
    "torch": ["src/rankwise/torch"],
    "dask": ["src/rankwise/dask"],
    "river": ["src/rankwise/river", "docs/streams.md"],
}

collect_ignore = ["docs/hooks"]  # they need what builds the pages: `make docs`
collect_ignore += [path for name, paths in ROOMS.items() if not find_spec(name) for path in paths]
