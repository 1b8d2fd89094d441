"""How long one prediction takes on the machine that packs the model."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from driftline.metadata.host import host_fingerprint
from driftline.metadata.quality import LATENCY_EDGES, LatencyBaseline

WARM_UP = 5
CALLS = 200
SECONDS = 5.0


def latency_baseline(
    call: Callable[[], object],
    *,
    calls: int = CALLS,
    seconds: float = SECONDS,
    clock: Callable[[], float] = time.perf_counter,
) -> LatencyBaseline:
    """Times `call`, a prediction of one row, after five that warm up.

    At most `calls` calls, fewer when they take longer than `seconds` together, at least one.
    """
    for _ in range(WARM_UP):
        call()
    timings: list[float] = []
    end = clock() + seconds
    while len(timings) < calls and (not timings or clock() < end):
        began = clock()
        call()
        timings.append(clock() - began)
    p50, p95, p99 = (float(each) for each in np.quantile(timings, [0.5, 0.95, 0.99]))
    cells = np.searchsorted(LATENCY_EDGES, timings, side="right")
    counts = np.bincount(cells, minlength=len(LATENCY_EDGES) + 1)
    return LatencyBaseline(
        p50=p50,
        p95=p95,
        p99=p99,
        calls=len(timings),
        edges=LATENCY_EDGES,
        counts=tuple(counts.tolist()),
        host=host_fingerprint(),
    )
