"""A deadline for the head of an HTTP answer.

The time-outs of requests are for each read of the socket: a receiver that sends its headers a byte
every few seconds would never run into one, and would keep its sink mute for ever.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from typing import Any

from requests.adapters import HTTPAdapter
from urllib3 import HTTPConnectionPool, HTTPResponse, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection


class DeadlineAdapter(HTTPAdapter):
    """Cuts the connection when the head of an answer has not come within `seconds`."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        super().__init__()

    def init_poolmanager(self, *args: Any, **named: Any) -> None:
        """Makes the pools of direct connections."""
        super().init_poolmanager(*args, **named)
        self.poolmanager.pool_classes_by_scheme = _pools(self._seconds)

    def proxy_manager_for(self, proxy: Any, **named: Any) -> Any:
        """Makes the pools of connections through a proxy."""
        manager = super().proxy_manager_for(proxy, **named)
        manager.pool_classes_by_scheme = _pools(self._seconds)
        return manager


def _pools(seconds: float) -> dict[str, type[HTTPConnectionPool]]:
    class Plain(HTTPConnection):
        def getresponse(self) -> HTTPResponse:  # type: ignore[override]
            with _cut_after(seconds, self.sock):
                return super().getresponse()

    class Secure(HTTPSConnection):
        def getresponse(self) -> HTTPResponse:  # type: ignore[override]
            with _cut_after(seconds, self.sock):
                return super().getresponse()

    class PlainPool(HTTPConnectionPool):
        ConnectionCls = Plain

    class SecurePool(HTTPSConnectionPool):
        ConnectionCls = Secure

    return {"http": PlainPool, "https": SecurePool}


@contextlib.contextmanager
def _cut_after(seconds: float, sock: socket.socket | None) -> Iterator[None]:
    over = threading.Event()

    def cut() -> None:
        over.set()
        # By file descriptor: a TLS socket must not be touched by two threads, its TCP socket may.
        with contextlib.suppress(OSError, ValueError):
            assert sock is not None
            with socket.socket(fileno=socket.dup(sock.fileno())) as twin:
                twin.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(seconds, cut)
    timer.daemon = True
    if sock is not None:
        timer.start()
    try:
        yield
    finally:
        timer.cancel()
    if over.is_set():  # what was read of the head by then can look whole
        raise TimeoutError
