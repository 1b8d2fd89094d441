"""``GET /openapi.json``: this very service, described from its own code."""

from __future__ import annotations

import msgspec
from flask import Blueprint, Response, current_app

from ..openapi.document import document
from .context import engine, tagged_raw


def blueprint(*, token: bool) -> Blueprint:
    """The route; `token` says whether the service asks for one."""
    routes = Blueprint("openapi", __name__)
    told: dict[int, bytes] = {}

    @routes.get("/openapi.json")
    def openapi() -> Response:
        """The description in OpenAPI 3.1."""
        served = engine()
        if id(served) not in told:
            app = current_app._get_current_object()  # type: ignore[attr-defined]
            body = msgspec.json.encode(document(app, served, token=token))
            # Only of the engine that serves now: after a reload there is another one.
            told.clear()
            told[id(served)] = body
        return tagged_raw(told[id(served)])

    return routes
