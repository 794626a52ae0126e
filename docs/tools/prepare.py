"""The pages that the site is built from: those of ``docs/``, with what is made from the code put in.

``python docs/tools/prepare.py DIRECTORY`` copies the pages there. Formulas become MathML, which browsers show without a
script and without a network; ``<!-- commands -->`` becomes the command reference, ``<!-- other packages -->`` the
packages that no page of the API names; examples with prompts are marked as such, so that they are copied without
them. The site builder then needs no code of ours.
"""

import html
import re
import shutil
import sys
from pathlib import Path

from command_reference import command_reference
from latex2mathml.converter import convert

import rankwise

DOCS = Path(__file__).resolve().parent.parent
_CODE = r"(?P<code>^ *```.*?^ *```|`[^`\n]+`)"
_FORMULA = re.compile(rf"{_CODE}|\$\$(?P<block>.+?)\$\$|\$(?P<inline>[^$\n]+)\$", re.DOTALL | re.MULTILINE)
_SESSION = re.compile(r"^( *)```python\n(?=\1>>> )", re.MULTILINE)
_MARKDOWN = re.compile(r"[_*\[\]|`\\~^]")  # characters that mean something in Markdown
_INSIDE = {"cli", "solvers"}  # documented as commands, or not meant for use from outside


def main(target: Path) -> None:
    """Write all pages into a directory, which is made anew."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(DOCS, target, ignore=shutil.ignore_patterns("*.py", "__pycache__", "tools"))
    for page in target.rglob("*.md"):
        page.write_text(prepared(page.read_text(encoding="utf-8")), encoding="utf-8")


def prepared(text: str) -> str:
    """A page with its formulas and all that is made from the code."""
    text = _SESSION.sub(r"\1```pycon\n", _FORMULA.sub(_mathml, text))
    if "<!-- commands -->" in text:
        text = text.replace("<!-- commands -->", command_reference())
    if "<!-- other packages -->" in text:
        packages = "\n\n".join(f"## rankwise.{name}\n\n::: rankwise.{name}" for name in _other_packages())
        text = text.replace("<!-- other packages -->", packages)
    return text


def _mathml(found: re.Match[str]) -> str:
    if found["code"]:
        return found["code"]
    latex = (found["block"] or found["inline"]).strip()
    formula = convert(latex, display="block" if found["block"] else "inline")
    if "\\" in html.unescape(formula):  # what the converter does not know it passes on
        raise ValueError(f"cannot show the formula {latex}")
    tags_and_texts = re.split(r"(<[^>]*>)", " ".join(formula.split()))
    plain = "".join(
        part if part.startswith("<") else _MARKDOWN.sub(lambda sign: f"&#{ord(sign[0])};", part)
        for part in tags_and_texts
    )
    return f'<div class="formula">{plain}</div>' if found["block"] else f'<span class="formula">{plain}</span>'


def _other_packages() -> list[str]:
    pages = (DOCS / "api").glob("*.md")
    named = {name for page in pages for name in re.findall(r"^::: rankwise\.(\w+)", page.read_text(), re.MULTILINE)}
    home = Path(rankwise.__file__).parent
    packages = {path.parent.name for path in home.glob("*/__init__.py")} | {path.stem for path in home.glob("*.py")}
    return sorted(name for name in packages - named - _INSIDE if not name.startswith("_"))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
