"""Receivers that answer 200 whatever happens, and say in the body's code how it went."""

from __future__ import annotations

from collections.abc import Set

import msgspec

from .sink import DELIVERED, Outcome
from .wire import Reply, judged


def coded(
    reply: Reply,
    now: float,
    *,
    field: str,
    limited: Set[int],
    refused: Set[int],
    pause: float,
) -> Outcome:
    """The outcome by the integer `field` of the body: 0 is success.

    Codes in `limited` ask for a pause of `pause` seconds, those in `refused` blame the message. Any
    other code, and a body without one, may be mended (a keyword, an address, a signature).
    """
    by_status = judged(reply, now)
    if by_status is not None:
        return by_status
    try:
        body = msgspec.json.decode(reply.body)
    except msgspec.DecodeError:
        return Outcome("retry", "the answer is no JSON")
    code = body.get(field) if isinstance(body, dict) else None
    if not isinstance(code, int) or isinstance(code, bool):
        return Outcome("retry", f"the answer has no {field}")
    if code == 0:
        return DELIVERED
    # The text beside the code can repeat what was sent, and is left out.
    reason = f"{field} {code}"
    if code in limited:
        return Outcome("retry", reason, pause)
    return Outcome("refused" if code in refused else "retry", reason)
