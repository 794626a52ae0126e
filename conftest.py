"""What pytest leaves alone: doctests of the rooms that need PyTorch or river, where there is none.

`make test-torch` has PyTorch, `make test` has river; `make test-lowest` has neither.
"""

from importlib.util import find_spec

collect_ignore = [f"src/rankwise/{name}" for name in ("torch", "river") if not find_spec(name)]
