"""The collector: batches are taken, skipped or dropped, and never waited for."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

from driftline.metadata.errors import InputError
from driftline.train_side import Classification, Tabular
from driftline.train_side.collector import Collector
from driftline.train_side.pacing import Pace
from driftline.train_side.statistics import FIT_ROWS, DataStatistics

X = np.arange(40.0).reshape(20, 2)
Y = np.zeros(20, int)


def statistics():
    return DataStatistics(
        {"x": Tabular(("p", "q"), joint=False)}, ("x",), Classification(("a", "b"))
    )


class Held:
    """Statistics that wait until the test lets them go."""

    def __init__(self) -> None:
        self.go, self.rows, self.settled = threading.Event(), 0, False

    def add(self, batch):
        assert self.go.wait(30)
        self.rows += batch.rows

    def settle(self):
        self.settled = True


def test_every_batch_of_a_short_training_is_counted():
    collector = Collector(statistics())
    for _ in range(60):
        collector.offer((X, Y))
    found = collector.finish()
    assert found.stats().rows == 1200
    assert (collector.taken, collector.skipped, collector.dropped) == (60, 0, 0)


def test_what_is_taken_is_a_copy():
    collector = Collector(statistics())
    x = X.copy()
    collector.offer((x, Y))
    x[:] = np.nan
    assert collector.finish().stats().columns["p"].missing == 0


def test_offering_does_not_wait_for_the_worker():
    held = Held()
    collector = Collector(held)
    began = time.perf_counter()
    for _ in range(20):
        collector.offer((X, Y))
    assert time.perf_counter() - began < 1
    held.go.set()
    assert collector.finish() is held
    assert (held.rows, held.settled) == (400, True)


def test_more_bytes_than_there_is_room_for_are_dropped_and_counted():
    held = Held()
    collector = Collector(held, capacity=3 * (X.nbytes + Y.nbytes))
    for _ in range(10):
        collector.offer((X, Y))
    assert collector.taken + collector.dropped == 10
    assert collector.taken == 4  # one more begins while less than the limit waits
    held.go.set()
    collector.finish()
    assert held.rows == 80


def test_after_the_free_batches_only_what_time_pays_for_is_taken():
    now = [0.0]
    pace = Pace(0.01, free=5, clock=lambda: now[0])
    collector = Collector(statistics(), pace=pace)
    for _ in range(1000):
        now[0] += 1e-6
        collector.offer((X, Y))
    collector.finish()
    assert 5 <= collector.taken < 50
    assert collector.taken + collector.skipped == 1000


def test_the_first_error_ends_the_collecting():
    collector = Collector(statistics())
    collector.offer((np.zeros((FIT_ROWS, 1)), np.zeros(FIT_ROWS, int)))
    until = time.monotonic() + 30
    while collector.error is None and time.monotonic() < until:
        time.sleep(0.01)
    taken = collector.taken
    collector.offer((X, Y))
    assert collector.taken == taken
    with pytest.raises(InputError, match="2 columns expected, got 1"):
        collector.finish()


def test_closing_forgets_what_waits_and_ends_the_thread():
    held = Held()
    collector = Collector(held)
    for _ in range(20):
        collector.offer((X, Y))
    time.sleep(0.2)  # the worker waits in the first one
    threading.Timer(0.1, held.go.set).start()
    collector.close()
    assert held.rows <= 20
    assert not any(each.name == "driftline-collector" for each in threading.enumerate())


def test_no_thread_runs_before_the_first_batch():
    Collector(statistics())
    assert not any(each.name == "driftline-collector" for each in threading.enumerate())
