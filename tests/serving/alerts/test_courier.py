"""The courier of one sink: what it logs, and what it keeps from the others."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest

from driftline.serving.alerts import Patience
from driftline.serving.alerts.log import Log
from driftline.serving.stores.memory import MemoryStore


def test_a_try_that_failed_is_logged_with_its_number_and_when_the_next_comes(
    kit: Any, endpoint: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """And the last one says that it is the last."""
    endpoint.usual = kit.Answer(500)
    patience = Patience(first=20, longest=20, attempts=3)
    alerts = kit.alerts(MemoryStore(), kit.sink(endpoint.url), patience=patience)
    alerts.observe([kit.condition()], kit.now, None)
    for second in (0, 30, 60):
        alerts.deliver(kit.now + second, None, wait=10)
    endpoint.usual = kit.Answer(400)
    alerts.observe([kit.condition(kind="health")], kit.now + 90, None)
    alerts.deliver(kit.now + 90, None, wait=10)
    said = [each.rpartition("hook: ")[2] for each in caplog.messages if "hook: HTTP" in each]
    assert [re.sub(r"in 1\d|in 20", "in 10", each) for each in said] == [
        "HTTP 500 (try 1, the next in 10 s)",
        "HTTP 500 (try 2, the next in 10 s)",
        "HTTP 500 (try 3, the last one, it is given up)",
        "HTTP 400 (try 1, it cannot be taken and is given up)",
    ]


def test_a_sinks_own_fault_is_fenced(kit: Any, store: Any, monkeypatch: Any) -> None:
    """An exception out of `send` is one more try that failed."""

    def broken(self: Log, message: Any) -> Any:
        raise ZeroDivisionError("with a t0ken in it")

    monkeypatch.setattr(Log, "send", broken)
    alerts = kit.alerts(store, kit.sink("http://unused/", kind="log"))
    alerts.observe([kit.condition()], kit.now, None)
    assert alerts.deliver(kit.now, None, wait=10)
    (health,) = alerts.health()
    assert health.problem == "the sink failed: ZeroDivisionError"
    monkeypatch.undo()
    assert alerts.deliver(kit.now + 10, None, wait=10)
    assert alerts.health()[0].totals == {"retried": 1, "delivered": 1}


def test_one_slow_sink_holds_up_no_other(
    kit: Any, store: Any, endpoint: Any, second_endpoint: Any
) -> None:
    """While one receiver hangs, the other is served, and the caller waits no longer than asked."""
    endpoint.usual = kit.Answer(how="hang")
    alerts = kit.alerts(
        store, kit.sink(endpoint.url, name="slow"), kit.sink(second_endpoint.url, name="quick")
    )
    alerts.observe([kit.condition()], kit.now, None)
    began = time.monotonic()
    assert not alerts.deliver(kit.now, None, wait=0.2)
    assert time.monotonic() - began < 2
    kit.wait(lambda: len(second_endpoint.received) == 1)
    alerts.observe([kit.condition(False)], kit.now + 1, None)
    alerts.observe([kit.condition(False)], kit.now + 301, None)
    kit.wait(lambda: alerts.deliver(kit.now + 301, None, wait=0.05) or True)
    kit.wait(lambda: len(second_endpoint.received) == 2)
    assert len(endpoint.received) == 1
    endpoint.closing.set()
