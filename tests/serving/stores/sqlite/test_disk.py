"""A disk that is full, and a file that stays small."""

from __future__ import annotations

import resource
import shutil
import subprocess
import threading
from contextlib import suppress
from pathlib import Path

import pytest
from files_of_sqlite import query, refused

from driftline.metadata.errors import StoreError
from driftline.serving.stores.sqlite import SqliteStore

DAY = 86_400


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
