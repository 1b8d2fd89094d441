"""What a training pushes: points and events, parsed strictly and bounded in every direction."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from driftline.metadata.errors import InputError

MOST_POINTS = 2_000
MOST_EVENTS = 200
MOST_VALUES = 2_000
MOST_NAME = 200

_NAME = re.compile(r"[^\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")
# Also not the sign that stands for bytes that were no text.
_RUN = re.compile(r"[^\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffd/\\?#%]{1,100}")

# Unix seconds up to the year 5138; beyond, somebody sent milliseconds.
Seconds = Annotated[float, Meta(ge=0, le=1e11)]
Step = Annotated[int, Meta(ge=0, le=2**53)]


class Point(Struct, frozen=True, forbid_unknown_fields=True):
    """The values measured at one step; None where one was not finite.

    `time` is in Unix seconds when pushed as a number, or ISO-8601 with an offset.
    """

    step: Step
    time: Seconds | datetime
    values: dict[str, float | None]


class TrainingEvent(Struct, frozen=True, forbid_unknown_fields=True):
    """What a rule found at one step, in words."""

    step: Step
    time: Seconds | datetime
    rule: Annotated[str, Meta(min_length=1, max_length=MOST_NAME)]
    severity: Annotated[str, Meta(min_length=1, max_length=32)]
    sentence: Annotated[str, Meta(max_length=2_000)]


class Push(Struct, frozen=True, forbid_unknown_fields=True):
    """One request of a training; `sequence` grows by at least one from push to push of a run."""

    sequence: Annotated[int, Meta(ge=1, le=2**53)]
    points: Annotated[tuple[Point, ...], Meta(max_length=MOST_POINTS)] = ()
    events: Annotated[tuple[TrainingEvent, ...], Meta(max_length=MOST_EVENTS)] = ()


_DECODER = msgspec.json.Decoder(Push)


def parse_push(data: bytes) -> Push:
    """A push from strict JSON.

    Raises:
        InputError: it is malformed or too large; names the field and the reason.
    """
    try:
        push = _DECODER.decode(data)
    except RecursionError:
        raise InputError("", "is nested too deeply") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        reason, _, path = str(error).partition(" - at `$")
        raise InputError(path.rstrip("`").lstrip("."), reason) from None
    for index, point in enumerate(push.points):
        if len(point.values) > MOST_VALUES:
            raise InputError(f"points[{index}].values", f"holds more than {MOST_VALUES:,} values")
        for name in point.values:
            check_name(f"points[{index}].values", name)
        _check_time(f"points[{index}].time", point.time)
    for index, event in enumerate(push.events):
        check_name(f"events[{index}].rule", event.rule)
        _check_time(f"events[{index}].time", event.time)
    return push


def check_name(field: str, name: str) -> None:
    """Passes if a value may have this name.

    Raises:
        InputError: it is empty, too long, or holds control characters.
    """
    if len(name) > MOST_NAME or not _NAME.fullmatch(name):
        shown = name if len(name) <= 60 else name[:60] + "…"
        reason = f"a name has 1 to {MOST_NAME} printable characters, got {shown!r}"
        raise InputError(field, reason)


def check_run(name: str) -> None:
    """Passes if a run may have this name: it stands in addresses as one part of a path.

    Raises:
        InputError: it may not.
    """
    if not _RUN.fullmatch(name) or name in (".", "..") or name != name.strip():
        reason = "a run's name has 1 to 100 printable characters, none of / \\ ? # %"
        raise InputError("run", reason)


def begins(push: Push) -> float:
    """The earliest time in a push, in Unix seconds; infinite where it holds nothing."""
    times = [unix(each.time) for each in push.points] + [unix(each.time) for each in push.events]
    return min(times, default=math.inf)


def unix(time: float | datetime) -> float:
    """Unix seconds."""
    return time.timestamp() if isinstance(time, datetime) else float(time)


def iso(seconds: float) -> str:
    """ISO-8601 in UTC, to the millisecond, with ``Z``."""
    text = datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
    return text.removesuffix("+00:00") + "Z"


def _check_time(field: str, time: Any) -> None:
    if isinstance(time, datetime):
        if time.tzinfo is None:
            raise InputError(field, "an ISO-8601 time needs its offset, such as Z")
        if not 0 <= time.timestamp() <= 1e11:
            raise InputError(field, "must lie after 1970")
