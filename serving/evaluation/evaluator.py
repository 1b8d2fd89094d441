"""The evaluator: in one elected worker, store and reference → verdict and timeline."""

from __future__ import annotations

import logging
import threading
import time
from contextlib import suppress

from msgspec.structs import replace

from driftline.metadata.counts import Counts
from driftline.metadata.errors import StoreError
from driftline.metadata.host import host_fingerprint
from driftline.metadata.schema import ModelMetadata
from driftline.metadata.thresholds import Thresholds

from ..feedback.joining import LABELS, pairs
from ..series import SLOW_BUCKET, Series
from ..service_signals import SERVICE
from ..stores.store import Lease, Store
from .judging import Caught, Facts, noted, stand
from .standing import Standing, decode, encode
from .timeline import KEEP, Point

log = logging.getLogger(__name__)

LEASE_SECONDS = 5.0
# A document that nothing changes is written again so often, so that readers see it is alive.
HEARTBEAT = 5
PRUNE_SECONDS = 60


class Evaluator:
    """Takes its turn each second; does nothing while another worker holds the lease.

    Every write is fenced by the lease: a holder that was stopped and wakes up late is refused by
    the store and says nothing stale.

    Args:
        metadata: of the package.
        series: the names in the store.
        store: shared by all workers.
        thresholds: those of the package with what the settings changed.
        holder: a name that no other process has.
        caught: is told of a part of an evaluation that failed; the rest is written.
    """

    def __init__(
        self,
        metadata: ModelMetadata,
        series: Series,
        store: Store,
        *,
        thresholds: Thresholds,
        holder: str,
        caught: Caught = noted,
    ) -> None:
        self._metadata = metadata
        self._series = series
        self._store = store
        self._thresholds = thresholds
        self._holder = holder
        self._caught = caught
        self._host = host_fingerprint()
        self._lease: Lease | None = None
        self._lock = threading.Lock()
        self._took = 0.0
        self._key: tuple[object, ...] = ()
        self._written = self._pruned = 0.0
        self._told = -1
        self._standing: Standing | None = None

    def turn(self, now: float) -> None:
        """One turn at Unix second `now`.

        Raises:
            StoreError: the state is away; nothing is lost, the next turn comes.
        """
        with self._lock:
            self._turn(now)

    def resign(self) -> None:
        """Gives the lease back, so that another worker need not wait for it to run out."""
        with self._lock:
            if self._lease is not None:
                with suppress(StoreError):  # then it runs out by itself
                    self._store.release(self._series.lease, self._lease)
                self._lease = None

    def _turn(self, now: float) -> None:
        # A judgement that takes longer than a lease would be refused at its end, by every worker.
        seconds = max(LEASE_SECONDS, 3.0 * self._took)
        lease = self._store.acquire(self._series.lease, self._holder, seconds)
        if lease != self._lease:
            self._forget()
            self._lease = lease
            if lease is not None:
                log.info("this worker evaluates %s now", self._series.base)
        if lease is None:
            return
        began = time.monotonic()
        facts = self._read(now)
        if facts.key != self._key or not 0 <= now - self._written < HEARTBEAT:
            if not self._judge(facts, now, lease):
                self._lease = None
                return
            self._took = time.monotonic() - began
        if not 0 <= now - self._pruned < PRUNE_SECONDS:
            self._pruned = now
            for series, span in self._series.keep.items():
                self._store.prune(series, int(now) - span - SLOW_BUCKET)

    def _judge(self, facts: Facts, now: float, lease: Lease) -> bool:
        """Writes the verdict and what follows from it; False when the lease is another's by now."""
        before = self._before()
        standing = stand(
            self._metadata,
            self._series,
            facts,
            thresholds=self._thresholds,
            before=before,
            now=now,
            caught=self._caught,
        )
        tells = self._tells(standing, before)
        last = before.told if before else 0
        # It grows even where the clock steps back: what does not is taken for told already.
        standing = replace(standing, told=max(last + 1, standing.at) if tells else last)
        name = self._series.lease
        if not self._store.put(self._series.verdict, encode(standing), lease=lease, name=name):
            return False
        if tells:
            self._tell_timeline(standing, lease)
        self._key, self._written, self._standing = facts.key, now, standing
        return True

    def _read(self, now: float) -> Facts:
        end = int(now) + 2 * SLOW_BUCKET
        spans, layout = self._series.widths, self._metadata.reference.layout
        width = self._series.bucket

        def ring(width: int) -> dict[int, Counts]:
            start = int(now) // width * width - spans[width] + width
            return self._store.read(self._series.model(width), layout, start, end)

        start = int(now) // width * width - spans[width] + width
        service = self._store.read(self._series.service(width), SERVICE, start, end)
        prefix = self._series.counter("")
        counters = {
            name.removeprefix(prefix): value
            for name, value in self._store.counters().items()
            if name.startswith(prefix)
        }
        slow = {} if width == SLOW_BUCKET else ring(SLOW_BUCKET)
        oldest = int(now) - spans[SLOW_BUCKET]
        labels = pairs(self._store.read(self._series.labels, LABELS, oldest, end))
        return Facts(ring(width), slow, service, counters, labels, host=self._host)

    def _before(self) -> Standing | None:
        """The standing before this one: ours, or the one that the last holder wrote."""
        if self._standing is None:
            found = self._store.get(self._series.verdict)
            self._standing = decode(found[1]) if found else None
        return self._standing

    def _tells(self, standing: Standing, before: Standing | None) -> bool:
        """Whether the timeline gets an entry: once a bucket, and with each change of state."""
        bucket = standing.at // self._series.bucket
        same = before is not None and before.verdict.state == standing.verdict.state
        return bucket != self._told or not same

    def _tell_timeline(self, standing: Standing, lease: Lease) -> None:
        self._store.append(
            self._series.timeline,
            [Point.of(standing).encoded()],
            keep=KEEP,
            source="evaluator",
            sequence=standing.told,
            lease=lease,
            name=self._series.lease,
        )
        self._told = standing.at // self._series.bucket

    def _forget(self) -> None:
        """Nothing is known of what was written: another may have written since."""
        self._key = ()
        self._written = self._pruned = 0.0
        self._told = -1
        self._standing = None
