"""Tokens: who may do what, from a file that may change while the service runs.

A line of the file is a role and a token, with a name behind it if you like::

    # role  token                               name
    learn   Zm9vYmFyYmF6cXV4MTIzNDU2            annotators
    admin   sha256:9f86d081884c7d659a2feaa0...  me

A role includes those before it: ``read`` (model, versions, metrics), ``predict``, ``learn`` (feedback), ``admin``
(corrections, versions). A line may hold the SHA-256 of a token instead, so that the file holds no secret.
"""

from __future__ import annotations

import hmac
import logging
import time
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

ROLES = ("read", "predict", "learn", "admin")
SHORTEST = 16  # characters of a token

log = logging.getLogger("rankwise.serve")


class TokenFileError(ValueError):
    """A token file that cannot be used; the message names the line and never quotes a token."""


class Tokens:
    """Tokens of a file, which is read again when it changes.

    With ``alone``, a line may also be a token alone, which then has this role.
    """

    def __init__(self, path: Path, alone: str | None = None) -> None:
        self.path, self.alone = path, alone
        self._looked = 0.0
        self._stamp: tuple[int, int, int] = (0, 0, 0)
        self._known: list[tuple[bytes, int, str]] = []
        self._is_refused = False  # whether the file as it is now cannot be used
        self._read()

    def role_of(self, token: str | None) -> tuple[int, str]:
        """Rank of the role of a token among ``ROLES`` and its name; -1 if it is unknown.

        All tokens are compared, each in constant time.
        """
        self._look()
        digest = sha256((token or "").encode("utf-8", "surrogateescape")).digest()
        owner = (-1, "")
        for known, role, name in self._known:
            if hmac.compare_digest(known, digest):
                owner = (role, name)
        return owner

    def _look(self) -> None:
        now = time.monotonic()
        if now - self._looked < 1.0:
            return
        self._looked = now
        with suppress(OSError):  # such as a file that is being replaced
            if self._current_stamp() != self._stamp:
                self.reload()

    def reload(self) -> None:
        """Read the file again; if it cannot be used, say so, and the tokens before stay valid."""
        try:
            self._read()
            level = logging.WARNING if self._is_refused else logging.INFO  # who read of the trouble reads of its end
            self._is_refused = False
            log.log(level, "tokens read again", extra={"facts": {"tokens": len(self._known)}})
        except (OSError, TokenFileError) as error:  # such as a file half written
            self._is_refused = True
            log.error("the token file cannot be used, the tokens before hold: %s", error)

    def _current_stamp(self) -> tuple[int, int, int]:
        status = self.path.stat()
        return status.st_mtime_ns, status.st_size, status.st_ino

    def _read(self) -> None:
        self._stamp = self._current_stamp()
        try:
            lines = self.path.read_text(encoding="utf-8").splitlines()
        except UnicodeDecodeError:
            raise TokenFileError(f"{self.path} is not UTF-8.") from None
        known = []
        for number, line in enumerate(lines, 1):
            words = line.split()
            if not words or words[0].startswith("#"):
                continue
            if self.alone is not None and len(words) == 1:
                words.insert(0, self.alone)
            if len(words) < 2 or words[0] not in ROLES:
                raise TokenFileError(f"{self.path}, line {number}: a line is a role ({', '.join(ROLES)}) and a token.")
            known.append((_digest(words[1], f"{self.path}, line {number}"), ROLES.index(words[0]), " ".join(words[2:])))
        if not known:
            raise TokenFileError(f"{self.path} holds no token.")
        self._known = known


def _digest(token: str, where: str) -> bytes:
    if token.startswith("sha256:"):
        try:
            digest = bytes.fromhex(token[7:])
        except ValueError:
            digest = b""
        if len(digest) != 32:
            raise TokenFileError(f"{where}: sha256: needs 64 hexadecimal digits.")
        return digest
    if len(token) < SHORTEST:
        raise TokenFileError(f"{where}: a token needs at least {SHORTEST} characters.")
    return sha256(token.encode()).digest()
