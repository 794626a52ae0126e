"""The page: one HTML file, a style and a script of its own; nothing comes from anywhere else."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from html import escape
from importlib.resources import files
from urllib.parse import quote

from rankwise.serve.gate import Incoming, Reply

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = [(b"content-security-policy", _POLICY.encode()), (b"x-frame-options", b"DENY")]


@cache
def _file(name: str) -> str:
    return files("rankwise.serve").joinpath("static", name).read_text(encoding="utf-8")


def html(text: str) -> Reply:
    """A page under the strict policy."""
    return Reply(text.encode(), media_type="text/html; charset=utf-8", headers=list(_HEADERS))


def shell(name: str) -> Reply:
    """The page of a model; the script fills it."""
    return html(_file("page.html").replace("{{name}}", escape(name)).replace("{{path}}", escape(quote(name, safe=""))))


def listing(names: Iterable[str]) -> Reply:
    """Links to the pages of all models."""
    links = "".join(f'<li><a href="/models/{quote(name, safe="")}">{escape(name)}</a></li>' for name in sorted(names))
    return html(_file("listing.html").replace("{{links}}", links))


async def style(request: Incoming) -> Reply:
    """The page's style."""
    return Reply(_file("page.css").encode(), media_type="text/css; charset=utf-8")


async def script(request: Incoming) -> Reply:
    """The page's script."""
    return Reply(_file("page.js").encode(), media_type="text/javascript; charset=utf-8")
