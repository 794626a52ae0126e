"""The command reference, made from the commands themselves."""

import re
from collections.abc import Iterator
from typing import Any

import typer

from rankwise.cli._app import app


def command_reference() -> str:
    """Markdown of all commands."""
    return "\n".join(_describe("rankwise", typer.main.get_command(app)))


def _describe(name: str, command: Any) -> Iterator[str]:
    """Heading, usage, help and parameters of a command, then its sub-commands."""
    children = getattr(command, "commands", None)
    if not children:
        shown = [parameter for parameter in command.params if not getattr(parameter, "hidden", False)]
        arguments = [_argument(parameter) for parameter in shown if parameter.param_type_name == "argument"]
        yield f"## `{name}`\n"
        yield f"```text\n{' '.join([name, '[OPTIONS]', *arguments])}\n```\n"
        yield _paragraphs(command.help) + "\n"
        if shown:
            yield "| parameter | what it does | default |\n|---|---|---|"
            yield from map(_row, shown)
            yield ""
    for child in sorted(children or {}):
        if not children[child].hidden:
            yield from _describe(f"{name} {child}", children[child])


def _argument(parameter: Any) -> str:
    name = (parameter.metavar or parameter.name.upper()).strip("[]")
    return name if parameter.required else f"[{name}]"


def _row(parameter: Any) -> str:
    names = ", ".join(f"`{option}`" for option in [*parameter.opts, *parameter.secondary_opts])
    if parameter.param_type_name == "argument":
        names = f"`{_argument(parameter)}`"
    value = parameter.default
    plain = not callable(value) and not any(value is nothing for nothing in (None, False)) and value != ()
    default = f"`{value}`" if plain and getattr(parameter, "show_default", True) else ""
    return f"| {names} | {_cell(getattr(parameter, 'help', None))} | {default} |"


def _paragraphs(text: str | None) -> str:
    """Help text as Markdown; paragraphs that are commands become code."""
    found = re.split(r"\n\s*\n", (text or "").replace("\b", "").strip())
    stripped = ["\n".join(line.strip() for line in paragraph.splitlines()) for paragraph in found]
    return "\n\n".join(f"```\n{part}\n```" if part.startswith("rankwise ") else part for part in stripped)


def _cell(text: str | None) -> str:
    return " ".join((text or "").split()).replace("|", "\\|")
