"""The pieces of the pages' demo: its traffic changes in time, its service starts and its training
is shown, without minutes of waiting."""

from __future__ import annotations

import importlib
import itertools
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import requests

from examples.digits.data import corrupted
from examples.digits.traffic import Client, wait_for
from examples.pages import demo
from examples.pages.training import EPOCHS, FAULT, STEPS, rates


class Kept:
    """A client that keeps what it is to send."""

    def __init__(self) -> None:
        self.sent: list[Any] = []

    def predict_all(self, images: Any) -> None:
        self.sent.append(images)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The demo's own time: it passes while the demo sleeps."""
    now = [100.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds

    monkeypatch.setattr(demo, "time", SimpleNamespace(monotonic=lambda: now[0], sleep=sleep))
    return now


def test_traffic_is_clean_then_corrupted_then_clean(
    clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    client = Kept()
    bad: list[int] = []

    def spoilt(images: Any, *, seed: int) -> Any:
        bad.append(seed)
        return corrupted(images, seed=seed)

    monkeypatch.setattr(demo, "corrupted", spoilt)
    demo._traffic(client, 240.0)  # type: ignore[arg-type]
    assert clock[0] == pytest.approx(340.5)
    assert all(len(images) == demo.BATCH for images in client.sent)
    first, last = int(demo.CLEAN / 0.5), int((demo.CLEAN + demo.CORRUPTED) / 0.5)
    assert bad == list(range(first, last))
    clean, spoiled = client.sent[0], client.sent[first]
    assert clean.shape == spoiled.shape
    assert np.abs(clean - spoiled).mean() > 0.01


def test_the_rate_falls_but_for_two_steps() -> None:
    """Where it is far too large: the curves have something to show."""
    found = rates()
    assert len(found) == STEPS * EPOCHS
    usual = [rate for step, rate in enumerate(found) if step not in FAULT]
    assert all(late < early for early, late in itertools.pairwise(usual))
    assert all(found[step] > 10 * max(usual) for step in FAULT)


def test_its_service_starts_and_has_both_pages(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """By the demo's own command; the model alone is another, that needs no training."""
    support = Path(__file__).parents[1] / "serving" / "support"
    monkeypatch.syspath_prepend(str(support))
    served = importlib.import_module("served")
    package = served.package(tmp_path / "package")
    monkeypatch.setenv("PYTHONPATH", str(support))
    monkeypatch.setenv("DRIFTLINE_PREDICTOR", "served:load")
    monkeypatch.delenv("PORT", raising=False)
    monkeypatch.setattr(demo, "BUILD", tmp_path)
    address, service = demo._serve(package.path, tmp_path / "state.db")
    try:
        client = Client(address)
        wait_for("the service", lambda: client.get("/readyz"), 60)
        for page in ("/", "/training"):
            answer = requests.get(address + page, timeout=10)
            assert answer.ok, (tmp_path / "service.log").read_text()
        assert client.predict(served.rows(1, 1)[0]) in served.CLASSES
        assert client.get("/drift")["state"]
    finally:
        service.terminate()
        assert service.wait(30) == 0


def test_it_ends_what_it_started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Also when somebody stops it while the traffic runs; and leaves nothing behind."""
    monkeypatch.setattr(demo, "BUILD", tmp_path)
    (tmp_path / "package").mkdir()
    (tmp_path / "state.db-wal").write_text("of the run before")
    started: list[subprocess.Popen[bytes]] = []
    begin = subprocess.Popen

    def popen(command: list[str], **more: Any) -> subprocess.Popen[bytes]:
        assert command[0] == sys.executable or command[1] == "serve"
        idle = [sys.executable, "-c", "import time; time.sleep(60)"]
        started.append(begin(idle, **more))
        return started[-1]

    def stopped(client: object, seconds: float) -> None:
        assert seconds == 90.0
        assert all(each.poll() is None for each in started)
        raise KeyboardInterrupt

    monkeypatch.setenv("MINUTES", "1.5")
    monkeypatch.setattr(demo.subprocess, "Popen", popen)
    monkeypatch.setattr(demo, "wait_for", lambda *_: None)
    monkeypatch.setattr(demo, "_traffic", stopped)
    monkeypatch.setattr(demo.signal, "signal", lambda *_: None)
    assert demo.main() == 0
    assert len(started) == 2
    assert all(each.poll() is not None for each in started)
    assert not list(tmp_path.glob("state.db*"))
