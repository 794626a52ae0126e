"""The chain of the log: the digest of each event covers the digest of the event before it.

Whoever changes, removes, adds or swaps events afterwards, or a disk that rots, breaks the chain at that place. The
chain is a property of the events alone: the same events in the same order have the same digests in every store.

The digest of an event is BLAKE2b (256 bits) of the digest before it, 32 zero bytes for the first, followed by the event
as a MessagePack array of its fields in the order of :data:`FIELDS`. It holds no secret: who may write the file can
write a new chain. Keep the digest of the last event elsewhere (``rankwise store inspect`` shows it) to see that too.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import msgspec

#: Fields of an event, in the order in which they are digested.
FIELDS = ("seq", "id", "at", "kind", "target", "label", "weight", "features", "context", "actor")
SIZE = 32  # bytes of a digest
GENESIS = bytes(SIZE)  # the digest before the first event

Event = tuple[int, str, float, str, int | None, str | None, float | None, str | None, str | None, str | None]

_encode = msgspec.msgpack.Encoder().encode


def link(before: bytes, event: Sequence[Any]) -> bytes:
    """Digest of an event that follows an event with the digest ``before``."""
    return blake2b(before + _encode(event), digest_size=SIZE).digest()


def fingerprint(*values: Any) -> bytes:
    """Digest of some plain values."""
    return blake2b(_encode(values), digest_size=SIZE).digest()


class Walk:
    """Follows a chain from the digest ``before`` its first event."""

    def __init__(self, before: bytes) -> None:
        self._before: tuple[bytes, ...] = (before,)

    @property
    def head(self) -> bytes:
        """Digest of the last event."""
        return self._before[0]

    def meets(self, event: Sequence[Any], digest: bytes | None) -> bytes | None:
        """Go to the next event; None if its digest is right, else the digest that the event would have.

        After a wrong digest the chain goes on from the digest that is kept, or from the one that is right: a damage is
        reported where it is and not once more behind. An event without a digest is taken as it is.
        """
        right = [link(before, event) for before in self._before]
        if digest is None or digest in right:
            self._before = (right[0] if digest is None else digest,)
            return None
        self._before = (digest, right[0])
        return right[0]
