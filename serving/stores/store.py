"""What a store must do: the one contract that memory, SQLite and Redis keep alike.

Six small primitives; verdicts, the outbox, feedback and training runs are built on them. Every
method raises `StoreError` when the state cannot be reached just now; then nothing was lost or half
done, and the same call may be made again.

What nobody touches any more goes by itself (`limits`): the last sequence of a source after 7 days,
a bucket after 60, the entries of a log after 180. Documents, counters and the last sequence of a
log stay, so their names must not be without number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from driftline.metadata.counts import Counts, Layout


@dataclass(frozen=True, slots=True)
class Delta:
    """Counts to be added to one bucket of one series.

    A series is a text such as ``digits/1/<digest>/60`` (model, version, package, bucket width in
    seconds); a bucket is the Unix second at which it begins.
    """

    series: str
    bucket: int
    counts: Counts


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to be the one that evaluates; `token` grows with every change of holder."""

    holder: str
    token: int


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a log; `sequence` grows by one per log and never repeats."""

    sequence: int
    value: bytes


class Store(Protocol):
    """Shared state of all workers and replicas."""

    # Counts -------------------------------------------------------------------------------
    def add(
        self,
        source: str,
        sequence: int,
        deltas: Sequence[Delta],
        counters: Mapping[str, float],
    ) -> None:
        """Adds all of it or nothing. A `sequence` not above the last one of `source` is done
        already and changes nothing, so that a call of unknown outcome can be repeated.

        Raises:
            ValueError: a counter is not finite.
        """
        ...

    def read(self, series: str, layout: Layout, start: int, end: int) -> dict[int, Counts]:
        """The buckets that begin in ``[start, end)`` and hold data, ascending. Counts written
        under another layout are left out."""
        ...

    def counters(self) -> dict[str, float]:
        """The sum of all counters ever added, by name."""
        ...

    def prune(self, series: str, before: int) -> None:
        """Forgets the buckets that begin before `before`."""
        ...

    # Documents ----------------------------------------------------------------------------
    def get(self, key: str) -> tuple[int, bytes] | None:
        """A document with its version (1 when first written), or None."""
        ...

    def put(self, key: str, value: bytes, *, lease: Lease | None = None, name: str = "") -> bool:
        """Replaces a document and raises its version by one. With `lease` (of the lease `name`)
        only if it is the newest one granted, run out or not: False means refused, since another
        holder has taken over, even if that one's lease ran out too."""
        ...

    def keys(self, prefix: str) -> list[str]:
        """The keys of all documents that begin so, ascending."""
        ...

    # Logs ---------------------------------------------------------------------------------
    def append(
        self,
        log: str,
        values: Sequence[bytes],
        *,
        keep: int,
        source: str = "",
        sequence: int = 0,
        lease: Lease | None = None,
        name: str = "",
    ) -> bool:
        """Appends in order and keeps the newest `keep` entries. With a `source`, a `sequence` not
        above its last one in this log changes nothing (True: it is there, whatever became of the
        lease); without, a call of unknown outcome that is repeated may append twice. With `lease`,
        as `put`."""
        ...

    def entries(self, log: str, after: int, limit: int) -> list[Entry]:
        """At most `limit` entries whose sequence is above `after`, oldest first."""
        ...

    def logs(self, prefix: str) -> list[str]:
        """The names of all logs that hold entries and begin so, ascending."""
        ...

    # Leases -------------------------------------------------------------------------------
    def acquire(self, name: str, holder: str, seconds: float) -> Lease | None:
        """Takes or renews a lease for `seconds`; None while another holder's runs. The same
        holder keeps its token, also when the lease had run out and nobody took over; so a holder's
        name must be one process's own. The store's clock decides (Redis), or this machine's."""
        ...

    def release(self, name: str, lease: Lease) -> None:
        """Lets another holder take the lease at once, if this is still the newest one."""
        ...

    # Records ------------------------------------------------------------------------------
    def remember(self, records: Mapping[str, bytes], *, seconds: float, most: int) -> None:
        """Keeps records by key for at most `seconds`; beyond about `most` the oldest go first. A
        key that is there is replaced and young again."""
        ...

    def take(self, keys: Sequence[str]) -> dict[str, bytes]:
        """Removes and returns the records that are there; of several takers one gets each. After
        a StoreError the same call (same keys, same store object) returns what it had removed."""
        ...

    # --------------------------------------------------------------------------------------
    def ping(self) -> None:
        """Raises StoreError when reading or writing would fail now; it writes."""
        ...

    def close(self) -> None:
        """Lets go of files and connections; the state stays, and another call opens them again."""
        ...
