"""Crashes and outages at every point: nothing lost, and doubled only under the same key."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from driftline.metadata.errors import StoreError
from driftline.serving.stores.memory import MemoryStore
from driftline.serving.stores.sqlite import SqliteStore


class Crashing:
    """A store whose n-th call fails, before it takes effect or after; later ones work again."""

    def __init__(self, store: Any, at: int, after: bool) -> None:
        self._store, self._at, self._after = store, at, after
        self.calls = 0
        self.crashed = ""

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._store, name)

        def call(*args: Any, **named: Any) -> Any:
            self.calls += 1
            fails = self.calls == self._at
            if fails:
                self.crashed = name
                if self._after:
                    method(*args, **named)
                raise StoreError(f"call {self.calls}")
            return method(*args, **named)

        return call


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("restarted", [False, True])
def test_a_crash_at_any_call_loses_nothing(
    kit: Any, endpoint: Any, after: bool, restarted: bool
) -> None:
    """One episode, played once for each call to the store that could be the last one; by the same
    process going on, or by a new one. A message is doubled only when its mark was lost."""
    doubled = 0
    for at in count(1):
        endpoint.received.clear()
        inner = MemoryStore()
        store = Crashing(inner, at, after)
        alerts = kit.alerts(store, kit.sink(endpoint.url))
        for second in (0, 1, 2, 3, 304, 305, 310, 320):
            try:
                alerts.observe([kit.condition(second < 2)], kit.now + second, None)
            except StoreError:
                if restarted:
                    alerts = kit.alerts(store, kit.sink(endpoint.url))
            assert alerts.deliver(kit.now + second, None, wait=10)
            if restarted and store.crashed:
                alerts = kit.alerts(store, kit.sink(endpoint.url))
        keys = [each.json["id"] for each in endpoint.received]
        states = list(dict.fromkeys(key.split(".")[1] for key in keys))
        assert states == ["firing", "resolved"], at
        assert len(set(keys)) == 2, at
        assert keys == sorted(keys, key=keys.index), "a doubled message stays in its place"
        doubled += len(keys) - 2
        (past,) = kit.alerts(inner).past()
        assert past.state == "resolved"
        if not store.crashed:
            break
    assert at > 20
    # Only a restart between "sent" and "marked sent" doubles; who lives on remembers.
    assert doubled == (2 if restarted and not after else 0)


def test_killed_between_sent_and_marked_it_is_sent_again_with_the_same_key(
    kit: Any, endpoint: Any, tmp_path: Path
) -> None:
    """A real process, killed with SIGKILL while it waits for the answer; another one takes over."""
    script = textwrap.dedent(
        f"""
        from driftline.serving.alerts import *
        from driftline.serving.secret import Secret
        from driftline.serving.stores.sqlite import SqliteStore
        hook = SinkSettings(name="hook", kind="cloudevents", url=Secret({endpoint.url!r}))
        settings = AlertSettings(sinks=(hook,), group_seconds=0)
        alerts = Alerts.open(SqliteStore({str(tmp_path / "state.db")!r}), settings)
        firing = Condition(kind="drift", model="m", version="1", firing=True, sentence_en="a",
                           sentence_zh="b")
        alerts.observe([firing], {kit.now}, None)
        alerts.deliver({kit.now}, None, wait=60)
        """
    )
    endpoint.script.append(kit.Answer(how="hang"))
    child = subprocess.Popen([sys.executable, "-c", script], cwd=tmp_path)
    try:
        kit.wait(lambda: len(endpoint.received) == 1, seconds=30)
    finally:
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
    store = SqliteStore(tmp_path / "state.db")
    alerts = kit.alerts(store, kit.sink(endpoint.url))
    assert alerts.deliver(kit.now + 2, None, wait=10)
    assert alerts.deliver(kit.now + 3, None, wait=10)
    first, second = endpoint.received
    assert first.headers["idempotency-key"] == second.headers["idempotency-key"]
    assert first.body == second.body
    store.close()


def test_a_long_outage_of_the_store_sends_nothing_twice(kit: Any, endpoint: Any) -> None:
    """The store goes away just after a sending, for many rounds; the mark is made up for later."""
    inner = MemoryStore()
    store = Gone(inner)
    alerts = kit.alerts(store, kit.sink(endpoint.url))
    alerts.observe([kit.condition()], kit.now, None)
    endpoint.before_answer = store.leave
    alerts.deliver(kit.now, None, wait=10)
    for second in range(1, 20):
        with pytest.raises(StoreError):
            alerts.observe([kit.condition()], kit.now + second, None)
        alerts.deliver(kit.now + second, None, wait=10)
    endpoint.before_answer = None
    store.away = False
    for second in range(20, 40):
        alerts.deliver(kit.now + second, None, wait=10)
    assert len(endpoint.received) == 1
    assert alerts.health()[0].totals == {"delivered": 1}


class Gone:
    """A store that can be away."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self.away = False

    def leave(self) -> None:
        self.away = True

    def __getattr__(self, name: str) -> Any:
        if self.away:
            raise StoreError("away")
        return getattr(self._store, name)
