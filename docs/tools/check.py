"""Look at the pages that were built: ``python docs/tools/check.py DIRECTORY``.

A page that would ask another machine for a script, a style, a font or a picture is refused, and so is a reference to a
name that was not resolved.
"""

import re
import sys
from pathlib import Path

_REMOTE = re.compile(
    r"<(?:script|img|iframe|source|video|audio)\b[^>]*\bsrc=[\"']?(?:https?:)?//[^\s\"'>]+"
    r"|<link\b(?![^>]*rel=[\"']?(?:canonical|next|prev))[^>]*\bhref=[\"']?(?:https?:)?//[^\s\"'>]+",
    re.IGNORECASE,
)
_ROLE = re.compile(r":(?:class|func|meth|mod|attr|data):<code>[^<]+</code>")


def main(site: Path) -> str | None:
    """Message about the first page that is not as it should be; None if all are."""
    pages = sorted(site.rglob("*.html"))
    if not pages:
        return f"no pages in {site}"
    for page in pages:
        text = page.read_text(encoding="utf-8")
        if found := _REMOTE.search(text):
            return f"{page.relative_to(site)} asks another machine: {found[0]}"
        if found := _ROLE.search(text):
            return f"{page.relative_to(site)} shows a reference as it was written: {found[0]}"
    return None


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
