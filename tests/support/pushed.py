"""A board that is told what to answer, and a run whose points are pushed to it."""

from __future__ import annotations

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from driftline.train_side.journal import Journal
from driftline.train_side.point import Point, stamp
from driftline.train_side.sinks import Board, Run, Values


class Service:
    """Stands in for a driftline service; `answer` is the status it gives."""

    def __init__(self, port: int = 0) -> None:
        self.answer = 200
        self.delay = 0.0
        self.bodies: list[dict] = []
        self.attempts: list[int] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.attempts.append(body["sequence"])
                time.sleep(outer.delay)
                status = outer.answer
                if status == 200:
                    outer.paths.append(self.path)
                    outer.headers.append(dict(self.headers))
                    outer.bodies.append(body)
                self.send_response(status)
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *arguments: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_port
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()

    def steps(self) -> list[int]:
        return [point["step"] for body in self.bodies for point in body["points"]]


class Writer:
    """A run whose points are written by the test."""

    def __init__(
        self, folder: Path, url: str, *, board: Board | None = None, name: str = "digits", **more
    ) -> None:
        self.journal = Journal(folder, keep=100)
        self.board = board or Board(url, **more)
        self.board.open(Run(name, folder, self.journal))

    def write(self, steps: range) -> None:
        for step in steps:
            self.journal.append(Point(time=stamp(step), step=step, values={"loss": 1.0 / step}))
        self.journal.write()
        self.board.write([Values(step, float(step), {}) for step in steps], [])

    def close(self, seconds: float = 5.0) -> None:
        self.board.close(seconds)
        self.journal.close()
