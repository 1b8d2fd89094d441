"""Clients of a served model: many requests at once, every answer looked at."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import requests

from examples.digits.data import Images


class Client:
    """Sends one image a request over kept connections, a few at a time."""

    def __init__(self, address: str, clients: int = 4) -> None:
        self.address = address
        self._clients = clients
        self._own = threading.local()

    def get(self, path: str) -> Any:
        """The JSON answer of a GET."""
        answer = self._session().get(self.address + path, timeout=30)
        answer.raise_for_status()
        return answer.json()

    def predict(self, image: Images) -> str:
        """The label predicted for one image ``[1, 12, 12]``.

        Raises:
            requests.HTTPError: the service refused it.
        """
        body = {"instances": [image.tolist()]}
        answer = self._session().post(self.address + "/predict", json=body, timeout=30)
        answer.raise_for_status()
        return str(answer.json()["predictions"][0]["label"])

    def predict_all(self, images: Images, step: Callable[[], Any] = lambda: None) -> list[str]:
        """The labels of all images; `step` is called after each answer."""

        def one(image: Images) -> str:
            label = self.predict(image)
            step()
            return label

        with ThreadPoolExecutor(self._clients) as pool:
            return list(pool.map(one, images))

    def _session(self) -> requests.Session:
        if not hasattr(self._own, "session"):
            self._own.session = requests.Session()
        session: requests.Session = self._own.session
        return session


class Webhook:
    """A receiver of CloudEvents on a free local port; keeps what it was sent."""

    def __init__(self) -> None:
        received: list[dict[str, Any]] = []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                received.append(json.loads(body))
                self.send_response(204)
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None:
                """Says nothing: the demo tells the story."""

        self.received = received
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_port}/alerts"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        """Stops listening."""
        self._server.shutdown()
        self._server.server_close()


def wait_for(what: str, ready: Callable[[], Any], seconds: float = 60.0) -> Any:
    """The first true value of `ready`, asked for ten times a second.

    Raises:
        TimeoutError: it did not come true in time.
    """
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            if value := ready():
                return value
        except requests.RequestException:
            pass
        time.sleep(0.1)
    raise TimeoutError(f"{what} did not happen within {seconds:.0f} s")
