"""The page: one HTML file, a style and a script of its own; nothing comes from anywhere else."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from functools import cache
from html import escape
from importlib.resources import files
from urllib.parse import quote

from rankwise.serve.gate import Incoming, Reply

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:{blobs}; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


@cache
def static(name: str, package: str = "rankwise.serve") -> str:
    """A file that comes with a package."""
    return files(package).joinpath("static", name).read_text(encoding="utf-8")


def html(text: str, *, blobs: bool = False) -> Reply:
    """A page under the strict policy; with ``blobs`` it may show images and sounds that its script has fetched."""
    policy = _POLICY.format(blobs=" blob:; media-src blob:" if blobs else "")
    headers = [(b"content-security-policy", policy.encode()), (b"x-frame-options", b"DENY")]
    return Reply(text.encode(), media_type="text/html; charset=utf-8", headers=headers)


def shell(name: str) -> Reply:
    """The page of a model; the script fills it."""
    return html(static("page.html").replace("{{name}}", escape(name)).replace("{{path}}", escape(quote(name, safe=""))))


def listing(names: Iterable[str]) -> Reply:
    """Links to the pages of all models."""
    links = "".join(f'<li><a href="/models/{quote(name, safe="")}">{escape(name)}</a></li>' for name in sorted(names))
    return html(static("listing.html").replace("{{links}}", links))


def served(name: str, package: str = "rankwise.serve") -> Callable[[Incoming], Awaitable[Reply]]:
    """Endpoint that gives a style or a script of a page."""
    kind = {"css": "text/css", "js": "text/javascript", "json": "application/json"}[name.rpartition(".")[2]]

    async def give(request: Incoming) -> Reply:
        return Reply(static(name, package).encode(), media_type=f"{kind}; charset=utf-8")

    return give
