"""The command ``rankwise``."""

import sys

__all__ = ["main"]

_NEEDED = {"typer", "rich", "click"}


def main() -> None:
    """Run the command line; without the packages it needs, say how to get them."""
    try:
        from rankwise.cli._app import app
    except ModuleNotFoundError as error:
        if error.name not in _NEEDED:
            raise
        sys.exit(_missing(error.name))
    from rankwise.cli._exit import end_on_signals

    end_on_signals()
    app(prog_name="rankwise")


def _missing(package: str) -> int:
    print(f'rankwise: the command line needs {package}: pip install "rankwise[cli]"', file=sys.stderr)
    return 2
