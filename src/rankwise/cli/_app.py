"""The commands together. Each is a function in a file of its own in ``commands``; a new one is a file and a line below.

What a command needs is imported when it runs, so that ``--help``, ``--version`` and completion answer at once.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from io import TextIOWrapper
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

from rankwise._version import __version__
from rankwise._words import words_of_the_command
from rankwise.cli._exit import BAD_DATA, STOPPED, WRONG_USAGE, complain, in_words
from rankwise.cli.commands.annotate import annotate
from rankwise.cli.commands.compare import compare
from rankwise.cli.commands.convert import convert
from rankwise.cli.commands.demo import demo
from rankwise.cli.commands.evaluate import evaluate
from rankwise.cli.commands.explain import explain
from rankwise.cli.commands.fit import fit
from rankwise.cli.commands.info import info
from rankwise.cli.commands.label_studio import label_studio
from rankwise.cli.commands.predict import predict
from rankwise.cli.commands.refit import refit
from rankwise.cli.commands.report import report
from rankwise.cli.commands.reproduce import reproduce
from rankwise.cli.commands.serve import serve
from rankwise.cli.commands.simulate import simulate
from rankwise.cli.commands.store import export, import_, inspect, model
from rankwise.cli.commands.tune import tune

# Typer carries its own copy of click, or uses the installed one, depending on its version: this is the right one's.
_UsageError: Any = typer.BadParameter.__mro__[1]


#: What typer says of a value that is not of its type, and what we say.
_NOT_OF_ITS_TYPE = {
    "Value error, ": "",
    "Input should be a valid integer, unable to parse string as an integer": "a whole number is needed.",
    "Input should be a valid number, unable to parse string as a number": "a number is needed.",
}
#: What the help calls a value, by the name of its type; choices are listed.
_VALUES = {"integer": "N", "integer range": "N", "int range": "N", "int": "N", "float": "X", "float range": "X"}
_VALUES |= {"text": "TEXT", "str": "TEXT", "directory": "DIR", "dir": "DIR", "file": "FILE", "path": "PATH"}


def _named_values(parameters: list[Any], ctx: Any) -> list[Any]:
    """In the help, flags say no type, arguments have their names alone, and no value has a name of Python's types."""
    for parameter in parameters:
        if getattr(parameter, "is_flag", False):
            parameter.metavar = ""
        elif parameter.param_type_name == "argument":
            parameter.display_type = lambda ctx: None
        elif parameter.metavar is None:
            is_new = hasattr(parameter, "display_type")  # versions of typer without click
            kind = parameter.display_type(ctx).strip("<>") if is_new else parameter.type.name
            parameter.metavar = _VALUES.get(kind)
    return parameters


class _Command(TyperCommand):
    def get_params(self, ctx: Any) -> list[Any]:
        return _named_values(super().get_params(ctx), ctx)

    def invoke(self, ctx: Any) -> Any:
        with words_of_the_command({name for parameter in self.params for name in parameter.opts}):
            return super().invoke(ctx)


class _OneLineErrors(TyperGroup):
    """Group of commands that reports wrong usage in one line instead of a paragraph."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _named_values(super().get_params(ctx), ctx)

    def main(  # the signature is typer's
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> NoReturn:
        if isinstance(sys.stdout, TextIOWrapper):
            sys.stdout.reconfigure(errors="backslashreplace")  # names of files need not be UTF-8
        try:
            with words_of_the_command():
                code = super().main(args, prog_name, complete_var, False, windows_expand_args, **extra)
            sys.stdout.flush()
        except OSError as error:  # what happened to files has been told: this is the standard output
            if not isinstance(error, BrokenPipeError):  # whoever reads it has seen enough
                complain(in_words(error) if error.filename else f"the standard output: {error.strerror}.")
            with suppress(OSError):  # what is left of it would fail again when Python ends
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(BAD_DATA)
        except _UsageError as error:
            message = error.format_message()
            for typers, ours in _NOT_OF_ITS_TYPE.items():
                message = message.replace(typers, ours)
            complain(message)
            sys.exit(WRONG_USAGE)
        except typer.Abort:
            sys.exit(STOPPED)
        sys.exit(code if isinstance(code, int) else 0)


app = typer.Typer(
    cls=_OneLineErrors, pretty_exceptions_enable=False, help="Learn ordered answers from imprecise labels."
)
for command in (
    fit, tune, predict, evaluate, compare, explain, report, convert, simulate, annotate, info, serve, label_studio,
    refit, reproduce, demo,
):  # fmt: skip
    app.command(cls=_Command)(command)
store = typer.Typer(cls=_OneLineErrors, help="The log of a service as a table.", no_args_is_help=True)
store.command("inspect", cls=_Command)(inspect)
store.command("export", cls=_Command)(export)
store.command("model", cls=_Command)(model)
store.command("import", cls=_Command)(import_)
app.add_typer(store, name="store")


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"rankwise {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _rankwise(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(WRONG_USAGE)
