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

SECONDS = 7 * 86_400
_SAFE = ("GET", "HEAD", "OPTIONS")


def signed_in(token: Secret) -> bool:
    """True when this request comes from a browser that was signed in, and, if it changes
    anything, from one of our own pages."""
    given = request.cookies.get(_name(token), "")
    if not given or not hmac.compare_digest(given.encode(), _value(token).encode()):
        return False
    return request.method in _SAFE or from_here()


def from_here() -> bool:
    """True when the browser says that a page of this very host sent the request.

    Cookies are shared by all ports of a host, so SameSite alone does not tell.
    """
    if site := request.headers.get("Sec-Fetch-Site"):
        return site == "same-origin"
    # Browsers say the above to this machine and over TLS only.
    origin = request.headers.get("Origin", "")
    return bool(origin) and urlsplit(origin).netloc == request.host


def sign_in(response: Response, token: Secret) -> Response:
    """The response, with the cookie."""
    response.set_cookie(
        _name(token),
        _value(token),
        max_age=SECONDS,
        httponly=True,
        samesite="Strict",
        secure=request.is_secure,
    )
    return response


def sign_out(response: Response, token: Secret) -> Response:
    """The response, which takes the cookie away."""
    name = _name(token)
    response.delete_cookie(name, httponly=True, samesite="Strict", secure=request.is_secure)
    return response


def _name(token: Secret) -> str:
    """Services on one host share their cookies: those of different tokens stand side by side."""
    return f"driftline_{_made(token, b'driftline cookie')[:8]}"


def _value(token: Secret) -> str:
    return _made(token, b"driftline pages")


def _made(token: Secret, use: bytes) -> str:
    return hmac.new(token.reveal().encode(), use, hashlib.sha256).hexdigest()
