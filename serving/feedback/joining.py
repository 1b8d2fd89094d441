"""Claims wait for their labels in the store; each is joined once, in whichever worker asks."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct

from driftline.metadata.counts import Counts, Layout
from driftline.metadata.errors import StoreError
from driftline.metadata.signals import Flag, Outside, Signal

from ..stores.store import Store

# One row a joined label; the flag is raised where the prediction was wrong.
LABELS = Layout(
    [Signal("wrong", "service", "wrong", Flag(Outside(high=0.5)))], {"service": ("wrong",)}
)
# A class, the classes of a multi-label head, a value; None where the scores were no numbers.
Claim = str | list[str] | float | None

MOST_ID = 128
KEPT_SECONDS = 7 * 24 * 3600.0
MOST_KEPT = 500_000
MOST_WAITING = 50_000

_decode = msgspec.json.Decoder(list[Claim]).decode
_encode = msgspec.json.Encoder().encode


class Joined(Struct, frozen=True, kw_only=True):
    """What became of one item of feedback."""

    request_id: str
    status: str
    right: int = 0
    wrong: int = 0


class Memory:
    """Claims on their way to the store. Safe to use from many threads.

    While the store is away the newest wait, up to a bound; older ones are dropped and counted:
    their labels will be answered as unknown. A claim waits for the next `send` or `take` of its own
    process: until then (half a second at most, in a service) a label that another process is given
    is unknown there.

    Args:
        store: where claims are kept for a week.
        prefix: of their keys, so that models do not meet.
    """

    def __init__(self, store: Store, prefix: str) -> None:
        self._store = store
        self._prefix = prefix
        # `_sending` is held while the store is asked, `_lock` never: requests wait for that one.
        self._sending = threading.Lock()
        self._lock = threading.Lock()
        self._waiting: dict[str, bytes] = {}
        self._dropped = 0
        self._failures = 0

    def remember(self, claims: Mapping[str, Sequence[Claim]]) -> None:
        """Keeps what requests were answered, by id, until labels come; waits for no store."""
        records = {self._prefix + each: _encode(said) for each, said in claims.items()}
        with self._lock:
            self._waiting.update(records)
            self._trim()

    def send(self) -> int:
        """Hands over what waits; returns how many claims were dropped since the last call.

        Raises:
            StoreError: the store is away; they wait on.
        """
        self._hand_over()
        with self._lock:
            dropped, self._dropped = self._dropped, 0
        return dropped

    def take(self, request_ids: Sequence[str]) -> dict[str, list[Claim]]:
        """The claims of those requests that still wait for labels; they wait no more.

        Raises:
            StoreError: the store is away; the same call may be made again.
        """
        self._hand_over()
        found = self._store.take([self._prefix + each for each in request_ids])
        cut = len(self._prefix)
        return {key[cut:]: _decode(value) for key, value in found.items()}

    def _hand_over(self) -> None:
        """When it returns, all that was remembered before the call is in the store."""
        failures = self._failures
        with self._sending:
            if self._failures != failures:
                # Those who waited for a send that failed would else wait for one timeout each.
                raise StoreError("the store did not take the claims that came before")
            with self._lock:
                going, self._waiting = self._waiting, {}
            try:
                if going:
                    self._store.remember(going, seconds=KEPT_SECONDS, most=MOST_KEPT)
            except BaseException as error:
                with self._lock:
                    self._waiting = {**going, **self._waiting}
                    self._trim()
                self._failures += isinstance(error, StoreError)
                raise

    def _trim(self) -> None:
        """Drops the oldest beyond the bound."""
        for key in list(islice(self._waiting, max(len(self._waiting) - MOST_WAITING, 0))):
            del self._waiting[key]
            self._dropped += 1


def counted(joined: Sequence[Joined]) -> Counts | None:
    """The joined labels as counts under `LABELS`; None where none was joined."""
    wrong = sum(each.wrong for each in joined)
    right = sum(each.right for each in joined)
    if not wrong + right:
        return None
    rows = np.concatenate([np.zeros(right), np.ones(wrong)])
    return LABELS.count("service", rows[:, None])


def pairs(buckets: Mapping[int, Counts]) -> dict[int, tuple[int, int]]:
    """Start of each bucket → how many labels found their prediction (right, wrong)."""
    found: dict[int, tuple[int, int]] = {}
    for start, counts in buckets.items():
        right, wrong = counts.of("wrong").tolist()
        found[start] = (right, wrong)
    return found


def plain(joined: Sequence[Joined]) -> dict[str, Any]:
    """The answer to feedback."""
    return {
        "joined": sum(each.status == "joined" for each in joined),
        "unknown": sum(each.status == "unknown" for each in joined),
        "right": sum(each.right for each in joined),
        "wrong": sum(each.wrong for each in joined),
        "results": [{"request_id": each.request_id, "status": each.status} for each in joined],
    }
