"""Traffic of a week, looked at as a service does: both rings, from the second day on."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from driftline.drift import Ring, judge
from driftline.metadata.reference import Reference
from driftline.metadata.signals import Ints

from .fleet import CALLED, END, HOUR, RING, WIDTH, count, promise
from .populations import DAY, autoregressive, daily, fitted
from .work import Found

ROWS = 50
DAYS = 7
HOURS = 168
ALPHAS = (1e-3, 1 / 43_200)


def daily_traffic(windows: int, seed: int) -> Found:
    """It goes up and down with the hour; the reference was taken over whole days."""

    def week(random: np.random.Generator) -> tuple[Reference, Ints]:
        reference = fitted(daily(random, random.uniform(0, DAY, 5_000))[:, None], ["number"], 0)
        minutes = np.repeat(np.arange(DAYS * DAY, dtype=np.float64), ROWS)
        return reference, count(reference, daily(random, minutes)[:, None], ROWS)

    return {"traffic": "day and night, ±0.3 σ", "reference": 5_000, **_run(week, windows, seed, 5)}


def few_requests(rho: float, rows: int, windows: int, seed: int) -> Found:
    """So few `rows` a bucket that bursts outlast it; a day of hours has told of them."""

    def week(random: np.random.Generator) -> tuple[Reference, Ints]:
        reference = fitted(random.standard_normal((2_000, 1)), ["number"], 0)
        values = autoregressive(random, 1, DAYS * DAY * rows, rho)[0]
        return reference, count(reference, values[:, None], rows)

    name = f"AR(1), ρ = {rho:g}, {rows} requests a bucket, after a day"
    return {"traffic": name, "reference": 2_000, **_run(week, windows, seed, 10)}


def _run(
    week: Callable[[np.random.Generator], tuple[Reference, Ints]],
    windows: int,
    seed: int,
    every: int,
) -> Found:
    """Both rings, each verdict told the one before, a look every so many buckets after a day.

    An alarm is a verdict that calls after one that did not; windows are the buckets that passed.
    """
    random = np.random.default_rng(seed)
    looks = [0] * len(ALPHAS)
    alarms, called = [0] * len(ALPHAS), [0] * len(ALPHAS)
    streams = 0
    while looks[0] < windows:
        streams += 1
        reference, cells = week(random)
        hours = cells.reshape(-1, 60, cells.shape[1])
        for row, alpha in enumerate(ALPHAS):
            previous = None
            for last in range(every, len(cells) + 1, every):
                if last < DAY - 120:
                    continue  # two hours to settle before what is counted
                fast = _ring(WIDTH, cells[max(last - RING, 0) : last], max(last - RING, 0))
                whole, rest = divmod(last, 60)
                slow = hours[:whole].sum(axis=1)
                if rest:
                    slow = np.concatenate([slow, cells[whole * 60 : last].sum(axis=0)[None]])
                old = max(len(slow) - HOURS, 0)
                verdict = judge(
                    reference,
                    fast,
                    slow=_ring(HOUR, slow[old:], old),
                    thresholds=promise(alpha),
                    previous=previous,
                )
                if last > DAY:
                    looks[row] += every
                    now = verdict.state in CALLED
                    called[row] += every * now
                    alarms[row] += now and (previous is None or previous.state not in CALLED)
                previous = verdict
    rates = [
        {"alpha": alpha, "alarms": alarms[row], "windows": looks[row], "called": called[row]}
        for row, alpha in enumerate(ALPHAS)
    ]
    return {"streams": streams, "rates": rates}


def _ring(width: int, cells: Ints, first: int) -> Ring:
    starts = END + width * (first + np.arange(len(cells), dtype=np.int64))
    rows = np.zeros((len(cells), 1), np.int64)
    return Ring(width, starts, cells, rows, np.zeros((len(cells), 1, 5)))
