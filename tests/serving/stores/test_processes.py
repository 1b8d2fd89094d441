"""Several processes on one state: sums are exact, killed ones leave no trace, forks harm nobody."""

from __future__ import annotations

import os
import random
import threading
import time
from functools import partial

import pytest

from driftline.metadata.counts import Layout
from driftline.metadata.errors import StoreError

SHARED = pytest.mark.parametrize("opened", ["sqlite", "redis"], indirect=True)
EVERY = pytest.mark.parametrize("opened", ["memory", "sqlite", "redis"], indirect=True)


def persistent(call):
    """Repeats a call until the store answers, as the courier of a worker does."""
    for _ in range(200):
        try:
            return call()
        except StoreError:
            time.sleep(0.01)
    raise AssertionError("the store never answered")


@SHARED
def test_processes_that_add_at_once_lose_and_double_nothing(opened, kit):
    """The state does not exist yet: they also make it at once."""
    store = opened()

    def work(source: str) -> None:
        for sequence in range(40):
            deltas = [kit.delta(60 * (sequence // 10), 1.0, 2.0), kit.delta(6000, 1.0)]
            for _ in range(1 + sequence % 2):
                persistent(partial(store.add, source, sequence, deltas, {"n": 3.0}))

    children = [kit.child(partial(work, f"w{i}")) for i in range(5)]
    assert [kit.ended(child) for child in children] == [0] * 5
    assert kit.total(store) == 5 * 40 * 3
    assert store.counters() == {"n": 600.0}


@SHARED
def test_a_writer_killed_anywhere_leaves_whole_calls_only(opened, kit):
    """Counts and counters of one call come together or not at all, and what was acknowledged is
    there; the successor repeats the call of unknown outcome and nothing counts twice."""
    store = opened()
    store.ping()
    chance = random.Random(5)
    acknowledged = 0
    for turn in range(8):
        read_end, write_end = os.pipe()

        def work(turn=turn, write_end=write_end) -> None:
            for sequence in range(100_000):
                store.add(f"w{turn}", sequence, [kit.delta(60, 1.0), kit.delta(120, 1.0)], {"n": 2})
                os.write(write_end, b".")

        child = kit.child(work)
        os.close(write_end)
        assert os.read(read_end, 1) == b"."
        time.sleep(chance.uniform(0.0, 0.08))
        kit.kill(child)
        done = 1
        while piece := os.read(read_end, 65_536):
            done += len(piece)
        os.close(read_end)
        for sequence in (done - 1, done):
            deltas = [kit.delta(60, 1.0), kit.delta(120, 1.0)]
            persistent(partial(store.add, f"w{turn}", sequence, deltas, {"n": 2}))
        acknowledged += done + 1
        assert kit.total(store) == 2 * acknowledged
        assert store.counters() == {"n": 2.0 * acknowledged}
    rows = [int(c.rows[0]) for c in store.read(kit.series, kit.layout, 0, 1000).values()]
    assert rows == [acknowledged, acknowledged]


@pytest.mark.parametrize("opened", ["sqlite"], indirect=True)
def test_a_writer_killed_inside_its_transaction_leaves_no_trace_and_no_lock(
    opened, kit, monkeypatch
):
    store = opened()
    store.add("w", 1, [kit.delta(60, 1.0)], {"n": 1})
    read_end, write_end = os.pipe()

    def stuck(self: Layout, data: bytes):
        os.write(write_end, b".")
        time.sleep(60)

    def work() -> None:
        monkeypatch.setattr(Layout, "read", stuck)
        # The first bucket is written before the second has to be merged, where it gets stuck.
        store.add("w", 2, [kit.delta(0, 1.0), kit.delta(60, 1.0)], {"n": 1})

    child = kit.child(work)
    assert os.read(read_end, 1) == b"."
    kit.kill(child)
    start = time.monotonic()
    store.add("w", 2, [kit.delta(0, 1.0), kit.delta(60, 1.0)], {"n": 1})
    assert time.monotonic() - start < 1.0
    assert kit.total(store) == 3
    assert store.counters() == {"n": 2.0}


@SHARED
def test_parent_and_child_go_on_after_a_fork(opened, kit):
    store = opened()
    store.add("parent", 1, [kit.delta(60, 1.0)], {})

    def work() -> None:
        assert kit.total(store) >= 1
        store.add("child", 1, [kit.delta(60, 1.0)], {})
        grandchild = os.fork()
        if not grandchild:
            store.add("grandchild", 1, [kit.delta(60, 1.0)], {})
            os._exit(0)
        assert os.waitpid(grandchild, 0)[1] == 0

    child = kit.child(work)
    store.add("parent", 2, [kit.delta(60, 1.0)], {})
    assert kit.ended(child) == 0
    assert kit.total(store) == 4


@EVERY
def test_forks_while_threads_are_busy_hang_nobody(opened, kit):
    """Each child gets a store that works, whatever the parent's threads were doing."""
    store = opened()
    store.ping()
    stop = threading.Event()
    done = [0, 0, 0]

    def busy(index: int) -> None:
        while not stop.is_set():
            persistent(partial(store.add, f"t{index}", done[index], [kit.delta(60, 1.0)], {}))
            done[index] += 1

    threads = [threading.Thread(target=busy, args=(index,)) for index in range(3)]
    for thread in threads:
        thread.start()
    try:
        for turn in range(10):
            add = partial(store.add, f"c{turn}", 0, [kit.delta(120, 1.0)], {})
            child = kit.child(partial(persistent, add))
            assert kit.ended(child) == 0
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    found = store.read(kit.series, kit.layout, 0, 1000)
    assert int(found[60].rows[0]) == sum(done)
    if opened.kind != "memory":  # there the children wrote into copies of their own
        assert int(found[120].rows[0]) == 10


@SHARED
def test_a_parent_that_ends_takes_nothing_from_its_child(opened, kit):
    """The parent was the last one to hold the file open, as far as it knew."""
    store = opened()
    read_end, write_end = os.pipe()

    def parent() -> None:
        mine = opened()
        mine.add("parent", 1, [kit.delta(60, 1.0)], {})
        if os.fork():
            mine.close()
            os._exit(0)
        time.sleep(0.2)
        for sequence in range(20):
            mine.add("child", sequence, [kit.delta(60, 1.0)], {})
        os.write(write_end, b"done")
        os._exit(0)

    assert kit.ended(kit.child(parent)) == 0
    os.close(write_end)
    assert os.read(read_end, 9) == b"done"
    os.close(read_end)
    assert kit.total(store) == 21


@SHARED
def test_one_process_at_a_time_holds_a_lease(opened, kit):
    store = opened()
    read_end, write_end = os.pipe()

    def work(holder: str) -> None:
        lease = persistent(partial(store.acquire, "e", holder, 1000))
        if lease is not None:
            os.write(write_end, b"%d" % lease.token)

    children = [kit.child(partial(work, f"w{i}")) for i in range(6)]
    assert [kit.ended(child) for child in children] == [0] * 6
    os.close(write_end)
    assert os.read(read_end, 99) == b"1"
    os.close(read_end)


@SHARED
def test_of_competing_processes_one_takes_each_record(opened, kit):
    store = opened()
    keys = [f"r{i}" for i in range(120)]
    store.remember(dict.fromkeys(keys, b"x"), seconds=60, most=1000)
    read_end, write_end = os.pipe()

    def work() -> None:
        for start in range(0, 120, 3):
            found = persistent(partial(store.take, keys[start : start + 3]))
            os.write(write_end, b"." * len(found))

    children = [kit.child(work) for _ in range(4)]
    assert [kit.ended(child) for child in children] == [0] * 4
    os.close(write_end)
    assert len(os.read(read_end, 9999)) == 120
    os.close(read_end)
