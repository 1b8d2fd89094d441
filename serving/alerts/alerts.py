"""The one object that the service sees of alerts: conditions in, messages out, told once."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable, Iterable

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from driftline.drift.verdict import Language
from driftline.metadata.errors import SettingError
from driftline.metadata.registry import Registry

from ..stores.store import Lease, Store
from .alert import Acknowledgement, Alert, moment
from .announce import announce
from .condition import Condition
from .courier import Courier, outbox, standing
from .delivery import DeadLetter, Delivery
from .episodes import Acknowledged, acknowledge, advance
from .kinds import sinks
from .ledger import Book, Ledger
from .outbox import Outbox
from .pace import Gate
from .patience import Patience
from .sink import Sink, SinkSettings
from .tolerance import Tolerance

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_COUNTED = 1000


class AlertSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Whom to tell, and how; times in seconds.

    - `quiet_seconds`: how long a condition must be clear before its alert is resolved.
    - `group_seconds`: how long a new alert waits, so that all that changes in the same moment
      stands in one message.
    - `language`: of messages to people, where a sink does not say otherwise.
    - `link_base`: the address of the pages, as a person on call reaches them.
    - `tolerance`: how much of what is normal now and then is too much.
    """

    sinks: tuple[SinkSettings, ...] = ()
    quiet_seconds: float = 300.0
    group_seconds: float = 5.0
    language: Language = "en"
    link_base: str = ""
    patience: Patience = Patience()
    tolerance: Tolerance = Tolerance()


class SinkHealth(Struct, frozen=True):
    """How one sink is doing: messages waiting (a thousand stands for more), failures in a row and
    the last reason, dead letters kept, messages lost unsent, and totals by outcome (delivered,
    retried, refused, dead)."""

    name: str
    kind: str
    waiting: int
    failures: int
    problem: str
    dead: int
    lost: int
    totals: dict[str, int]


class Alerts:
    """Alerts of one service. Methods raise StoreError when the store is away; then nothing was lost
    and the same call may be made again."""

    def __init__(
        self, *, settings: AlertSettings, ledger: Ledger, store: Store, outbox: Outbox
    ) -> None:
        self._settings = settings
        self._ledger = ledger
        self._store = store
        self._outbox = outbox
        self._routes = {each.name: each.route for each in settings.sinks}

    @classmethod
    def open(
        cls,
        store: Store,
        settings: AlertSettings,
        *,
        lease_name: str = "evaluator",
        shared: Store | None = None,
        registry: Registry[Sink] | None = None,
        clock: Callable[[], float] = time.time,
        rng: random.Random | None = None,
    ) -> Alerts:
        """Alerts with the sinks of the settings; starts nothing, and sends only in `deliver`.

        `lease_name` names the lease whose holder calls `observe` and `deliver`. Where `store` is a
        part of one, `shared` is the whole: there receivers' limits are kept, for all who send.

        Raises:
            SettingError: a sink has no usable address, or a name is not plain or not its own.
            UnknownKind: nobody offers a sink's kind.
        """
        registry = registry or sinks()
        couriers: dict[str, Courier] = {}
        for each in settings.sinks:
            if each.name in couriers:
                raise SettingError("sinks.name", f"each needs a name of its own, not {each.name!r}")
            if not _NAME.fullmatch(each.name):
                raise SettingError(
                    "sinks.name", f"{each.name!r} is no plain name (1 to 64 letters)"
                )
            spoken = replace(each, language=each.language or settings.language)
            sink = registry.get(each.kind)(spoken, clock)
            couriers[each.name] = Courier(
                store=store,
                name=each.name,
                sink=sink,
                gate=Gate(shared or store, each, sink.limits),
                lease_name=lease_name,
                patience=settings.patience,
                rng=rng or random.Random(),
            )
        return cls(
            settings=settings,
            ledger=Ledger(store, lease_name),
            store=store,
            outbox=Outbox(tuple(couriers.values())),
        )

    def observe(self, conditions: Iterable[Condition], now: float, lease: Lease | None) -> None:
        """Takes in all that holds at `now`, and enqueues what is to be told of it.

        Every condition that is watched is to be named each time, those that do not fire too: one
        that is no longer named counts as unknown, and ends after an hour.
        """
        book = self._ledger.settle(self._ledger.read(), lease)
        if book is None:
            return
        read, words = self._ledger.acknowledged(book.acknowledgements)
        episodes, ended = advance(
            acknowledge(book.episodes, words),
            conditions,
            now,
            self._settings.quiet_seconds,
            self._settings.link_base,
        )
        episodes, messages = announce(
            episodes, ended, self._routes, now, self._settings.group_seconds
        )
        if episodes == book.episodes and not ended and read == book.acknowledgements:
            return
        changed = Book(
            episodes=episodes,
            acknowledgements=read,
            # Of the time, so that it grows even if the store lost the book but not the logs.
            batch=max(book.batch + 1, int(now * 1000)),
            messages=tuple(messages),
            past=tuple(each.alert for each in ended),
        )
        if self._ledger.write(changed, lease):
            self._ledger.settle(changed, lease)

    def deliver(self, now: float, lease: Lease | None, *, wait: float = 0.5) -> bool:
        """Sends what is due, each sink in a thread of its own; returns after `wait` seconds or
        before, True when every sink is done with what was due.

        Store outages and failures of sinks are logged and tried again by later calls.
        """
        return self._outbox.deliver(now, lease, wait)

    def open_alerts(self) -> list[Alert]:
        """Alerts that fire now, the latest first; the same from every worker."""
        book = self._ledger.read()
        _, words = self._ledger.acknowledged(book.acknowledgements)
        episodes = acknowledge(book.episodes, words).values()
        alerts = [each.alert for each in episodes]
        return sorted(alerts, key=lambda each: (each.opened, each.id), reverse=True)

    def past(self) -> list[Alert]:
        """Resolved alerts, the latest first; the last thousand."""
        return self._ledger.past()

    def acknowledge(self, alert_id: str, by: str, now: float) -> Alert | None:
        """The open alert with who took it on, the first who did; None when none is open by that
        id. Any worker may call it."""
        for alert in self.open_alerts():
            if alert.id == alert_id:
                if alert.acknowledged is not None:
                    return alert
                word = Acknowledgement(by=by, at=moment(now))
                self._ledger.acknowledge(Acknowledged(alert_id, word))
                return next((each for each in self.open_alerts() if each.id == alert_id), alert)
        return None

    def dead_letters(self) -> list[DeadLetter]:
        """Messages that were given up, the latest first."""
        letters = [
            letter for each in self._settings.sinks for letter in self._state(each.name).dead
        ]
        return sorted(letters, key=lambda each: each.at, reverse=True)

    def health(self) -> list[SinkHealth]:
        """How each sink is doing."""
        return [self._health(each) for each in self._settings.sinks]

    def _health(self, sink: SinkSettings) -> SinkHealth:
        state = self._state(sink.name)
        limit = _COUNTED + len(state.done)
        waiting = self._store.entries(outbox(sink.name), state.cursor, limit)
        return SinkHealth(
            name=sink.name,
            kind=sink.kind,
            waiting=len(waiting) - len(state.done),
            failures=state.failures,
            problem=state.problem,
            dead=len(state.dead),
            lost=state.lost,
            totals=state.totals,
        )

    def _state(self, sink: str) -> Delivery:
        found = self._store.get(standing(sink))
        return Delivery() if found is None else msgspec.json.decode(found[1], type=Delivery)
