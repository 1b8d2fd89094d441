"""A service that nobody asks anything judges and tells all the same, from its start on."""

from __future__ import annotations

import json
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import served
from clients import counted, send

pytestmark = pytest.mark.slow


def test_it_evaluates(serve):
    server = serve(ready=False)
    served.until(lambda: "this worker evaluates" in server.said(), 20)


def test_it_delivers_what_a_service_before_could_not(serve):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = (
        "--bucket",
        "1s",
        "--alert-group",
        "1s",
        "--alert-webhook",
        f"http://127.0.0.1:{port}/",
    )
    first = serve(*words)
    send(first, 600)
    counted(first, 600)
    send(first, 300, shift=2.0, seed=5)
    served.until(lambda: first.get("/alerts").json()["sinks"] and waiting(first), 30)
    first.stop()
    received: list[dict] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", port), Handler) as receiver:
        threading.Thread(target=receiver.serve_forever, daemon=True).start()
        serve(*words, ready=False)
        served.until(lambda: received, 60)
        receiver.shutdown()
    assert received[0]["type"].endswith("firing")


def waiting(server) -> bool:
    told = server.get("/alerts").json()["sinks"]
    return any(each["waiting"] for each in told if each["name"] != "log")
