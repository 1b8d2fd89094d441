from __future__ import annotations

import itertools
import os
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from redis_servers import RedisServer

from driftline.metadata.counts import Counts, Layout
from driftline.metadata.signals import Continuous, Signal
from driftline.serving.stores import Delta, Store
from driftline.serving.stores.memory import MemoryStore
from driftline.serving.stores.redis import RedisStore
from driftline.serving.stores.sqlite import SqliteStore

SERIES = "digits/1/abc/60"
_FRESH = itertools.count()


class Clock:
    """A clock that stands still until it is told the time."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


def layout_of(cells: int = 8, signals: int = 2) -> Layout:
    edges = tuple(float(edge) for edge in range(cells - 1))
    return Layout(
        [Signal(f"s{i}", "input", f"c{i}", Continuous(edges)) for i in range(signals)],
        {"input": [f"c{i}" for i in range(signals)]},
    )


class Kit:
    """What tests of stores have in hand: a clock, a layout, counts, and children to kill."""

    series = SERIES

    def __init__(self) -> None:
        self.clock = Clock()
        self.layout = layout_of()
        self.children: list[int] = []

    layout_of = staticmethod(layout_of)

    def counts(self, *values: float, layout: Layout | None = None) -> Counts:
        """Counts of rows that hold one value in every column."""
        layout = layout or self.layout
        columns = len(layout.columns["input"])
        return layout.count("input", np.repeat(np.array(values)[:, None], columns, axis=1))

    def delta(self, bucket: int, *values: float, series: str = SERIES) -> Delta:
        return Delta(series, bucket, self.counts(*values))

    def total(self, store: Store) -> int:
        """Rows in all buckets of the series."""
        found = store.read(SERIES, self.layout, 0, 2**40)
        return sum(int(counts.rows.sum()) for counts in found.values())

    def child(self, run: Callable[[], None]) -> int:
        """Runs it in a forked child, whose exit code is 0 when it did not raise."""
        sys.stdout.flush()
        pid = os.fork()
        if pid:
            self.children.append(pid)
            return pid
        try:
            run()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)

    def ended(self, pid: int) -> int:
        """The exit code of a child, negative when a signal ended it."""
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        self.children.remove(pid)  # only now: a test that ran out of time kills it
        return code

    def kill(self, pid: int) -> None:
        os.kill(pid, signal.SIGKILL)
        assert self.ended(pid) == -signal.SIGKILL


@pytest.fixture
def kit():
    kit = Kit()
    yield kit
    for pid in list(kit.children):
        kit.kill(pid)


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory):
    server = RedisServer(tmp_path_factory.mktemp("redis"))
    server.start()
    yield server
    server.stop()


@pytest.fixture
def own_server(tmp_path: Path):
    """A server for one test, which may treat it badly."""
    server = RedisServer(tmp_path)
    server.start()
    yield server
    server.stop()


@pytest.fixture(params=["memory", "sqlite", "redis"])
def opened(request: pytest.FixtureRequest, kit: Kit, tmp_path: Path):
    """Opens one more store on the same state."""
    stores: list[Store] = []
    prefix = f"test{next(_FRESH)}:"
    server = request.getfixturevalue("redis_server") if request.param == "redis" else None

    def again() -> Store:
        if request.param == "memory":
            store: Store = stores[0] if stores else MemoryStore(clock=kit.clock)
        elif request.param == "sqlite":
            store = SqliteStore(tmp_path / "state.db", clock=kit.clock)
        else:
            store = RedisStore(server.url, prefix=prefix, clock=kit.clock)
        stores.append(store)
        return store

    again.kind = request.param
    yield again
    for store in stores:
        store.close()


@pytest.fixture
def store(opened) -> Store:
    return opened()
