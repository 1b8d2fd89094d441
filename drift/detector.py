"""The e-detector: when did it begin, and how sure is it that it began at all.

    M_t = Σ over start buckets j ≤ t of E(counts of j…t)

(Shiryaev–Roberts; Shin, Ramdas and Rinaldo 2022, "E-detectors"). M minus the number of started
buckets is a supermartingale without drift, so the mean number of buckets until M ≥ 1/α is at least
1/α, whenever anyone looks. The unfinished bucket takes part.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from driftline.metadata.signals import Floats, Ints

from .freedom import tempered
from .inflation import Inflation
from .panel import Panel
from .ring import Ring

# Of the budget of false alarms the slow ring has this share. Its buckets start seldom, so each of
# its starts may weigh as much more as it is longer: after T seconds the weights of all starts sum
# to (1 − s)·T/fast + s·(slow/fast)·(T/slow + 1) = T/fast + s·slow/fast, which is one for each fast
# bucket and a constant. Dividing by 1 + α·s·slow/fast pays for the constant.
SLOW_SHARE = 0.1


@dataclass(frozen=True, eq=False)
class Trace:
    """One ring's evidence.

    `suffixes` (``[B, total]``) are the counts from each start bucket to the end, `rows` (``[T,
    B]``) how many values each signal has there, `log_e` (``[T, B]``) their ln E. `later` (``[T,
    B + 1]``) is ln of this ring's part of M when only the starts from that one on are counted.
    """

    ring: Ring
    suffixes: Floats
    rows: Floats
    log_e: Floats
    later: Floats


def trace(
    panel: Panel, ring: Ring, inflation: Inflation, weight: float, limit: Floats | None = None
) -> Trace:
    """The evidence of all start buckets of a ring, each weighing exp(`weight`) in M.

    Where more than `limit` independent requests (``[T]``) lie behind an E, it enters to the power
    of limit/requests; E^η has expectation at most 1 where E has, for η from 0 to 1.
    """
    suffixes = np.cumsum(ring.cells[::-1], axis=0, dtype=np.int64)[::-1].astype(np.float64)
    log_e, rows = np.zeros((2, panel.size, len(ring)))
    if len(ring):
        log_e, rows = panel.log_e(suffixes, inflation.members, inflation.directions)
    if limit is not None and np.isfinite(limit).any():
        log_e *= np.minimum(limit[:, None] * inflation.members[:, None] / np.maximum(rows, 1), 1.0)
    if len(ring):
        log_e = tempered(log_e, inflation.freedom * np.maximum(rows[:, 0], 1))
    later = np.full((panel.size, len(ring) + 1), -np.inf)
    later[:, :-1] = np.logaddexp.accumulate(log_e[:, ::-1], axis=1)[:, ::-1] + weight
    return Trace(ring, suffixes, rows, log_e, later)


def forget(trace: Trace, before: Floats) -> Trace:
    """The trace without the starts before a time of each member, ``[T]`` in unix seconds."""
    gone = trace.ring.starts < before[:, None]
    if not gone.any():
        return trace
    log_e = np.where(gone, -np.inf, trace.log_e)
    later = trace.later.copy()
    first = gone.sum(axis=1)
    kept = np.arange(later.shape[1]) >= first[:, None]
    start = np.take_along_axis(later, first[:, None], axis=1)
    return replace(trace, log_e=log_e, later=np.where(kept, later, start))


def weights(fast: int, slow: int | None, alpha: float) -> tuple[float, float]:
    """ln of what a start in the fast and in the slow ring weighs, for bucket widths in seconds."""
    if slow is None:
        return 0.0, -np.inf
    ratio = slow / fast
    constant = np.log1p(alpha * SLOW_SHARE * ratio)
    return float(np.log1p(-SLOW_SHARE) - constant), float(np.log(SLOW_SHARE * ratio) - constant)


def onset(log_e: Floats) -> Ints:
    """Index of the start with the largest E, ``[...]`` of ``[..., B]``; the latest of equals."""
    last = log_e.shape[-1] - 1
    return np.asarray(last - np.argmax(log_e[..., ::-1], axis=-1))
