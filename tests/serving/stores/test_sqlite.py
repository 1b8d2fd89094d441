"""What can be wrong with a file: each is told with its path and reason, and mends when it mends."""

from __future__ import annotations

import os
import resource
import shutil
import sqlite3
import subprocess
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from driftline.metadata.errors import StoreError
from driftline.serving.stores.sqlite import SqliteStore
from driftline.serving.stores.sqlite_schema import APPLICATION_ID, VERSION

DAY = 86_400


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state.db"


@pytest.fixture
def store(path: Path, kit):
    store = SqliteStore(path, timeout=0.2, clock=kit.clock)
    yield store
    store.close()


def query(path: Path, statement: str) -> list[tuple]:
    with sqlite3.connect(path) as db:
        rows = db.execute(statement).fetchall()
    db.close()
    return rows


def refused(store: SqliteStore, reason: str) -> None:
    """Every kind of call says the path and the reason."""
    for call in (
        store.ping,
        lambda: store.add("w", 1, [], {"n": 1.0}),
        lambda: store.get("k"),
        store.counters,
    ):
        with pytest.raises(StoreError, match=reason) as caught:
            call()
        assert str(caught.value).startswith(f"{store._file.path}: ")


# Not ours ---------------------------------------------------------------------------------------
def test_a_file_of_ours_is_marked_so(store, path):
    store.ping()
    assert query(path, "PRAGMA application_id") == [(APPLICATION_ID,)]
    assert query(path, "PRAGMA user_version") == [(VERSION,)]
    assert query(path, "PRAGMA journal_mode") == [("wal",)]


def test_another_programs_database_is_refused_and_left_as_it_was(store, path):
    query(path, "CREATE TABLE theirs (a)")
    before = path.read_bytes()
    refused(store, "another program's database")
    assert path.read_bytes() == before
    assert not path.with_name("state.db-wal").exists()


def test_a_database_with_another_application_id_is_refused(store, path):
    query(path, "PRAGMA application_id = 42")
    refused(store, "another program's database")


def test_a_newer_schema_is_refused(store, path, kit):
    store.add("w", 1, [kit.delta(60, 1.0)], {})
    store.close()
    query(path, f"PRAGMA user_version = {VERSION + 1}")
    refused(store, f"newer driftline .schema {VERSION + 1}, this one knows {VERSION}")
    query(path, f"PRAGMA user_version = {VERSION}")
    assert kit.total(store) == 1


def test_a_file_that_is_no_database_is_refused_and_left_as_it_was(store, path):
    path.write_bytes(b"a,b,c\n1,2,3\n" * 500)
    before = path.read_bytes()
    refused(store, "not a database")
    assert path.read_bytes() == before


def test_a_folder_is_refused(store, path):
    path.mkdir()
    refused(store, "is a folder")


def test_a_missing_folder_is_refused_until_it_is_there(tmp_path):
    store = SqliteStore(tmp_path / "none" / "state.db")
    refused(store, "there is no folder")
    (tmp_path / "none").mkdir()
    store.ping()
    store.close()


def test_an_empty_file_becomes_ours(store, path):
    path.touch()
    store.ping()
    assert query(path, "PRAGMA user_version") == [(VERSION,)]


# Damaged ----------------------------------------------------------------------------------------
def test_a_corrupted_file_is_refused_and_a_restored_one_is_taken_up(store, path, kit):
    for bucket in range(0, 6000, 60):
        store.add("w", bucket, [kit.delta(bucket, 1.0)], {})
    store.close()
    saved = path.read_bytes()
    path.write_bytes(saved[:4096] + os.urandom(len(saved) - 4096))
    with pytest.raises(StoreError, match=r"state\.db: .*(malformed|corrupt|not a database)"):
        kit.total(store)
    with pytest.raises(StoreError, match=r"state\.db: "):
        store.add("w", 6000, [kit.delta(6000, 1.0)], {})
    store.close()
    path.write_bytes(saved)
    assert kit.total(store) == 100
    store.add("w", 6000, [kit.delta(6000, 1.0)], {})
    assert kit.total(store) == 101


def test_damaged_counts_are_told_from_no_counts(store, path, kit):
    store.add("w", 1, [kit.delta(60, 1.0)], {"n": 1.0})
    query(path, "UPDATE counts SET data = x'00'")
    with pytest.raises(StoreError, match="damaged counts"):
        kit.total(store)
    with pytest.raises(StoreError, match="damaged counts"):
        store.add("w", 2, [kit.delta(0, 1.0), kit.delta(60, 1.0)], {"n": 1.0})
    assert store.counters() == {"n": 1.0}
    assert store.read(kit.series, kit.layout, 0, 60) == {}


# Away -------------------------------------------------------------------------------------------
def test_a_locked_file_is_told_soon_and_read_all_the_same(store, path, kit):
    store.add("w", 1, [kit.delta(60, 1.0)], {})
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    start = time.monotonic()
    with pytest.raises(StoreError, match=r"state\.db: database is locked"):
        store.add("w", 2, [kit.delta(60, 1.0)], {})
    assert time.monotonic() - start < 2.0
    assert kit.total(store) == 1
    other.execute("ROLLBACK")
    other.close()
    store.add("w", 2, [kit.delta(60, 1.0)], {})
    assert kit.total(store) == 2


def test_a_short_lock_is_waited_for(path, kit):
    store = SqliteStore(path, timeout=5, clock=kit.clock)
    store.ping()
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    threading.Timer(0.3, other.execute, ["ROLLBACK"]).start()
    store.add("w", 1, [kit.delta(60, 1.0)], {})
    assert kit.total(store) == 1
    store.close()
    other.close()


def test_a_read_only_file_is_told_and_mends(store, path, kit):
    """In a child without root's rights, since nothing is read-only to root."""
    store.add("w", 1, [kit.delta(60, 1.0)], {})
    store.close()
    path.parent.chmod(0o555)
    path.chmod(0o444)

    def work() -> None:
        if os.geteuid() == 0:
            open_up(path)
            os.setuid(65534)
        for call in (store.ping, lambda: store.add("w", 2, [kit.delta(60, 1.0)], {})):
            with pytest.raises(StoreError, match=r"state\.db: .*(readonly|unable to open)"):
                call()

    try:
        assert kit.ended(kit.child(work)) == 0
    finally:
        path.parent.chmod(0o755)
        path.chmod(0o644)
    store.add("w", 2, [kit.delta(60, 1.0)], {})
    assert kit.total(store) == 2


def open_up(path: Path) -> None:
    """Lets everybody walk down to `path` (pytest's folders are their owner's alone)."""
    for folder in list(path.parents)[1:-1]:
        if folder.stat().st_uid == os.geteuid() and not folder.stat().st_mode & 0o001:
            folder.chmod(folder.stat().st_mode | 0o011)


def test_a_file_that_was_removed_is_made_anew_by_all(path, kit):
    """Whoever kept the old one open would count into nowhere."""
    first, second = SqliteStore(path, clock=kit.clock), SqliteStore(path, clock=kit.clock)
    first.add("a", 1, [kit.delta(60, 1.0)], {})
    second.add("b", 1, [kit.delta(60, 1.0)], {})
    for name in ("state.db", "state.db-wal", "state.db-shm"):
        path.with_name(name).unlink(missing_ok=True)
    first.add("a", 2, [kit.delta(60, 1.0)], {})
    second.add("b", 2, [kit.delta(60, 1.0)], {})
    assert kit.total(first) == kit.total(second) == 2
    first.close()
    second.close()


# Full -------------------------------------------------------------------------------------------
@pytest.fixture
def small_disk(tmp_path: Path):
    """A file system of 2 MB, where it may be mounted."""
    place = tmp_path / "disk"
    place.mkdir()
    mount, umount = shutil.which("mount"), shutil.which("umount")
    options = ["-t", "tmpfs", "-o", "size=2m", "tmpfs", str(place)]
    if mount is None or umount is None or subprocess.run([mount, *options]).returncode:
        yield None
        return
    yield place
    subprocess.run([umount, str(place)], check=True)


def fill(place: Path) -> Path:
    filler = place / "filler"
    with open(filler, "wb", buffering=0) as file:
        for size in (65_536, 4_096, 1):
            with suppress(OSError):
                while True:
                    file.write(b"x" * size)
    return filler


def test_a_full_disk_is_told_and_nothing_is_half_done(kit, path, small_disk):
    """On a small disk of its own; where none can be mounted, a limit on the file's size."""
    layout = kit.layout_of(cells=2000)
    delta = type(kit.delta(0))

    def work(place: Path, fill_up, free) -> None:
        store = SqliteStore(place / "state.db", timeout=0.2, clock=kit.clock)
        store.add("w", 0, [], {"n": 1.0})
        fill_up()
        done, failures = 0, []
        for sequence in range(1, 400):
            bucket = 60 * sequence
            deltas = [delta(kit.series, bucket + i, kit.counts(1.0, layout=layout)) for i in (0, 1)]
            try:
                store.add("w", sequence, deltas, {"n": 1.0})
                done += 1
            except StoreError as error:
                failures.append(str(error))
                if len(failures) == 3:
                    break
        assert len(failures) == 3
        assert all(failure.startswith(f"{place / 'state.db'}: ") for failure in failures)
        with pytest.raises(StoreError, match=r"full|I/O"):
            store.add("big", 1, [], {f"c{i}": 1.0 for i in range(50_000)})
        free()
        found = store.read(kit.series, layout, 0, 2**40)
        assert len(found) == 2 * done
        assert store.counters() == {"n": 1.0 + done}
        store.ping()
        store.add("w", 500, [delta(kit.series, 0, kit.counts(1.0, layout=layout))], {"n": 1.0})
        assert store.counters() == {"n": 2.0 + done}
        assert query(place / "state.db", "PRAGMA integrity_check") == [("ok",)]
        store.close()

    def limited() -> None:
        work(
            path.parent,
            lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, resource.RLIM_INFINITY)),
            lambda: resource.setrlimit(
                resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
            ),
        )

    def mounted() -> None:
        work(small_disk, lambda: fill(small_disk), (small_disk / "filler").unlink)

    assert kit.ended(kit.child(limited)) == 0
    if small_disk is not None:
        assert kit.ended(kit.child(mounted)) == 0


def test_a_file_cannot_be_made_on_a_full_disk_but_afterwards(kit, small_disk, path):
    place = small_disk or path.parent

    def work() -> None:
        store = SqliteStore(place / "state.db", timeout=0.2, clock=kit.clock)
        if small_disk:
            filler = fill(small_disk)
            refused(store, "full|I/O|unable to open")
            filler.unlink()
        else:
            resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))
            refused(store, "full|I/O|unable to open")
            resource.setrlimit(resource.RLIMIT_FSIZE, (2**40, resource.RLIM_INFINITY))
        store.ping()
        store.add("w", 1, [kit.delta(60, 1.0)], {})
        assert kit.total(store) == 1
        store.close()

    assert kit.ended(kit.child(work)) == 0


# Bounded ----------------------------------------------------------------------------------------
def test_the_file_stays_small_through_a_week_of_buckets(store, path, kit):
    """An hour of buckets is kept, ten thousand pass through; logs, records and sources too."""
    layout = kit.layout_of(cells=500)
    counts = kit.counts(1.0, 2.0, layout=layout)
    delta = type(kit.delta(0))
    largest = 0
    for minute in range(1_500):
        kit.clock.now += 400
        store.add(f"worker {minute}", 1, [delta(kit.series, minute * 60, counts)], {"n": 1.0})
        store.prune(kit.series, (minute - 60) * 60)
        store.append("outbox", [b"m" * 500] * 3, keep=50, source=f"w{minute}", sequence=1)
        store.remember({f"r{minute}-{i}": b"x" * 100 for i in range(5)}, seconds=9e9, most=200)
        if minute == 300:
            largest = used(path)
    assert used(path) <= 1.3 * largest
    assert used(path) < 8_000_000
    assert query(path, "SELECT count(*) FROM counts") == [(61,)]
    assert query(path, "SELECT count(*) FROM records") == [(200,)]
    assert query(path, "SELECT count(*) FROM sources")[0][0] <= 2 * (7 * DAY / 400 + 20)


def used(path: Path) -> int:
    return sum(file.stat().st_size for file in path.parent.glob("state.db*"))


def test_what_is_no_longer_touched_is_forgotten(store, path, kit):
    store.add("w", 1, [kit.delta(60, 1.0)], {"n": 1.0})
    store.append("run", [b"a", b"b"], keep=9)
    store.append("old", [b"a"], keep=9)
    kit.clock.now += 61 * DAY
    store.append("run", [b"c"], keep=9)
    assert kit.total(store) == 0
    assert store.counters() == {"n": 1.0}
    kit.clock.now += 125 * DAY
    store.add("w", 2, [], {})
    assert store.logs("") == ["run"]
    store.append("old", [b"b"], keep=9)
    assert [(e.sequence, e.value) for e in store.entries("old", 0, 9)] == [(2, b"b")]


def test_connections_are_as_many_as_calls_at_once(store, kit):
    """Threads that come and go leave none behind."""
    for _ in range(50):
        thread = threading.Thread(target=store.ping)
        thread.start()
        thread.join()
    assert len(store._file._idle) == 1


def test_adding_and_reading_are_quick(path, kit):
    """Generous bounds, since the machine may be busy; the medians are some 0.4 and 0.8 ms."""
    store = SqliteStore(path)
    layout = kit.layout_of(cells=80, signals=25)
    counts = kit.counts(*range(70), layout=layout)
    delta = type(kit.delta(0))
    adds, reads = [], []
    for sequence in range(120):
        bucket = 60 * (sequence // 2)
        start = time.perf_counter()
        store.add("w", sequence, [delta(kit.series, bucket, counts), delta("slow", 0, counts)], {})
        adds.append(time.perf_counter() - start)
    for _ in range(20):
        start = time.perf_counter()
        assert len(store.read(kit.series, layout, 0, 3600)) == 60
        reads.append(time.perf_counter() - start)
    store.close()
    assert sorted(adds)[60] < 0.003
    assert sorted(reads)[10] < 0.010
