"""Traffic that goes up and down with the hour of the day, looked at as a service does."""

from __future__ import annotations

import numpy as np

from driftline.drift import Ring, judge
from driftline.metadata.signals import Ints

from .fleet import CALLED, END, HOUR, RING, WIDTH, count, promise
from .populations import DAY, daily, fitted
from .work import Found

ROWS = 50
DAYS = 7
EVERY = 5
HOURS = 168
ALPHAS = (1e-3, 1 / 43_200)


def daily_traffic(windows: int, seed: int) -> Found:
    """Both rings, each verdict told the one before, a look every fifth bucket after a day.

    An alarm is a verdict that calls after one that did not; windows are the buckets that passed.
    The reference was taken over whole days, as held-out data are.
    """
    random = np.random.default_rng(seed)
    looks = [0] * len(ALPHAS)
    alarms, called = [0] * len(ALPHAS), [0] * len(ALPHAS)
    streams = 0
    while looks[0] < windows:
        streams += 1
        reference = fitted(daily(random, random.uniform(0, DAY, 5_000))[:, None], ["number"], 0)
        minutes = np.repeat(np.arange(DAYS * DAY, dtype=np.float64), ROWS)
        cells = count(reference, daily(random, minutes)[:, None], ROWS)
        hours = cells.reshape(-1, 60, cells.shape[1])
        for row, alpha in enumerate(ALPHAS):
            previous = None
            for last in range(EVERY, len(cells) + 1, EVERY):
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
                    looks[row] += EVERY
                    now = verdict.state in CALLED
                    called[row] += EVERY * now
                    alarms[row] += now and (previous is None or previous.state not in CALLED)
                previous = verdict
    rates = [
        {"alpha": alpha, "alarms": alarms[row], "windows": looks[row], "called": called[row]}
        for row, alpha in enumerate(ALPHAS)
    ]
    return {
        "traffic": "day and night, ±0.3 σ",
        "reference": 5_000,
        "streams": streams,
        "rates": rates,
    }


def _ring(width: int, cells: Ints, first: int) -> Ring:
    starts = END + width * (first + np.arange(len(cells), dtype=np.int64))
    rows = np.zeros((len(cells), 1), np.int64)
    return Ring(width, starts, cells, rows, np.zeros((len(cells), 1, 5)))
