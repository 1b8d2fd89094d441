"""Streams of server-sent events: what is known first, then every change, from the store alone.

Any worker serves any stream, since all it needs lies in the store and its place in the stream is
the event id that the client brings back. A process that has streams asks the store at most each
`POLL_SECONDS` for each thing that is watched, however many streams watch it.
"""

from __future__ import annotations

import json
import select
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
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
_FORGET = 5.0
_PIECE = 16_384


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
        self._shared: dict[tuple[object, ...], tuple[float, Any]] = {}
        self._ends: Callable[[], bool] = lambda: False

    def until(self, ends: Callable[[], bool]) -> None:
        """Ends all streams once `ends` says so; a server that shuts down waits for none."""
        self._ends = ends

    def wake(self, name: str) -> None:
        """This very process wrote something that the source `name` tells: streams look at once."""
        with self._changed:
            for key in [key for key in self._shared if key[0] == name]:
                del self._shared[key]
            self._turn += 1
            self._changed.notify_all()

    @property
    def open(self) -> int:
        """How many streams there are."""
        return self._open

    def enter(self) -> bool:
        """Takes one of the places, to be given back by `leave`; False when there is none."""
        with self._changed:
            if self._open >= self.most:
                return False
            self._open += 1
            return True

    def leave(self) -> None:
        """Gives a place back."""
        with self._changed:
            self._open -= 1

    def shared(
        self, key: tuple[object, ...], read: Callable[[], T], seconds: float = POLL_SECONDS
    ) -> T:
        """What `read` gave at most `seconds` ago, to whichever stream; else what it gives now."""
        now = time.monotonic()
        with self._changed:
            found = self._shared.get(key)
        if found is not None and now - found[0] < seconds:
            value: T = found[1]
            return value
        fresh = read()
        with self._changed:
            self._shared[key] = (now, fresh)
            for old in [key for key, each in self._shared.items() if now - each[0] > _FORGET]:
                del self._shared[old]
        return fresh

    def events(
        self, sources: list[Source], cursors: Mapping[str, str], client: socket.socket | None
    ) -> Iterator[bytes]:
        """The stream's bytes, from the place that `cursors` (by the names of sources) tell."""
        at = {source.name: cursors.get(source.name, "") for source in sources}
        began = told = time.monotonic()
        trouble = ""
        if client is not None:
            # Beside `_takes`: the server's own write of a piece must end as well.
            seconds = struct.pack("ll", int(SLOW_SECONDS), 0)
            client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, seconds)
        yield b"retry: %d\n\n" % RETRY_MS
        while not self._ends() and time.monotonic() - began < LIFE_SECONDS:
            turn = self._turn
            news, problem = self._news(sources, at)
            if problem != trouble or time.monotonic() - told >= BEAT_SECONDS:
                beat = {"at": round(time.time(), 3), "store": problem or "ok"}
                news.append(_event("beat", msgspec.json.encode(beat), ""))
                trouble = problem
            for event in news:
                for start in range(0, len(event), _PIECE):
                    if not self._takes(client):
                        return
                    yield event[start : start + _PIECE]
                told = time.monotonic()
            if _gone(client):
                return
            with self._changed:
                if self._turn == turn:
                    self._changed.wait(POLL_SECONDS)

    def _news(self, sources: list[Source], at: dict[str, str]) -> tuple[list[bytes], str]:
        """What the sources tell since `at`, which is moved on, and what is wrong with the store."""
        news: list[bytes] = []
        for source in sources:
            try:
                found, at[source.name] = source.changes(at[source.name])
            except StoreError as error:
                return news, str(error)
            news += [_event(name, content, _cursor(at)) for name, content in found]
        return news, ""

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
    # The client sends it back in a header, where only ASCII passes unharmed.
    return json.dumps({name: cursor for name, cursor in at.items() if cursor})


def _event(name: str, content: bytes, identity: str) -> bytes:
    """One event; JSON has no line breaks of its own."""
    head = f"id: {identity}\n" if identity else ""
    return f"{head}event: {name}\ndata: ".encode() + content + b"\n\n"


def _writable(client: socket.socket) -> bool:
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
    except ValueError:  # a TLS socket cannot be asked so; writing will tell
        return False
    except OSError:
        return True
