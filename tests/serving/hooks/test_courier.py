"""Counts arrive exactly once, whatever the store does in between."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
import served

from driftline.metadata.errors import StoreError
from driftline.serving.hooks.columns import Columns
from driftline.serving.hooks.courier import Courier
from driftline.serving.stores.memory import MemoryStore
from driftline.serving.stores.store import Delta

METADATA = served.metadata()
LAYOUT = METADATA.reference.layout
COLUMNS = Columns(METADATA)


def counts(rows: int, seed: int = 0):
    return LAYOUT.count("input", COLUMNS.matrix("input", {"x": served.rows(rows, seed)}))


class Flaky:
    """A store that fails as it is told: before or after it did what it was asked."""

    def __init__(self, *plan: str) -> None:
        self.inner = MemoryStore()
        self.plan = list(plan)
        self.calls: list[int] = []

    def add(
        self, source: str, sequence: int, deltas: Sequence[Delta], counters: Mapping[str, float]
    ) -> None:
        self.calls.append(sequence)
        now = self.plan.pop(0) if self.plan else "well"
        if now == "before":
            raise StoreError("away")
        self.inner.add(source, sequence, deltas, counters)
        if now == "after":
            raise StoreError("gone after the commit")


def stored(store: Flaky, series: str = "s") -> dict[int, object]:
    return store.inner.read(series, LAYOUT, 0, 2**40)


@pytest.mark.parametrize(
    "plan",
    [(), ("before",), ("after",), ("before", "after", "after", "before"), ("after", "before")],
)
def test_each_count_arrives_once_however_the_store_fails(plan):
    store = Flaky(*plan)
    courier = Courier(store, {"s": 1000})
    total = LAYOUT.zeros()
    for step in range(8):
        each = counts(10, step)
        total = total + each
        courier.add({("s", 60): each}, {"requests": 10.0})
        courier.send()
    assert courier.send()
    assert stored(store)[60].cells.tolist() == total.cells.tolist()
    assert store.inner.counters() == {"requests": 80.0}


def test_what_is_under_way_is_sent_again_unchanged_under_its_own_number():
    store = Flaky("after", "before", "well")
    courier = Courier(store, {"s": 1000})
    courier.add({("s", 0): counts(1)}, {})
    assert not courier.send()
    assert "gone" in courier.problem
    courier.add({("s", 0): counts(1)}, {})
    assert not courier.send()
    assert courier.send()
    assert store.calls == [1, 1, 1, 2]
    assert courier.problem == ""


def test_while_the_store_is_away_the_size_stays_bounded_by_the_ring():
    store = Flaky(*["before"] * 10_000)
    courier = Courier(store, {"s": 600})
    for step in range(1_000):
        courier.add({("s", step // 3 * 60): counts(1)}, {"n": 1.0})
        courier.send()
    # Ten buckets wait, and the parcel that was under way when the store went.
    assert courier.waiting <= 11
    store.plan.clear()
    assert courier.send()
    assert store.inner.counters() == {"n": 1_000.0}
    assert list(stored(store))[-10:] == [at * 60 for at in range(324, 334)]


def test_nothing_to_send_asks_nothing_of_the_store():
    store = Flaky("before")
    assert Courier(store, {}).send()
    assert store.calls == []
