"""A receiver's limits are its own, whoever sends to it."""

from __future__ import annotations

from typing import Any, cast

import pytest

from driftline.metadata.errors import StoreError
from driftline.serving.alerts import Alerts, AlertSettings, Limit, SinkSettings
from driftline.serving.alerts.pace import LEASE_SECONDS, Gate
from driftline.serving.secret import Secret
from driftline.serving.stores.memory import MemoryStore
from driftline.serving.stores.scoped import Scoped
from driftline.serving.stores.store import Store

LIMITS = (Limit(2, 60.0),)
NOW = 1_800_000_000.0


def gate(store: Any, url: str = "https://one.example/?token=xyz", name: str = "a") -> Gate:
    return Gate(store, SinkSettings(name=name, kind="dingtalk", url=Secret(url)), LIMITS)


def test_books_that_share_a_robot_share_its_twenty_a_minute(kit: Any, endpoint: Any) -> None:
    """Each model has a book of its own; the robot counts what comes to its address."""
    store = MemoryStore()
    endpoint.usual = kit.Answer(200, b'{"errcode":0}')
    books = []
    for book in ("one", "two", "three"):
        sink = kit.sink(endpoint.url, kind="dingtalk", name=book)
        part = cast(Store, Scoped(store, f"{book}/"))
        settings = AlertSettings(sinks=(sink,), group_seconds=0.0)
        books.append(Alerts.open(part, settings, shared=store, clock=lambda: kit.now))
    many = [kit.condition(kind="training", name=str(i)) for i in range(30)]
    for alerts in books:
        alerts.observe(many, kit.now, None)

    def told(second: float) -> int:
        for alerts in books:
            alerts.deliver(kit.now + second, None, wait=20)
        return len(endpoint.received)

    assert told(0) == 20
    assert told(30) == 20
    assert told(70) == 40
    assert [told(70 + 65 * minute) for minute in (1, 2, 3)] == [60, 80, 90]


def test_one_sends_at_a_time_and_another_address_is_another_receiver() -> None:
    store = MemoryStore()
    first, second = gate(store), gate(store, name="b")
    assert first.enter(NOW)
    assert not second.enter(NOW)
    assert gate(store, "https://two.example/").enter(NOW)
    first.leave(NOW + 1)
    assert second.enter(NOW + 2)
    second.leave(NOW + 2)
    # The first left at 1, so that is when its message may have come.
    assert not first.enter(NOW + 60.5)
    assert first.enter(NOW + 61)


def test_a_sender_that_was_killed_leaves_its_stamp_and_not_a_closed_gate() -> None:
    clock = [NOW]
    store = MemoryStore(clock=lambda: clock[0])
    for each in range(2):
        assert gate(store).enter(NOW + each)
        clock[0] += LEASE_SECONDS + 1
    assert not gate(store).enter(NOW + 59)
    assert gate(store).enter(NOW + 61)


def test_whom_a_receiver_asks_to_wait_all_wait() -> None:
    store = MemoryStore()
    first, second = gate(store), gate(store)
    assert first.enter(NOW)
    first.leave(NOW, after=500.0)
    assert not second.enter(NOW + 499)
    assert second.enter(NOW + 500)


def test_the_address_stands_in_no_key_and_no_limits_need_no_store() -> None:
    store = MemoryStore()
    assert gate(store).enter(NOW)
    assert [key for key in store.keys("") if "xyz" in key or "example" in key] == []
    free = Gate(store, SinkSettings(name="log", kind="log"), ())
    store.acquire = lambda *_: pytest.fail("asked")  # type: ignore[method-assign]
    assert free.enter(NOW)
    free.leave(NOW, after=9.0)


def test_a_store_that_goes_away_while_sending_does_no_harm() -> None:
    store = MemoryStore()
    one = gate(store)
    assert one.enter(NOW)

    def away(*_: Any, **__: Any) -> bool:
        raise StoreError("gone")

    store.put = away  # type: ignore[method-assign]
    one.leave(NOW)
