"""How long a verdict takes, beside SciPy's two-sample test of each signal."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from scipy.stats import ks_2samp

from driftline.drift import Ring, judge

from .fleet import END, WIDTH
from .populations import fitted
from .work import Found, Scale, Task

SIGNALS = (20, 200)
BUCKETS = 60
ROWS = 50
REFERENCE = 4_991
ROUNDS = 7


def tasks(scale: Scale) -> list[Task]:
    """One for each number of signals; run by themselves, nothing beside them."""
    return [Task(timed, {"signals": signals}) for signals in SIGNALS]


def timed(signals: int) -> Found:
    """Milliseconds of processor time: the least of some rounds, since others use the machine.

    `judge` gives the whole verdict with onset, effects and sentences, of the columns and the two
    flags beside each; `ks_2samp` one p-value for each column, from raw values it has to have.
    """
    random = np.random.default_rng(8)
    rows = random.standard_normal((REFERENCE, signals))
    reference = fitted(rows, ["number"] * signals, 0)
    window = random.standard_normal((BUCKETS * ROWS, signals))
    parts = window.reshape(BUCKETS, ROWS, signals)
    counts = {
        END + WIDTH * at: reference.layout.count("input", part) for at, part in enumerate(parts)
    }
    ring = Ring.of(WIDTH, counts)

    def loop() -> None:
        for column in range(signals):
            ks_2samp(rows[:, column], window[:, column])

    return {
        "signals": signals,
        "flags": len(reference.signals) - signals,
        "driftline": _least(lambda: judge(reference, ring)),
        "ks_2samp": _least(loop),
    }


def _least(call: Callable[[], object]) -> float:
    call()
    found = []
    for _ in range(ROUNDS):
        began = time.process_time()
        call()
        found.append(time.process_time() - began)
    return 1000 * min(found)
