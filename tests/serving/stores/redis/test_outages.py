"""What can happen between a fleet and its Redis; the server is a real one."""

from __future__ import annotations

import shutil
import signal
import time

import pytest

from driftline.metadata.errors import StoreError
from driftline.serving.stores.redis import PIECES, RedisStore

PREFIX = "driftline:"


# Lost replies -----------------------------------------------------------------------------------
def test_a_call_whose_reply_was_lost_counts_once(client, wire, kit):
    store = RedisStore(wire.url)
    store.ping()
    for sequence in range(20):
        wire.swallow = 1
        with pytest.raises(StoreError, match=r"redis 127\.0\.0\.1"):
            store.add("w", sequence, [kit.delta(60, 1.0)], {"n": 1.0})
        assert kit.total(store) == sequence + 1
        store.add("w", sequence, [kit.delta(60, 1.0)], {"n": 1.0})
        wire.swallow = 1
        with pytest.raises(StoreError):
            store.append("log", [b"x"], keep=99, source="w", sequence=sequence)
        assert store.append("log", [b"x"], keep=99, source="w", sequence=sequence)
    assert kit.total(store) == 20
    assert store.counters() == {"n": 20.0}
    assert len(store.entries("log", 0, 99)) == 20


def test_a_lease_whose_reply_was_lost_is_renewed_by_the_same_call(client, wire):
    store = RedisStore(wire.url)
    store.ping()
    wire.swallow = 1
    with pytest.raises(StoreError):
        store.acquire("e", "a", 60)
    assert store.acquire("e", "a", 60).token == 1


def test_records_whose_reply_was_lost_come_with_the_same_call_again(client, wire, store):
    """To that taker, and to no other."""
    taker = RedisStore(wire.url)
    taker.remember({"r1": b"1", "r2": b"2", "r3": b"3"}, seconds=60, most=9)
    taker.take(["nobody"])
    wire.swallow = 1
    with pytest.raises(StoreError):
        taker.take(["r1", "r2"])
    assert store.take(["r1", "r2"]) == {}
    assert taker.take(["r1", "r2"]) == {"r1": b"1", "r2": b"2"}
    assert taker.take(["r1", "r2"]) == {}
    assert taker.take(["r3"]) == {"r3": b"3"}
    taker.take(["nobody"])
    assert client.keys(f"{PREFIX}claim:*") == []


def test_summing_up_that_fails_fails_no_call(store, client, kit, monkeypatch):
    def away(*_):
        raise StoreError("away")

    monkeypatch.setattr(store, "_sum_up", away)
    for sequence in range(3 * PIECES):
        store.add("w", sequence, [kit.delta(60 * (sequence % 2), 1.0)], {})
    assert kit.total(store) == 3 * PIECES
    monkeypatch.undo()
    assert kit.total(store) == kit.total(store) == 3 * PIECES


# A server that is away ----------------------------------------------------------------------------
def test_after_a_crash_and_restart_everything_arrives(own_server, kit):
    """What was acknowledged is there, what was not is repeated, nothing counts twice."""
    store = RedisStore(own_server.url, timeout=0.5)
    lease = store.acquire("e", "a", 60)
    store.put("k", b"v")
    store.append("log", [b"1"], keep=9)
    for sequence in range(10):
        store.add("w", sequence, [kit.delta(60, 1.0)], {"n": 1.0})
    own_server.stop()
    for call in (
        store.ping,
        lambda: store.add("w", 10, [kit.delta(60, 1.0)], {"n": 1.0}),
        lambda: kit.total(store),
        lambda: store.take(["r"]),
        lambda: store.acquire("e", "a", 60),
        lambda: store.logs(""),
    ):
        with pytest.raises(StoreError, match=f"redis 127.0.0.1:{own_server.port}/0: "):
            call()
    own_server.start()
    for sequence in (9, 10):
        store.add("w", sequence, [kit.delta(60, 1.0)], {"n": 1.0})
    assert kit.total(store) == 11
    assert store.counters() == {"n": 11.0}
    assert store.get("k") == (1, b"v")
    assert store.put("k", b"v2", lease=lease, name="e")
    store.append("log", [b"2"], keep=9)
    assert [entry.sequence for entry in store.entries("log", 0, 9)] == [1, 2]
    store.close()


def test_a_server_that_hangs_is_given_up_soon(own_server, kit):
    store = RedisStore(own_server.url, timeout=0.3)
    store.ping()
    own_server.signal(signal.SIGSTOP)
    start = time.monotonic()
    with pytest.raises(StoreError, match="redis 127"):
        store.add("w", 1, [kit.delta(60, 1.0)], {})
    assert time.monotonic() - start < 1.5
    own_server.signal(signal.SIGCONT)
    store.add("w", 1, [kit.delta(60, 1.0)], {})
    assert kit.total(store) == 1
    store.close()


def test_a_server_without_memory_takes_nothing_half(own_server, kit):
    store = RedisStore(own_server.url)
    admin = own_server.client()
    store.add("w", 1, [kit.delta(60, 1.0)], {"n": 1.0})
    admin.config_set("maxmemory", "1mb")
    for call in (
        store.ping,
        lambda: store.add("w", 2, [kit.delta(0, 1.0), kit.delta(60, 1.0)], {"n": 1.0}),
        lambda: store.append("log", [b"x"], keep=9, source="w", sequence=1),
        lambda: store.put("k", b"v"),
    ):
        with pytest.raises(StoreError, match=r"OOM|maxmemory"):
            call()
    assert kit.total(store) == 1
    admin.config_set("maxmemory", "0")
    store.add("w", 2, [kit.delta(0, 1.0), kit.delta(60, 1.0)], {"n": 1.0})
    assert kit.total(store) == 3
    assert store.counters() == {"n": 2.0}
    assert store.entries("log", 0, 9) == []
    assert store.get("k") is None


def test_a_replica_that_may_not_write_says_so_and_is_read(own_server, kit):
    store = RedisStore(own_server.url)
    for sequence, bucket in enumerate([60, 60, 120]):
        store.add("w", sequence, [kit.delta(bucket, 1.0)], {})
    own_server.client().execute_command("REPLICAOF", "127.0.0.1", "1")
    with pytest.raises(StoreError, match=r"(?i)readonly|read only"):
        store.ping()
    assert kit.total(store) == 3


def test_a_server_that_forgot_the_scripts_is_told_them_again(store, client, kit):
    store.add("w", 1, [kit.delta(60, 1.0)], {})
    client.script_flush()
    store.add("w", 2, [kit.delta(60, 1.0)], {})
    assert kit.total(store) == 2


def test_passwords_are_not_told():
    store = RedisStore("redis://user:geheim@127.0.0.1:1/3")
    with pytest.raises(StoreError) as caught:
        store.ping()
    assert "geheim" not in str(caught.value)
    assert str(caught.value).startswith("redis 127.0.0.1:1/3: ")


def test_a_missing_server_binary_fails_the_tests_and_skips_none(redis_server, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(pytest.fail.Exception, match="apt-get install redis-server"):
        redis_server.start()
