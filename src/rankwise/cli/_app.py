"""All commands. To add one, write a function in a file of its own in ``commands``, and a line below.

Commands import what they need when they run, so that ``--help``, ``--version`` and completion are fast.
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
from rankwise.cli.commands.store import agreement, export, import_, inspect, model, repair
from rankwise.cli.commands.tune import tune

# Depending on its version, typer has its own copy of click or uses the installed one: this finds the right class.
_UsageError: Any = typer.BadParameter.__mro__[1]

#: Messages of typer about values of a wrong type, and ours.
_NOT_OF_ITS_TYPE = {
    "Value error, ": "",
    "Input should be a valid integer, unable to parse string as an integer": "a whole number is needed.",
    "Input should be a valid number, unable to parse string as a number": "a number is needed.",
}
#: Name of a value in the help, by its type; choices are listed.
_VALUES = {"integer": "N", "integer range": "N", "int range": "N", "int": "N", "float": "X", "float range": "X"}
_VALUES |= {"text": "TEXT", "str": "TEXT", "directory": "DIR", "dir": "DIR", "file": "FILE", "path": "PATH"}


class _NamedValues:
    """In the help, flags show no type, arguments only their names, and values no names of Python's types."""

    def get_params(self, ctx: Any) -> list[Any]:
        parameters: list[Any] = super().get_params(ctx)  # type: ignore[misc]
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


class _Command(_NamedValues, TyperCommand):
    def invoke(self, ctx: Any) -> Any:
        with words_of_the_command({name for parameter in self.params for name in parameter.opts}):
            return super().invoke(ctx)


class _OneLineErrors(_NamedValues, TyperGroup):
    """Group of commands that reports wrong usage in one line instead of a paragraph."""

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
        except OSError as error:  # commands report errors of files: this is the standard output
            if not isinstance(error, BrokenPipeError):  # the reader has closed it
                complain(in_words(error) if error.filename else f"the standard output: {error.strerror}.")
            with suppress(OSError):  # flushing the rest would fail again when Python ends
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
store.command("agreement", cls=_Command)(agreement)
store.command("export", cls=_Command)(export)
store.command("model", cls=_Command)(model)
store.command("repair", cls=_Command)(repair)
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
