from __future__ import annotations

import contextlib
import random
import socket
import ssl
import struct
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import msgspec
import pytest

from driftline.serving.alerts import (
    Alerts,
    AlertSettings,
    Condition,
    Message,
    Patience,
    SignalNote,
    SinkSettings,
    Text,
    wire,
)
from driftline.serving.alerts.alert import Alert, moment
from driftline.serving.secret import Secret
from driftline.serving.stores.memory import MemoryStore
from driftline.serving.stores.sqlite import SqliteStore
from driftline.serving.stores.store import Store

NOW = 1_800_000_000.0


@dataclass
class Received:
    """One request as it came in."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.body)


@dataclass
class Answer:
    """What the endpoint is to do: answer, or misbehave as networks do.

    `how`: ``answer``, ``reset`` (RST before an answer), ``hang`` (no answer until the client goes),
    ``drip`` (the body byte by byte, without an end), ``cut`` (less body than announced), ``crawl``
    (the headers byte by byte, without an end).
    """

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    how: str = "answer"


class Endpoint:
    """A receiver on a free port; answers by its script first, then by `usual`."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.received: list[Received] = []
        self.script: deque[Answer] = deque()
        self.usual = Answer()
        self.before_answer: Callable[[], None] | None = None
        self.closing = threading.Event()
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                endpoint._answer(self)

            def log_message(self, *args: object) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *args: object) -> None:
                pass

        self._server = Server(("127.0.0.1", 0), Handler)
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        scheme = "http" if tls is None else "https"
        self.url = f"{scheme}://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()

    def close(self) -> None:
        self.closing.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _answer(self, handler: BaseHTTPRequestHandler) -> None:
        body = handler.rfile.read(int(handler.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in handler.headers.items()}
        self.received.append(Received(handler.path, headers, body))
        if self.before_answer is not None:
            self.before_answer()
        answer = self.script.popleft() if self.script else self.usual
        handler.close_connection = True
        if answer.how == "reset":
            linger = struct.pack("ii", 1, 0)
            handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            handler.connection.close()
            return
        if answer.how == "hang":
            self.closing.wait(20)
            return
        if answer.how == "crawl":
            with contextlib.suppress(OSError):
                handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
                while not self.closing.wait(0.02):
                    handler.wfile.write(b"z")
                    handler.wfile.flush()
            return
        handler.send_response(answer.status)
        for name, value in answer.headers.items():
            handler.send_header(name, value)
        if answer.how == "drip":
            handler.send_header("Content-Length", "100000")
            handler.end_headers()
            with contextlib.suppress(OSError):
                while not self.closing.wait(0.02):
                    handler.wfile.write(b" ")
                    handler.wfile.flush()
            return
        extra = 10 if answer.how == "cut" else 0
        handler.send_header("Content-Length", str(len(answer.body) + extra))
        handler.end_headers()
        handler.wfile.write(answer.body)


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    found = Endpoint()
    yield found
    found.close()


@pytest.fixture
def second_endpoint() -> Iterator[Endpoint]:
    found = Endpoint()
    yield found
    found.close()


@pytest.fixture
def tls_endpoint(tmp_path: Path) -> Iterator[Endpoint]:
    """An endpoint of TLS; whom to trust for it is in ``ca.pem`` of the test's folder."""
    ca, key = str(tmp_path / "ca.pem"), str(tmp_path / "key.pem")
    names = ["-subj", "/CN=test", "-addext", "subjectAltName=IP:127.0.0.1"]
    files = ["-keyout", key, "-out", ca]
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", *files, *names]
    subprocess.run(command, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(ca, key)
    found = Endpoint(context)
    yield found
    found.close()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The wire's time-outs, short enough for a test."""
    monkeypatch.setattr(wire, "READ_SECONDS", 0.2)
    monkeypatch.setattr(wire, "HEAD_SECONDS", 0.3)
    monkeypatch.setattr(wire, "BODY_SECONDS", 0.2)


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    found = MemoryStore() if request.param == "memory" else SqliteStore(tmp_path / "state.db")
    yield found
    found.close()


class Kit:
    """Builders with short names for what most tests need."""

    now = NOW
    Answer = Answer
    text = Text

    @staticmethod
    def condition(firing: bool | None = True, **changes: Any) -> Condition:
        values: dict[str, Any] = {
            "kind": "drift",
            "model": "digits",
            "version": "1",
            "firing": firing,
            "severity": "major",
            "since": NOW - 120,
            "sentence_en": "Drift in mean since 14:05Z.",
            "sentence_zh": "自 14:05Z 起 mean 出现漂移。",
            "signals": (Kit.signal("mean"),),
            "evidence_log10": 6.2,
            "needed_log10": 4.6,
        }
        return Condition(**(values | changes))

    @staticmethod
    def signal(name: str, **changes: Any) -> SignalNote:
        text = Text(f"{name} rose by 0.8 σ", f"{name} 上升了 0.8 σ")
        values: dict[str, Any] = {
            "name": name,
            "group": "input",
            "severity": "major",
            "sentence": text,
            "psi": 0.3,
            "evidence_log10": 6.0,
        }
        return SignalNote(**(values | changes))

    @staticmethod
    def message(state: Any = "firing", sink: str = "s", **changes: Any) -> Message:
        values: dict[str, Any] = {
            "id": "drift-0123456789abcdef0123",
            "kind": "drift",
            "model": "digits",
            "version": "1",
            "state": state,
            "severity": "major",
            "since": moment(NOW - 120),
            "opened": moment(NOW),
            "until": moment(NOW + 600) if state == "resolved" else None,
            "sentence": Text("Drift in mean since 14:05Z.", "自 14:05Z 起 mean 出现漂移。"),
            "evidence_log10": 6.2,
            "needed_log10": 4.6,
            "signals": (Kit.signal("mean"),),
            "signal_count": 1,
            "groups": ("input",),
            "link": "https://drift.example/",
        }
        alert = Alert(**(values | changes))
        key = f"{alert.id}.{state}.{sink}"
        at = moment(NOW + 900 if state == "resolved" else NOW + 5)
        return Message(key=key, sink=sink, state=state, severity=alert.severity, at=at, alert=alert)

    @staticmethod
    def sink(url: str, kind: str = "cloudevents", name: str = "hook", **more: Any) -> SinkSettings:
        return SinkSettings(name=name, kind=kind, url=Secret(url), **more)

    @staticmethod
    def alerts(store: Store, *sinks: SinkSettings, **settings: Any) -> Alerts:
        """Alerts without group wait, seeded, on a clock that follows nothing."""
        values: dict[str, Any] = {"quiet_seconds": 300.0, "group_seconds": 0.0} | settings
        values.setdefault("patience", Patience())
        chosen = AlertSettings(sinks=sinks, **values)
        return Alerts.open(store, chosen, clock=lambda: NOW, rng=random.Random(7))

    @staticmethod
    def wait(true: Callable[[], bool], seconds: float = 10.0) -> None:
        """Returns as soon as it is true; fails after the deadline."""
        deadline = time.monotonic() + seconds
        while not true():
            assert time.monotonic() < deadline, "did not come true in time"
            time.sleep(0.005)


@pytest.fixture(scope="session")
def kit() -> Kit:
    return Kit()
