"""``POST /feedback``: labels for what was predicted, by request id."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from flask import Blueprint, Response, request
from msgspec import Meta, Struct

from driftline.metadata.errors import InputError

from ..feedback.joining import MOST_ID, Joined, plain
from .context import limited, reply, watched
from .errors import Refused

blueprint = Blueprint("feedback", __name__)

MOST_ITEMS = 10_000
# An application around these routes need not have a limit of its own.
MOST_BODY = 16 * 2**20


class Item(Struct, frozen=True, forbid_unknown_fields=True):
    """One label, or a list with one for each instance of the request."""

    request_id: Annotated[str, Meta(min_length=1, max_length=MOST_ID)]
    label: Any


_decode = msgspec.json.Decoder(
    Item | Annotated[list[Item], Meta(min_length=1, max_length=MOST_ITEMS)]
).decode


@blueprint.post("/feedback")
def feedback() -> Response:
    """What became of each: joined, unknown (or too old, or joined before), or of another length.

    Unknown is also what another worker answered less than half a second ago: its claims are not in
    the store yet, and the same label may be sent again. Nobody waits for it here, since a client
    could then hold up a thread with every id that it makes up.
    """
    session = watched().monitor.session
    claims = watched().claims
    if not claims.judged:
        raise Refused(409, "not_judged", "this model's predictions cannot be compared with labels")
    limited(MOST_BODY)
    try:
        body = _decode(request.get_data(cache=False))
    except msgspec.ValidationError as problem:
        reason, _, path = str(problem).partition(" - at `")
        field = path.rstrip("`").removeprefix("$").removeprefix(".") or "body"
        raise Refused(422, "bad_input", reason, field) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise Refused(400, "bad_json", f"not strict JSON: {problem}", "body") from None
    items = body if isinstance(body, list) else [body]
    multiple = claims.multiple
    wanted: dict[str, list[Any]] = {}
    for at, item in enumerate(items):
        field = f"[{at}].label" if isinstance(body, list) else "label"
        several = isinstance(item.label, list) and not (
            multiple and all(isinstance(each, str) for each in item.label)
        )
        labels = item.label if several else [item.label]
        if item.request_id in wanted:
            raise InputError(field.replace("label", "request_id"), "is there twice")
        wanted[item.request_id] = [claims.checked(each, field) for each in labels]
    taken = session.claimed(list(wanted))
    joined = []
    for request_id, labels in wanted.items():
        found = taken.get(request_id)
        if found is None:
            joined.append(Joined(request_id=request_id, status="unknown"))
        elif len(found) != len(labels):
            # Nothing is lost: the right number of labels may still come.
            session.memory.remember({request_id: found})
            joined.append(Joined(request_id=request_id, status=f"has {len(found)} instances"))
        else:
            right = sum(map(claims.right, found, labels))
            wrong = len(labels) - right
            joined.append(Joined(request_id=request_id, status="joined", right=right, wrong=wrong))
    session.labelled(joined)
    return reply(plain(joined))
