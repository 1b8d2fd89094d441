"""What every store does alike with documents, logs, leases and records."""

from __future__ import annotations

import itertools
import threading

import pytest

from driftline.serving.stores import Entry, Lease, Store

DAY = 86_400
FRESH = itertools.count()
SHARED = pytest.mark.parametrize("opened", ["sqlite", "redis"], indirect=True)


# Documents ------------------------------------------------------------------------------------
def test_a_document_has_a_version_that_grows(store):
    assert store.get("verdict/a") is None
    assert store.put("verdict/a", b"one")
    assert store.get("verdict/a") == (1, b"one")
    assert store.put("verdict/a", b"\x00:2:\xff")
    assert store.get("verdict/a") == (2, b"\x00:2:\xff")
    assert store.put("verdict/a", b"")
    assert store.get("verdict/a") == (3, b"")


def test_keys_begin_with_the_prefix_literally(store):
    for key in ("a/2", "a/1", "A/3", "a%4", "b", "ä/1"):
        store.put(key, b"")
    assert store.keys("a/") == ["a/1", "a/2"]
    assert store.keys("a%") == ["a%4"]
    assert store.keys("ä") == ["ä/1"]
    assert len(store.keys("")) == 6


# Logs -----------------------------------------------------------------------------------------
def test_a_log_keeps_the_newest_in_order(store):
    assert store.append("outbox", [b"1", b"2", b"3"], keep=2)
    assert store.append("outbox", [b"4"], keep=2)
    assert store.entries("outbox", 0, 10) == [Entry(3, b"3"), Entry(4, b"4")]
    assert store.append("outbox", [b"5", b"6", b"7"], keep=2)
    assert store.entries("outbox", 0, 10) == [Entry(6, b"6"), Entry(7, b"7")]


def test_a_log_is_resumed_by_sequence(store):
    store.append("run", [b"%d" % i for i in range(10)], keep=100)
    first = store.entries("run", 0, 4)
    assert [entry.value for entry in first] == [b"0", b"1", b"2", b"3"]
    rest = store.entries("run", first[-1].sequence, 100)
    assert [entry.value for entry in rest] == [b"%d" % i for i in range(4, 10)]
    assert store.entries("run", rest[-1].sequence, 100) == []
    assert store.entries("run", 0, 0) == []
    assert store.entries("never", 0, 5) == []


def test_a_sequence_is_never_given_twice(store):
    store.append("log", [b"a", b"b"], keep=0)
    assert store.entries("log", 0, 10) == []
    store.append("log", [b"c"], keep=5)
    assert store.entries("log", 0, 10) == [Entry(3, b"c")]


def test_an_append_of_a_source_counts_once(store):
    for _ in range(3):
        assert store.append("run", [b"a"], keep=9, source="train", sequence=4)
    assert store.append("run", [b"old"], keep=9, source="train", sequence=3)
    assert store.append("run", [b"b"], keep=9, source="train", sequence=5)
    assert store.append("other", [b"a"], keep=9, source="train", sequence=4)
    assert [entry.value for entry in store.entries("run", 0, 9)] == [b"a", b"b"]
    assert [entry.value for entry in store.entries("other", 0, 9)] == [b"a"]


def test_counts_and_logs_do_not_share_sequences(store, kit):
    store.append("counts", [b"a"], keep=9, source="w", sequence=5)
    store.append("", [b"a"], keep=9, source="w", sequence=5)
    store.add("w", 5, [kit.delta(60, 1.0)], {})
    store.append("a:b", [b"a"], keep=9, source="c", sequence=1)
    store.append("a", [b"a"], keep=9, source="b:c", sequence=1)
    assert kit.total(store) == 1
    assert len(store.entries("a", 0, 9)) == 1


def test_logs_are_listed_by_prefix(store):
    for log in ("run/b", "run/a", "outbox", "run"):
        store.append(log, [b"x"], keep=1)
    store.append("run/empty", [], keep=1)
    assert store.logs("run/") == ["run/a", "run/b"]
    assert store.logs("") == ["outbox", "run", "run/a", "run/b"]


# Leases ---------------------------------------------------------------------------------------
def test_a_lease_is_held_by_one_and_renewed_by_it(store, kit):
    lease = store.acquire("evaluator", "a", 10)
    assert lease is not None
    assert store.acquire("evaluator", "b", 10) is None
    kit.clock.now += 8
    assert store.acquire("evaluator", "a", 10) == lease
    kit.clock.now += 8
    assert store.acquire("evaluator", "b", 10) is None
    assert store.acquire("outbox", "b", 10) is not None


def test_a_lease_that_ran_out_goes_to_another_with_a_higher_token(store, kit):
    old = store.acquire("evaluator", "a", 10)
    kit.clock.now += 10
    new = store.acquire("evaluator", "b", 10)
    assert new is not None
    assert new.token > old.token
    assert store.acquire("evaluator", "a", 10) is None


def test_a_stale_holder_writes_nothing_even_when_the_newer_lease_ran_out(store, kit):
    old = store.acquire("evaluator", "a", 10)
    assert store.put("verdict", b"a", lease=old, name="evaluator")
    kit.clock.now += 11
    # It ran out, but nobody has taken over: its work is still the newest.
    assert store.put("verdict", b"a2", lease=old, name="evaluator")
    new = store.acquire("evaluator", "b", 10)
    kit.clock.now += 1_000
    assert not store.put("verdict", b"stale", lease=old, name="evaluator")
    assert not store.append("outbox", [b"stale"], keep=9, lease=old, name="evaluator")
    assert store.put("verdict", b"b", lease=new, name="evaluator")
    assert store.append("outbox", [b"b"], keep=9, lease=new, name="evaluator")
    assert store.get("verdict") == (3, b"b")
    assert [entry.value for entry in store.entries("outbox", 0, 9)] == [b"b"]


def test_a_stale_holder_that_comes_back_gets_a_new_token(store, kit):
    first = store.acquire("evaluator", "a", 10)
    kit.clock.now += 11
    second = store.acquire("evaluator", "b", 10)
    kit.clock.now += 11
    third = store.acquire("evaluator", "a", 10)
    assert first.token < second.token < third.token
    assert not store.put("verdict", b"", lease=first, name="evaluator")


def test_an_append_that_was_done_is_true_for_a_stale_holder_too(store, kit):
    """Its reply was lost, the lease went on meanwhile: the entry is there, so say so."""
    old = store.acquire("e", "a", 10)
    assert store.append("log", [b"x"], keep=9, source="a", sequence=1, lease=old, name="e")
    kit.clock.now += 11
    store.acquire("e", "b", 10)
    assert store.append("log", [b"x"], keep=9, source="a", sequence=1, lease=old, name="e")
    assert len(store.entries("log", 0, 9)) == 1


def test_a_lease_that_was_never_granted_is_refused(store):
    assert not store.put("verdict", b"", lease=Lease("a", 1), name="evaluator")
    lease = store.acquire("evaluator", "a", 10)
    assert not store.put("verdict", b"", lease=Lease("x", lease.token), name="evaluator")
    assert not store.put("verdict", b"", lease=lease, name="outbox")
    assert store.get("verdict") is None


def test_a_released_lease_is_free_at_once(store):
    lease = store.acquire("evaluator", "a", 1_000)
    store.release("evaluator", lease)
    new = store.acquire("evaluator", "b", 1_000)
    assert new.token > lease.token
    store.release("evaluator", lease)  # not its own any more
    assert store.acquire("evaluator", "a", 10) is None
    store.release("never", lease)


def test_a_clock_set_back_orphans_no_lease(store, kit):
    store.acquire("evaluator", "a", 10)
    kit.clock.now -= 3_600
    assert store.acquire("evaluator", "b", 10) is not None


# Records --------------------------------------------------------------------------------------
def test_a_record_is_taken_once(store):
    store.remember({"r1": b"1", "r2": b"\x00\xff", "r3": b""}, seconds=60, most=100)
    assert store.take(["r1", "r2", "nobody", "r1"]) == {"r1": b"1", "r2": b"\x00\xff"}
    assert store.take(["r1", "r2", "r3"]) == {"r3": b""}
    assert store.take([]) == {}


def test_records_run_out(store, kit):
    store.remember({"old": b"1"}, seconds=60, most=100)
    kit.clock.now += 59
    store.remember({"new": b"2"}, seconds=60, most=100)
    kit.clock.now += 1
    assert store.take(["old", "new"]) == {"new": b"2"}
    store.remember({"again": b"3"}, seconds=60, most=100)
    kit.clock.now += 61
    assert store.take(["again"]) == {}


def test_the_oldest_records_go_first_beyond_most(store):
    for i in range(30):
        store.remember({f"r{i}": b"%d" % i}, seconds=60, most=10)
    store.remember({"r25": b"new"}, seconds=60, most=10)  # younger now
    store.remember({f"s{i}": b"" for i in range(9)}, seconds=60, most=10)
    kept = store.take([f"r{i}" for i in range(30)] + [f"s{i}" for i in range(9)])
    assert kept == {"r25": b"new"} | {f"s{i}": b"" for i in range(9)}


def test_most_counts_records_that_are_there(store):
    """Records taken meanwhile make room for others."""
    store.remember({"first": b""}, seconds=60, most=5)
    for i in range(50):
        store.remember({f"r{i}": b""}, seconds=60, most=5)
        store.take([f"r{i}"])
    assert store.take(["first"]) == {"first": b""}


def test_of_competing_takers_one_gets_each(opened):
    stores = [opened() for _ in range(4)]
    keys = [f"r{i}" for i in range(200)]
    stores[0].remember({key: key.encode() for key in keys}, seconds=60, most=1000)
    taken: list[str] = []

    def work(store: Store) -> None:
        for start in range(0, 200, 5):
            taken.extend(store.take(keys[start : start + 5]))

    threads = [threading.Thread(target=work, args=(store,)) for store in stores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken) == sorted(keys)
