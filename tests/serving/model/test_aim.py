"""The aim finds the batch size that answers most rows a second, and keeps to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest

from driftline.serving.model import aim
from driftline.serving.model.aim import SELDOM, TRIAL_SECONDS, Aim

SIZES = (1, 2, 4, 8, 16)


class Service:
    """A simulated one: `crowd` clients, and how many rows a second each size of a call answers."""

    def __init__(self, rate: Callable[[int], float], crowd: int = 8) -> None:
        self.rate, self.crowd, self.now = rate, crowd, 0.0
        self.aim = Aim(SIZES, lambda: self.now)

    def serve(self, seconds: float) -> Counter[int]:
        """Seconds spent at each size."""
        spent: Counter[int] = Counter()
        until = self.now + seconds
        while self.now < until:
            rows = min(self.aim.rows, self.crowd)
            took = rows / self.rate(rows)
            self.now += took
            spent[rows] += took
            self.aim.answered(rows, self.crowd)
        return spent


def test_it_begins_with_everybody():
    assert Aim(SIZES).rows == 16


@pytest.mark.parametrize("best", [1, 2, 4, 8])
def test_it_finds_the_best_size_and_spends_nearly_all_time_there(best):
    service = Service(lambda rows: 1000.0 - 200 * abs(SIZES.index(rows) - SIZES.index(best)))
    service.serve(60)
    spent = service.serve(300)
    assert spent[best] > 0.95 * 300


def test_when_another_size_becomes_better_it_follows():
    """A trial comes at least each `SELDOM` stretches, of either neighbour in turn."""
    good = [8]
    service = Service(lambda rows: 1200.0 if rows == good[0] else 1000.0)
    service.serve(60)
    good[0] = 4
    service.serve(3 * SELDOM * TRIAL_SECONDS)
    assert service.serve(60)[4] > 50
    good[0] = 8
    service.serve(3 * SELDOM * TRIAL_SECONDS)
    assert service.serve(60)[8] > 50


def test_more_clients_are_met_with_larger_batches():
    service = Service(lambda rows: 100.0 * rows, crowd=4)
    service.serve(60)
    service.crowd = 16
    service.serve(60)
    assert service.serve(60)[16] > 55


def test_differences_as_small_as_the_machines_unrest_change_nothing():
    service = Service(lambda rows: 1020.0 if rows == 4 else 1000.0)
    service.serve(60)
    assert service.serve(60)[8] > 55


def test_requests_that_come_one_by_one_say_nothing():
    """What they come to is how often they come."""
    service = Service(lambda rows: 1000.0, crowd=1)
    for pause in (0.001, 1.0) * 500:
        service.now += pause
        service.aim.answered(1, 0)
        assert service.aim.rows == 16


def test_bursts_with_nothing_between_say_nothing():
    """Eight requests at once every two seconds: a small size, whose last call is of one request and
    so has no gap after it, would seem the quickest by far."""
    service = Service(lambda rows: 1000.0)
    for _ in range(1_000):
        service.now += 2.0
        service.aim.arrived()
        left = 8
        while left:
            rows = min(service.aim.rows, left)
            left -= rows
            service.now += 0.003
            service.aim.answered(rows, rows + left if rows + left > 1 else 0)
        assert service.aim.rows == 16


def test_requests_of_several_rows_are_joined_again_after_none_were():
    """Sizes under those of one request are all alike; the next that differs holds two."""
    service = Service(lambda rows: 1000.0)
    service.aim.rows = service.aim._best = 1
    for _ in range(40_000):
        rows = 5 * max(service.aim.rows // 5, 1)
        service.now += rows / (2000.0 if rows > 5 else 1000.0)
        service.aim.answered(rows, 40, 5)
    assert service.aim._best == 16


def test_one_lucky_stretch_is_not_enough(monkeypatch):
    """Where noise is as large as what counts as quicker, a win has to come twice in a row."""

    def moves() -> int:
        noise = np.random.default_rng(1).normal(1, 0.03, 40_000)
        service = Service(lambda rows: 1000.0 * noise[int(service.now / TRIAL_SECONDS)])
        bests = []
        for _ in range(2_000):
            service.serve(1)
            bests.append(service.aim._best)
        return sum(a != b for a, b in pairwise(bests))

    twice = moves()
    monkeypatch.setattr(aim, "WINS", 1)
    assert 3 * twice < moves()


def test_one_size_is_the_only_one():
    now = [0.0]
    only = Aim((8,), lambda: now[0])
    for _ in range(1000):
        now[0] += 0.01
        only.answered(8, 16)
    assert only.rows == 8
