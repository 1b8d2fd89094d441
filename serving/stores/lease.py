"""When a lease is granted: one rule for the stores that decide in Python."""

from __future__ import annotations

from dataclasses import dataclass

from .store import Lease

# A clock that was set back by more than this would otherwise keep a dead holder's lease alive.
SET_BACK = 1.0


@dataclass(frozen=True, slots=True)
class Held:
    """The newest lease granted under a name, in Unix seconds; it may have run out."""

    holder: str
    token: int
    since: float
    until: float

    def is_of(self, lease: Lease) -> bool:
        """True when `lease` is this one, so that no other holder has taken it over since."""
        return self.holder == lease.holder and self.token == lease.token


def granted(held: Held | None, holder: str, now: float, seconds: float) -> Held | None:
    """What `holder` gets at `now`: the same token again, the next one, or None while another's
    lease runs."""
    if held is None:
        return Held(holder, 1, now, now + seconds)
    if held.holder == holder:
        return Held(holder, held.token, now, now + seconds)
    if held.since - SET_BACK <= now < held.until:
        return None
    return Held(holder, held.token + 1, now, now + seconds)
