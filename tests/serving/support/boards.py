"""A real board in processes of its own, and what a test needs to fill it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import requests

ROOT = Path(__file__).parents[3]


def until(ready: Callable[[], Any], seconds: float = 30.0, what: str = "it") -> Any:
    """The first true value of `ready`, asked for often."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            if value := ready():
                return value
        except requests.RequestException:
            pass
        time.sleep(0.05)
    raise AssertionError(f"{what} did not happen within {seconds} s")


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


class Board:
    """``driftline board``; can be killed and started again at the same address."""

    def __init__(self, folder: Path, *words: str) -> None:
        self.folder = folder
        self.port = free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        self.state = folder / "board.db"
        self.words = words
        self.token: str | None = None
        self.process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        command = [sys.executable, "-m", "driftline.serving.cli", "board"]
        command += ["--port", str(self.port), "--state", str(self.state), *self.words]
        own = {name: text for name, text in os.environ.items() if not name.startswith("DRIFTLINE_")}
        with (self.folder / "board.log").open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, env=own)
        until(self._up, 60, "the board's start")

    def _up(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, (self.folder / "board.log").read_text()
        begun = len(self.workers()) == 2  # one answers before the other is there
        return begun and requests.get(self.address + "/livez", timeout=2).ok

    def workers(self) -> list[int]:
        assert self.process is not None
        pid = self.process.pid
        return [int(p) for p in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]

    def kill(self) -> None:
        """All of its processes end at once, as when the machine loses power."""
        assert self.process is not None
        for pid in [self.process.pid, *self.workers()]:
            os.kill(pid, signal.SIGKILL)
        self.process.wait(10)

    def stop(self, seconds: float = 40.0) -> float:
        """Ends it by SIGTERM; gives the seconds that it took."""
        assert self.process is not None
        began = time.monotonic()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(seconds)
            except subprocess.TimeoutExpired:
                self.kill()
                raise
        return time.monotonic() - began

    def get(self, path: str) -> Any:
        answer = requests.get(self.address + path, timeout=30)
        assert answer.ok, answer.text
        return answer.json()

    def push(self, run: str, sequence: int, points: list[Any], events: list[Any] = []) -> None:  # noqa: B006
        body = {"sequence": sequence, "points": points, "events": events}
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        answer = requests.post(
            f"{self.address}/runs/{requests.utils.quote(run, safe='')}/points",
            json=body,
            headers=headers,
            timeout=10,
        )
        assert answer.ok, answer.text


def points(first: int, count: int, **more: float) -> list[dict[str, Any]]:
    """Points of a quiet training, one a step, 0.2 s apart."""
    now = time.time()
    return [
        {
            "step": step,
            "time": now - (first + count - step) * 0.2,
            "values": {
                "loss": 2.0 / (1 + step / 50),
                "lr": 0.001,
                "grad_norm": 1.0 + (step % 7) / 10,
                "samples_per_second": 900.0 + step % 11,
                "grad_norm/conv.weight": 0.5,
                "grad_norm/dense.weight": 0.7,
                "grad_norm/head.weight": 0.6,
                **more,
            },
        }
        for step in range(first, first + count)
    ]
