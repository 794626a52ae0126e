"""What pytest leaves alone: doctests of the room that needs PyTorch, where there is none (`make test-torch` has it)."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("torch") else ["src/rankwise/torch"]
