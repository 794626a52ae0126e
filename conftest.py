"""What pytest leaves alone where a package is missing: what needs PyTorch (`make test-torch` has it), and the report in a
browser (`make test-browser`).
"""

from importlib.util import find_spec

_NEEDS = {"torch": "src/rankwise/torch", "playwright": "tests/browser"}

collect_ignore = [place for package, place in _NEEDS.items() if find_spec(package) is None]
