"""The command ``rankwise``."""

import sys

__all__ = ["main"]

_NEEDED = {"typer", "rich", "click"}


def main() -> None:
    """Run the command line; an error names the package to install if one is missing."""
    try:
        from rankwise.cli._app import app
    except ModuleNotFoundError as error:
        if error.name not in _NEEDED:
            raise
        print(f'rankwise: the command line needs {error.name}: pip install "rankwise[cli]"', file=sys.stderr)
        sys.exit(2)
    from rankwise.cli._exit import end_on_signals

    end_on_signals()
    app(prog_name="rankwise")
