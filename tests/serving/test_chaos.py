"""Workers killed, the state away or slow, all under load: what is answered, and what is counted.

Each trouble lasts a few seconds here. By hand, a minute each, with the numbers told:

    CHAOS=60 pytest tests/serving/test_chaos.py -s --timeout 900

Stopped lease holders are in `test_server`, a file that is not a state in `test_server_degraded`.
"""

from __future__ import annotations

import os
import resource
import signal
import sqlite3
import time
from contextlib import closing

import pytest
import served
from clients import counted
from redis_servers import RedisServer
from weather import Load, Slow

pytestmark = pytest.mark.slow

MINUTE = float(os.environ.get("CHAOS", "0"))
KILLS = MINUTE or 8.0
AWAY = MINUTE or 6.0
LOCKED = MINUTE / 2 or 5.0


def told(what: str, load: Load, **numbers: object) -> None:
    more = ", ".join(f"{name} {value}" for name, value in numbers.items())
    print(
        f"\n{what}: {load.answered:,} answered, {load.cut} cut, slowest {load.slowest:.2f} s"
        f"{', ' if more else ''}{more}"
    )


def for_seconds(seconds: float, each: float = 0.2) -> None:
    """Lets the load run on."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        time.sleep(min(each, left))


def trouble(server, seconds: float) -> None:
    """Lets the load run on for that long, in which the service says what is wrong."""
    end = time.monotonic() + seconds
    assert served.until(lambda: server.get("/readyz").json()["degraded"], max(seconds, 15))
    for_seconds(end - time.monotonic())


def settled(server, least: int) -> int:
    """The total of `/drift`, at least `least`, once nothing is under way any more."""
    counted(server, least)
    seen = [-1, -2]
    while seen[-1] != seen[-2]:
        for_seconds(1.2)
        seen.append(server.drift()["window"]["requests_total"])
    return seen[-1]


def leases(path) -> dict[str, int]:
    """Process ids of the holders of leases that have not run out, by name."""
    with closing(sqlite3.connect(path)) as state:
        found = state.execute("SELECT name, holder FROM leases WHERE until > ?", (time.time(),))
        return {name: int(holder.split("-")[-2]) for name, holder in found}


def test_workers_killed_each_second_lose_less_than_a_second_each(serve, tmp_path):
    server = serve("--workers", "3", "--bucket", "1h")
    load = Load(server.address)
    kills = 0
    try:
        served.until(lambda: load.answered > 20)
        begin = time.monotonic()
        while time.monotonic() < begin + KILLS:
            # The oldest is the likeliest to be at work, and not on its way up.
            os.kill(server.workers()[0], signal.SIGKILL)
            kills += 1
            for_seconds(begin + kills - time.monotonic())
        last = load.answered
        served.until(lambda: load.answered > last + 50, 60)
    finally:
        load.stop()
    assert load.wrong == []
    total = settled(server, load.answered - load.at_risk)
    told("killed", load, kills=kills, counted=total, at_risk=load.at_risk)
    # A request that was cut off may have been counted.
    assert load.answered - load.at_risk <= total <= load.answered + load.cut
    served.until(lambda: server.drift()["health"]["evaluator"] == "ok", 20)
    path = tmp_path / "state.db"
    # A killed holder's lease runs out, and a worker that lives has taken it.
    served.until(lambda: len(leases(path)) == 3, 20)
    served.until(lambda: set(leases(path).values()) <= set(server.workers()), 20)


def test_redis_away_and_then_slow_fails_no_prediction_and_loses_no_count(serve, tmp_path):
    redis = RedisServer(tmp_path)
    redis.start()
    relay = Slow(redis.port)
    try:
        state = f"redis://127.0.0.1:{relay.port}/0"
        server = serve("--workers", "2", "--bucket", "1h", "--state", state)
        load = Load(server.address)
        try:
            served.until(lambda: load.answered > 50)
            redis.stop()
            trouble(server, AWAY)
            redis.start()
            served.until(lambda: server.get("/readyz").json()["degraded"] == [], 20)
            redis.signal(signal.SIGSTOP)  # there, but without a word
            for_seconds(AWAY / 3)
            redis.signal(signal.SIGCONT)
            relay.delay = 0.3
            for_seconds(AWAY * 2 / 3)
            relay.delay = 0.0
        finally:
            load.stop()
        total = settled(server, load.answered)
        told("redis", load, counted=total)
        assert (load.wrong, load.cut) == ([], 0)
        assert total == load.answered
        served.until(lambda: server.drift()["health"]["store"] == "ok", 15)
        server.stop()
    finally:
        relay.close()
        redis.stop()


def test_a_state_file_locked_and_then_a_full_disk_lose_no_count(serve, tmp_path):
    server = serve("--workers", "2", "--bucket", "1h")
    load = Load(server.address)
    free = resource.RLIM_INFINITY
    try:
        served.until(lambda: load.answered > 50)
        other = sqlite3.connect(tmp_path / "state.db", isolation_level=None, timeout=20)
        other.execute("BEGIN IMMEDIATE")
        trouble(server, LOCKED)
        other.execute("ROLLBACK")
        other.close()
        served.until(lambda: server.get("/readyz").json()["degraded"] == [], 20)
        for pid in server.workers():  # as good as a full disk
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (1_024, free))
        trouble(server, LOCKED if MINUTE else 2.0)
        for pid in server.workers():
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (free, free))
    finally:
        load.stop()
    total = settled(server, load.answered)
    told("sqlite", load, counted=total)
    assert (load.wrong, load.cut) == ([], 0)
    assert total == load.answered
