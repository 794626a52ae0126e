"""The command reference, made from the commands themselves while the pages are built."""

import re
from collections.abc import Iterator
from typing import Any

import typer

from rankwise.cli._app import app

_MARK = "<!-- commands -->"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put the reference where a page asks for it."""
    if _MARK not in markdown:
        return markdown
    root = typer.main.get_command(app)
    return markdown.replace(_MARK, "\n".join(_describe("rankwise", root)))


def _describe(name: str, command: Any) -> Iterator[str]:
    """Heading, usage, help and parameters of a command, then its sub-commands."""
    children = getattr(command, "commands", None)
    if not children:
        context = typer.Context(command, info_name=name)
        yield f"## `{name}`\n"
        yield f"```text\n{' '.join([name, *command.collect_usage_pieces(context)])}\n```\n"
        yield _paragraphs(command.help) + "\n"
        rows = [_row(parameter) for parameter in command.params if not getattr(parameter, "hidden", False)]
        if rows:
            yield "| parameter | what it does | default |\n|---|---|---|"
            yield from rows
            yield ""
    for child in sorted(children or {}):
        if not children[child].hidden:
            yield from _describe(f"{name} {child}", children[child])


def _row(parameter: Any) -> str:
    names = ", ".join(f"`{option}`" for option in [*parameter.opts, *parameter.secondary_opts])
    if parameter.param_type_name == "argument":
        names = f"`{parameter.metavar or parameter.name.upper()}`"
    shown = getattr(parameter, "show_default", True) and parameter.default not in (None, False, ())
    default = f"`{parameter.default}`" if shown and not callable(parameter.default) else ""
    return f"| {names} | {_cell(getattr(parameter, 'help', None))} | {default} |"


def _paragraphs(text: str | None) -> str:
    return re.sub(r"[ \t]*\n[ \t]*", "\n", (text or "").replace("\b", "")).strip()


def _cell(text: str | None) -> str:
    return " ".join((text or "").split()).replace("|", "\\|")
