"""What pytest leaves alone where its package is missing: `make test-torch` and `make test-browser` have it."""

from importlib.util import find_spec

_NEEDS = {"torch": "src/rankwise/torch", "playwright": "tests/browser"}

collect_ignore = [place for package, place in _NEEDS.items() if find_spec(package) is None]
