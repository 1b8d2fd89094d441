from __future__ import annotations

import socket
import threading
from collections.abc import Callable

import pytest

from driftline.metadata.counts import Layout
from driftline.serving.stores import Delta
from driftline.serving.stores.redis import RedisStore


class Wire:
    """A relay to the server that can swallow replies, cutting the connection instead."""

    def __init__(self, port: int) -> None:
        self.swallow = 0
        self._target = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"redis://127.0.0.1:{self._listener.getsockname()[1]}/0"
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _serve(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            far = socket.create_connection(("127.0.0.1", self._target))
            threading.Thread(target=self._there, args=(near, far), daemon=True).start()
            threading.Thread(target=self._back, args=(near, far), daemon=True).start()

    def _there(self, near: socket.socket, far: socket.socket) -> None:
        try:
            while piece := near.recv(65_536):
                far.sendall(piece)
            far.shutdown(socket.SHUT_WR)
        except OSError:
            far.close()

    def _back(self, near: socket.socket, far: socket.socket) -> None:
        try:
            while piece := far.recv(65_536):
                if self.swallow and not piece.startswith(b"-NOSCRIPT"):
                    self.swallow -= 1
                    break
                near.sendall(piece)
            near.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        near.close()
        far.close()


@pytest.fixture
def client(redis_server):
    client = redis_server.client()
    client.flushall()
    yield client
    client.flushall()
    client.close()


@pytest.fixture
def store(redis_server, client):
    store = RedisStore(redis_server.url)
    yield store
    store.close()


@pytest.fixture
def wire(redis_server):
    wire = Wire(redis_server.port)
    yield wire
    wire.close()


@pytest.fixture
def wide(kit) -> Callable[..., tuple[Layout, Delta]]:
    """A layout of many cells, with a delta of seventy rows."""

    def make(signals: int = 25, cells: int = 80) -> tuple[Layout, Delta]:
        layout = kit.layout_of(cells=cells, signals=signals)
        return layout, Delta(kit.series, 0, kit.counts(*range(70), layout=layout))

    return make
