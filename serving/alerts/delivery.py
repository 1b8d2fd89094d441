"""Where one sink stands in its outbox: pure steps from one state to the next.

Order is kept per condition, not per sink: a message waits for the earlier ones of its condition
(of its last episode as well, lest an old end follow a new beginning), and a message that a receiver
cannot digest holds up nobody else's.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from .alert import Message, moment
from .sink import Outcome

DEAD_KEPT = 200
REASON_LENGTH = 200
FARTHEST = 7200.0  # no pause is longer


class Attempt(Struct, frozen=True):
    """Tries of one message: how many, since when, and when the next is due (Unix seconds)."""

    count: int
    first: float
    due: float


class Repeat(Struct, frozen=True):
    """A firing message that its sink wants again at `due`, until the end is told."""

    message: Message
    due: float


class DeadLetter(Struct, frozen=True):
    """A message that was given up, and why."""

    message: Message
    reason: str
    attempts: int
    at: datetime


class Delivery(Struct, frozen=True):
    """All that is known of one sink's outbox; kept in the store, one document a sink.

    Everything up to the sequence `cursor` is dealt with, and so are those in `done` above it.
    `resting_until` and `failures` are of the sink as a whole; `lost` counts entries that the log
    dropped unsent or that are no messages.
    """

    cursor: int = 0
    done: tuple[int, ...] = ()
    attempts: dict[int, Attempt] = {}
    resting_until: float = 0.0
    failures: int = 0
    repeats: dict[str, Repeat] = {}
    dead: tuple[DeadLetter, ...] = ()
    totals: dict[str, int] = {}
    lost: int = 0
    problem: str = ""


Waiting = tuple[int, Message]
"""A message with its sequence in the outbox."""


def is_reached(due: float, now: float) -> bool:
    """True at `due` and later, and long before, which means that the clock was set back since."""
    return not now < due <= now + FARTHEST


def due(state: Delivery, waiting: Sequence[Waiting], now: float) -> Waiting | None:
    """The message to be tried now; None when all of them have to wait.

    Of those that are the first of their condition the least tried one, and then the oldest: else
    one that always fails would be the first again each time the sink has rested.
    """
    seen: set[str] = set()
    found: tuple[int, Waiting] | None = None
    for sequence, message in waiting:
        if sequence in state.done or message.alert.key in seen:
            continue
        seen.add(message.alert.key)
        attempt = state.attempts.get(sequence)
        if attempt is None:
            return sequence, message
        if is_reached(attempt.due, now) and (found is None or attempt.count < found[0]):
            found = attempt.count, (sequence, message)
    return None if found is None else found[1]


def due_again(state: Delivery, waiting: Sequence[Waiting], now: float) -> Message | None:
    """A firing message to be repeated; not while a newer one of its condition waits."""
    newer = {message.alert.key for sequence, message in waiting if sequence not in state.done}
    for key, repeat in state.repeats.items():
        if is_reached(repeat.due, now) and key not in newer:
            return repeat.message
    return None


def claimed(state: Delivery, sequence: int, now: float, pause: float) -> Delivery:
    """The state before a try, so that a try is on record even if nobody lives to tell of it."""
    before = state.attempts.get(sequence)
    attempt = Attempt(
        count=1 if before is None else before.count + 1,
        first=now if before is None else min(before.first, now),
        due=now + pause,
    )
    return replace(state, attempts={**state.attempts, sequence: attempt})


def delivered(state: Delivery, waiting: Waiting, now: float, repeat: float) -> Delivery:
    """The state after the receiver took the message; `repeat` seconds until it wants it again."""
    sequence, message = waiting
    repeats = {key: each for key, each in state.repeats.items() if key != message.alert.key}
    if repeat and message.state == "firing":
        repeats[message.alert.key] = Repeat(message, now + repeat)
    return replace(
        _finished(counted(state, "delivered"), sequence), failures=0, repeats=repeats, problem=""
    )


def repeated(state: Delivery, message: Message, due: float) -> Delivery:
    """The state after one more sending of a firing message, whatever came of it."""
    repeats = {**state.repeats, message.alert.key: Repeat(message, due)}
    return replace(state, repeats=repeats)


def failed(state: Delivery, sequence: int, outcome: Outcome, now: float, pause: float) -> Delivery:
    """The state after a try that came to nothing; the message and the whole sink pause."""
    until = now + max(pause, outcome.after)
    attempt = replace(state.attempts[sequence], due=until)
    return replace(
        counted(state, "retried"),
        attempts={**state.attempts, sequence: attempt},
        resting_until=until,
        failures=state.failures + 1,
        problem=outcome.reason[:REASON_LENGTH],
    )


def given_up(state: Delivery, waiting: Waiting, reason: str, now: float, as_: str) -> Delivery:
    """The state after a message became a dead letter, counted as ``refused`` or ``dead``."""
    sequence, message = waiting
    attempts = state.attempts[sequence].count if sequence in state.attempts else 0
    letter = DeadLetter(message, reason[:REASON_LENGTH], attempts, moment(now))
    repeats = state.repeats
    if message.state == "resolved":
        # The receiver never hears of the end; told on and on of the begin, it would fire for ever.
        repeats = {key: each for key, each in repeats.items() if key != message.alert.key}
    state = replace(
        state,
        dead=(*state.dead, letter)[-DEAD_KEPT:],
        problem=letter.reason,
        repeats=repeats,
    )
    return _finished(counted(state, as_), sequence)


def unreadable(state: Delivery, sequence: int) -> Delivery:
    """The state after an entry that is no message was passed over."""
    if sequence in state.done:
        return state
    return _finished(replace(state, lost=state.lost + 1), sequence)


def counted(state: Delivery, outcome: str) -> Delivery:
    """The state with one more of an outcome in its totals."""
    return replace(state, totals={**state.totals, outcome: state.totals.get(outcome, 0) + 1})


def _finished(state: Delivery, sequence: int) -> Delivery:
    done = {*state.done, sequence}
    cursor = state.cursor
    while cursor + 1 in done:
        cursor += 1
        done.discard(cursor)
    attempts = {key: each for key, each in state.attempts.items() if key != sequence}
    return replace(state, cursor=cursor, done=tuple(sorted(done)), attempts=attempts)
