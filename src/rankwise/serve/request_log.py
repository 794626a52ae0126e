"""The log of requests: who asked for what and what the answer was, one JSON object a line.

Headers, bodies and what stands behind a question mark are not logged: no token and no row gets into it.
"""

from __future__ import annotations

import json
import logging
import time
from pathlib import Path
from typing import Any

_LONGEST_PATH = 300  # characters of a path that are logged

log = logging.getLogger("rankwise.serve")


def moment(seconds: float) -> str:
    """A time as logs have it."""
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{int(seconds % 1 * 1000):03d}Z"


class RequestLog:
    """A file to which requests are appended; it can be opened anew after another program has moved it away."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = path.open("a", encoding="utf-8")
        self._works = True

    def reopen(self) -> None:
        """Write to the file that has the name now; if it cannot be opened, the one before is written on."""
        try:
            opened = self.path.open("a", encoding="utf-8")
        except OSError as error:
            log.error("the request log cannot be opened, the one before is written on: %s", error)
            return
        before, self._file = self._file, opened
        before.close()

    def write(self, *, client: str, status: int, path: str = "", **facts: Any) -> None:
        """Write a line; trouble with the file is logged once and stops no request."""
        entry = {"time": moment(time.time()), "client": client, "status": status, "path": path[:_LONGEST_PATH], **facts}
        try:
            self._file.write(json.dumps(entry, default=str) + "\n")
            self._file.flush()
        except OSError as error:
            if self._works:
                log.error("requests cannot be logged: %s", error)
            self._works = False
        else:
            self._works = True

    def close(self) -> None:
        """Close the file."""
        self._file.close()
