"""What a service may meet: clients that never rest, and a network that is slow."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from urllib.parse import urlsplit

import served

CLEAN = (OSError, http.client.BadStatusLine, http.client.IncompleteRead)


class Load:
    """Clients that predict one row at a time, each on a connection that it keeps.

    `answered` counts predictions, `slowest` is the longest wait in seconds; `cut` counts requests
    whose connection broke before the answer, and `wrong` holds all else. A connection stays with
    one worker, so what that one had answered in the second before it broke is `at_risk`. The
    clients are plain ones: most libraries open another connection without a word when they find
    one closed between two requests, and nobody would learn that its worker had died.
    """

    def __init__(self, address: str, *, clients: int = 3, pause: float = 0.02) -> None:
        self._host = urlsplit(address).netloc
        self._pause = pause
        self._end = threading.Event()
        self._lock = threading.Lock()
        self.answered = self.cut = self.at_risk = 0
        self.slowest = 0.0
        self.wrong: list[str] = []
        self._threads = [threading.Thread(target=self._run, args=(n,)) for n in range(clients)]
        for each in self._threads:
            each.start()

    def stop(self) -> None:
        """Every request that was begun has its end when this returns."""
        self._end.set()
        for each in self._threads:
            each.join(90)

    def _run(self, seed: int) -> None:
        body = json.dumps({"instances": served.rows(1, seed).tolist()})
        headers = {"Content-Type": "application/json"}
        wire, times = http.client.HTTPConnection(self._host, timeout=60), list[float]()
        while not self._end.wait(self._pause):
            began = time.monotonic()
            try:
                wire.request("POST", "/predict", body, headers)
                answer = wire.getresponse()
                text = answer.read()
            except TimeoutError as problem:
                self.wrong.append(repr(problem))
                wire.close()
            except CLEAN:
                with self._lock:
                    self.cut += 1
                    self.at_risk += sum(at > began - 1 for at in times)
                wire.close()
                times = []
            else:
                self._note(answer.status, text, began, times)
        wire.close()

    def _note(self, status: int, text: bytes, began: float, times: list[float]) -> None:
        now = time.monotonic()
        with self._lock:
            self.slowest = max(self.slowest, now - began)
            if status == 200:
                self.answered += 1
                times.append(now)
            else:
                self.wrong.append(text[:300].decode(errors="replace"))


class Slow:
    """A relay to a port of this machine, which holds back each piece for `delay` seconds."""

    def __init__(self, port: int) -> None:
        self.delay = 0.0
        self._target = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        # Closing alone would leave the thread in `accept`.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _serve(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            try:
                far = socket.create_connection(("127.0.0.1", self._target), timeout=5)
            except OSError:
                near.close()
                continue
            far.settimeout(None)
            for one, other in ((near, far), (far, near)):
                threading.Thread(target=self._carry, args=(one, other), daemon=True).start()

    def _carry(self, one: socket.socket, other: socket.socket) -> None:
        try:
            while piece := one.recv(65_536):
                if self.delay:
                    time.sleep(self.delay)
                other.sendall(piece)
        except OSError:
            pass
        for each in (one, other):
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                each.close()
