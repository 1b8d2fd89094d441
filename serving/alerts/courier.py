"""The courier of one sink: brings what is due, one message at a time, and writes down each step."""

from __future__ import annotations

import logging
import random
import time

import msgspec
from msgspec.structs import replace

from driftline.metadata.errors import StoreError

from ..stores.store import Lease, Store
from . import delivery
from .alert import Message
from .delivery import Delivery, Waiting
from .pace import Gate
from .patience import Patience
from .sink import Outcome, Sink

PASS_SECONDS = 20.0
AT_ONCE = 200

_logger = logging.getLogger(__name__)


def outbox(sink: str) -> str:
    """The log that holds the messages for a sink."""
    return f"alerts/outbox/{sink}"


def standing(sink: str) -> str:
    """The document that says where a sink stands in its outbox."""
    return f"alerts/delivery/{sink}"


class Courier:
    """Delivers one sink's outbox; one call of `run` at a time.

    A try is written down before it is made and after: killed in between, the message is sent again
    with the same key. A lease that was lost is noticed at the next write, before the next sending.
    """

    def __init__(
        self,
        *,
        store: Store,
        name: str,
        sink: Sink,
        gate: Gate,
        lease_name: str,
        patience: Patience,
        rng: random.Random,
    ) -> None:
        self.name = name
        self._store = store
        self._sink = sink
        self._gate = gate
        self._lease_name = lease_name
        self._patience = patience
        self._rng = rng
        # What could not be written because the store went away, with the version it builds on.
        self._unsaved: tuple[int, Delivery] | None = None

    def run(self, now: float, lease: Lease | None) -> None:
        """Sends what is due at `now`, some 20 s long at most; ends at the first failure.

        Raises:
            StoreError: the store went away; nothing is lost.
        """
        started = time.monotonic()
        version, state = self._load(lease)
        while (elapsed := time.monotonic() - started) < PASS_SECONDS:
            moment = now + elapsed
            state, waiting = self._waiting(state)
            if not delivery.is_reached(state.resting_until, moment):
                return
            found = delivery.due(state, waiting, moment)
            again = None if found else delivery.due_again(state, waiting, moment)
            if found is None and again is None:
                return
            if not self._gate.enter(moment):
                return
            pause = self._patience.delay(state.failures + 1, self._rng)
            if found is not None:
                state = delivery.claimed(state, found[0], moment, pause)
            elif again is not None:
                state = delivery.repeated(state, again, moment + self._sink.repeat_seconds)
            if not self._claimed(version, state, lease, moment):
                return
            message = found[1] if found is not None else again
            assert message is not None
            outcome = self._send(message)
            moment = now + time.monotonic() - started
            self._gate.leave(moment, outcome.after)
            if found is not None:
                state = self._settled(state, found, outcome, moment, pause)
            if not self._save(version + 1, state, lease):
                return
            version += 2
            if outcome.state == "retry":
                return

    def _claimed(self, version: int, state: Delivery, lease: Lease | None, now: float) -> bool:
        saved = False
        try:
            saved = self._save(version, state, lease)
        finally:
            if not saved:
                self._gate.leave(now)
        return saved

    def _settled(
        self, state: Delivery, found: Waiting, outcome: Outcome, now: float, pause: float
    ) -> Delivery:
        sequence, message = found
        if outcome.state == "delivered":
            return delivery.delivered(state, found, now, self._sink.repeat_seconds)
        attempt = state.attempts[sequence]
        as_ = None
        if outcome.state == "refused":
            as_, then = "refused", "it cannot be taken and is given up"
        else:
            state = delivery.failed(state, sequence, outcome, now, pause)
            then = f"the next in {max(state.resting_until - now, 0.0):.0f} s"
            if self._patience.is_over(attempt.count, attempt.first, now):
                as_, then = "dead", "the last one, it is given up"
        _logger.warning(
            "alert %s to %s: %s (try %d, %s)",
            *(message.key, self.name, outcome.reason, attempt.count, then),
        )
        return delivery.given_up(state, found, outcome.reason, now, as_) if as_ else state

    def _send(self, message: Message) -> Outcome:
        try:
            return self._sink.send(message)
        except Exception as error:  # a sink's own fault must not end the others' deliveries
            # The class only: the text of an error may hold an address with a token.
            return Outcome("retry", f"the sink failed: {type(error).__name__}")

    def _waiting(self, state: Delivery) -> tuple[Delivery, list[Waiting]]:
        limit = AT_ONCE + len(state.done)
        entries = self._store.entries(outbox(self.name), state.cursor, limit)
        if entries and entries[0].sequence > state.cursor + 1:
            # The log dropped its oldest before they were sent (more than it keeps were waiting).
            first = entries[0].sequence
            gone = first - 1 - state.cursor - sum(each < first for each in state.done)
            _logger.error("%d alerts to %s were dropped unsent", gone, self.name)
            done = tuple(each for each in state.done if each >= first)
            attempts = {key: each for key, each in state.attempts.items() if key >= first}
            lost = state.lost + gone
            # Ends may be among them, and what has ended must not be repeated for ever.
            state = replace(
                state, cursor=first - 1, done=done, attempts=attempts, lost=lost, repeats={}
            )
        waiting: list[Waiting] = []
        for each in entries:
            try:
                waiting.append((each.sequence, msgspec.json.decode(each.value, type=Message)))
            except msgspec.DecodeError:
                _logger.error("entry %d for %s cannot be read", each.sequence, self.name)
                state = delivery.unreadable(state, each.sequence)
        return state, waiting

    def _load(self, lease: Lease | None) -> tuple[int, Delivery]:
        found = self._store.get(standing(self.name))
        version, state = (0, Delivery())
        if found is not None:
            version, state = found[0], msgspec.json.decode(found[1], type=Delivery)
        if self._unsaved is not None:
            base, unsaved = self._unsaved
            # Another version means that our write did arrive, or that another has taken over.
            if base == version and self._save(base, unsaved, lease):
                version, state = base + 1, unsaved
            self._unsaved = None
        return version, state

    def _save(self, version: int, state: Delivery, lease: Lease | None) -> bool:
        key, value = standing(self.name), msgspec.json.encode(state)
        try:
            saved = self._store.put(key, value, lease=lease, name=self._lease_name)
        except StoreError:
            self._unsaved = (version, state)
            raise
        return saved
