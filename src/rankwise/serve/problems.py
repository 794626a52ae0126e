"""Errors as problem details (RFC 9457): type, title, status, detail, and the rows and columns to blame."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Any

import msgspec

from rankwise._errors import RowError
from rankwise.serve.engine import UnknownError
from rankwise.serve.store_file import is_damaged
from rankwise.serve.writer import BusyError, ConflictError, KeyReuseError

MEDIA_TYPE = "application/problem+json"
_ABOUT = "https://www.rfc-editor.org/rfc/rfc9110#status."


class Problem(Exception):  # noqa: N818 - the standard's word
    """An answer that is an error: what is wrong, where, the rule and the value found.

    ``errors`` are the rows and columns to blame, ``{"row": 3, "column": "age", "detail": ...}``.
    """

    def __init__(
        self, status: int, detail: str, errors: Iterable[Mapping[str, Any]] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(detail)
        self.status, self.detail, self.errors = status, detail, list(errors)
        self.headers = dict(headers or {})

    def body(self, request_id: str) -> bytes:
        """The answer's body."""
        content: dict[str, Any] = {
            "type": f"{_ABOUT}{self.status}",
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "detail": self.detail,
            "instance": f"urn:request:{request_id}",
        }
        if self.errors:
            content["errors"] = self.errors
        return msgspec.json.encode(content)


def _place_in(message: str) -> list[dict[str, Any]]:
    """Row and column that a message of msgspec names."""
    match = re.search(r"\$\.rows\[(\d+)\](?:\.(\w+))?", message)
    if match is None:
        return []
    row, column = int(match[1]), match[2]
    place = {"row": row} if column is None else {"row": row, "column": column}
    return [{**place, "detail": message.partition(" - at ")[0]}]


def problem_of(error: BaseException) -> Problem | None:
    """The answer to an error that a client can understand; None for a bug of the service."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, RowError):
        place = {"row": error.row} if error.column is None else {"row": error.row, "column": str(error.column)}
        return Problem(422, str(error), [{**place, "detail": error.reason}])
    if isinstance(error, msgspec.ValidationError):
        return Problem(422, f"the body is not as it should be: {error}.", _place_in(str(error)))
    if isinstance(error, msgspec.DecodeError):
        return Problem(400, f"the body is not JSON: {error}.")
    if isinstance(error, (ConflictError, KeyReuseError)):
        return Problem(409, str(error))
    if isinstance(error, UnknownError):
        return Problem(404, str(error.args[0]))
    if isinstance(error, BusyError):
        return Problem(503, str(error), headers={"Retry-After": "1"})
    if isinstance(error, sqlite3.Error):
        if is_damaged(error):
            return Problem(500, "the store is damaged; its log says more. Nothing was written.")
        is_full = "full" in str(error)
        return Problem(507 if is_full else 503, f"nothing was written: {error}.", headers={"Retry-After": "5"})
    if isinstance(error, (RecursionError, UnicodeError)):
        return Problem(400, "the body cannot be read: it is nested too deeply, or not UTF-8.")
    return None
