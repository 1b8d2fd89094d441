"""Runs and the stream."""

from __future__ import annotations

from ..api.runs import MOST_BINS
from .parts import (
    ANYTHING,
    FLAG,
    TEXT,
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

# As a run may be called, and cannot be taken for a step in a path.
_CHARACTER = r"[^\x00-\x20\x7f-\xa0/\\?#%]"
RUN = path(
    "run",
    {"type": "string", "pattern": rf"^{_CHARACTER}{{1,60}}$", "not": {"enum": [".", ".."]}},
)
NAME: Json = {"type": "string", "minLength": 1, "maxLength": 200, "pattern": r"^[ -~]+$"}
TIME: Json = {
    "type": "string",
    "format": "date-time",
    "pattern": r"^20[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])T([01][0-9]|2[0-3]):"
    r"[0-5][0-9]:[0-5][0-9]Z$",
}
SERIES = (
    query("after", upto(2**62), "Only what came after this batch."),
    query("points", upto(MOST_BINS), "Rows at the most."),
    query("from", upto(2**53), "The first step."),
    query("to", upto(2**53), "The last step."),
    query("name", many(NAME), "Only these values."),
    query("prefix", TEXT, "Only values whose names begin so."),
    query("without", TEXT, "No values whose names begin so."),
)


def narrowed(types: Json) -> Json:
    """The types of a push, with what its parser asks beyond them: names, and times of our age."""
    time: Json = {"anyOf": [{"type": "number", "minimum": 0, "maximum": 1e11}, TIME]}
    found = {name: dict(types[name]) for name in ("Point", "TrainingEvent")}
    values = found["Point"]["properties"]["values"] | {"propertyNames": NAME}
    found["Point"]["properties"] = found["Point"]["properties"] | {"values": values, "time": time}
    found["TrainingEvent"]["properties"] = found["TrainingEvent"]["properties"] | {
        "rule": NAME,
        "time": time,
    }
    return types | found


def operations() -> dict[str, Operation]:
    """By endpoint and method, where an endpoint has several."""
    receipt = thing(accepted=WHOLE, duplicate=FLAG, sequence=WHOLE)
    plain = answers(TEXT, 404, 422, 503, media="text/plain; charset=utf-8")
    events = answers(TEXT, 422, 503, media="text/event-stream")
    markdown: Json = {"type": "string"}
    return {
        "runs.push": operation(
            answers(receipt, 400, 413, 415, 422, 503), RUN, takes=body(ref("Push"))
        ),
        "runs.listed": operation(answers(thing(runs=many(ANYTHING)), 503)),
        "runs.one": operation(answers(thing(events=many(ANYTHING)), 404, 422, 503), RUN),
        "runs.points": operation(answers(thing(run=TEXT, more=FLAG), 404, 422, 503), RUN, *SERIES),
        "runs.put_report": operation(
            answers(thing(kept=FLAG), 404, 413, 422, 503), RUN, takes=body(markdown, "text/plain")
        ),
        "runs.report": operation(plain, RUN),
        "stream.stream": operation(
            events,
            query("run", many(RUN["schema"]), "Runs to follow."),
            query("topic", many({"enum": ["runs", "drift", "alerts"]}), "What else to follow."),
            query("points", upto(MOST_BINS), "Rows of a history at the most."),
            query("without", TEXT, "No values whose names begin so."),
        ),
    }
