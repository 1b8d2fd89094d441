"""Inflation: how many requests count as one independent one, from bucket counts alone.

Requests that come in bursts (thirty frames of one scene) carry less than their number. F is
estimated from the variance between neighbouring blocks of buckets (`allan`), beyond what the same
estimate shows for independent requests (`quiet`). What was tried, and fails: F by coarsening (the
mean over many cells hides a slow common mode), F only where significant (bursts below it cry
wolf), and, in a ring of 60 buckets, blocks of 8 or 16: a real change that has come to stay then
raises F until it hides itself.
"""

from __future__ import annotations

import numpy as np

from driftline.metadata.signals import Floats, Ints

from .allan import LENGTHS, allan_of_sums, around, lengths, sums
from .block import Block
from .panel import Panel
from .quiet import quiet
from .ring import Ring

FEWEST = 20
LEVELS = (2, 4, 8)
# An upper estimate for short blocks, which tightens as the ring fills.
SHORT = 2
UPPER = 0.7
# Where bursts are sure, room for the modes that merged cells show less than fully.
SURE = 1.4
GROWING = 1.3
STEP = 1.1
# A day in hours: from here on the hours themselves tell how much one differs from the others.
DAY = 24


def inflation(panel: Panel, ring: Ring, assumed: Floats) -> tuple[Floats, bool]:
    """F of each signal (``[T]``), and whether it is only the `assumed` one.

    Fewer than 20 buckets are not enough to estimate it. A flag for values out of range or unseen
    follows its column's main signal, for bursts of what is rare cannot be known beforehand.
    """
    if len(ring) < FEWEST:
        return assumed, True
    found = np.ones(panel.size)
    flat = ring.cells.astype(np.float64)
    for block in panel.blocks:
        counts = block.gather(flat)
        found[block.where] = _block_inflation(block, counts, panel.pools[block.where])
    follows = panel.main >= 0
    found[follows] = np.maximum(found[follows], found[panel.main[follows]])
    return stepped(found), False


def stepped(factor: Floats) -> Floats:
    """The nearest power of `STEP`: what F is not known to better, and few values judge faster."""
    return np.asarray(STEP ** np.round(np.log(factor) / np.log(STEP)))


def ceiling(panel: Panel, slow: Ring | None) -> Floats:
    """How many independent requests an hour of each signal can weigh at the most, ``[T]``.

    Hours differ without harm (day and night). Where a day or more of slow buckets shows by how
    much, the variance τ² between them limits what any shorter window can say to 1/τ² requests;
    infinite where they do not differ.
    """
    found = np.full(panel.size, np.inf)
    if slow is None or len(slow) < DAY:
        return found
    flat = slow.cells.astype(np.float64)
    table = quiet(len(slow))
    for block in panel.blocks:
        counts = block.gather(flat)
        rows = counts.sum(axis=2).mean(axis=1)
        for level in _levels(block):
            mean, _, high = table[level, 0]
            spread = around(block.merged(counts, level)) / mean
            with np.errstate(divide="ignore"):
                limit = rows / np.maximum(spread - 1, 0)
            limit = np.where(spread > high, limit, np.inf)
            found[block.where] = np.minimum(found[block.where], limit)
    return found


def _block_inflation(block: Block, counts: Floats, pools: Ints | None = None) -> Floats:
    """The largest of: short blocks' upper estimates; each sure excess; where it tends to.

    Blocks longer than the ring can judge are asked only where the excess is sure and has grown with
    each doubling before: there bursts outlast buckets. A single change does not do so, for it is
    left out of the short blocks. `pools` (``[T]``) says which signals share their bursts.
    """
    buckets = counts.shape[1]
    table, found = quiet(buckets), np.ones(len(counts))
    busy = np.flatnonzero((counts.sum(axis=1) > 0).sum(axis=1) > 1)
    pools = np.arange(len(counts)) if pools is None else pools
    usual, shares = lengths(buckets), _own(pools, busy)
    for level in _levels(block) if len(busy) else ():
        rows = busy
        grown = sums(block.merged(counts, level)[rows])
        before, growing = np.zeros(len(rows)), np.ones(len(rows), dtype=bool)
        for length in (each for each in LENGTHS if (level, each) in table):
            if length == 2 * usual[-1]:
                rows, grown, before = rows[growing], grown[:, growing], before[growing]
            if not len(rows):
                break
            mean, deviation, high = table[level, length]
            excess = allan_of_sums(grown, length) / mean
            best = found[rows]
            own = shares[rows]
            if length <= SHORT:
                base = _pooled(excess, pools[rows], own, deviation)
                best = np.maximum(best, base * (1 + UPPER * own * deviation))
            # Of many signals some are beyond the 99 % point by chance; then a higher one counts.
            sure = excess > 1 + (high - 1) * (1 + (1 - own) / 4)
            best = np.where(sure, np.maximum(best, SURE * excess), best)
            if length <= usual[-1]:
                growing &= sure & (excess > GROWING * before)
            if length >= usual[-1] > 1:
                best = np.where(sure, np.maximum(best, excess * _onward(excess / before)), best)
            found[rows], before = best, excess
    return found


def _own(pools: Ints, busy: Ints) -> Floats:
    """What each signal keeps of its own excess, ``[T]``: (4/(n + 4))^0.75 in a pool of n, or all.

    With less, two bursty signals among ten cry wolf (ρ = 0.5: 11 alarms where 2 are promised); with
    the root, changes of independent traffic are called a tenth later, and with this a twentieth.
    """
    _, which, number = np.unique(pools[busy], return_inverse=True, return_counts=True)
    share = np.ones(len(pools))
    share[busy] = np.where(number > 1, (4 / (number + 4)) ** 0.75, 1.0)[which.ravel()]
    return share


def _pooled(excess: Floats, pools: Ints, own: Floats, deviation: float) -> Floats:
    """Excesses drawn to the median of their pool, on the log scale, but for their `own` share.

    Bursts come from the traffic and mostly touch all signals alike, so n signals together tell
    them better than each alone. Of the median counts what is surely there: less its standard
    error, or, where it is surely above 1, with room for the modes. A signal alone keeps what it
    is; one surely burstier than the others is caught by itself.
    """
    base = excess.copy()
    for pool in {*pools[own < 1].tolist()}:
        here = pools == pool
        ranked = np.sort(excess[here])
        middle = float(ranked[len(ranked) // 2] + ranked[(len(ranked) - 1) // 2]) / 2
        error = 1.25 * deviation / np.sqrt(len(ranked))
        middle = SURE * middle if middle > 1 + 3 * error else max(middle - error, 1.0)
        base[here] = excess[here] ** own[here] * middle ** (1 - own[here])
    return base


def _onward(ratio: Floats) -> Floats:
    """By how much the excess will still grow in longer blocks, from its last doubling's growth.

    In an autoregressive stream the growth beyond 1 about halves with each doubling of the blocks.
    To the power of 1.5: at ρ = 0.98 and 50 requests a bucket the median F is then the true one from
    20 buckets on, and the share of false alarms within what is promised (1: a quarter beyond).
    """
    step = np.clip(ratio, 1.0, 2.6) - 1
    growth = np.prod([1 + step / 2**power for power in range(1, 5)], axis=0)
    return np.asarray(growth**1.5)


def _levels(block: Block) -> tuple[int, ...]:
    return (2,) if block.kind == "flag" else LEVELS
