"""How long to wait: between tries, between messages, and before giving up."""

from __future__ import annotations

import random
from collections.abc import Iterable

from msgspec import Struct

from .sink import Limit


class Patience(Struct, frozen=True, kw_only=True):
    """When to try again and when to stop; seconds unless named otherwise."""

    first: float = 1.0
    longest: float = 300.0
    days: float = 3.0
    attempts: int = 1000

    def delay(self, failures: int, rng: random.Random) -> float:
        """The pause after so many failures in a row: doubling, with jitter from a half to one, so
        that replicas do not come back all at once."""
        doubled = self.first * 2.0 ** min(max(failures - 1, 0), 30)
        return min(doubled, self.longest) * rng.uniform(0.5, 1.0)

    def is_over(self, attempts: int, first: float, now: float) -> bool:
        """True when a message was tried often or long enough to become a dead letter."""
        return attempts >= self.attempts or now - first >= self.days * 86400.0


def allowed_at(stamps: Iterable[float], limits: Iterable[Limit], now: float) -> float:
    """When one more message may be sent, at or after `now`; `stamps` are the times of earlier ones,
    ascending. Times after `now` come from a clock that was set back, and count as `now`."""
    sent = [min(each, now) for each in stamps]
    allowed = now
    for messages, seconds in limits:
        if len(sent) >= messages:
            allowed = max(allowed, sent[-messages] + seconds)
    return allowed


def kept(stamps: Iterable[float], limits: Iterable[Limit], now: float) -> tuple[float, ...]:
    """The stamps that some limit still needs."""
    longest = max((each.seconds for each in limits), default=0.0)
    most = max((each.messages for each in limits), default=0)
    fresh = [min(each, now) for each in stamps if now - each <= longest]
    return tuple(fresh[-most:]) if most else ()
