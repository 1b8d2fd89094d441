"""Requests that wait together are one call; answers and errors go to their own callers only."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from driftline.serving.model.batcher import Batcher

SIZES = (1, 2, 4, 8, 16)


class Rows:
    """Doubled rows."""

    def __init__(self, values: np.ndarray) -> None:
        self.values = values

    def rows(self, start: int, stop: int) -> Rows:
        return Rows(self.values[start:stop])


class Model:
    """Doubles; refuses batches that hold 666; is slow enough for others to queue."""

    def __init__(self, seconds: float = 0.002) -> None:
        self.calls: list[int] = []
        self.seconds = seconds
        self.inside = threading.Lock()

    def __call__(self, arrays, mode) -> Rows:
        assert self.inside.acquire(blocking=False), "two calls at once"
        try:
            time.sleep(self.seconds)
            x = arrays["x"]
            self.calls.append(len(x))
            if (x == 666).any():
                raise ValueError(f"bad rows of {x.ravel().tolist()}")
            return Rows(x * 2)
        finally:
            self.inside.release()


def ask(batcher, value: float, rows: int = 1, width: int = 3, mode=None) -> np.ndarray:
    x = np.full((rows, width), value, np.float32)
    found = batcher({"x": x}, mode).values
    np.testing.assert_array_equal(found, x * 2)
    return found


@pytest.mark.parametrize("wait", [0.0, 0.002])
def test_each_caller_gets_its_own_rows_in_far_fewer_calls(wait):
    model = Model()
    batcher = Batcher(model, sizes=SIZES, wait=wait)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: ask(batcher, n, rows=1 + n % 3), range(400)))
    assert sum(model.calls) == sum(1 + n % 3 for n in range(400))
    assert len(model.calls) < 200
    assert max(model.calls) <= 16


def test_an_error_is_told_to_its_own_caller_only():
    batcher = Batcher(Model(), sizes=SIZES, wait=0.002)

    def one(n: int) -> str:
        try:
            ask(batcher, 666 if n % 7 == 0 else n)
        except ValueError as error:
            return str(error)
        return "right"

    with ThreadPoolExecutor(8) as pool:
        told = list(pool.map(one, range(140)))
    bad = "bad rows of [666.0, 666.0, 666.0]"
    assert told == [bad if n % 7 == 0 else "right" for n in range(140)]


def test_only_the_same_shapes_and_modes_are_joined_and_all_are_answered():
    model = Model()
    batcher = Batcher(model, sizes=SIZES, wait=0.001)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: ask(batcher, n, width=1 + n % 2, mode=n % 3), range(200)))
    assert sum(model.calls) == 200


def test_a_request_larger_than_a_batch_is_called_as_it_is():
    model = Model()
    ask(Batcher(model, sizes=(1, 2, 4), wait=0.0), 1, rows=9)
    assert model.calls == [9]


def test_one_that_comes_alone_never_waits():
    batcher = Batcher(Model(0.0), sizes=SIZES, wait=5.0)
    began = time.monotonic()
    for n in range(20):
        ask(batcher, n)
    assert time.monotonic() - began < 1.0


def test_nobody_waits_for_those_who_cannot_be_joined():
    """Two clients whose requests differ in shape; each would wait 50 ms for the other."""
    batcher = Batcher(Model(0.0), sizes=SIZES, wait=0.05)
    began = time.monotonic()
    with ThreadPoolExecutor(2) as pool:
        for width in (1, 2):
            pool.submit(lambda width=width: [ask(batcher, n, width=width) for n in range(100)])
    assert time.monotonic() - began < 4.0


def test_a_leader_waits_no_longer_than_it_may_for_clients_that_went_away():
    model = Model()
    batcher = Batcher(model, sizes=SIZES, wait=0.05)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: ask(batcher, n), range(40)))
    began = time.monotonic()
    ask(batcher, 1)
    ask(batcher, 1)
    assert time.monotonic() - began < 1.0


def test_a_call_that_is_broken_off_leaves_nobody_waiting():
    entered, go = threading.Event(), threading.Event()

    def call(arrays, mode):
        if arrays["x"][0, 0] == 0:
            entered.set()
            go.wait(5)
            return Rows(arrays["x"])
        raise SystemExit(1)

    batcher = Batcher(call, sizes=SIZES, wait=0.0)

    def one(n: int) -> str:
        try:
            batcher({"x": np.full((1, 1), n)}, None)
        except BaseException as error:
            return type(error).__name__
        return "answered"

    with ThreadPoolExecutor(4) as pool:
        first = pool.submit(one, 0)
        assert entered.wait(5)
        others = [pool.submit(one, n) for n in (1, 2, 3)]
        time.sleep(0.05)
        go.set()
        assert first.result(5) == "answered"
        told = sorted(each.result(5) for each in others)
    assert told == ["RuntimeError", "RuntimeError", "SystemExit"]
