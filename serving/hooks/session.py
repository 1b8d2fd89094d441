"""A session: one process's share of the watching, from its first request to its end."""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from driftline.drift.thresholds import alpha_of, check_thresholds
from driftline.metadata.errors import SettingError, StoreError
from driftline.metadata.package import ModelPackage
from driftline.metadata.thresholds import Thresholds

from ..alerts.alerts import Alerts, AlertSettings
from ..evaluation.desk import Desk, resigned
from ..evaluation.evaluator import Evaluator
from ..evaluation.standing import Standing
from ..feedback.claims import Claims
from ..feedback.joining import Claim, Joined, Memory, counted
from ..limits import Limits, limited
from ..series import SLOW_BUCKET, Series
from ..stores.memory import MemoryStore
from ..stores.opening import open_store
from ..stores.store import Store
from .background import Background
from .columns import Columns
from .courier import Courier
from .desks import desks
from .fence import Fence
from .inbox import Inbox
from .seen import Seen
from .tally import Tally

log = logging.getLogger(__name__)

# Twice a second, so that a worker that is killed takes less than one second of counts with it.
FLUSH_SECONDS = 0.5
EVALUATE_SECONDS = 1.0
# Judging may use this share of one core's time: the evaluator then sits turns out, but never so
# many that its lease runs out.
JUDGING_SHARE, LONGEST_PAUSE = 0.005, 3.0
PING_SECONDS = 5.0
# How long a worker that is told to end tries to hand over its last counts.
LAST_SECONDS = 3.0


@dataclass(frozen=True)
class Plan:
    """What is watched, and with which settings; None takes what the package says.

    `limits` go over the package's thresholds, and the three settings after `bucket` over both;
    `alerts` says whom to tell. Everything that can be wrong is found here, before any request.

    Raises:
        SettingError: a setting is impossible.
        MetadataError: the package's extractors are not those of its reference.
        UnknownKind: nobody offers such a store, or such a receiver of alerts.
    """

    package: ModelPackage
    store: str
    bucket: int = 60
    false_alarms: str | None = None
    low_confidence: float | None = None
    latency_ms: float | None = None
    alerts: AlertSettings = field(default_factory=AlertSettings)
    limits: Limits | None = None
    series: Series = field(init=False)
    thresholds: Thresholds = field(init=False)
    columns: Columns = field(init=False)
    claims: Claims = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "series", Series.of(self.package, self.bucket))
        chosen = {
            name: getattr(self, name)
            for name in ("false_alarms", "low_confidence", "latency_ms")
            if getattr(self, name) is not None
        }
        metadata = self.package.metadata
        thresholds = limited(metadata.thresholds, self.limits, metadata.reference)
        thresholds = replace(thresholds, **chosen)
        if not 0 < self.bucket <= SLOW_BUCKET or SLOW_BUCKET % self.bucket:
            raise SettingError("bucket", f"{self.bucket} s do not divide an hour")
        check_thresholds(thresholds, metadata.reference)
        alpha_of(thresholds, self.bucket)
        open_store(self.store).close()
        Alerts.open(MemoryStore(), self.alerts)
        object.__setattr__(self, "thresholds", thresholds)
        object.__setattr__(self, "columns", Columns(metadata))
        object.__setattr__(self, "claims", Claims(metadata, self.columns))


class Session:
    """The inbox, the courier and the evaluator of one process, and the threads they run in.

    Args:
        plan: what is watched.
        fence: where failures of the monitor are counted.
    """

    def __init__(self, plan: Plan, fence: Fence) -> None:
        self.plan = plan
        self.store: Store = open_store(plan.store)
        self.tally = Tally(
            plan.package.metadata,
            plan.series,
            low_confidence=plan.thresholds.low_confidence,
            latency_ms=plan.thresholds.latency_ms,
        )
        self.courier = Courier(self.store, plan.series.keep)
        self.memory = Memory(self.store, f"{plan.series.base}|")
        holder = f"{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:8]}"
        self.evaluator = Evaluator(
            plan.package.metadata,
            plan.series,
            self.store,
            thresholds=plan.thresholds,
            holder=holder,
            caught=fence.caught,
        )
        self.desks = desks(plan, self.store, holder, fence.caught)
        self._fence = fence
        self._flusher = Background("flush", self.flush, seconds=FLUSH_SECONDS, fence=fence)
        self._judge = Background("evaluate", self._evaluate, seconds=EVALUATE_SECONDS, fence=fence)
        self._inbox = Inbox(self._count, self._flusher.wake)
        self.problem = ""
        self.last_standing: Standing | None = None
        self._away = False
        self._rested = float("-inf")
        self._pinged = float("-inf")
        self._lock = threading.Lock()
        self._noticed: dict[str, float] = {}
        # The hooks call it on every request.
        self.append = self._inbox.append

    def start(self) -> None:
        """Starts the threads."""
        self._flusher.start()
        self._judge.start()

    def flush(self) -> bool:
        """Counts what waits and hands it over; False if the store is away."""
        self._inbox.drain()
        counter = self.plan.series.counter
        with self._lock:
            noticed, self._noticed = self._noticed, {}
        for kind, times in self._fence.drain().items():
            noticed[f"monitor|{kind}"] = times
        if noticed:
            self.courier.add({}, {counter(name): by for name, by in noticed.items()})
        sent = self.courier.send()
        self.problem = self.courier.problem or self._remember() or self._ping()
        if bool(self.problem) != self._away:
            self._away = bool(self.problem)
            if self._away:
                log.warning("the store is away, counts wait: %s", self.problem)
            else:
                log.info("the store is there; all counts were handed over")
        return sent

    def labelled(self, joined: Sequence[Joined]) -> None:
        """Counts what became of feedback. A label counts when it arrives, however old what it is
        about: evidence of harm runs over labels in the order of their arrival."""
        at = int(time.time()) // SLOW_BUCKET * SLOW_BUCKET
        counts = counted(joined)
        if counts is not None:
            self.courier.add({(self.plan.series.labels, at): counts}, {})
        for each in joined:
            known = each.status in ("joined", "unknown")
            self.noticed(f"feedback|{each.status if known else 'mismatched'}")

    def claimed(self, request_ids: Sequence[str]) -> dict[str, list[Claim]]:
        """As `Memory.take`, with what this process answered a moment ago."""
        try:
            self._inbox.drain()
        except Exception as error:
            self._fence.caught("count", error)
        return self.memory.take(request_ids)

    def _remember(self) -> str:
        """Hands over claims that wait for labels; what is wrong with the store, if it is away."""
        try:
            dropped = self.memory.send()
        except StoreError as error:
            return str(error)
        if dropped:
            self.noticed("dropped|claims", dropped)
        return ""

    def noticed(self, counter: str, by: float = 1.0) -> None:
        """Adds to a counter of this package."""
        with self._lock:
            self._noticed[counter] = self._noticed.get(counter, 0.0) + by

    def _ping(self) -> str:
        """What is wrong with the store, asked now and then: without traffic nothing else would."""
        now = time.monotonic()
        if now - self._pinged < PING_SECONDS and not self.problem:
            return ""
        self._pinged = now
        try:
            self.store.ping()
        except StoreError as error:
            return str(error)
        return ""

    def close(self) -> None:
        """Hands over the last counts, gives the lease back, and ends the threads."""
        self._flusher.stop()
        deadline = time.monotonic() + LAST_SECONDS
        while not self.flush() and time.monotonic() < deadline:
            time.sleep(0.1)
        if self.courier.waiting:
            log.error("the store is away at the end: %d counts are lost", self.courier.waiting)
        self._judge.stop()
        self.evaluator.resign()
        for desk in self.desks:
            resigned(desk)
        self.store.close()

    def _count(self, requests: list[Seen]) -> None:
        began = time.perf_counter()
        self.memory.remember(self.plan.claims.read(requests, self._fence.caught))
        counts, counters = self.tally.count(requests)
        spent = self.plan.series.counter("monitor_seconds")
        counters[spent] = time.perf_counter() - began
        self.courier.add(counts, counters)

    def _evaluate(self) -> None:
        began, used = time.monotonic(), time.thread_time()
        if began >= self._rested:
            self._turn(self.evaluator)
            pause = (time.thread_time() - used) / JUDGING_SHARE
            self._rested = began + min(pause, LONGEST_PAUSE)
        for desk in self.desks:
            self._turn(desk)

    def _turn(self, each: Evaluator | Desk) -> None:
        # Each for itself: an evaluator that fails is one of the things to be told of.
        try:
            each.turn(time.time())
        except StoreError as error:
            # The flusher says so once; here it would be said each second.
            log.debug("nothing is judged while the store is away: %s", error)
        except Exception as error:
            self._fence.caught(type(each).__name__.lower(), error)
