"""Cross-references in docstrings, written as ``:func:`name```, as links within the site."""

import re
from typing import Any

import rankwise

_ROLE = re.compile(r":(?:class|func|meth|mod|attr|data):<code>(~?)([\w.]+)</code>")


def on_page_content(content: str, **_: Any) -> str:
    """Turn roles into references that the autorefs plugin resolves; names outside the site stay plain code."""
    return _ROLE.sub(_reference, content)


def _reference(found: re.Match[str]) -> str:
    short, name = found.groups()
    shown = name.rpartition(".")[2] if short else name
    package, _, rest = name.partition(".")
    first, dot, member = rest.partition(".")
    if package == "rankwise" and first in rankwise._HOME:  # the flat name of what is documented in its package
        name = f"{rankwise._HOME[first]}.{first}{dot}{member}"
    return f'<autoref identifier="{name}" optional><code>{shown}</code></autoref>'
