"""Limits: the size of bodies, the number of rows, and the requests that a client may make in a second."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from dataclasses import dataclass

from rankwise.serve.problems import Problem

_MOST_CLIENTS = 10_000


@dataclass(frozen=True)
class Limits:
    """What a client may ask for."""

    body: int = 64 * 2**20  # bytes
    rows: int = 100_000  # of a JSON body; those of Arrow are bounded by the body
    rate: float = 0.0  # requests of one client in a second, 0 for any number; twice as many may come at once
    seconds: float = 30.0  # for a body to arrive

    def check_rows(self, n: int) -> None:
        """Refuse more rows than are allowed."""
        if n > self.rows:
            raise Problem(413, f"{n} rows in one request; at most {self.rows} are allowed. Send them in parts.")


class RateLimiter:
    """One token bucket per client; the least recently seen are forgotten. ``rate`` is in requests per second."""

    def __init__(self, rate: float) -> None:
        self.rate, self.burst = rate, max(1.0, 2 * rate)
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def check(self, client: str) -> None:
        """Count a request; refuse it if there were too many."""
        if not self.rate:
            return
        now = time.monotonic()
        left, seen = self._buckets.pop(client, (self.burst, now))
        left = min(self.burst, left + (now - seen) * self.rate)
        allowed = left >= 1.0
        self._buckets[client] = (left - 1.0 if allowed else left, now)
        if len(self._buckets) > _MOST_CLIENTS:
            self._buckets.popitem(last=False)
        if not allowed:
            seconds = math.ceil((1.0 - left) / self.rate)
            raise Problem(429, f"more than {self.rate:g} requests a second.", headers={"Retry-After": str(seconds)})
