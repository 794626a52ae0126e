"""A page that would ask another machine for a script, a style, a font or a picture stops the build."""

import re
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError

_REMOTE = re.compile(
    r"<(?:script|img|iframe|source|video|audio)\b[^>]*\bsrc=[\"']?(?:https?:)?//[^\s\"'>]+"
    r"|<link\b(?![^>]*rel=[\"']?(?:canonical|next|prev))[^>]*\bhref=[\"']?(?:https?:)?//[^\s\"'>]+",
    re.IGNORECASE,
)


def on_post_build(config: Any, **_: Any) -> None:
    """Look at every page that was built."""
    site = Path(config.site_dir)
    for page in sorted(site.rglob("*.html")):
        found = _REMOTE.search(page.read_text(encoding="utf-8"))
        if found:
            raise PluginError(f"{page.relative_to(site)} asks another machine: {found.group(0)}")
