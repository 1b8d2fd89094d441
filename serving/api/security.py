"""Who may ask: the bearer token, and headers that tell browsers to be careful."""

from __future__ import annotations

from flask import Flask, Response, request

from ..secret import Secret
from .errors import Refused
from .sign_in import signed_in

# Probes come from machines that hold no token.
OPEN = frozenset({"health.livez", "health.readyz", "v2.live", "v2.ready", "v2.model_ready"})


def ask(token: Secret) -> None:
    """Nothing, if the request carries the token.

    Raises:
        Refused: it does not.
    """
    scheme, _, given = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not token.matches(given.strip()):
        raise Refused(401, "unauthorized", "Authorization: Bearer <token> is wanted")


def register(app: Flask, token: Secret | None) -> None:
    """Asks every request but the probes for `token`, where there is one."""

    @app.before_request
    def check() -> None:
        # The pages send people to a form instead, and ask for themselves.
        if token is None or request.endpoint in OPEN or request.blueprint == "pages":
            return
        if not signed_in(token):
            ask(token)

    @app.after_request
    def careful(response: Response) -> Response:
        response.headers.setdefault("X-Content-Type-Options", "nosniff")
        response.headers.setdefault("X-Frame-Options", "DENY")
        response.headers.setdefault("Referrer-Policy", "no-referrer")
        response.headers.setdefault("Cache-Control", "no-store")
        if response.status_code == 401:
            response.headers["WWW-Authenticate"] = "Bearer"
        return response
