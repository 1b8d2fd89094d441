"""Real Redis servers, each in a folder of its own."""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest
import redis


class RedisServer:
    """A real server in a folder of its own, on a free port; it keeps what it acknowledged."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        binary = shutil.which("redis-server")
        if binary is None:
            pytest.fail("redis-server is missing: apt-get install redis-server")
        options = ["--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.folder)]
        options += ["--save", "", "--appendonly", "yes"]
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen([binary, *options], stdout=log, stderr=log)
        client = self.client()
        deadline = time.monotonic() + 20
        while True:
            try:
                client.ping()
                return
            except redis.RedisError:
                if time.monotonic() > deadline or self.process.poll() is not None:
                    pytest.fail(f"redis-server: {(self.folder / 'log').read_text()}")
                time.sleep(0.02)

    def stop(self) -> None:
        if self.process is not None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
            self.process.wait()
            self.process = None

    def signal(self, number: int) -> None:
        assert self.process is not None
        self.process.send_signal(number)

    def client(self) -> redis.Redis:
        return redis.Redis(port=self.port, socket_timeout=2)
