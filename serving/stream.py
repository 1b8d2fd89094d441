"""Streams of server-sent events: what is known first, then every change, from the store alone.

Any worker serves any stream, since all it needs lies in the store and its place in the stream is
the event id that the client brings back. A process that has streams asks the store at most each
`POLL_SECONDS` for each thing that is watched, however many streams watch it.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Protocol, TypeVar

import msgspec

from driftline.metadata.errors import StoreError

T = TypeVar("T")

POLL_SECONDS = 0.2
BEAT_SECONDS = 5.0
# A client comes back by itself; so no stream is for ever, and a worker that ends has none to wait
# for.
LIFE_SECONDS = 900.0
# How long a client may not take what is sent before it is dropped; it resumes by its event id.
SLOW_SECONDS = 10.0
RETRY_MS = 1_000
_MOST_SHARED = 256


class Source(Protocol):
    """One thing that is watched.

    `changes` gives events as (name, content) and the cursor after them, from the cursor that it
    gave before; an empty cursor means from the beginning, with what is known first.
    """

    name: str

    def changes(self, cursor: str) -> tuple[list[tuple[str, bytes]], str]:
        """What is new.

        Raises:
            StoreError: it cannot be said just now.
        """
        ...


class Streams:
    """The streams of one process, `most` at the most, so that other requests find a thread."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.dropped = 0
        self._open = 0
        self._changed = threading.Condition()
        self._turn = 0
        self._shared: dict[object, tuple[int, float, Any]] = {}
        self._ends: Callable[[], bool] = lambda: False

    def until(self, ends: Callable[[], bool]) -> None:
        """Ends all streams once `ends` says so; a server that shuts down waits for none."""
        self._ends = ends

    def wake(self) -> None:
        """Something was written by this very process: the streams look at once."""
        with self._changed:
            self._turn += 1
            self._changed.notify_all()

    @property
    def open(self) -> int:
        """How many streams there are."""
        return self._open

    @contextmanager
    def place(self) -> Iterator[bool]:
        """Holds one of the places; False when all are taken."""
        with self._changed:
            free = self._open < self.most
            self._open += free
        try:
            yield free
        finally:
            with self._changed:
                self._open -= free

    def shared(self, key: object, read: Callable[[], T], seconds: float = POLL_SECONDS) -> T:
        """What `read` gave at most `seconds` ago, to whichever stream; else what it gives now."""
        now = time.monotonic()
        with self._changed:
            turn = self._turn
            found = self._shared.get(key)
            if found is not None and found[0] == turn and now - found[1] < seconds:
                value: T = found[2]
                return value
        fresh = read()
        with self._changed:
            self._shared[key] = (turn, now, fresh)
            while len(self._shared) > _MOST_SHARED:
                del self._shared[next(iter(self._shared))]
        return fresh

    def events(
        self, sources: list[Source], cursors: Mapping[str, str], client: socket.socket | None
    ) -> Iterator[bytes]:
        """The stream's bytes, from the place that `cursors` (by the names of sources) tell."""
        at = {source.name: cursors.get(source.name, "") for source in sources}
        began = time.monotonic()
        told, trouble = began, ""
        yield b"retry: %d\n\n" % RETRY_MS
        while not self._ends() and time.monotonic() - began < LIFE_SECONDS:
            turn, problem = self._turn, ""
            for source in sources:
                try:
                    found, at[source.name] = source.changes(at[source.name])
                except StoreError as error:
                    found, problem = [], str(error)
                for name, content in found:
                    if not self._takes(client):
                        return
                    yield _event(name, content, _cursor(at))
                    told = time.monotonic()
            if problem != trouble or time.monotonic() - told >= BEAT_SECONDS:
                beat = {"at": round(time.time(), 3), "store": problem or "ok"}
                if not self._takes(client):
                    return
                yield _event("beat", msgspec.json.encode(beat), "")
                told, trouble = time.monotonic(), problem
            if _gone(client):
                return
            with self._changed:
                if self._turn == turn:
                    self._changed.wait(POLL_SECONDS)

    def _takes(self, client: socket.socket | None) -> bool:
        """False, and the client dropped, when it reads too slowly."""
        if client is None or _writable(client):
            return True
        self.dropped += 1
        with suppress(OSError):
            client.shutdown(socket.SHUT_RDWR)
        return False


def cursors(text: str) -> dict[str, str]:
    """The cursors in an event id; none where it is not one of ours."""
    try:
        return msgspec.json.decode(text, type=dict[str, str]) if text else {}
    except (msgspec.DecodeError, RecursionError):
        return {}


def _cursor(at: Mapping[str, str]) -> str:
    # ASCII only, as a header has to be.
    text = msgspec.json.encode({name: cursor for name, cursor in at.items() if cursor}).decode()
    return text.encode("ascii", "backslashreplace").decode() if not text.isascii() else text


def _event(name: str, content: bytes, identity: str) -> bytes:
    """One event; JSON has no line breaks of its own."""
    head = f"id: {identity}\n" if identity else ""
    return f"{head}event: {name}\ndata: ".encode() + content + b"\n\n"


def _writable(client: socket.socket) -> bool:
    import select

    poll = select.poll()
    poll.register(client, select.POLLOUT)
    return bool(poll.poll(SLOW_SECONDS * 1000))


def _gone(client: socket.socket | None) -> bool:
    """True when the client has closed its end; without asking, its place would stay taken."""
    if client is None:
        return False
    try:
        return client.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b""
    except BlockingIOError:
        return False
    except (OSError, ValueError):
        # A TLS socket cannot be asked so; writing will tell.
        return not isinstance(client, socket.socket) or client.fileno() < 0
