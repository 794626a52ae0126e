"""What pytest skips where a package is missing: what needs PyTorch, Dask, river, a browser, or the experiments.

`make test-torch`, `make test-dask` and `make test-browser` have them, `make test` has river, `make test-lowest` none.
"""

from importlib.util import find_spec

NEEDED_BY = {
    "torch": ["src/rankwise/torch"],
    "dask": ["src/rankwise/dask"],
    "river": ["src/rankwise/river", "docs/streams.md"],
    "playwright": ["tests/browser"],
    "rankwise_experiments": ["experiments"],
}

collect_ignore = ["docs/tools"]  # they need what builds the pages: `make docs`
collect_ignore += [path for name, paths in NEEDED_BY.items() if not find_spec(name) for path in paths]
