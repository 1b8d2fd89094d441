"""What can happen between a fleet and its Redis; the server is a real one."""

from __future__ import annotations

import shutil
import signal
import socket
import threading
import time

import numpy as np
import pytest
import redis

from driftline.metadata.counts import Layout
from driftline.metadata.errors import StoreError
from driftline.serving.stores import Delta, Lease
from driftline.serving.stores.limits import BUCKET_SILENCE, LOG_SILENCE, SOURCE_SILENCE
from driftline.serving.stores.redis import PIECES, RedisStore

PREFIX = "driftline:"


class Wire:
    """A relay to the server that can swallow replies, cutting the connection instead."""

    def __init__(self, port: int) -> None:
        self.swallow = 0
        self._target = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"redis://127.0.0.1:{self._listener.getsockname()[1]}/0"
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _serve(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            far = socket.create_connection(("127.0.0.1", self._target))
            threading.Thread(target=self._there, args=(near, far), daemon=True).start()
            threading.Thread(target=self._back, args=(near, far), daemon=True).start()

    def _there(self, near: socket.socket, far: socket.socket) -> None:
        try:
            while piece := near.recv(65_536):
                far.sendall(piece)
            far.shutdown(socket.SHUT_WR)
        except OSError:
            far.close()

    def _back(self, near: socket.socket, far: socket.socket) -> None:
        try:
            while piece := far.recv(65_536):
                if self.swallow and not piece.startswith(b"-NOSCRIPT"):
                    self.swallow -= 1
                    break
                near.sendall(piece)
            near.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        near.close()
        far.close()


@pytest.fixture
def client(redis_server):
    client = redis_server.client()
    client.flushall()
    yield client
    client.flushall()
    client.close()


@pytest.fixture
def store(redis_server, client):
    store = RedisStore(redis_server.url)
    yield store
    store.close()


@pytest.fixture
def wire(redis_server):
    wire = Wire(redis_server.port)
    yield wire
    wire.close()


def wide(kit, signals: int = 25, cells: int = 80) -> tuple[Layout, Delta]:
    layout = kit.layout_of(cells=cells, signals=signals)
    return layout, Delta(kit.series, 0, kit.counts(*range(70), layout=layout))


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


def test_memory_is_as_documented(store, client, kit):
    layout, _ = wide(kit)
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


def test_adding_and_reading_are_quick(store, kit):
    layout, delta = wide(kit)
    adds, reads = [], []
    for sequence in range(120):
        here = Delta(kit.series, 60 * (sequence // 2), delta.counts)
        start = time.perf_counter()
        store.add("w", sequence, [here, Delta("slow", 0, delta.counts)], {})
        adds.append(time.perf_counter() - start)
    for _ in range(20):
        start = time.perf_counter()
        assert len(store.read(kit.series, layout, 0, 3600)) == 60
        reads.append(time.perf_counter() - start)
    assert sorted(adds)[60] < 0.010
    assert sorted(reads)[10] < 0.030


# Time -------------------------------------------------------------------------------------------
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
