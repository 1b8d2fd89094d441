"""``make pages-demo``: both live pages, with a training and a served model to look at.

Trains and packages a small model, serves it, and then for some minutes (``MINUTES``, 5 if it is not
set) trains another one while the traffic of the first changes: clean, corrupted, clean. Ctrl-C ends
it at any time.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from rich.console import Console

from examples.digits.data import corrupted, pools
from examples.digits.traffic import Client, wait_for

BUILD = Path("build/pages-demo")
CLEAN, CORRUPTED = 90, 90  # seconds
BATCH = 20
console = Console(width=min(Console().width, 110))


def main() -> int:
    """Runs until the time is over; 0."""
    BUILD.mkdir(parents=True, exist_ok=True)
    package, state = BUILD / "package", BUILD / "state.db"
    for old in BUILD.glob("state.db*"):
        old.unlink()
    shutil.rmtree(BUILD / "runs", ignore_errors=True)
    # Asked to end in whatever way, it ends what it started.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if not package.is_dir():
        console.rule("A model to serve: a small CNN, trained and packaged")
        subprocess.run([sys.executable, "-m", "examples.digits.train", str(package)], check=True)
    address, service = _serve(package, state)
    processes = [service]
    try:
        client = Client(address)
        wait_for("the service", lambda: client.get("/readyz"), 90)
        log = (BUILD / "training.log").open("wb")
        command = [sys.executable, "-m", "examples.pages.training"]
        command += [str(BUILD / "runs" / "digits-cosine"), address]
        processes.insert(0, subprocess.Popen(command, stdout=log, stderr=log))
        console.rule("Open these")
        console.print(f"  drift     [bold]{address}/[/]\n  training  [bold]{address}/training[/]")
        _traffic(client, 60 * float(os.environ.get("MINUTES", "5")))
    except KeyboardInterrupt:
        console.print("\nended")
    finally:
        for process in processes:
            process.send_signal(signal.SIGTERM)
        for process in processes:
            process.wait(60)
    return 0


def _serve(package: Path, state: Path) -> tuple[str, subprocess.Popen[bytes]]:
    port = os.environ.get("PORT") or _free_port()
    options = {"--port": str(port), "--workers": "1", "--threads": "16", "--state": str(state)}
    options |= {"--bucket": "2s", "--alert-group": "2s", "--alert-quiet": "30s"}
    words = [word for option in options.items() for word in option]
    command = [str(Path(sys.executable).with_name("driftline")), "serve", str(package), *words]
    log = (BUILD / "service.log").open("wb")
    return f"http://127.0.0.1:{port}", subprocess.Popen(command, stdout=log, stderr=log)


def _traffic(client: Client, seconds: float) -> None:
    """Clean, then corrupted, then clean requests, some twenty a second."""
    pool, began, phase = pools()[1], time.monotonic(), ""
    for seed in range(1_000_000):
        elapsed = time.monotonic() - began
        if elapsed > seconds:
            return
        bad = CLEAN <= elapsed < CLEAN + CORRUPTED
        now = "noise, low contrast, a stuck row of pixels" if bad else "clean"
        if now != phase:
            phase = now
            console.print(f"  {elapsed:4.0f} s   traffic: {phase}")
        images, _ = pool.draw(BATCH, seed=100 + seed)
        client.predict_all(corrupted(images, seed=seed) if bad else images)
        time.sleep(0.5)


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


if __name__ == "__main__":
    sys.exit(main())
