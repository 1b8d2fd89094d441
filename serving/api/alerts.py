"""``/alerts``: what fires, what has been, what was given up; and who takes an alert on."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from itertools import chain
from typing import Annotated

import msgspec
from flask import Blueprint, Response, request
from msgspec import Meta, Struct

from driftline.metadata.errors import InputError

from ..alerts.alert import Alert
from ..evaluation.desk import Desk
from .context import limited, reply, tagged
from .errors import Refused
from .query import number

MOST_PAST = 1_000
MOST_BODY = 4096


class Word(Struct, frozen=True, forbid_unknown_fields=True):
    """The body of an acknowledgement: who takes the alert on."""

    by: Annotated[str, Meta(min_length=1, max_length=100, pattern=r"^[^\x00-\x1f\x7f]+$")]


_decode = msgspec.json.Decoder(Word).decode


def blueprint(desks: Callable[[], Iterable[Desk]]) -> Blueprint:
    """The routes over all `desks`, which are asked for once a request."""
    routes = Blueprint("alerts", __name__)

    @routes.get("/alerts")
    def alerts() -> Response:
        """Open alerts, past ones (``past``: how many at the most), dead letters, and the sinks."""
        most = number("past", 100, MOST_PAST)
        books = [desk.alerts for desk in desks()]
        past = sorted(chain.from_iterable(each.past() for each in books), key=_ended, reverse=True)
        opened = chain.from_iterable(each.open_alerts() for each in books)
        letters = chain.from_iterable(each.dead_letters() for each in books)
        return tagged(
            {
                "open": sorted(opened, key=lambda each: (each.opened, each.id), reverse=True),
                "past": past[:most],
                "dead_letters": sorted(letters, key=lambda each: each.at, reverse=True),
                "sinks": [
                    {"book": desk.book, **msgspec.to_builtins(each)}
                    for desk in desks()
                    for each in desk.alerts.health()
                ],
            }
        )

    @routes.post("/alerts/<alert_id>/acknowledge")
    def acknowledge(alert_id: str) -> Response:
        """Writes down who takes an open alert on; the first word counts."""
        if not request.is_json:
            raise Refused(415, "unsupported_media_type", "application/json is wanted", "body")
        limited(MOST_BODY)
        try:
            word = _decode(request.get_data())
        except msgspec.ValidationError as problem:
            reason, _, path = str(problem).partition(" - at `$")
            raise InputError(path.rstrip("`").lstrip(".") or "body", reason) from None
        except (msgspec.DecodeError, UnicodeDecodeError) as problem:
            raise Refused(400, "bad_json", f"not strict JSON: {problem}", "body") from None
        for desk in desks():
            found = desk.alerts.acknowledge(alert_id, word.by, time.time())
            if found is not None:
                return reply(found)
        raise Refused(404, "not_found", f"no open alert is {alert_id[:100]!r}", "id")

    return routes


def _ended(alert: Alert) -> float:
    return alert.opened.timestamp() if alert.until is None else alert.until.timestamp()
