"""The evidence on disk: an append-only file of JSON lines, in segments, one entry a line."""

from __future__ import annotations

import fcntl
import logging
import os
import threading
import time
import weakref
from collections import deque
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import IO

from .point import Entry, Line, decoder, encoder
from .reading import decoded, last_of, segment_name, segments

log = logging.getLogger("driftline")

SEGMENT_BYTES = 16 * 1024**2
SEGMENTS = 64


class Journal:
    """Appends entries, numbered on from what the folder holds already.

    `append` goes to memory; `write` brings all of it to the file, and to the disk (fsync) at most
    once in `sync_every` seconds. Each process begins a segment of its own, so a line that a killed
    one left unfinished stays what it is. The oldest of more than 64 segments is removed.

    No error is raised: while the folder cannot be written the newest entries are kept in memory,
    older ones are counted in `lost`, and writing is tried again every 5 s.

    Only one thread may append and write; `recent` may be called from any.

    Args:
        folder: made if it is not there.
        sync_every: seconds.
        keep: entries kept in memory, for those who follow the run.
    """

    def __init__(self, folder: Path, *, sync_every: float = 1.0, keep: int = 2000) -> None:
        self.folder = folder
        self.lost = 0
        self.error: OSError | None = None
        self.last: Line | None = None
        self.n = 0
        self._sync_every = sync_every
        self._tail: deque[tuple[int, bytes]] = deque(maxlen=keep)
        self._lock = threading.Lock()
        self._waiting: deque[tuple[int, bytes]] = deque()
        self._file: IO[bytes] | None = None
        self._guard: IO[bytes] | None = None
        self._size = 0
        self._synced = self._tried = float("-inf")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._claim()
        except OSError as error:
            self._failed(error)
            with suppress(OSError):  # what cannot be written may be read all the same
                self._number_on()
        _OPEN.add(self)

    def append(self, entry: Entry) -> None:
        """Numbers the entry and takes it in."""
        self.n += 1
        entry.n = self.n
        line = encoder.encode(entry)
        with self._lock:
            self._tail.append((self.n, line))
        if len(self._waiting) >= 5000:
            self._waiting.popleft()
            self.lost += 1
        self._waiting.append((self.n, line))

    def write(self, *, sync: bool = False) -> None:
        """Brings everything to the file; `sync` brings it to the disk now."""
        now = time.monotonic()
        if self._waiting and (self.error is None or now - self._tried >= 5.0 or sync):
            self._tried = now
            try:
                self._put()
                self.error = None
            except OSError as error:
                self._failed(error)
        if self._file is not None and (sync or now - self._synced >= self._sync_every):
            try:
                os.fsync(self._file.fileno())
            except OSError as error:
                self._failed(error)
            self._synced = now

    @property
    def oldest(self) -> int:
        """The number of the oldest entry in memory."""
        with self._lock:
            return self._tail[0][0] if self._tail else self.n + 1

    def recent(self, after: int, limit: int) -> list[Line] | None:
        """Up to `limit` entries that follow entry `after`; None if memory does not reach back."""
        with self._lock:
            first = self._tail[0][0] if self._tail else self.n + 1
            if first > after + 1:
                return None
            start = after + 1 - first
            lines = [line for _, line in islice(self._tail, start, start + limit)]
        return [entry for entry in map(decoded, lines) if entry is not None]

    def close(self) -> None:
        """Brings everything to the disk, and lets the folder go."""
        self.write(sync=True)
        for file in (self._file, self._guard):
            if file is not None:
                try:
                    file.close()
                except OSError as error:
                    self._failed(error)
        self._file = self._guard = None

    def _put(self) -> None:
        while self._waiting:
            if self._file is None or self._size >= SEGMENT_BYTES:
                self._begin()
            assert self._file is not None
            taken = list(islice(self._waiting, 500))
            data = b"".join(line + b"\n" for _, line in taken)
            try:
                _write_all(self._file, data)
            except OSError:
                self._cut_back()
                raise
            self._size += len(data)
            for _ in taken:
                self._waiting.popleft()

    def _cut_back(self) -> None:
        """Takes away what a failed write left; where even that fails a new segment is begun."""
        assert self._file is not None
        try:
            os.ftruncate(self._file.fileno(), self._size)
            self._file.seek(self._size)
        except OSError:
            self._file.close()
            self._file = None

    def _begin(self) -> None:
        if self._guard is None:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._claim()
        if self._file is not None:
            os.fsync(self._file.fileno())
            self._file.close()
            self._file = None
        path = self.folder / segment_name(self._waiting[0][0])
        while path.exists():  # its writer died before the first whole line
            path = path.with_name(path.name.replace(".jsonl", "+.jsonl"))
        self._file = path.open("xb", buffering=0)
        self._size = 0
        for old in segments(self.folder)[:-SEGMENTS]:
            old.unlink(missing_ok=True)

    def _claim(self) -> None:
        """Keeps a second process from writing to the same run."""
        guard = (self.folder / ".journal.lock").open("ab")
        try:
            fcntl.flock(guard, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            guard.close()
            raise BlockingIOError(error.errno, "another process writes to this run") from error
        try:
            self._number_on()
        except OSError:
            guard.close()
            raise
        self._guard = guard

    def _number_on(self) -> None:
        """Has the entries that no file holds yet follow those in the folder.

        A reader takes each number once: an entry with a number that was given before is not seen.
        """
        self.last = last_of(self.folder)
        held = self.last.n if self.last is not None else 0
        shift = held + 1 - (self._waiting[0][0] if self._waiting else self.n + 1)
        if shift <= 0:
            return
        self.n += shift
        self._waiting = deque(_numbered(each, shift) for each in self._waiting)
        with self._lock:
            moved = [_numbered(each, shift) for each in self._tail]
            self._tail = deque(moved, maxlen=self._tail.maxlen)

    def _failed(self, error: OSError) -> None:
        if self.error is None:
            log.warning("the journal in %s cannot be written: %s", self.folder, error)
        self.error = error
        self._tried = time.monotonic()


_OPEN: weakref.WeakSet[Journal] = weakref.WeakSet()


def _in_child() -> None:
    """A forked process, such as a dataset's worker, must not keep the run once its parent died."""
    for journal in list(_OPEN):
        guard, journal._guard = journal._guard, None
        if guard is not None:
            with suppress(OSError):
                guard.close()  # the lock is the parent's as long as that has the file open


os.register_at_fork(after_in_child=_in_child)


def _numbered(waiting: tuple[int, bytes], shift: int) -> tuple[int, bytes]:
    """The same entry under a number that is `shift` higher."""
    entry = decoder.decode(waiting[1])
    entry.n += shift
    return entry.n, encoder.encode(entry)


def _write_all(file: IO[bytes], data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[file.write(view) :]
