"""The thread behind the training, and how often the training is looked at."""

from __future__ import annotations

import os
import threading
import time

import numpy as np
import pytest
from watched import until

from driftline.train_side.fence import MOST, Fence
from driftline.train_side.pacing import Pace
from driftline.train_side.sampling import Sampler
from driftline.train_side.settings import Sampling
from driftline.train_side.worker import Worker


def test_everything_is_handled_in_order() -> None:
    seen: list[int] = []
    worker: Worker[int] = Worker(seen.extend, name="test", tick=0.01)
    for item in range(1000):
        worker.put(item)
    assert worker.stop(5)
    assert seen == list(range(1000))


def test_put_never_waits_and_counts_what_finds_no_room() -> None:
    free = threading.Event()
    started = threading.Event()

    def handle(batch: list[int]) -> None:
        started.set()
        free.wait(10)

    worker: Worker[int] = Worker(handle, name="test", capacity=10, tick=0.01)
    worker.put(0)
    assert started.wait(5)
    began = time.perf_counter()
    for item in range(1000):
        worker.put(item)
    assert time.perf_counter() - began < 0.5
    assert worker.dropped >= 980
    assert not worker.flush(0.05)
    free.set()
    assert worker.stop(5)


def test_an_error_of_the_handler_does_not_end_the_thread() -> None:
    seen: list[int] = []

    def handle(batch: list[int]) -> None:
        if 1 in batch:
            raise ValueError("planted")
        seen.extend(batch)

    worker: Worker[int] = Worker(handle, name="test", tick=0.01)
    worker.put(1)
    worker.flush(5)
    worker.put(2)
    assert worker.stop(5)
    assert seen == [2]
    assert worker.failures == 1


def test_a_forked_child_takes_nothing() -> None:
    worker: Worker[int] = Worker(lambda batch: None, name="test", tick=0.01)
    worker.put(1)
    child = os.fork()
    if child == 0:
        os._exit(0 if not worker.put(2) and worker.flush(1) and worker.stop(1) else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert worker.stop(5)


def test_no_thread_before_the_first_item() -> None:
    before = threading.active_count()
    worker: Worker[int] = Worker(lambda batch: None, name="test")
    assert threading.active_count() == before
    assert worker.flush(1)
    assert worker.stop(1)
    assert not worker.put(1)


class Time:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_pace_keeps_to_its_share_whatever_a_piece_costs() -> None:
    clock = Time()
    pace = Pace(0.01, clock=clock)
    for _ in range(100_000):
        clock.now += 0.003
        if pace.due():
            pace.took(0.0002 if pace.taken % 2 else 0.01)
    assert pace.spent / clock.now == pytest.approx(0.01, rel=0.02)


def test_unused_time_is_not_saved_up() -> None:
    clock = Time()
    pace = Pace(0.01, clock=clock, purse=0.02)
    pace.due()
    clock.now += 3600
    taken = 0
    for _ in range(1000):
        clock.now += 0.001
        if pace.due():
            pace.took(0.001)
            taken += 1
    assert taken < 40


def test_a_point_is_due_after_the_longest_time() -> None:
    clock = Time()
    pace = Pace(0.01, clock=clock, longest=1.0)
    taken = []
    for step in range(20):
        clock.now += 0.5
        if pace.due():
            pace.took(0.4)
            taken.append(step)
    assert taken == list(range(0, 20, 2))


@pytest.mark.parametrize("seed", range(4))
def test_steps_that_are_slept_through_would_not_have_been_looked_at(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The short way through most steps leads where the long one does."""
    random = np.random.default_rng(seed)
    short, long = Sampler(Sampling()), Sampler(Sampling())
    monkeypatch.setattr(long, "_sleep", lambda now: None)
    now, seen, asleep = 0.0, [], 0
    for _ in range(20_000):
        now += float(random.gamma(2.0, 0.006))
        chance = random.random()
        if chance < 0.002:
            for each in (short, long):
                each.pause()
            now += 1.0
        elif chance < 0.07:
            for each in (short, long):
                each.charge(0.0003)
        depths = [each.choose(now) for each in (short, long)]
        assert depths[0] == depths[1]
        asleep += now < short._asleep_until
        seen.append(depths[0])
        if depths[0] != "none":
            cost = float(random.gamma(2.0, 0.0002 if depths[0] == "light" else 0.004))
            for each in (short, long):
                each.took(depths[0], cost, cost + 0.01, now)
    assert seen.count("deep") > 5
    assert seen.count("light") > 150
    assert asleep > 10_000


def test_several_ranks_look_deeply_at_the_same_steps() -> None:
    fast, slow = Sampler(Sampling(), ranks=2), Sampler(Sampling(), ranks=2)
    deep: dict[Sampler, list[int]] = {fast: [], slow: []}
    for sampler, cost in ((fast, 0.0001), (slow, 0.1)):
        for step in range(1000):
            depth = sampler.choose(step * 0.01)
            sampler.took(depth, cost, cost, step * 0.01)
            if depth == "deep":
                deep[sampler].append(step)
    assert deep[fast] == deep[slow]
    assert len(deep[fast]) == 20


def test_fixed_intervals_are_kept() -> None:
    sampler = Sampler(Sampling(every=10, deep_every=50))
    depths = [sampler.choose(0.0) for _ in range(100)]
    assert depths.count("deep") == 2
    assert [step for step, depth in enumerate(depths, 1) if depth == "light"] == list(
        range(10, 101, 10)
    )


def test_a_part_that_always_fails_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    fence = Fence()
    calls = []

    def fails() -> None:
        calls.append(1)
        raise OSError("planted")

    for _ in range(100):
        assert fence.call("part", fails) is None
    assert len(calls) == MOST
    assert len(caplog.records) == 2
    assert fence.call("other", lambda: 5) == 5


def test_a_flush_waits_for_what_came_before() -> None:
    seen: list[int] = []
    worker: Worker[int] = Worker(seen.extend, name="test", tick=60.0)
    worker.put(1)
    assert worker.flush(5)
    assert seen == [1]
    until(lambda: worker.stop(5))
