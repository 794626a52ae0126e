"""What pages of raters send, as types."""

from __future__ import annotations

from typing import Annotated

import msgspec

from rankwise.serve.messages import Id

Rater = Annotated[
    str, msgspec.Meta(min_length=1, max_length=100, pattern=r"^[^\x00-\x1f\x7f]*[^\s\x00-\x1f\x7f][^\x00-\x1f\x7f]*$")
]
Seconds = Annotated[float, msgspec.Meta(ge=0.0, le=86_400.0)]
Note = Annotated[str, msgspec.Meta(max_length=5000)]
AnswerId = Annotated[str, msgspec.Meta(min_length=1, max_length=400)]


class RaterBody(msgspec.Struct, forbid_unknown_fields=True):
    """Who asks; where tokens are used, they say it."""

    rater: Rater | None = None


class AnswerBody(RaterBody, forbid_unknown_fields=True, kw_only=True):
    """An answer: codes of the classes that are possible; none, if the rater cannot tell."""

    id: AnswerId
    item: Id
    admitted: list[int]
    seconds: Seconds
    note: Note = ""


class UndoBody(RaterBody, forbid_unknown_fields=True, kw_only=True):
    """An answer to take back."""

    id: AnswerId


NEXT = msgspec.json.Decoder(RaterBody)
ANSWER = msgspec.json.Decoder(AnswerBody)
UNDO = msgspec.json.Decoder(UndoBody)
