"""Formulas as MathML, made while the pages are built: browsers show it without a script and without a network."""

import html
import re
from typing import Any

from latex2mathml.converter import convert
from mkdocs.exceptions import PluginError

_INLINE = re.compile(r'<span class="arithmatex">\\\((.*?)\\\)</span>', re.DOTALL)
_DISPLAY = re.compile(r'<div class="arithmatex">\s*\\\[(.*?)\\\]\s*</div>', re.DOTALL)


def on_page_content(content: str, **_: Any) -> str:
    """Replace what the Markdown extension marked as LaTeX."""
    content = _INLINE.sub(lambda found: _mathml(found, "inline"), content)
    return _DISPLAY.sub(lambda found: f'<div class="formula">{_mathml(found, "block")}</div>', content)


def _mathml(found: re.Match[str], display: str) -> str:
    latex = html.unescape(found.group(1)).strip()
    result = str(convert(latex, display=display))
    if "\\" in result:  # what the converter does not know it passes on
        raise PluginError(f"cannot show the formula {latex}")
    return result
