"""What every store does; each test runs on all of them."""

from __future__ import annotations

import itertools
import threading

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from driftline.serving.stores import Entry

DAY = 86_400
FRESH = itertools.count()
SHARED = pytest.mark.parametrize("opened", ["sqlite", "redis"], indirect=True)


# Counts ---------------------------------------------------------------------------------------
def test_counts_of_one_bucket_add_up(store, kit):
    store.add("w1", 1, [kit.delta(60, 1.5, 2.5)], {})
    store.add("w2", 1, [kit.delta(60, 3.5), kit.delta(60, 9.0)], {})
    found = store.read(kit.series, kit.layout, 0, 1000)
    assert list(found) == [60]
    want = kit.counts(1.5, 2.5) + (kit.counts(3.5) + kit.counts(9.0))
    assert found[60].cells.tolist() == want.cells.tolist()
    assert found[60].rows.tolist() == [4]
    np.testing.assert_allclose(found[60].moments, want.moments, rtol=1e-12)


def test_one_delta_comes_back_to_the_last_bit(store, kit):
    counts = kit.counts(0.1, 1e300, -7.25, float("nan"))
    store.add("w", 1, [type(kit.delta(60))(kit.series, 60, counts)], {})
    assert store.read(kit.series, kit.layout, 0, 100)[60] == counts


def test_read_takes_a_half_open_range_of_one_series_ascending(store, kit):
    for sequence, bucket in enumerate([180, 60, 120, 0]):
        store.add("w", sequence, [kit.delta(bucket, 1.0)], {})
    store.add("w", 9, [kit.delta(60, 1.0, 1.0, series="other")], {})
    assert list(store.read(kit.series, kit.layout, 60, 180)) == [60, 120]
    assert store.read(kit.series, kit.layout, 181, 10_000) == {}
    assert store.read("other", kit.layout, 0, 100)[60].rows.tolist() == [2]


def test_counts_handed_in_or_out_may_be_changed(store, kit):
    counts = kit.counts(1.0)
    store.add("w", 1, [type(kit.delta(60))(kit.series, 60, counts)], {})
    counts.cells[:] = 99
    store.read(kit.series, kit.layout, 0, 100)[60].cells[:] = 77
    assert store.read(kit.series, kit.layout, 0, 100)[60] == kit.counts(1.0)


def test_a_sequence_counts_once(store, kit):
    for _ in range(3):
        store.add("w", 7, [kit.delta(60, 1.0)], {"requests": 1.0})
    store.add("w", 6, [kit.delta(60, 1.0)], {"requests": 1.0})
    store.add("w", 2**62, [kit.delta(60, 1.0)], {"requests": 1.0})
    store.add("w", 2**62, [kit.delta(60, 1.0)], {"requests": 1.0})
    store.add("w", 2**62 + 1, [kit.delta(60, 1.0)], {"requests": 1.0})
    assert kit.total(store) == 3
    assert store.counters() == {"requests": 3.0}


def test_sequences_of_sources_are_apart(store, kit):
    for source in ("a", "b", "a b", "a:b", "ä%b"):
        store.add(source, 1, [kit.delta(60, 1.0)], {})
    assert kit.total(store) == 5


def test_counts_of_another_layout_lie_beside(store, kit):
    other = kit.layout_of(cells=5)
    store.add("w", 1, [kit.delta(60, 1.0)], {})
    store.add("w", 2, [type(kit.delta(0))(kit.series, 60, kit.counts(2.0, layout=other))], {})
    store.add("w", 3, [kit.delta(60, 1.0)], {})
    assert store.read(kit.series, kit.layout, 0, 100)[60].rows.tolist() == [2]
    assert store.read(kit.series, other, 0, 100)[60].rows.tolist() == [1]


def test_counters_add_up(store, kit):
    store.add("w", 1, [], {"a": 1.0, "b": 0.25})
    store.add("w", 2, [], {"a": 2.0, "c": -3.5})
    assert store.counters() == {"a": 3.0, "b": 0.25, "c": -3.5}


def test_prune_forgets_what_begins_before(store, kit):
    store.add("w", 1, [kit.delta(bucket, 1.0) for bucket in (0, 60, 120)], {})
    store.add("w", 2, [kit.delta(0, 1.0, series="other")], {})
    store.prune(kit.series, 120)
    assert list(store.read(kit.series, kit.layout, 0, 1000)) == [120]
    assert list(store.read("other", kit.layout, 0, 1000)) == [0]
    store.add("w", 3, [kit.delta(0, 5.0)], {})
    assert store.read(kit.series, kit.layout, 0, 1000)[0] == kit.counts(5.0)


def test_many_deltas_in_one_bucket_stay_exact(store, kit):
    """More calls than any store keeps pieces of, with readers in between."""
    values = np.random.default_rng(3).uniform(-1, 9, size=100)
    for sequence, value in enumerate(values):
        store.add("w", sequence, [kit.delta(60, value), kit.delta(120, value)], {})
        if sequence % 37 == 0:
            store.read(kit.series, kit.layout, 0, 1000)
    want = kit.counts(*values)
    for found in store.read(kit.series, kit.layout, 0, 1000).values():
        assert found.cells.tolist() == want.cells.tolist()
        np.testing.assert_allclose(found.moments, want.moments, rtol=1e-9)


def test_threads_lose_and_double_nothing(opened, kit):
    store = opened()

    def work(source: str) -> None:
        for sequence in range(20):
            for _ in range(2):
                store.add(source, sequence, [kit.delta(60, 1.0)], {"n": 1.0})

    threads = [threading.Thread(target=work, args=(f"w{i}",)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert kit.total(store) == 120
    assert store.counters() == {"n": 120.0}


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_counter_that_is_no_number_is_refused_with_all_that_came_with_it(store, kit, value):
    with pytest.raises(ValueError, match="requests"):
        store.add("w", 1, [kit.delta(60, 1.0)], {"good": 1.0, "requests": value})
    assert kit.total(store) == 0
    assert store.counters() == {}


# The whole ------------------------------------------------------------------------------------
def test_sources_that_fell_silent_are_forgotten_and_those_that_did_not_are_kept(store, kit):
    store.add("gone", 5, [kit.delta(60, 1.0)], {})
    kit.clock.now += 4 * DAY
    store.add("alive", 5, [kit.delta(60, 1.0)], {})
    kit.clock.now += 4 * DAY
    store.add("other", 1, [], {})
    store.add("alive", 5, [kit.delta(60, 1.0)], {})
    assert kit.total(store) == 2


@SHARED
def test_another_opener_sees_the_same_state(opened, kit):
    first, second = opened(), opened()
    first.add("w", 1, [kit.delta(60, 1.0)], {"n": 1.0})
    first.put("k", b"v")
    first.append("log", [b"e"], keep=3)
    first.close()
    assert kit.total(second) == 1
    assert second.counters() == {"n": 1.0}
    assert second.get("k") == (1, b"v")
    assert second.entries("log", 0, 9) == [Entry(1, b"e")]


def test_a_closed_store_opens_again(store):
    store.put("k", b"v")
    store.close()
    store.ping()
    assert store.get("k") == (1, b"v")
    store.close()
    store.close()


@pytest.mark.parametrize("reads_often", [False, True])
@settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_any_order_and_repetition_of_calls_gives_the_same_counts(opened, kit, reads_often, data):
    store = opened()
    series = f"s{next(FRESH)}"
    workers = data.draw(st.integers(1, 3))
    calls = [
        (f"{series}-{w}", sequence, 60 * data.draw(st.integers(0, 2)), data.draw(st.integers(0, 6)))
        for w in range(workers)
        for sequence in range(data.draw(st.integers(1, 6)))
    ]
    calls = sorted(calls, key=lambda call: call[1])  # workers in turn, each in its own order
    for call in calls:
        for _ in range(data.draw(st.integers(1, 2))):
            source, sequence, bucket, value = call
            store.add(source, sequence, [kit.delta(bucket, float(value), series=series)], {})
        if reads_often:
            store.read(series, kit.layout, 0, 1000)
    found = store.read(series, kit.layout, 0, 1000)
    for bucket in {call[2] for call in calls}:
        want = kit.counts(*[float(call[3]) for call in calls if call[2] == bucket])
        assert found[bucket].cells.tolist() == want.cells.tolist()
