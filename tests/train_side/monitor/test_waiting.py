"""What is slow or stuck beside the worker holds up neither journal nor end."""

from __future__ import annotations

import io
import logging
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from watched import Trained, until

from driftline.train_side.monitor import TrainingMonitor
from driftline.train_side.policies import Log
from driftline.train_side.probes import Gauge, Loss
from driftline.train_side.rules import NonFinite
from driftline.train_side.settings import MonitorSettings, Sampling
from driftline.train_side.sinks import Console

SETTINGS = MonitorSettings(sampling=Sampling(every=1), report=False)


@pytest.fixture
def free() -> Iterator[threading.Event]:
    """What is stuck is freed when it is set, and after the test."""
    event = threading.Event()
    yield event
    event.set()


class Stuck(io.StringIO):
    """A terminal that takes nothing."""

    def __init__(self, free: threading.Event) -> None:
        super().__init__()
        self.free = free
        self.asked = threading.Event()

    def write(self, text: str) -> int:
        self.asked.set()
        self.free.wait(60)
        return super().write(text)


def journalled(folder: Path, monitor: TrainingMonitor, stuck: Callable[[], Any]) -> None:
    """Steps are on the disk while `stuck` holds."""
    with monitor.loop() as loop:
        loop.step(loss=float("nan"))
        loop.training.session.worker.wake()
        until(stuck)
        for _ in range(20):
            loop.step(loss=1.0)
        until(lambda: len(Trained([], [], {}, folder).series("loss")) == 21, 5)


def test_a_terminal_that_takes_nothing(free: threading.Event, tmp_path: Path) -> None:
    """As behind ``2>&1 | less``; the event is printed at once."""
    terminal = Stuck(free)
    monitor = TrainingMonitor(tmp_path, sinks=[Console(file=terminal)], settings=SETTINGS)
    journalled(tmp_path, monitor, terminal.asked.is_set)
    assert not free.is_set()
    free.set()
    until(lambda: "non_finite" in terminal.getvalue())


def test_a_logger_that_takes_nothing(free: threading.Event, tmp_path: Path) -> None:
    terminal = Stuck(free)
    handler = logging.StreamHandler(terminal)
    logger = logging.getLogger("driftline")
    logger.addHandler(handler)
    try:
        monitor = TrainingMonitor(
            tmp_path,
            probes=[Loss()],
            rules=[NonFinite()],
            sinks=(),
            policies={"non_finite": (Log(),)},
            settings=SETTINGS,
        )
        with monitor.loop() as loop:
            loop.step(loss=float("nan"))
            loop.training.session.worker.wake()
            until(terminal.asked.is_set)
            for _ in range(20):
                loop.step(loss=1.0)
            until(lambda: len(Trained([], [], {}, tmp_path).series("loss")) == 21, 5)
            assert (tmp_path / "faults" / "step-1" / "fault.json").exists()
    finally:
        free.set()
        logger.removeHandler(handler)


def test_a_device_that_does_not_answer(free: threading.Event, tmp_path: Path) -> None:
    """As ``npu-smi`` may for five seconds; its last answer is taken when it comes."""
    asked = threading.Event()

    class Hangs(Gauge):
        kind = "hangs"
        every = 0.0

        def read(self) -> dict[str, float]:
            asked.set()
            free.wait(60)
            return {"npu0/temperature_celsius": 50.0}

    monitor = TrainingMonitor(tmp_path, probes=[Loss(), Hangs()], sinks=(), settings=SETTINGS)
    journalled(tmp_path, monitor, asked.is_set)


def test_the_answer_of_a_slow_device_is_taken(tmp_path: Path) -> None:
    class Slow(Gauge):
        kind = "slow"
        every = 0.0

        def read(self) -> dict[str, float]:
            return {"npu0/temperature_celsius": 50.0}

    monitor = TrainingMonitor(tmp_path, probes=[Loss(), Slow()], sinks=(), settings=SETTINGS)
    with monitor.loop() as loop:
        loop.step(loss=1.0)
        trained = Trained([], [], {}, tmp_path)
        until(lambda: trained.series("npu0/temperature_celsius"))
    assert trained.series("hottest_celsius")[1] == 50.0
    assert not [each for each in threading.enumerate() if each.name == "driftline-console"]


def test_the_end_waits_for_a_stuck_terminal_for_a_second(
    free: threading.Event, tmp_path: Path
) -> None:
    terminal = Stuck(free)
    monitor = TrainingMonitor(tmp_path, sinks=[Console(file=terminal)], settings=SETTINGS)
    with monitor.loop() as loop:
        loop.step(loss=1.0)
        began = time.monotonic()
    assert time.monotonic() - began < 5
    assert monitor.health() is not None
    assert Trained([], [], {}, tmp_path).notices()[-1].sentence == "The training has finished."
