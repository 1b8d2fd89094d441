"""The desk: in one elected worker, verdicts of all versions of a model → alerts → messages.

Elected apart from the evaluators: each version has an evaluator of its own, but what is told of a
model is told from one book, whoever serves it and however many versions of it.
"""

from __future__ import annotations

import logging
import threading
from typing import cast

from driftline.metadata.errors import StoreError

from .alerts.alerts import Alerts, AlertSettings
from .alerts.condition import Condition, from_breaches, from_verdict
from .scoped import Scoped
from .standing import decode
from .stores.store import Lease, Store

log = logging.getLogger(__name__)

LEASE_SECONDS = 5.0
# A verdict that nobody renews any more says nothing about now.
FRESH_SECONDS = 60


class Desk:
    """Takes its turn each second; does nothing while another worker holds the lease.

    Args:
        model: whose alerts these are.
        store: shared by all workers.
        settings: whom to tell.
        holder: a name that no other process has.
    """

    def __init__(self, model: str, store: Store, settings: AlertSettings, holder: str) -> None:
        self._name = f"alerts/{model}"
        self._verdicts = f"verdict/{model}/"
        self._store = store
        self._holder = holder
        self._lease: Lease | None = None
        self._lock = threading.Lock()
        part = cast("Store", Scoped(store, f"{model}/"))
        self.alerts = Alerts.open(part, settings, lease_name=self._name)

    def turn(self, now: float) -> None:
        """One turn at Unix second `now`.

        Raises:
            StoreError: the state is away; nothing is lost, the next turn comes.
        """
        with self._lock:
            self._lease = self._store.acquire(self._name, self._holder, LEASE_SECONDS)
            if self._lease is None:
                return
            self.alerts.observe(self._conditions(now), now, self._lease)
            self.alerts.deliver(now, self._lease, wait=0.0)

    def resign(self) -> None:
        """Gives the lease back, if the store can take it."""
        with self._lock:
            if self._lease is not None:
                self._store.release(self._name, self._lease)
                self._lease = None

    def health(self) -> str:
        """``ok``, or which receivers cannot be reached and why.

        Raises:
            StoreError: the state is away.
        """
        troubled = [each for each in self.alerts.health() if each.problem or each.dead]
        said = [
            f"{each.name}: {each.problem or 'messages were given up'} ({each.dead} given up)"
            for each in troubled
        ]
        return "; ".join(said) or "ok"

    def _conditions(self, now: float) -> list[Condition]:
        found: list[Condition] = []
        for key in self._store.keys(self._verdicts):
            document = self._store.get(key)
            standing = decode(document[1]) if document else None
            if standing is None or now - standing.at > FRESH_SECONDS:
                continue
            _, model, version, _ = key.split("/")
            found.append(from_verdict(standing.verdict, model, version, standing.width))
            found.append(from_breaches(standing.verdict, model, version))
        return found


def resigned(desk: Desk) -> None:
    """`Desk.resign`, where the store being away is no matter: the lease runs out by itself."""
    try:
        desk.resign()
    except StoreError as error:
        log.info("the alert lease is left to run out: %s", error)
