"""The latency baseline, on a clock that the test turns."""

from __future__ import annotations

import numpy as np
import pytest

from driftline.metadata.quality import LATENCY_EDGES
from driftline.train_side.latency import WARM_UP, latency_baseline


class Clock:
    """Every call of `work` takes the next of `durations`, the last one for ever."""

    def __init__(self, *durations: float) -> None:
        self.now, self.calls, self.durations = 0.0, 0, durations

    def __call__(self) -> float:
        return self.now

    def work(self) -> None:
        self.now += self.durations[min(self.calls, len(self.durations) - 1)]
        self.calls += 1


def test_slow_first_calls_do_not_count():
    clock = Clock(*[3.0] * WARM_UP, 0.01)
    found = latency_baseline(clock.work, calls=50, clock=clock)
    assert (found.p50, found.p99) == pytest.approx((0.01, 0.01))
    assert found.calls == 50


def test_quantiles_and_cells_are_of_the_same_timings():
    durations = np.random.default_rng(0).lognormal(-5, 1, size=200)
    clock = Clock(*[1.0] * WARM_UP, *durations)
    found = latency_baseline(clock.work, calls=200, seconds=1e9, clock=clock)
    quantiles = (found.p50, found.p95, found.p99)
    assert quantiles == pytest.approx(tuple(np.quantile(durations, [0.5, 0.95, 0.99])))
    assert found.edges == LATENCY_EDGES
    inner, _ = np.histogram(durations, np.concatenate([[0], LATENCY_EDGES, [np.inf]]))
    assert found.counts == tuple(inner)


def test_a_slow_model_is_not_timed_for_long():
    clock = Clock(2.0)
    assert latency_baseline(clock.work, calls=200, seconds=5.0, clock=clock).calls == 3


def test_a_very_slow_model_is_timed_once():
    clock = Clock(60.0)
    assert latency_baseline(clock.work, seconds=5.0, clock=clock).calls == 1
