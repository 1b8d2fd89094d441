from __future__ import annotations

import pytest

from driftline.metadata.errors import StoreError
from driftline.serving.stores import Store
from driftline.serving.stores.memory import MemoryStore
from driftline.serving.stores.testing import FlakyStore


@pytest.fixture
def flaky(kit) -> FlakyStore:
    return FlakyStore(MemoryStore(clock=kit.clock))


def test_away_does_nothing_and_says_so(flaky, kit):
    flaky.away = True
    with pytest.raises(StoreError, match="away"):
        flaky.add("w", 1, [kit.delta(60, 1.0)], {})
    with pytest.raises(StoreError):
        flaky.ping()
    flaky.away = False
    assert kit.total(flaky) == 0
    assert flaky.calls["add"] == 1


def test_a_lost_reply_has_taken_effect(flaky, kit):
    flaky.lost_replies = 1
    with pytest.raises(StoreError, match="lost"):
        flaky.add("w", 1, [kit.delta(60, 1.0)], {"n": 1})
    flaky.add("w", 1, [kit.delta(60, 1.0)], {"n": 1})
    assert kit.total(flaky) == 1
    assert flaky.counters() == {"n": 1}


def test_a_take_whose_reply_was_lost_can_be_repeated(flaky):
    flaky.remember({"r": b"1"}, seconds=60, most=9)
    flaky.lost_replies = 1
    with pytest.raises(StoreError):
        flaky.take(["r"])
    assert flaky.take(["r"]) == {"r": b"1"}
    assert flaky.take(["r"]) == {}


def test_delay_waits_before_the_work(kit):
    waited: list[float] = []
    flaky = FlakyStore(MemoryStore(clock=kit.clock), sleep=waited.append)
    flaky.delay = 3.0
    flaky.put("k", b"v")
    assert waited == [3.0]


def test_every_method_reaches_the_inner_store(flaky, kit):
    store: Store = flaky
    store.add("w", 1, [kit.delta(0, 1.0), kit.delta(60, 1.0)], {"n": 2})
    store.prune(kit.series, 60)
    assert list(store.read(kit.series, kit.layout, 0, 100)) == [60]
    lease = store.acquire("e", "a", 10)
    assert store.put("k", b"v", lease=lease, name="e")
    assert store.append("log", [b"x"], keep=3, source="s", sequence=1, lease=lease, name="e")
    store.release("e", lease)
    assert store.acquire("e", "b", 10) is not None
    assert not store.put("k", b"v", lease=lease, name="e")
    assert (store.get("k"), store.keys("")) == ((1, b"v"), ["k"])
    assert (len(store.entries("log", 0, 9)), store.logs("")) == (1, ["log"])
    store.close()
