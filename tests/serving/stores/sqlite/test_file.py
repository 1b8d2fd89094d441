"""What can be wrong with a file: each is told with its path and reason, and mends when it mends."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from files_of_sqlite import query, refused

from driftline.metadata.errors import StoreError
from driftline.serving.stores.sqlite import SqliteStore
from driftline.serving.stores.sqlite_schema import APPLICATION_ID, VERSION

DAY = 86_400


# Not ours ---------------------------------------------------------------------------------------
def test_a_file_of_ours_is_marked_so(store, path):
    store.ping()
    assert query(path, "PRAGMA application_id") == [(APPLICATION_ID,)]
    assert query(path, "PRAGMA user_version") == [(VERSION,)]
    assert query(path, "PRAGMA journal_mode") == [("wal",)]


def test_many_who_make_the_file_at_once_all_find_it_ours(tmp_path):
    """None looks at it while another is half done making it."""
    for attempt in range(20):
        path = tmp_path / f"state-{attempt}.db"
        together = threading.Barrier(8)

        def make(path: Path = path, together: threading.Barrier = together) -> None:
            store = SqliteStore(path, timeout=5.0)
            together.wait(10)
            with closing(store):
                store.ping()

        with ThreadPoolExecutor(8) as pool:
            for each in [pool.submit(make) for _ in range(8)]:
                each.result(20)
        assert query(path, "PRAGMA user_version") == [(VERSION,)]


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
