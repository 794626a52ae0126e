"""Rooms that no page of the API names get a place on the page that asks for the others."""

import re
from pathlib import Path
from typing import Any

import rankwise

_MARK = "<!-- other rooms -->"
_INSIDE = {"cli", "solvers"}  # documented as commands, or not meant for use from outside


def on_page_markdown(markdown: str, config: Any, **_: Any) -> str:
    """Put a reference for every room that is left where a page asks for it."""
    if _MARK not in markdown:
        return markdown
    pages = Path(config.docs_dir, "api").glob("*.md")
    named = {name for page in pages for name in re.findall(r"^::: rankwise\.(\w+)", page.read_text(), re.MULTILINE)}
    home = Path(rankwise.__file__).parent
    rooms = {path.parent.name for path in home.glob("*/__init__.py")} | {path.stem for path in home.glob("*.py")}
    left = sorted(room for room in rooms - named - _INSIDE if not room.startswith("_"))
    return markdown.replace(_MARK, "\n\n".join(f"## rankwise.{room}\n\n::: rankwise.{room}" for room in left))
