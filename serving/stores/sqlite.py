"""State in one SQLite file: for all processes of one machine; the default."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from driftline.metadata.counts import Counts, Layout
from driftline.metadata.errors import MergeError, StoreError

from .folding import Place, check, folded
from .lease import Held, granted
from .limits import BUCKET_SILENCE, CLEANING, LOG_SILENCE, SOURCE_SILENCE
from .sqlite_bulk import insert_all
from .sqlite_file import SqliteFile
from .store import Delta, Entry, Lease

# What a source's last sequence is about: counts, or one log.
_COUNTS = "counts"
_BEGINS = "substr({0}, 1, length(?)) = ?"


class SqliteStore:
    """All state lies in the file at `path` and the log beside it (``-wal``, ``-shm``).

    The file is made at the first call, not before, so that a store can be constructed where the
    file cannot be used yet. A call waits at most about `timeout` seconds for another writer.
    `clock` gives Unix seconds, and must be the same for all processes. Beyond the contract, every
    `StoreError` names the path and the reason: a folder, another program's file, a newer schema.
    """

    tag: ClassVar[str] = "sqlite"

    def __init__(
        self, path: str | Path, *, timeout: float = 1.0, clock: Callable[[], float] = time.time
    ) -> None:
        # A process may change its folder later on.
        self._file = SqliteFile(Path(path).absolute(), timeout=timeout)
        self._clock = clock
        self._cleaned: float | None = None

    # Counts -------------------------------------------------------------------------------
    def add(
        self, source: str, sequence: int, deltas: Sequence[Delta], counters: Mapping[str, float]
    ) -> None:
        """Adds all of it or nothing, and once by (source, sequence)."""
        check(counters)
        sums = folded(deltas)
        with self._file.writing() as db:
            if _is_done(db, _COUNTS, source, sequence):
                return
            now = self._clean(db)
            for place, counts in sums.items():
                db.execute(
                    "INSERT OR REPLACE INTO counts (series, bucket, layout, data, touched)"
                    " VALUES (?, ?, ?, ?, ?)",
                    (*place, self._sum(db, place, counts), now),
                )
            insert_all(
                db,
                "INSERT INTO counters (name, value) VALUES",
                list(counters.items()),
                " ON CONFLICT (name) DO UPDATE SET value = value + excluded.value",
            )
            _set_done(db, _COUNTS, source, sequence, now)

    def read(self, series: str, layout: Layout, start: int, end: int) -> dict[int, Counts]:
        """The buckets that begin in ``[start, end)``, ascending, of that layout only."""
        with self._file.reading() as db:
            rows = db.execute(
                "SELECT bucket, data FROM counts WHERE series = ? AND bucket >= ? AND bucket < ?"
                " AND layout = ? ORDER BY bucket",
                (series, start, end, layout.key),
            ).fetchall()
        return {bucket: self._counts(layout, data) for bucket, data in rows}

    def counters(self) -> dict[str, float]:
        """The sum of all counters ever added, by name."""
        with self._file.reading() as db:
            return dict(db.execute("SELECT name, value FROM counters").fetchall())

    def prune(self, series: str, before: int) -> None:
        """Forgets the buckets that begin before `before`; the file uses their room again."""
        with self._file.writing() as db:
            db.execute("DELETE FROM counts WHERE series = ? AND bucket < ?", (series, before))

    # Documents ----------------------------------------------------------------------------
    def get(self, key: str) -> tuple[int, bytes] | None:
        """A document with its version (1 when first written), or None."""
        with self._file.reading() as db:
            row = db.execute("SELECT version, value FROM documents WHERE key = ?", (key,))
            found: tuple[int, bytes] | None = row.fetchone()
            return found

    def put(self, key: str, value: bytes, *, lease: Lease | None = None, name: str = "") -> bool:
        """Replaces a document; False when `lease` is not the newest one of `name`."""
        with self._file.writing() as db:
            if _is_stale(db, name, lease):
                return False
            db.execute(
                "INSERT INTO documents (key, version, value) VALUES (?, 1, ?)"
                " ON CONFLICT (key) DO UPDATE SET version = version + 1, value = excluded.value",
                (key, bytes(value)),
            )
            return True

    def keys(self, prefix: str) -> list[str]:
        """The keys of all documents that begin so, ascending."""
        with self._file.reading() as db:
            rows = db.execute(
                f"SELECT key FROM documents WHERE {_BEGINS.format('key')}", (prefix, prefix)
            ).fetchall()
        return sorted(key for (key,) in rows)

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
        scope = f"log:{log}"
        with self._file.writing() as db:
            if source and _is_done(db, scope, source, sequence):
                return True
            if _is_stale(db, name, lease):
                return False
            if not values:
                return True
            now = self._clean(db)
            (first,) = db.execute(
                "SELECT 1 + ifnull((SELECT last FROM logs WHERE name = ?), 0)", (log,)
            ).fetchone()
            last = first + len(values) - 1
            db.execute("INSERT OR REPLACE INTO logs VALUES (?, ?, ?)", (log, last, now))
            insert_all(
                db,
                "INSERT INTO entries (log, sequence, value) VALUES",
                [(log, first + index, bytes(value)) for index, value in enumerate(values)],
            )
            db.execute(
                "DELETE FROM entries WHERE log = ? AND sequence <= ?", (log, last - max(keep, 0))
            )
            if source:
                _set_done(db, scope, source, sequence, now)
            return True

    def entries(self, log: str, after: int, limit: int) -> list[Entry]:
        """At most `limit` entries whose sequence is above `after`, oldest first."""
        with self._file.reading() as db:
            rows = db.execute(
                "SELECT sequence, value FROM entries WHERE log = ? AND sequence > ?"
                " ORDER BY sequence LIMIT ?",
                (log, after, max(limit, 0)),
            ).fetchall()
        return [Entry(*row) for row in rows]

    def logs(self, prefix: str) -> list[str]:
        """The names of all logs that hold entries and begin so, ascending."""
        with self._file.reading() as db:
            rows = db.execute(
                f"SELECT name FROM logs WHERE {_BEGINS.format('name')}"
                " AND EXISTS (SELECT 1 FROM entries WHERE log = name)",
                (prefix, prefix),
            ).fetchall()
        return sorted(name for (name,) in rows)

    # Leases -------------------------------------------------------------------------------
    def acquire(self, name: str, holder: str, seconds: float) -> Lease | None:
        """Takes or renews a lease for `seconds`; None while another holder's runs."""
        with self._file.writing() as db:
            held = granted(_held(db, name), holder, self._clock(), seconds)
            if held is None:
                return None
            db.execute(
                "INSERT OR REPLACE INTO leases VALUES (?, ?, ?, ?, ?)",
                (name, held.holder, held.token, held.since, held.until),
            )
            return Lease(held.holder, held.token)

    def release(self, name: str, lease: Lease) -> None:
        """Lets another holder take the lease at once, if it is still this one."""
        with self._file.writing() as db:
            db.execute(
                "UPDATE leases SET until = 0 WHERE name = ? AND holder = ? AND token = ?",
                (name, lease.holder, lease.token),
            )

    # Records ------------------------------------------------------------------------------
    def remember(self, records: Mapping[str, bytes], *, seconds: float, most: int) -> None:
        """Keeps records by key for at most `seconds`; beyond `most` the oldest go first."""
        with self._file.writing() as db:
            now = self._clean(db)
            until = now + seconds
            insert_all(
                db,
                "INSERT OR REPLACE INTO records (key, value, until) VALUES",
                [(key, bytes(value), until) for key, value in records.items()],
            )
            db.execute("DELETE FROM records WHERE until <= ?", (now,))
            # Counting visits every record, and is not needed while their ids span no more.
            (span,) = db.execute("SELECT max(id) - min(id) + 1 FROM records").fetchone()
            if span is not None and span > most:
                db.execute(
                    "DELETE FROM records WHERE id IN (SELECT id FROM records ORDER BY id"
                    " LIMIT max(0, (SELECT count(*) FROM records) - ?))",
                    (max(most, 0),),
                )

    def take(self, keys: Sequence[str]) -> dict[str, bytes]:
        """Removes and returns the records that are there; of several takers one gets each."""
        found: dict[str, bytes] = {}
        with self._file.writing() as db:
            now = self._clock()
            for key in keys:
                row = db.execute(
                    "SELECT value FROM records WHERE key = ? AND until > ?", (key, now)
                ).fetchone()
                if row is not None:
                    found[key] = row[0]
                    db.execute("DELETE FROM records WHERE key = ?", (key,))
        return found

    # --------------------------------------------------------------------------------------
    def ping(self) -> None:
        """Raises StoreError when reading or writing would fail now: it writes and commits."""
        with self._file.writing() as db:
            db.execute("INSERT OR REPLACE INTO pings VALUES (1, ?)", (self._clock(),))

    def close(self) -> None:
        """Closes the file; another call opens it again."""
        self._file.close()

    # Within a transaction -----------------------------------------------------------------
    def _sum(self, db: sqlite3.Connection, place: Place, counts: Counts) -> bytes:
        row = db.execute(
            "SELECT data FROM counts WHERE series = ? AND bucket = ? AND layout = ?", place
        ).fetchone()
        if row is not None:
            counts = self._counts(counts.layout, row[0]) + counts
        return counts.to_bytes()

    def _counts(self, layout: Layout, data: bytes) -> Counts:
        try:
            return layout.read(data)
        except MergeError as error:
            raise StoreError(f"{self._file.path}: holds damaged counts") from error

    def _clean(self, db: sqlite3.Connection) -> float:
        now = self._clock()
        if self._cleaned is None or abs(now - self._cleaned) >= CLEANING:
            self._cleaned = now
            db.execute("DELETE FROM sources WHERE seen < ?", (now - SOURCE_SILENCE,))
            db.execute("DELETE FROM counts WHERE touched < ?", (now - BUCKET_SILENCE,))
            db.execute("DELETE FROM records WHERE until <= ?", (now,))
            db.execute(
                "DELETE FROM entries WHERE log IN (SELECT name FROM logs WHERE touched < ?)",
                (now - LOG_SILENCE,),
            )
            db.execute("PRAGMA incremental_vacuum(1000)").fetchall()
        return now


def _is_done(db: sqlite3.Connection, scope: str, source: str, sequence: int) -> bool:
    row = db.execute(
        "SELECT sequence FROM sources WHERE scope = ? AND source = ?", (scope, source)
    ).fetchone()
    return row is not None and sequence <= row[0]


def _set_done(db: sqlite3.Connection, scope: str, source: str, sequence: int, now: float) -> None:
    db.execute("INSERT OR REPLACE INTO sources VALUES (?, ?, ?, ?)", (scope, source, sequence, now))


def _held(db: sqlite3.Connection, name: str) -> Held | None:
    row = db.execute(
        "SELECT holder, token, since, until FROM leases WHERE name = ?", (name,)
    ).fetchone()
    return None if row is None else Held(*row)


def _is_stale(db: sqlite3.Connection, name: str, lease: Lease | None) -> bool:
    if lease is None:
        return False
    held = _held(db, name)
    return held is None or not held.is_of(lease)
