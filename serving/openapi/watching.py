"""Drift, alerts, metrics, and the pages."""

from __future__ import annotations

from driftline.metadata.signals import GROUPS

from ..api.alerts import MOST_PAST
from ..api.drift import MOST_POINTS
from ..model.engine import Engine
from .parts import (
    ANYTHING,
    FLAG,
    NUMBER,
    TEXT,
    TIME,
    WHOLE,
    Json,
    Operation,
    answers,
    body,
    many,
    operation,
    path,
    query,
    ref,
    thing,
    upto,
)

PAGE = "text/html; charset=utf-8"
LANGUAGE = query("lang", {"enum": ["en", "zh"]}, "The language.")
# Pages are for people: what they cannot read they pass over.
PAGE_LANGUAGE = query("lang", TEXT, "The language, en or zh; else the one the browser prefers.")
PAST: Json = {"type": "string", "format": "date-time"}
STATE: Json = {"enum": ["no_data", "stable", "warning", "drift", None]}
TOGETHER = thing(
    name=TEXT,
    group={"enum": list(GROUPS)},
    state=STATE,
    evidence=NUMBER,
    distance=NUMBER,
    moved={"type": "object"},
    sentence=TEXT,
)
SIGNAL = thing(name=TEXT, group={"enum": list(GROUPS)}, state=STATE, evidence=NUMBER, sentence=TEXT)


def operations(engine: Engine) -> dict[str, Operation]:
    """By endpoint."""
    names: Json = {"enum": [each.name for each in engine.metadata.reference.signals]}
    return {
        "drift.drift": operation(
            answers(_drift(), 304, 404, 422, 503),
            query("signal", names, "Only this signal."),
            query("group", {"enum": list(GROUPS)}, "Only this group's signals."),
            query("from", PAST, "Judge anew the buckets from this time on."),
            query("to", PAST, "Judge anew the buckets that begin before this time."),
        ),
        "drift.signal": operation(
            answers(thing(name=TEXT, group=TEXT, cells=ANYTHING, moments=ANYTHING), 304, 404, 503),
            path("name", names),
        ),
        "drift.timeline": operation(
            answers(thing(points=many(_point()), next=WHOLE), 422, 503),
            query("after", upto(2**62), "The `next` of the answer before."),
            query("limit", upto(MOST_POINTS), "Points at the most."),
        ),
        "refresh.refresh": operation(_refresh(), takes=body(ref("Refresh"))),
        "alerts.alerts": operation(
            answers(_alerts(), 304, 422, 503),
            query("past", upto(MOST_PAST), "Past alerts at the most."),
        ),
        "alerts.acknowledge": operation(
            answers(ref("Alert"), 400, 404, 413, 415, 422, 503),
            path("alert_id", {"type": "string", "minLength": 1, "pattern": "^[^/]+$"}),
            takes=body(ref("Word")),
        ),
        "metrics.metrics": _metrics(),
        **_pages(),
    }


def _drift() -> Json:
    window = thing(**{"from": TIME, "to": TIME, "requests": WHOLE})
    health = thing(store=TEXT, evaluator=TEXT, alerts=TEXT, dropped={"type": "object"})
    return thing(
        model=thing(name=TEXT, version=TEXT),
        state=STATE,
        since=TIME,
        window=window,
        evidence=NUMBER,
        false_alarm=thing(at_most=TEXT),
        signals=many(SIGNAL),
        multivariates=many(TOGETHER),
        confidence={"type": "object"},
        latency={"type": "object"},
        accuracy={"type": ["object", "null"]},
        sensitivity={"type": ["object", "null"]},
        health=health,
    )


def _refresh() -> Json:
    told = answers(thing(path=TEXT, digest=TEXT, note=TEXT), 400, 413, 415, 422, 503)
    refused = "The traffic makes no reference, or the name is taken."
    content = told["422"]["content"]
    return {"201": told.pop("200"), "409": {"description": refused, "content": content}, **told}


def _point() -> Json:
    return thing(at=TIME, state=STATE, evidence=NUMBER, onset=TIME, signals={"type": "object"})


def _alerts() -> Json:
    several = many(ref("Alert"))
    return thing(open=several, past=several, dead_letters=many(ANYTHING), sinks=many(ANYTHING))


def _metrics() -> Operation:
    told = answers(TEXT, 503, media="text/plain")
    told["200"]["content"]["application/openmetrics-text"] = {"schema": TEXT}
    return operation(told)


def _pages() -> dict[str, Operation]:
    page = answers(TEXT, media=PAGE) | {"302": {"description": "Sign in, or go on."}}
    form = thing(("token", "next"), token=TEXT, next=TEXT)
    signing = {"302": {"description": "Signed in."}}
    signing |= {"401": page["200"]} | answers(TEXT, 400, media=PAGE)
    return {
        "pages.drift": operation(page, PAGE_LANGUAGE),
        "pages.training": operation(page, PAGE_LANGUAGE),
        "pages.sign_in_form": operation(
            page, PAGE_LANGUAGE, query("next", TEXT, "Where to go then.")
        ),
        "pages.sign_in": operation(
            signing, takes=body(form, media="application/x-www-form-urlencoded")
        ),
        "pages.state": operation(answers(thing(signed_in=FLAG))),
        "pages.signing_out": operation({"302": {"description": "Signed out."}}),
        "pages.all_pictures": operation(answers({"type": "object"}, 304, 503)),
        "pages.sentences": operation(answers(thing(signals=ANYTHING), 304, 422, 503), LANGUAGE),
    }
