"""A state that cannot be reached stops no prediction, is told, and loses no count."""

from __future__ import annotations

import os
import resource
import sqlite3

import pytest
import served
from clients import counted, send

pytestmark = pytest.mark.slow


# Each worker tells what it met itself, and any of them may be the one that is asked: hence `until`.
def degraded(server) -> list[str]:
    return served.until(lambda: server.get("/readyz").json()["degraded"], 15)


def test_a_state_file_that_is_not_ours_stops_no_prediction_and_is_said(serve, tmp_path):
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE theirs (a)")
    before = path.read_bytes()
    server = serve("--state", str(path))
    assert send(server, 50) == 50
    assert "other.db" in degraded(server)[0]
    served.until(lambda: "other.db" in server.drift()["health"]["store"], 15)
    assert path.read_bytes() == before


def test_a_read_only_state_file_stops_no_prediction_and_is_said(serve, tmp_path):
    place = tmp_path / "locked"
    place.mkdir()
    path = place / "state.db"
    first = serve("--state", str(path))
    send(first, 30)
    counted(first, 30)
    first.stop()
    for file in [*place.iterdir(), place]:
        file.chmod(0o555 if file is place else 0o444)
    # Nothing is read-only to root, unless root gives that power up.
    powerless = ("setpriv", "--bounding-set=-dac_override,-dac_read_search")
    server = serve("--state", str(path), before=powerless if os.getuid() == 0 else ())
    try:
        assert send(server, 30) == 30
        assert "state.db" in degraded(server)[0]
        served.until(lambda: "state.db" in server.drift()["health"]["store"], 15)
    finally:
        server.stop()
        place.chmod(0o755)


def test_a_full_disk_stops_no_prediction_is_said_and_loses_no_count(serve, tmp_path):
    server = serve("--workers", "2", "--bucket", "1h")
    send(server, 100)
    counted(server, 100)
    free = resource.RLIM_INFINITY
    workers = server.workers()
    for pid in workers:  # no file may grow beyond a kilobyte: as good as a full disk
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (1_024, free))
    assert send(server, 200, seed=3) == 200
    assert "state.db" in degraded(server)[0]
    served.until(lambda: server.drift()["health"]["store"] != "ok", 15)
    assert send(server, 50, seed=4) == 50
    for pid in workers:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (free, free))
    assert counted(server, 350) == 350
    served.until(lambda: server.get("/readyz").json()["degraded"] == [], 15)
    assert server.workers() == workers


def test_a_state_file_that_others_hold_for_long_loses_no_count(serve, tmp_path):
    server = serve("--workers", "2", "--bucket", "1h")
    send(server, 100)
    counted(server, 100)
    other = sqlite3.connect(tmp_path / "state.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        assert send(server, 300, seed=3) == 300
        assert "state.db" in degraded(server)[0]
    finally:
        other.execute("ROLLBACK")
        other.close()
    assert counted(server, 400) == 400
