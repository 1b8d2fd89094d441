"""State in a Redis server: for a fleet of replicas that share one truth."""

from __future__ import annotations

import uuid
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, ClassVar
from urllib.parse import quote

from driftline.metadata.counts import Counts, Layout
from driftline.metadata.errors import StoreError

from . import redis_scripts as scripts
from .folding import check, folded
from .lease import SET_BACK
from .limits import BUCKET_SILENCE, LOG_SILENCE, SOURCE_SILENCE
from .pieces import MARK, packed, total
from .redis_link import RedisLink
from .store import Delta, Entry, Lease

# A bucket is summed up whenever its pieces reach a multiple of this, by the one who added the last.
PIECES = 16
# How long a record that was taken can be handed out again to a taker whom the reply did not reach.
CLAIM_SECONDS = 600
_MOST_CLAIMS = 1_000


class RedisStore:
    """All state lies under keys that begin with `prefix`; every call is one atomic script.

    Counts are appended as compressed pieces, so that writers never wait for one another and no
    number is merged in Redis; readers and every 16th writer of a bucket sum the pieces up. Leases
    and records go by the server's clock, unless `clock` (Unix seconds) is given. A call gives up
    after `timeout` seconds without an answer and is not repeated here: the caller does, and
    (source, sequence) makes it count once.

    Wants Redis 6 or newer, one server with or without replicas (no Cluster), ``appendonly yes`` and
    ``maxmemory-policy noeviction``. Memory: about 3 to 6 KB a bucket for 2,000 cells once it is
    closed, up to 16 times a second's delta more while it is filled; about 300 bytes and the value
    for a record; nothing that is no longer touched stays, but for documents, counters and the last
    sequence of each log.

    Raises:
        SettingError: `url` is none.
    """

    tag: ClassVar[str] = "redis"

    def __init__(
        self,
        url: str,
        *,
        prefix: str = "driftline:",
        timeout: float = 1.0,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self._link = RedisLink(url, timeout=timeout)
        self._prefix = prefix
        self._clock = clock
        self._unsure: OrderedDict[tuple[str, ...], str] = OrderedDict()
        self._arrived: deque[str] = deque(maxlen=_MOST_CLAIMS)

    # Counts -------------------------------------------------------------------------------
    def add(
        self, source: str, sequence: int, deltas: Sequence[Delta], counters: Mapping[str, float]
    ) -> None:
        """Adds all of it or nothing, and once by (source, sequence)."""
        check(counters)
        sums = folded(deltas)
        keys = [self._key("source", source), self._key("counters")]
        args: list[str | bytes | int] = [
            f"{sequence:020d}",
            int(SOURCE_SILENCE),
            int(BUCKET_SILENCE),
            len(sums),
        ]
        for place, counts in sums.items():
            member = f"{place.bucket}:{place.layout}"
            keys += [self._key("buckets", place.series), self._list(place.series) + member]
            args += [place.bucket, member, packed(counts)]
        for name, value in counters.items():
            args += [name, repr(float(value))]
        lengths = self._link.run(scripts.ADD, keys, args)
        for (place, counts), length in zip(sums.items(), lengths, strict=False):
            if length % PIECES == 0:
                # It is added; that it is not summed up yet is no reason to say otherwise.
                with suppress(StoreError):
                    self._sum_up_one(
                        f"{self._list(place.series)}{place.bucket}:{place.layout}", counts.layout
                    )

    def read(self, series: str, layout: Layout, start: int, end: int) -> dict[int, Counts]:
        """The buckets that begin in ``[start, end)``, ascending, of that layout only."""
        keys = [self._key("buckets", series), self._list(series)]
        rows = self._link.run(scripts.READ, keys, [start, end - 1, layout.key])
        found = {int(bucket): total(layout, pieces) for bucket, pieces in rows}
        # The newest is still being filled.
        closed = {
            f"{self._list(series)}{int(bucket)}:{layout.key}": (pieces, found[int(bucket)])
            for bucket, pieces in rows[:-1]
            if len(pieces) > 1
        }
        if closed:
            with suppress(StoreError):
                self._sum_up(closed)
        return found

    def counters(self) -> dict[str, float]:
        """The sum of all counters ever added, by name."""
        with self._link.reached() as client:
            found: Any = client.hgetall(self._key("counters"))
        return {name.decode(): float(value) for name, value in found.items()}

    def prune(self, series: str, before: int) -> None:
        """Forgets the buckets that begin before `before`."""
        keys = [self._key("buckets", series), self._list(series)]
        self._link.run(scripts.PRUNE, keys, [before - 1])

    # Documents ----------------------------------------------------------------------------
    def get(self, key: str) -> tuple[int, bytes] | None:
        """A document with its version (1 when first written), or None."""
        with self._link.reached() as client:
            found: Any = client.hget(self._key("documents"), key)
        if found is None:
            return None
        version, _, value = found.partition(b":")
        return int(version), value

    def put(self, key: str, value: bytes, *, lease: Lease | None = None, name: str = "") -> bool:
        """Replaces a document; False when `lease` is not the newest one of `name`."""
        keys = [self._key("documents"), self._key("lease", name)]
        return bool(self._link.run(scripts.PUT, keys, [key, bytes(value), *_fence(lease)]))

    def keys(self, prefix: str) -> list[str]:
        """The keys of all documents that begin so, ascending."""
        with self._link.reached() as client:
            found: Any = client.hkeys(self._key("documents"))
        return sorted(key for key in map(bytes.decode, found) if key.startswith(prefix))

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
        """Appends in order and keeps the newest `keep`; once by (log, source, sequence)."""
        keys = [
            self._key("log", log),
            self._key("logs"),
            self._key("source", log, source),
            self._key("lease", name),
        ]
        args: list[str | bytes | int] = [
            log,
            max(keep, 0),
            f"{sequence:020d}" if source else "",
            int(SOURCE_SILENCE),
            int(LOG_SILENCE),
            *_fence(lease),
            *map(bytes, values),
        ]
        return bool(self._link.run(scripts.APPEND, keys, args))

    def entries(self, log: str, after: int, limit: int) -> list[Entry]:
        """At most `limit` entries whose sequence is above `after`, oldest first."""
        if limit < 1:
            return []
        with self._link.reached() as client:
            rows: Any = client.xrange(
                self._key("log", log), f"{max(after + 1, 0)}-0", "+", count=limit
            )
        return [Entry(int(row.partition(b"-")[0]), fields[b"v"]) for row, fields in rows]

    def logs(self, prefix: str) -> list[str]:
        """The names of all logs that hold entries and begin so, ascending."""
        with self._link.reached() as client:
            known: Any = client.hkeys(self._key("logs"))
            names = sorted(name for name in map(bytes.decode, known) if name.startswith(prefix))
            lengths = client.pipeline(transaction=False)
            for name in names:
                lengths.xlen(self._key("log", name))
            return [name for name, length in zip(names, lengths.execute(), strict=True) if length]

    # Leases -------------------------------------------------------------------------------
    def acquire(self, name: str, holder: str, seconds: float) -> Lease | None:
        """Takes or renews a lease for `seconds`; None while another holder's runs."""
        known = int(seconds + LOG_SILENCE)
        args = [self._now(), holder, int(seconds * 1000), int(SET_BACK * 1000), known]
        token = int(self._link.run(scripts.ACQUIRE, [self._key("lease", name)], args))
        return Lease(holder, token) if token else None

    def release(self, name: str, lease: Lease) -> None:
        """Lets another holder take the lease at once, if it is still this one."""
        self._link.run(scripts.RELEASE, [self._key("lease", name)], _fence(lease))

    # Records ------------------------------------------------------------------------------
    def remember(self, records: Mapping[str, bytes], *, seconds: float, most: int) -> None:
        """Keeps records by key for at most `seconds`; beyond `most` the oldest go first."""
        if not records:
            return
        args: list[str | bytes | int] = [self._now(), max(int(seconds * 1000), 1), max(most, 0)]
        for key, value in records.items():
            args += [key, bytes(value)]
        self._link.run(
            scripts.REMEMBER, [self._key("records"), self._key("records", "order")], args
        )

    def take(self, keys: Sequence[str]) -> dict[str, bytes]:
        """Removes and returns the records that are there; of several takers one gets each.

        When the reply is lost, the same call of this store within ten minutes returns them.
        """
        if not keys:
            return {}
        asked = tuple(keys)
        claim = self._unsure.pop(asked, None) or self._key("claim", uuid.uuid4().hex)
        arrived: list[str] = []
        with suppress(IndexError):
            while len(arrived) < 16:
                arrived.append(self._arrived.popleft())
        names = [self._key("records"), self._key("records", "order"), claim, *arrived]
        try:
            flat = self._link.run(scripts.TAKE, names, [self._now(), CLAIM_SECONDS, *keys])
        except StoreError:
            self._unsure[asked] = claim
            with suppress(KeyError):
                while len(self._unsure) > _MOST_CLAIMS:
                    self._unsure.popitem(last=False)
            raise
        if flat:
            self._arrived.append(claim)
        return {key.decode(): value for key, value in zip(flat[::2], flat[1::2], strict=True)}

    # --------------------------------------------------------------------------------------
    def ping(self) -> None:
        """Raises StoreError when reading or writing would fail now: it writes."""
        with self._link.reached() as client:
            client.set(self._key("ping"), b"1", ex=60)

    def close(self) -> None:
        """Closes the connections; another call opens new ones."""
        self._link.close()

    # --------------------------------------------------------------------------------------
    def _key(self, kind: str, *parts: str) -> str:
        # Quoted, so that no two lists of parts give one key.
        return self._prefix + ":".join((kind, *(quote(part, safe="/") for part in parts)))

    def _list(self, series: str) -> str:
        return self._key("counts", series) + ":"

    def _now(self) -> int | str:
        return "" if self._clock is None else int(self._clock() * 1000)

    def _sum_up_one(self, key: str, layout: Layout) -> None:
        with self._link.reached() as client:
            pieces: Any = client.lrange(key, 0, -1)
        if len(pieces) > 1:
            self._sum_up({key: (pieces, total(layout, pieces))})

    def _sum_up(self, lists: Mapping[str, tuple[Sequence[bytes], Counts]]) -> None:
        with self._link.reached() as client:
            batch = client.pipeline(transaction=False)
            for key, (pieces, counts) in lists.items():
                args = (pieces[0][:MARK], len(pieces), packed(counts), int(BUCKET_SILENCE))
                batch.eval(scripts.SUM_UP.text, 1, key, *args)
            batch.execute()


def _fence(lease: Lease | None) -> tuple[str, str]:
    return ("", "") if lease is None else (lease.holder, str(lease.token))
