"""A SQLite file that many threads and processes use, and that survives forks of its users.

SQLite forbids to carry a connection over a fork: not even closing it in the child is safe, since
the library's own notes of who holds which lock are copied with it. So none is ever carried.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from driftline.metadata.errors import StoreError

from .sqlite_schema import connect

# Connections that a fork carried along after all (made without Python knowing, or while a call was
# stuck): kept here for ever, because closing them would harm the other process.
_CARRIED: list[object] = []


class _Opened(NamedTuple):
    connection: sqlite3.Connection
    identity: tuple[int, int]


class SqliteFile:
    """Lends connections to `path`, each to one thread at a time, and none across a fork.

    A fork waits for the calls under way (each waits at most `timeout` seconds for a lock), then
    closes what is idle. A file that was removed or replaced is noticed at the next use. After any
    failure the connection is closed, and the next use starts with a new, verified one.
    """

    def __init__(self, path: Path, *, timeout: float = 1.0) -> None:
        self.path = path
        self._timeout = timeout
        self._pid = os.getpid()
        self._gate = threading.Condition(threading.Lock())
        self._active = 0
        self._forking = False
        self._idle: list[_Opened] = []
        # The registry of fork hooks is never emptied: it must not keep this object alive.
        at_fork = weakref.WeakMethod
        before, after = at_fork(self._before_fork), at_fork(self._after_fork)
        os.register_at_fork(
            before=lambda: _call(before),
            after_in_parent=lambda: _call(after),
            after_in_child=lambda: _call(after),
        )

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection for a single statement that reads.

        Raises:
            StoreError: the file cannot be read just now, or is not ours.
        """
        self._enter()
        try:
            opened = self._open()
            try:
                yield opened.connection
            except BaseException:
                with suppress(sqlite3.Error):
                    opened.connection.close()
                raise
            self._idle.append(opened)
        except sqlite3.ProgrammingError:
            raise
        except (sqlite3.DatabaseError, OSError) as error:
            raise StoreError(f"{self.path}: {error}") from error
        finally:
            self._leave()

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A connection inside a transaction that is committed at the end, or leaves no trace.

        Raises:
            StoreError: the file cannot be written just now, or is not ours.
        """
        with self.reading() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                # SQLite has rolled back by itself after a full disk and the like.
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
                raise

    def close(self) -> None:
        """Closes what is idle, once the calls under way have ended."""
        with self._gate:
            self._gate.wait_for(lambda: not self._active, self._timeout + 1)
            self._close_idle()

    def _open(self) -> _Opened:
        with suppress(IndexError):
            opened = self._idle.pop()
            if opened.identity == _identity(self.path):
                return opened
            with suppress(sqlite3.Error):
                opened.connection.close()
            self._close_idle()
        deadline = time.monotonic() + self._timeout
        while True:
            try:
                connection = connect(self.path, self._timeout)
                break
            except sqlite3.OperationalError as error:
                # Making the file and turning on its log do not wait for a lock as all else does.
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)
        identity = _identity(self.path)
        if identity is None:
            connection.close()
            raise StoreError(f"{self.path}: was removed while it was opened")
        return _Opened(connection, identity)

    def _close_idle(self) -> None:
        while self._idle:
            with suppress(sqlite3.Error):
                self._idle.pop().connection.close()

    def _enter(self) -> None:
        if self._pid != os.getpid():
            # A fork that ran no hooks (made by native code).
            self._gate, self._forking = threading.Condition(threading.Lock()), False
            self._leave_behind()
        with self._gate:
            self._gate.wait_for(lambda: not self._forking)
            self._active += 1

    def _leave(self) -> None:
        with self._gate:
            self._active -= 1
            self._gate.notify_all()

    def _leave_behind(self) -> None:
        _CARRIED.extend(self._idle)
        self._idle, self._active, self._pid = [], 0, os.getpid()

    def _before_fork(self) -> None:
        self._gate.acquire()
        self._forking = True
        if self._gate.wait_for(lambda: not self._active, self._timeout + 1):
            self._close_idle()

    def _after_fork(self) -> None:
        if self._pid != os.getpid():
            self._leave_behind()
        if self._forking:
            self._forking = False
            self._gate.notify_all()
            self._gate.release()


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def _call(method: weakref.WeakMethod[Callable[[], None]]) -> None:
    bound = method()
    if bound is not None:
        bound()
