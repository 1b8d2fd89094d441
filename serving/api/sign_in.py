"""Signing in: people give the token once in a form, and the browser keeps a cookie for them.

The cookie is not the token, and cannot be turned into it; nobody has to remember it, so it works
with any worker. Programs go on sending ``Authorization: Bearer``.
"""

from __future__ import annotations

import hashlib
import hmac
from urllib.parse import urlsplit

from flask import Response, request

from ..secret import Secret

COOKIE = "driftline_session"
SECONDS = 7 * 86_400
_SAFE = ("GET", "HEAD", "OPTIONS")


def signed_in(token: Secret) -> bool:
    """True when this request comes from a browser that was signed in, and, if it changes
    anything, from one of our own pages."""
    given = request.cookies.get(COOKIE, "")
    if not given or not hmac.compare_digest(given.encode(), _value(token).encode()):
        return False
    return request.method in _SAFE or from_here()


def from_here() -> bool:
    """True when the browser says that a page of this very host sent the request.

    Cookies are shared by all ports of a host, so SameSite alone does not tell.
    """
    origin = request.headers.get("Origin", "")
    return bool(origin) and urlsplit(origin).netloc == request.host


def sign_in(response: Response, token: Secret) -> Response:
    """The response, with the cookie."""
    response.set_cookie(
        COOKIE,
        _value(token),
        max_age=SECONDS,
        httponly=True,
        samesite="Strict",
        secure=request.is_secure,
    )
    return response


def sign_out(response: Response) -> Response:
    """The response, which takes the cookie away."""
    response.delete_cookie(COOKIE, httponly=True, samesite="Strict", secure=request.is_secure)
    return response


def _value(token: Secret) -> str:
    return hmac.new(token.reveal().encode(), b"driftline pages", hashlib.sha256).hexdigest()
