"""The pace of one receiver: how often it may be called, by all that send to it together.

A robot counts the messages that come to its address, whichever book they are from and whichever
process sends them. So the times of the last sendings stand in the store under the address, and a
lease lets in one sender at a time.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Sequence
from contextlib import suppress

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from driftline.metadata.errors import StoreError

from ..stores.store import Lease, Store
from .delivery import is_reached
from .patience import allowed_at, kept
from .sink import Limit, SinkSettings

# Longer than a sending may take; a sender that was killed keeps the others out no longer.
LEASE_SECONDS = 30.0


class Pace(Struct, frozen=True):
    """The times of the last sendings to one address, and until when it asked to be left alone."""

    stamps: tuple[float, ...] = ()
    resting_until: float = 0.0


class Gate:
    """Lets one sender at a time, and no more than the limits allow, to one sink's address.

    Sinks of the same kind and address share it, in whatever book, process or host. Where a sink
    has no limits it is always open.

    Args:
        store: the whole one, not the part of a book.
        settings: of the sink.
        limits: of its kind.
    """

    def __init__(self, store: Store, settings: SinkSettings, limits: Sequence[Limit]) -> None:
        url = settings.url.reveal() if settings.url is not None else settings.name
        # The address may hold a token: only its digest stands in the store.
        digest = hashlib.sha256(f"{settings.kind} {url}".encode()).hexdigest()[:24]
        self._name = f"alerts/pace/{digest}"
        self._store = store
        self._limits = tuple(limits)
        self._holder = uuid.uuid4().hex
        self._lease: Lease | None = None
        self._pace = Pace()

    def enter(self, now: float) -> bool:
        """True when a message may be sent at `now`, which is then written down; `leave` after it.

        Raises:
            StoreError: the store is away.
        """
        if not self._limits:
            return True
        lease = self._store.acquire(self._name, self._holder, LEASE_SECONDS)
        if lease is None:
            return False
        self._lease = lease
        found = self._store.get(self._name)
        pace = Pace() if found is None else msgspec.json.decode(found[1], type=Pace)
        rested = is_reached(pace.resting_until, now)
        free = rested and allowed_at(pace.stamps, self._limits, now) <= now
        self._pace = replace(pace, stamps=kept((*pace.stamps, now), self._limits, now))
        if free and self._written():
            return True
        self._release()
        return False

    def leave(self, now: float, after: float = 0.0) -> None:
        """The sending was over at `now`; for `after` seconds the receiver is to be left alone."""
        if self._lease is None:
            return
        # It may have arrived at any time until now.
        pace = replace(self._pace, stamps=(*self._pace.stamps[:-1], now))
        if after:
            pace = replace(pace, resting_until=now + after)
        self._pace = pace
        # The stamp of `enter` stays where this cannot be written, and the lease runs out.
        with suppress(StoreError):
            self._written()
            self._release()
        self._lease = None

    def _written(self) -> bool:
        value = msgspec.json.encode(self._pace)
        return self._store.put(self._name, value, lease=self._lease, name=self._name)

    def _release(self) -> None:
        if self._lease is not None:
            self._store.release(self._name, self._lease)
        self._lease = None
