"""Each of driftline's own values has its place on the training page; the user's keep theirs."""

from __future__ import annotations

import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from boards import Board, points, until
from playwright.sync_api import Page, expect

from driftline.metadata.training_values import TRAINING_VALUES
from driftline.serving.pages.values import HARDWARE, HIDDEN, MAIN, MORE
from driftline.serving.pages.words import words
from driftline.train_side.probes import Host, Nvidia
from driftline.train_side.probes.ascend import parsed
from driftline.train_side.sinks.prometheus import NAMED

Open = Callable[..., Page]
OWN = {
    "hottest_celsius": 71.0,
    "host/cpu_percent": 12.0,
    "process/memory_bytes": 2.5e9,
    "gpu0/util_percent": 93.0,
    "npu12/power_watts": 288.0,
}
# Each sounds like something else than what it is: a metric of the user's.
USERS = {
    "memory_bank_loss": 0.3,
    "power_loss": 0.2,
    "process_reward": 1.5,
    "device_accuracy": 0.9,
    "cpu_percent": 5.0,
    "gpu0/my_own": 1.0,
}
SECTION_OF = """(name) => document.querySelector(`[data-metric="${name}"]`)
  ?.closest("details").querySelector("h2").textContent"""
CHIP = """\
| 0     910B4               | OK            | 91.3        33                0    / 0             |
| 0                         | 0000:C1:00.0  | 37          0    / 0          3197 / 32768         |
"""


def library() -> Any:
    """As NVIDIA's library answers."""
    return SimpleNamespace(
        NVML_TEMPERATURE_GPU=0,
        nvmlInit=lambda: None,
        nvmlDeviceGetCount=lambda: 1,
        nvmlDeviceGetHandleByIndex=lambda index: index,
        nvmlDeviceGetUtilizationRates=lambda device: SimpleNamespace(gpu=50),
        nvmlDeviceGetMemoryInfo=lambda device: SimpleNamespace(used=1, total=2),
        nvmlDeviceGetTemperature=lambda device, what: 60,
    )


def test_whatever_the_gauges_read_is_hardware(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the training names it: a gauge that reads more would stand with the user's metrics."""
    host, nvidia = Host(), Nvidia()
    hot = [SimpleNamespace(current=50.0)]
    monkeypatch.setattr("psutil.sensors_temperatures", lambda: {"cpu": hot}, raising=False)
    host.read()
    monkeypatch.setattr(nvidia, "_library", library(), raising=False)
    read = {**host.read(), **nvidia._read("gpu0", 0), **parsed(CHIP)}
    assert len(read) == 5 + 4 + 5
    plain = {re.sub(r"^(gpu|npu)\d+/", r"\1{}/", name) for name in read}
    assert plain | {"hottest_celsius"} == set(HARDWARE)


def test_whatever_the_training_computes_has_a_place() -> None:
    places = [*MAIN, *MORE, *HIDDEN, *HARDWARE]
    assert TRAINING_VALUES.keys() <= set(places)
    assert NAMED.keys() <= set(places)
    assert len(places) == len(set(places))


def test_every_curve_has_a_name_for_people() -> None:
    assert {*MAIN, *MORE, *HARDWARE} <= words("training", "zh").keys()


def test_hardware_and_the_user_s_metrics_stand_apart(
    shared: Board, run: str, open_page: Open
) -> None:
    shared.push(run, 1, points(0, 30, **OWN, **USERS))
    page = open_page(f"{shared.address}/training#run={run}")
    until(lambda: page.evaluate(SECTION_OF, "power_loss"), 20, "the charts")
    for name in OWN:
        assert page.evaluate(SECTION_OF, name) == "Hardware", name
    for name in USERS:
        assert page.evaluate(SECTION_OF, name) == "Your metrics", name
    gpu = page.locator('[data-metric="gpu0/util_percent"]')
    expect(gpu.locator("h3")).to_have_text("GPU 0: in use%")
    memory = page.locator('[data-metric="process/memory_bytes"]')
    memory.scroll_into_view_if_needed()
    expect(memory.locator(".values")).to_have_text("2,500")
    tiles = ["Step", "Elapsed", "Loss", "Learning rate", "Gradient norm", "Throughput"]
    expect(page.locator("#tiles dt")).to_have_text([*tiles, "memory_bank_loss", "power_loss"])
