"""Server-sent events: every listener gets the newest state; slow listeners skip some."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec

_MOST_LISTENERS = 100


class EventHub:
    """Sends a state to all listeners, at most every so many seconds, and only if somebody listens."""

    def __init__(self, state: Callable[[], Any], every: float = 0.5) -> None:
        self.state, self.every = state, every
        self.n_listeners = 0
        self._changed = asyncio.Event()
        self._version = 0
        self._closed = False
        self._message = b""
        self._at = -1.0
        self._made = -1

    def changed(self) -> None:
        """Announce a new state; called in the thread of the event loop."""
        self._version += 1
        self._changed.set()

    def close(self) -> None:
        """End all streams."""
        self._closed = True
        self._changed.set()

    @property
    def is_full(self) -> bool:
        """Whether no more listeners are allowed."""
        return self.n_listeners >= _MOST_LISTENERS

    async def stream(self) -> AsyncIterator[bytes]:
        """Events for one listener: the state now, and again after changes; a comment when nothing happens."""
        self.n_listeners += 1
        try:
            seen = -1
            while not self._closed:
                if self._version != seen:
                    message = self._rendered()
                    seen = self._made  # which may be older than the last change: then there is more to send
                    yield message
                    await asyncio.sleep(self.every)
                    continue
                self._changed.clear()
                try:
                    await asyncio.wait_for(self._changed.wait(), 15.0)
                except TimeoutError:
                    yield b": still here\n\n"
        finally:
            self.n_listeners -= 1

    def _rendered(self) -> bytes:
        now = asyncio.get_running_loop().time()
        if self._made != self._version and now - self._at >= self.every / 2:  # one text for all listeners
            self._message = b"data: " + msgspec.json.encode(self.state()) + b"\n\n"
            self._at, self._made = now, self._version
        return self._message
