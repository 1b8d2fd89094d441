"""The desk: in one elected worker, what a watch sees → alerts → messages.

Elected apart from the evaluators: each version has an evaluator of its own, but what is told of a
model is told from one book, whoever serves it and however many versions of it.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable
from itertools import chain
from typing import cast

from driftline.metadata.errors import StoreError

from ..alerts.alerts import Alerts, AlertSettings
from ..stores.scoped import Scoped
from ..stores.store import Lease, Store
from ..watches.model import Watch
from ..watches.outage import Outage

log = logging.getLogger(__name__)

LEASE_SECONDS = 5.0
# The book of trainings; no model is named so, since names of models have no slash.
TRAININGS = "/trainings"


class Desk:
    """Takes its turn each second; does nothing while another worker holds the lease.

    Args:
        book: whose alerts these are: a model's name, or `TRAININGS`.
        store: shared by all workers.
        settings: whom to tell.
        holder: a name that no other process has.
        watch: says what holds at a Unix second.
        outage: is told when the store cannot be reached.
    """

    def __init__(
        self,
        book: str,
        store: Store,
        settings: AlertSettings,
        *,
        holder: str,
        watch: Watch,
        outage: Outage | None = None,
    ) -> None:
        self.book = book
        self._name = f"alerts/{book}"
        self._store = store
        self._holder = holder
        self._watch = watch
        self._outage = outage
        self._lease: Lease | None = None
        self._lock = threading.Lock()
        part = cast("Store", Scoped(store, f"{book}/"))
        self.alerts = Alerts.open(part, settings, lease_name=self._name, shared=store)

    def turn(self, now: float) -> None:
        """One turn at Unix second `now`.

        Raises:
            StoreError: the state is away; nothing is lost, the next turn comes.
        """
        with self._lock:
            try:
                self._turn(now)
            except StoreError:
                if self._outage is not None:
                    self._outage.missed(now)
                raise

    def _turn(self, now: float) -> None:
        self._lease = self._store.acquire(self._name, self._holder, LEASE_SECONDS)
        conditions = [] if self._outage is None else [self._outage.reached(now)]
        if self._lease is None:
            return
        self.alerts.observe([*self._watch(now), *conditions], now, self._lease)
        self.alerts.deliver(now, self._lease, wait=0.0)

    def resign(self) -> None:
        """Gives the lease back, if the store can take it."""
        with self._lock:
            if self._lease is not None:
                self._store.release(self._name, self._lease)
                self._lease = None


def health(desks: Iterable[Desk]) -> str:
    """``ok``, or which receivers cannot be reached and why.

    Raises:
        StoreError: the state is away.
    """
    said: dict[str, str] = {}
    for each in chain.from_iterable(desk.alerts.health() for desk in desks):
        if each.problem or each.dead:
            problem = each.problem or "messages were given up"
            said.setdefault(each.name, f"{each.name}: {problem} ({each.dead} given up)")
    return "; ".join(said.values()) or "ok"


def resigned(desk: Desk) -> None:
    """`Desk.resign`, where the store being away is no matter: the lease runs out by itself."""
    try:
        desk.resign()
    except StoreError as error:
        log.info("the alert lease is left to run out: %s", error)
