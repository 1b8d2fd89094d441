"""What a route needs: the engine of its application, JSON in and out, the request's id."""

from __future__ import annotations

import hashlib
import os
import re
import time
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
    REQUEST_ID.set(given if _ID.fullmatch(given) else new_request_id())


def new_request_id() -> str:
    """A UUID of version 7 (RFC 9562, 5.7), 32 hexadecimal digits: the time first, then chance.

    Claims wait for labels in an index over these ids. Ids that grow with time touch a few pages of
    it with each second's requests; ids of chance alone touch one page each.
    """
    milliseconds, chance = time.time_ns() // 1_000_000, int.from_bytes(os.urandom(10), "big")
    version = chance & ~(0xF << 76) & ~(0x3 << 62) | 0x7 << 76 | 0x2 << 62
    return f"{milliseconds << 80 | version:032x}"


def request_id() -> str:
    """The id of this request."""
    return REQUEST_ID.get()


def for_the_route() -> bool:
    """Whether this request is the route's own to answer, and no OPTIONS that Flask answers for it:
    a browser's question beforehand, of no work and never a failure."""
    if request.url_rule is None:
        return False
    by_flask = getattr(request.url_rule, "provide_automatic_options", False)
    return not (request.method == "OPTIONS" and by_flask)


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
