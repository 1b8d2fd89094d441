"""An alert and the messages that tell of it, frozen and ready for JSON.

Times are UTC and end in ``Z`` as JSON. An alert is one episode: its id stays the same from the
first word to the last. Readers ignore fields they do not know: two releases can share a store.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Literal
from urllib.parse import quote

from msgspec import Struct

from driftline.drift.verdict import Severity
from driftline.metadata.signals import Group

Kind = Literal[
    "drift", "limit", "low_confidence", "latency", "accuracy", "schema", "health", "training"
]
AlertState = Literal["firing", "resolved"]

SEVERITIES: tuple[Severity, ...] = ("minor", "moderate", "major")
WORST = 10


class Text(Struct, frozen=True):
    """The same words in English and in Simplified Chinese."""

    en: str
    zh: str


class SignalNote(Struct, frozen=True):
    """What an alert says of one signal; measures are those of `SignalVerdict` and its effect."""

    name: str
    group: Group
    severity: Severity
    sentence: Text
    evidence_log10: float | None = None
    psi: float | None = None
    mean_shift_sd: float | None = None


class Acknowledgement(Struct, frozen=True):
    """Who took an alert on, and when."""

    by: str
    at: datetime


class Alert(Struct, frozen=True, kw_only=True):
    """One episode of one condition.

    - `name` tells conditions of one kind and model apart (a training rule, say); often empty.
    - `severity` is the worst so far; `since` when the change began, as far as is known.
    - `opened` is when it was first seen; `until` when it was last seen to hold, None while firing.
    - `evidence_log10` is log₁₀ of the evidence for a change, `needed_log10` of what is needed.
    - `signals` are the ten worst of `signal_count`, the worst first; `groups` those of all,
      and of several that drift only together.
    """

    id: str
    kind: Kind
    model: str
    version: str
    name: str = ""
    state: AlertState
    severity: Severity
    since: datetime
    opened: datetime
    until: datetime | None = None
    acknowledged: Acknowledgement | None = None
    sentence: Text
    evidence_log10: float | None = None
    needed_log10: float | None = None
    signals: tuple[SignalNote, ...] = ()
    signal_count: int = 0
    groups: tuple[Group, ...] = ()
    link: str = ""

    @property
    def key(self) -> str:
        """The condition it belongs to; the same for all episodes of one condition."""
        return condition_key(self.kind, self.model, self.version, self.name)


class Message(Struct, frozen=True, kw_only=True):
    """One change of one alert, for one sink: its begin, that it has grown worse, or its end.

    `key` is the idempotency key, the same however often the message is sent. `severity` is the
    one of which this sink hears now or, at the end, heard last, so that a label made of it ends
    as it began; `before` the one of which it heard before, None unless the alert has grown worse.
    """

    key: str
    sink: str
    state: AlertState
    severity: Severity
    at: datetime
    alert: Alert
    before: Severity | None = None


def condition_key(kind: str, model: str, version: str, name: str) -> str:
    """The text under which the episodes of one condition are kept; no two conditions share it."""
    return "/".join(quote(part, safe="") for part in (kind, model, version, name))


def message_key(alert_id: str, state: AlertState, sink: str, worse: Severity | None = None) -> str:
    """The idempotency key of a message; `worse` is what the alert has grown to, if it says so."""
    return f"{alert_id}.{state if worse is None else f'{state}-{worse}'}.{sink}"


def worst(signals: Iterable[SignalNote], most: int = WORST) -> tuple[SignalNote, ...]:
    """The `most` worst: by severity, then by effect, then by evidence."""

    def badness(each: SignalNote) -> tuple[int, float, float]:
        return SEVERITIES.index(each.severity), each.psi or 0.0, each.evidence_log10 or 0.0

    return tuple(sorted(signals, key=badness, reverse=True)[:most])


def moment(seconds: float) -> datetime:
    """A Unix time in UTC, to the millisecond."""
    return datetime.fromtimestamp(round(seconds, 3), UTC)
