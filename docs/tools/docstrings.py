"""Docstrings as the API pages show them: a Griffe extension, named in ``mkdocs.yml``.

Cross-references written as ``:func:`name``` become links within the site. Parameters that are described together are
listed one by one, each with the default of its own, and types stay the words they are: Griffe gives all parameters of a
group the default of the first, reads "array-like" as a difference, and takes the first of several choices for the
default.
"""

import re
from typing import Any

from griffe import Extension

import rankwise

_ROLE = re.compile(r":(?:class|func|meth|mod|attr|data):`(~?)([\w.]+)`")
_SECTION = re.compile(r"^(Parameters|Other Parameters|Attributes)\n-+\n", re.MULTILINE)
_NEXT_SECTION = re.compile(r"^\w[\w ]*\n-{3,}\n", re.MULTILINE)
_ENTRY = re.compile(
    r"^(?P<names>\*{0,2}\w+(?:, \*{0,2}\w+)*)(?: : (?P<type>.*))?\n(?P<text>(?:[ \t]+.*\n?|\n)*)", re.MULTILINE
)
_DEFAULT = re.compile(r",? (?:default[ =:].*|optional)$")


class Docstrings(Extension):
    """Rewrite the docstring of every class and function before it is shown."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        """Called by Griffe for every object, after all are read."""
        if obj.docstring:
            obj.docstring.value = _links(_one_by_one(obj.docstring.value, _defaults(obj)))


def _defaults(obj: Any) -> dict[str, str | None]:
    """Default of every parameter, as the source has it; none where there is none."""
    function = obj.members.get("__init__") if obj.is_class else obj
    return {p.name: None if p.default is None else str(p.default) for p in getattr(function, "parameters", ())}


def _one_by_one(text: str, defaults: dict[str, str | None]) -> str:
    for section in reversed(list(_SECTION.finditer(text))):
        following = _NEXT_SECTION.search(text, section.end())
        end = following.start() if following else len(text)
        together = section[1] == "Attributes"  # they have no defaults
        entries = _ENTRY.sub(lambda found, t=together: _apart(found, defaults, t), text[section.end() : end])
        text = text[: section.end()] + entries + text[end:]
    return text


def _apart(found: re.Match[str], defaults: dict[str, str | None], together: bool) -> str:
    names = [found["names"]] if together else found["names"].split(", ")
    said = _DEFAULT.sub("", found["type"] or "")
    entries = []
    for name in names:
        default = defaults.get(name.lstrip("*"))
        kind = _as_words(said) + (f", default {default}" if default else "")
        entries.append(f"{name} : {kind}\n{found['text']}" if kind else f"{name}\n{found['text']}")
    return "".join(entry if entry.endswith("\n") else entry + "\n" for entry in entries)


def _as_words(kind: str) -> str:
    """A type that Griffe cannot take for Python: a space and a hyphen that Python does not know."""
    kind = re.sub(r"^\{(.*?)\}", r"one of \1", kind).replace("array-like", "array\N{NON-BREAKING HYPHEN}like")
    return kind.replace(" ", "\N{NO-BREAK SPACE}", 1)


def _links(text: str) -> str:
    """Roles as references that the autorefs plugin resolves; names outside the site stay plain code."""
    return _ROLE.sub(_reference, text)


def _reference(found: re.Match[str]) -> str:
    short, name = found.groups()
    shown = name.rpartition(".")[2] if short else name
    package, _, rest = name.partition(".")
    first, dot, member = rest.partition(".")
    if package == "rankwise" and first in rankwise._HOME:  # the flat name of what is documented in its package
        name = f"{rankwise._HOME[first]}.{first}{dot}{member}"
    return f'<autoref identifier="{name}" optional><code>{shown}</code></autoref>'
