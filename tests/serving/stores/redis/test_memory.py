"""What a Redis keeps, and for how long; the server is a real one."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest
import redis

from driftline.serving.stores import Delta, Lease
from driftline.serving.stores.limits import BUCKET_SILENCE, LOG_SILENCE, SOURCE_SILENCE
from driftline.serving.stores.redis import PIECES, RedisStore

PREFIX = "driftline:"


# What it costs ------------------------------------------------------------------------------------
def test_closed_buckets_are_one_piece_after_a_read(store, client, kit):
    for sequence in range(3 * PIECES + 5):
        store.add("w", sequence, [kit.delta(60 * (sequence % 3), 1.0)], {})
    lengths = [client.llen(key) for key in bucket_lists(client)]
    assert all(1 < length < PIECES for length in lengths)
    assert kit.total(store) == 3 * PIECES + 5
    lengths = [client.llen(key) for key in bucket_lists(client)]
    assert lengths[:2] == [1, 1]
    assert lengths[2] > 1
    assert kit.total(store) == 3 * PIECES + 5


def test_pieces_stay_few_without_any_reader(store, client, kit):
    for sequence in range(10 * PIECES):
        store.add(f"w{sequence % 7}", sequence, [kit.delta(60, 1.0)], {})
        assert client.llen(bucket_lists(client)[0]) <= PIECES
    assert kit.total(store) == 10 * PIECES


def test_competing_sums_lose_nothing(store, client, redis_server, kit):
    """Readers, writers and pruning at once: a sum replaces just the pieces it was made of."""
    stop = threading.Event()
    faults: list[BaseException] = []

    def read() -> None:
        mine = RedisStore(redis_server.url)
        last = 0
        try:
            while not stop.is_set():
                total = kit.total(mine)
                assert total >= last
                last = total
        except BaseException as error:
            faults.append(error)

    def write(source: str) -> None:
        mine = RedisStore(redis_server.url)
        for sequence in range(150):
            # Zeros make a sum look like what it replaces.
            deltas = [kit.delta(60, 1.0), kit.delta(120, 1.0), kit.delta(60), kit.delta(180)]
            mine.add(source, sequence, deltas, {})

    readers = [threading.Thread(target=read) for _ in range(3)]
    writers = [threading.Thread(target=write, args=(f"w{i}",)) for i in range(3)]
    for thread in readers + writers:
        thread.start()
    for thread in writers:
        thread.join()
    stop.set()
    for thread in readers:
        thread.join()
    assert not faults
    assert kit.total(store) == 3 * 150 * 2


def test_a_sum_is_refused_when_the_bucket_was_forgotten_and_begun_anew(store, client, kit):
    for sequence in range(3):
        store.add("w", sequence, [kit.delta(60, 1.0)], {})
    key = bucket_lists(client)[0].decode()
    pieces = client.lrange(key, 0, -1)
    store.prune(kit.series, 1000)
    assert bucket_lists(client) == []
    store.add("w", 3, [kit.delta(60, 1.0)], {})
    store._sum_up({key: (pieces, kit.counts(1.0, 1.0, 1.0))})
    assert kit.total(store) == 1


def test_nothing_that_grows_stays_for_ever(store, client, kit):
    """Only documents, counters and the last sequences of logs have no end."""
    store.add("w", 1, [kit.delta(60, 1.0)], {"n": 1.0})
    store.append("run/1", [b"x"], keep=9, source="train", sequence=1)
    store.remember({"r": b"1", "s": b"2"}, seconds=100, most=9)
    store.remember({"t": b"1"}, seconds=10, most=9)
    store.take(["r"])
    store.acquire("e", "a", 10)
    store.put("k", b"v")
    store.ping()
    ends = {key.decode().removeprefix(PREFIX): client.ttl(key) for key in client.keys("*")}
    assert {key for key, end in ends.items() if end < 0} == {"counters", "documents", "logs"}
    assert ends["source:w"] == pytest.approx(SOURCE_SILENCE, abs=60)
    assert ends["source:run/1:train"] == pytest.approx(SOURCE_SILENCE, abs=60)
    assert ends["log:run/1"] == pytest.approx(LOG_SILENCE, abs=60)
    assert ends[f"buckets:{kit.series}"] == pytest.approx(BUCKET_SILENCE, abs=60)
    assert ends[f"counts:{kit.series}:60:{kit.layout.key}"] == pytest.approx(BUCKET_SILENCE, abs=60)
    assert ends["records"] == ends["records:order"] == pytest.approx(100, abs=60)
    store.prune(kit.series, 1000)
    assert not client.exists(f"{PREFIX}buckets:{kit.series}")


def test_buckets_that_went_by_themselves_leave_the_index(store, client, kit):
    for bucket in (0, 60, 120):
        store.add("w", bucket, [kit.delta(bucket, 1.0)], {})
    client.delete(*bucket_lists(client)[:2])
    assert kit.total(store) == 1
    store.add("w", 180, [kit.delta(180, 1.0)], {})
    assert client.zcard(f"{PREFIX}buckets:{kit.series}") == 2
    assert kit.total(store) == 2


def test_memory_is_as_documented(store, client, kit, wide):
    layout, _ = wide()
    random = np.random.default_rng(1)
    matrix = random.normal(35, 12, size=(600, 25))
    for sequence in range(60):
        counts = layout.count("input", matrix[10 * sequence : 10 * sequence + 10])
        store.add("w", sequence, [Delta(kit.series, 60, counts), Delta(kit.series, 0, counts)], {})
    store.read(kit.series, layout, 0, 1000)
    closed, filling = bucket_lists(client)
    assert client.memory_usage(closed, samples=0) < 6 * 1024
    assert client.memory_usage(filling, samples=0) < 64 * 1024
    store.remember({f"{i:036d}": b"x" * 100 for i in range(2_000)}, seconds=60, most=5_000)
    cost = sum(client.memory_usage(PREFIX + key, samples=0) for key in ("records", "records:order"))
    assert cost / 2_000 < 100 + 300


def test_the_servers_clock_ends_leases_and_records(store):
    assert store.acquire("e", "a", 0.15) is not None
    assert store.acquire("e", "b", 10) is None
    store.remember({"r": b"1", "s": b"2"}, seconds=0.15, most=9)
    store.remember({"later": b"3"}, seconds=60, most=9)
    time.sleep(0.2)
    assert store.acquire("e", "b", 10) == Lease("b", 2)
    assert store.take(["r", "later"]) == {"later": b"3"}


def bucket_lists(client: redis.Redis) -> list[bytes]:
    return sorted(client.keys(f"{PREFIX}counts:*"), key=lambda key: int(key.split(b":")[-2]))
