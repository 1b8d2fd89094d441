"""Times as the interface tells and reads them."""

from __future__ import annotations

import math
from datetime import UTC, datetime

import msgspec

from driftline.metadata.errors import InputError


def iso(seconds: float | None) -> str | None:
    """A Unix time as ISO 8601 in UTC; None stays None."""
    if seconds is None:
        return None
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")


def unix(text: str, field: str) -> int:
    """The Unix second of an ISO-8601 time with its offset; a part of a second is cut off.

    Raises:
        InputError: it is none; names `field`.
    """
    reason = "an ISO-8601 time with its offset is wanted, such as 2026-01-02T03:04:05Z"
    try:
        found = msgspec.convert(text[:64], datetime)
    except msgspec.ValidationError:
        raise InputError(field, reason) from None
    if found.tzinfo is None:
        raise InputError(field, reason)
    return math.floor(found.timestamp())
