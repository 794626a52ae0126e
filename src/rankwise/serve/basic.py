"""Tokens as passwords, for clients that know basic authentication only."""

from __future__ import annotations

import base64
import binascii

from rankwise.serve.gate import Headers, bearer_token, require_own_origin


def password_or_bearer(headers: Headers) -> str | None:
    """Token of a request: the password of basic authentication with any user name, or a bearer token.

    Browsers send passwords by themselves, so that pages of other sites are refused.
    """
    require_own_origin(headers)
    for key, value in headers:
        if key == b"authorization" and value[:6].lower() == b"basic ":
            try:
                return base64.b64decode(value[6:].strip(), validate=True).decode().partition(":")[2]
            except (binascii.Error, UnicodeDecodeError):
                return None
    return bearer_token(headers)
