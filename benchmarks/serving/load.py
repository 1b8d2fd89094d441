"""Servers, and wrk, which loads them."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path

SCRIPT = """
local bodies = {{}}
for line in io.lines("{bodies}") do bodies[#bodies + 1] = line end
local headers = {{["Content-Type"] = "application/json"}}
local at = 0
request = function()
  at = at % #bodies + 1
  return wrk.format("POST", nil, headers, bodies[at])
end
"""
_UNITS = {"us": 1e-3, "ms": 1.0, "s": 1e3, "m": 6e4}


@dataclass(frozen=True)
class Measured:
    """One round: requests a second, and the two latencies in milliseconds."""

    rate: float
    p50: float
    p99: float


class Server:
    """One application under gunicorn, in one worker with `threads` threads."""

    def __init__(self, folder: Path, *words: str, threads: int, workers: int = 1) -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            port = taken.getsockname()[1]
        self.address = f"http://127.0.0.1:{port}"
        call = ", ".join(json.dumps(word) for word in words)
        command = [sys.executable, "-m", "gunicorn", f"benchmarks.serving.apps:application({call})"]
        command += ["--bind", f"127.0.0.1:{port}", "--worker-class", "gthread", "--timeout", "180"]
        command += ["--workers", str(workers), "--threads", str(threads), "--keep-alive", "75"]
        command += ["--no-control-socket"]
        self._log = (folder / f"{words[0]}-{port}.log").open("w+b")
        environment = os.environ | {"OMP_NUM_THREADS": "1"}
        self._process = subprocess.Popen(
            command, stdout=self._log, stderr=self._log, env=environment
        )

    def answer(self, body: bytes, seconds: float = 180.0) -> bytes:
        """What it says, waited for until it is up."""
        deadline = time.monotonic() + seconds
        headers = {"Content-Type": "application/json"}
        while True:
            try:
                asked = urllib.request.Request(f"{self.address}/predict", body, headers)
                with urllib.request.urlopen(asked, timeout=30) as found:
                    return bytes(found.read())
            except urllib.error.HTTPError:
                raise
            except OSError:
                if time.monotonic() > deadline or self._process.poll() is not None:
                    self._log.seek(0)
                    raise RuntimeError(self._log.read().decode(errors="replace")) from None
                time.sleep(0.3)

    def loaded(self, script: Path, path: str, clients: int, seconds: int) -> Measured:
        """Requests of `clients` at once to `path` for `seconds`."""
        words = ["wrk", "--latency", "-t1", f"-c{clients}", f"-d{seconds}s", "-s", str(script)]
        done = subprocess.run(
            [*words, self.address + path], capture_output=True, text=True, check=True
        )
        if "Non-2xx" in done.stdout:
            raise RuntimeError(done.stdout)
        rate = re.search(r"Requests/sec:\s+([\d.]+)", done.stdout)
        assert rate is not None
        return Measured(float(rate[1]), _percentile(done.stdout, 50), _percentile(done.stdout, 99))

    def stop(self) -> None:
        """Ends it."""
        self._process.terminate()
        self._process.wait(60)
        self._log.close()


def _percentile(said: str, which: int) -> float:
    found = re.search(rf"\s{which}%\s+([\d.]+)(us|ms|s|m)", said)
    assert found is not None, said
    return float(found[1]) * _UNITS[found[2]]
