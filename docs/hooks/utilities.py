"""Packages that no page of the API names are documented on the page of utilities."""

import re
from pathlib import Path
from typing import Any

import rankwise

_MARK = "<!-- other packages -->"
_INSIDE = {"cli", "solvers"}  # documented as commands, or not meant for use from outside


def on_page_markdown(markdown: str, config: Any, **_: Any) -> str:
    """Put a reference for every package that has no page where a page asks for it."""
    if _MARK not in markdown:
        return markdown
    pages = Path(config.docs_dir, "api").glob("*.md")
    named = {name for page in pages for name in re.findall(r"^::: rankwise\.(\w+)", page.read_text(), re.MULTILINE)}
    home = Path(rankwise.__file__).parent
    packages = {path.parent.name for path in home.glob("*/__init__.py")} | {path.stem for path in home.glob("*.py")}
    left = sorted(name for name in packages - named - _INSIDE if not name.startswith("_"))
    return markdown.replace(_MARK, "\n\n".join(f"## rankwise.{name}\n\n::: rankwise.{name}" for name in left))
