"""Errors as clients see them: status, code, message, field; never a traceback."""

from __future__ import annotations

import logging

from flask import Flask, Response, request
from werkzeug.exceptions import HTTPException

from driftline.metadata.errors import InputError, SettingError, StoreError

from .context import reply

log = logging.getLogger(__name__)

_CODES = {
    400: "bad_request",
    401: "unauthorized",
    404: "not_found",
    405: "method_not_allowed",
    413: "too_large",
    415: "unsupported_media_type",
    503: "unavailable",
}


class Refused(Exception):
    """A request that is answered with an error; carries all that the answer says."""

    def __init__(self, status: int, code: str, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.field = field


def error(status: int, code: str, message: str, field: str | None = None) -> Response:
    """The body of an error; in the protocol's own form where that is spoken."""
    if request.path == "/v2" or request.path.startswith("/v2/"):
        return reply({"error": message}, status)
    return reply({"error": {"code": code, "message": message, "field": field}}, status)


def register(app: Flask) -> None:
    """Every error of the application becomes such an answer."""
    register_own(app)
    app.register_error_handler(HTTPException, _http)
    app.register_error_handler(Exception, _unexpected)


def register_own(app: Flask) -> None:
    """Errors that only driftline raises; those of an application around it stay its own."""
    app.register_error_handler(Refused, _refused)
    app.register_error_handler(InputError, _input)
    app.register_error_handler(StoreError, _store)
    app.register_error_handler(SettingError, _setting)


def _refused(problem: Refused) -> Response:
    return error(problem.status, problem.code, problem.message, problem.field)


def _input(problem: InputError) -> Response:
    return error(422, "bad_input", problem.reason, problem.field or None)


def _store(problem: StoreError) -> Response:
    return error(503, "state_unavailable", str(problem))


def _setting(problem: SettingError) -> Response:
    # No client can mend it; who reads the message may tell somebody who can.
    log.error("a request cannot be answered under these settings: %s", problem)
    return error(503, "bad_setting", str(problem))


def _http(problem: HTTPException) -> Response:
    status = problem.code or 500
    response = error(status, _CODES.get(status, "error"), problem.description or problem.name)
    for name, value in problem.get_headers():
        if name.lower() not in ("content-type", "content-length"):
            response.headers[name] = value
    return response


def _unexpected(problem: Exception) -> Response:
    log.error("a request failed: %s", problem, exc_info=problem)
    return error(500, "internal", "The service failed to answer; its log says why.")
