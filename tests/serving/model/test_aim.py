"""The aim finds the batch size that answers most rows a second, and keeps to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

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


def test_one_size_is_the_only_one():
    now = [0.0]
    aim = Aim((8,), lambda: now[0])
    for _ in range(1000):
        now[0] += 0.01
        aim.answered(8, 16)
    assert aim.rows == 8
