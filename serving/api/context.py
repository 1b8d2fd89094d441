"""What a route needs: the engine of its application, JSON in and out, the request's id."""

from __future__ import annotations

import hashlib
import re
import uuid
from typing import Any

import msgspec
import numpy as np
from flask import Response, current_app, request

from ..logs import REQUEST_ID
from ..model.engine import Engine
from ..model.watched import Watched

_ID = re.compile(r"[A-Za-z0-9._:@/-]{1,128}")


def engine() -> Engine:
    """The engine that answers this request."""
    found: Engine = current_app.extensions["driftline"]
    return found


def watched() -> Watched:
    """The watched model of this application, which need not be served by it."""
    found: Watched = current_app.extensions["driftline"]
    return found


def begin_request() -> None:
    """Takes the client's request id, if it is a harmless one, or makes one."""
    given = request.headers.get("X-Request-Id", "")
    REQUEST_ID.set(given if _ID.fullmatch(given) else uuid.uuid4().hex)


def request_id() -> str:
    """The id of this request."""
    return REQUEST_ID.get()


def limited(most: int) -> None:
    """Lets this request have a body of `most` bytes, or fewer where the settings say so."""
    request.max_content_length = min(most, request.max_content_length or most)


def reply(content: Any, status: int = 200) -> Response:
    """Strict JSON: a number that is not finite is null."""
    return raw_reply(msgspec.json.encode(content, enc_hook=_plain), status)


def raw_reply(body: bytes, status: int = 200) -> Response:
    """An answer that is JSON already."""
    return Response(body, status, mimetype="application/json")


def tagged(content: Any) -> Response:
    """As `reply`, with an ETag; 304 where the client has it already."""
    return tagged_raw(msgspec.json.encode(content, enc_hook=_plain))


def tagged_raw(body: bytes) -> Response:
    """As `tagged`, for JSON."""
    response = raw_reply(body)
    response.set_etag(hashlib.sha256(body).hexdigest()[:32])
    response.headers["Cache-Control"] = "no-cache"
    response.make_conditional(request)
    return response


def _plain(value: object) -> object:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    raise NotImplementedError(type(value))
