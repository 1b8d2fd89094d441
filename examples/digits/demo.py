"""``make demo``: the whole chain, told as it happens.

Trains, packages, serves with two workers, sends clean and then corrupted traffic, and ends with a
summary. With KEEP=1 the service stays up until Ctrl-C.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from driftline.metadata.package import ModelPackage
from examples.digits.data import corrupted, pools
from examples.digits.traffic import Client, Webhook, wait_for

BUILD = Path("build/demo")
CLEAN = 5_000
MOST_CORRUPTED = 1_500
BATCH = 25
console = Console(width=min(Console().width, 120))


def main() -> int:
    """Runs the story; 0 when every part of it came true."""
    began = time.monotonic()
    package, state = BUILD / "package", BUILD / "state.db"
    for old in BUILD.glob("state.db*"):
        old.unlink()
    _train(package)
    metadata = ModelPackage.open(package).metadata
    webhook = Webhook()
    address, service = _serve(package, state, webhook.address)
    try:
        client = Client(address)
        wait_for("the service", lambda: client.get("/readyz"), 90)
        accuracy, before = _clean(client)
        took, after = _corrupted(client)
        alert = wait_for("the alert", lambda: told(webhook.received), 30)
        _summary(accuracy, before, after, took, alert, package, state, metadata)
        console.print(f"\nAll of it took {time.monotonic() - began:.0f} s.")
        good = before["state"] == "stable" and after["state"] == "drift" and len(alert) == 1
        if good and os.environ.get("KEEP"):
            console.print(f"The service stays up at [bold]{address}[/] until Ctrl-C.")
            signal.sigwait({signal.SIGINT, signal.SIGTERM})
        return 0 if good else 1
    finally:
        service.send_signal(signal.SIGTERM)
        service.wait(30)
        webhook.close()


def told(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the webhook heard of drift; a busy machine may have been called slow beside it."""
    return [each for each in events if each["type"].startswith("io.driftline.drift.")]


def _train(package: Path) -> None:
    """Training has a process of its own, as it has in life; MindSpore does not like to fork."""
    console.rule("1. Train a small CNN with MindSpore and package it")
    command = [sys.executable, "-m", "examples.digits.train", str(package)]
    subprocess.run(command, check=True)


def _serve(package: Path, state: Path, webhook: str) -> tuple[str, subprocess.Popen[bytes]]:
    console.rule("2. Serve the package with two workers")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = {
        "--host": "127.0.0.1",
        "--port": str(port),
        "--workers": "2",
        "--state": str(state),
        "--bucket": "2s",
        "--alert-webhook": webhook,
    }
    words = [word for option in options.items() for word in option]
    command = [str(Path(sys.executable).with_name("driftline")), "serve", str(package), *words]
    console.print("driftline serve", package, *words)
    log = (BUILD / "service.log").open("wb")
    return f"http://127.0.0.1:{port}", subprocess.Popen(command, stdout=log, stderr=log)


def _clean(client: Client) -> tuple[float, dict[str, Any]]:
    console.rule(f"3. {CLEAN} clean requests: fresh draws of what the reference was drawn from")
    images, labels = pools()[1].draw(CLEAN, seed=11)
    with _bar() as bar:
        task = bar.add_task("clean", total=CLEAN)
        found = client.predict_all(images, lambda: bar.advance(task))
    accuracy = float(np.mean([int(label) for label in found] == labels))
    wait_for("the last count", lambda: client.get("/drift")["window"]["requests"] >= CLEAN)
    drift = client.get("/drift")
    console.print(f"accuracy {accuracy:.1%}; /drift says [green]{drift['state']}[/]")
    return accuracy, drift


def _corrupted(client: Client) -> tuple[int, dict[str, Any]]:
    console.rule("4. The same kind of images with noise, low contrast or a stuck row of pixels")
    images, _ = pools()[1].draw(MOST_CORRUPTED, seed=12)
    images = corrupted(images, seed=13)
    counted = client.get("/drift")["window"]["requests"]
    with _bar() as bar:
        task = bar.add_task("corrupted", total=MOST_CORRUPTED)
        for sent in range(BATCH, MOST_CORRUPTED + 1, BATCH):
            client.predict_all(images[sent - BATCH : sent], lambda: bar.advance(task))
            # Each worker hands over its counts once a second; ask when these have arrived.
            drift = wait_for("the count", lambda n=counted + sent: _seen(client, n))
            if drift["state"] == "drift":
                break
    console.print(f"called after {sent} requests: [red]{drift['state']}[/]")
    return sent, drift


def _seen(client: Client, requests: int) -> dict[str, Any] | None:
    drift: dict[str, Any] = client.get("/drift")
    return drift if drift["window"]["requests"] >= requests else None


def _summary(
    accuracy: float,
    before: dict[str, Any],
    after: dict[str, Any],
    took: int,
    alerts: list[dict[str, Any]],
    package: Path,
    state: Path,
    metadata: Any,
) -> None:
    console.rule("Summary")
    facts = Table(show_header=False, box=None, pad_edge=False)
    quality = metadata.quality
    facts.add_row("accuracy, held out", f"{quality.accuracy:.1%} (packaged)")
    facts.add_row("accuracy, clean traffic", f"{accuracy:.1%}")
    facts.add_row("/drift before", f"{before['state']}: {before['sentence']}")
    facts.add_row("/drift after", f"{after['state']}: {after['sentence']}")
    facts.add_row("since", str(after["since"]))
    facts.add_row("requests it took", str(took))
    facts.add_row("alerts received", f"{len(alerts)}: {alerts[0]['type']} ({alerts[0]['id']})")
    facts.add_row("package", str(package))
    facts.add_row("state", str(state))
    console.print(facts)
    signals = Table(title="signals that drifted")
    for name in ("signal", "state", "since", "what"):
        signals.add_column(name)
    for each in after["signals"]:
        if each["state"] in ("drift", "warning"):
            signals.add_row(each["name"], each["state"], str(each["onset"]), each["sentence"])
    console.print(signals)


def _bar() -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    return Progress(*columns, TimeElapsedColumn(), console=console)


if __name__ == "__main__":
    sys.exit(main())
