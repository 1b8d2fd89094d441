"""Inflation: how many requests count as one independent one, from bucket counts alone.

Requests that come in bursts (thirty frames of one scene) carry less than their number. F is
estimated from the variance between neighbouring blocks of buckets (`allan`), beyond what the same
estimate shows for independent requests (`quiet`). What was tried, and fails: F by coarsening (the
mean over many cells hides a slow common mode), F only where significant (bursts below it cry
wolf), and, in a ring of 60 buckets, blocks of 8 or 16: a real change that has come to stay then
raises F until it hides itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from driftline.metadata.signals import Floats, Ints

from .allan import LENGTHS, Compare, allan_of_sums, around, lengths, sums, two_means
from .block import Block
from .multivariate import Together
from .panel import Panel
from .pooling import SURE, TINY, crowding, lifted, pooled
from .quiet import quiet
from .ring import Ring

FEWEST = 20
# So many are enough to say whether a stretch varies by itself, where a change parts the ring.
FEWEST_BESIDE = 10
LEVELS = (2, 4, 8)
# Blocks of which an upper estimate is taken.
SHORT = 2
GROWING = 1.3
STEP = 1.1
# A day in hours: from here on the hours themselves tell how much one differs from the others.
DAY = 24
# Of 24 hours of independent requests F is told as 1.2 or less.
SURELY = 1.5
# A variance is told by stretches that outlast the bursts: the share of independent requests with
# which the promise is kept (AR(1), ρ = 0.98, as a common mode of ten; with 1 it is not).
TELLING = 0.15


@dataclass(frozen=True, eq=False)
class Inflation:
    """F of each member (``[T]``), and of each direction of those together (``[K]`` each).

    `freedom` (``[T]``) are the degrees of freedom that each request adds to what is known of it,
    infinite where F is 1: there is nothing to estimate. `assumed` says that no traffic told it.
    """

    members: Floats
    directions: tuple[Floats, ...]
    freedom: Floats
    assumed: bool

    @classmethod
    def of(cls, panel: Panel, signals: Floats) -> Inflation:
        """That of signals, ``[T]``, of which those together have the mean."""
        directions = [
            np.full(each.directions, signals[each.where].min()) for each in panel.together
        ]
        members = panel.members(signals)
        return cls(members, tuple(directions), np.full(len(members), np.inf), True)

    def certain(self, where: NDArray[np.bool_]) -> Inflation:
        """The same, taken for known at some members, ``[T]``."""
        return replace(self, freedom=np.where(where, np.inf, self.freedom))

    def at_least(self, other: Inflation, times: float = 1.0) -> Inflation:
        """That of the other wherever it is more than so many `times` this one."""

        def larger(own: Floats, its: Floats) -> Floats:
            return np.where(its > times * own, its, own)

        replaced = other.members > times * self.members
        return Inflation(
            larger(self.members, other.members),
            tuple(map(larger, self.directions, other.directions)),
            np.where(replaced, other.freedom, self.freedom),
            self.assumed,
        )


def inflations(
    panel: Panel, ring: Ring, slow: Ring | None, assumed: Inflation
) -> tuple[Inflation, Inflation]:
    """F for both rings.

    Where hours surely differ by more than the minutes of the fast ring tell, bursts outlast it: a
    day of them tells of those as well.
    """
    fast = inflation(panel, ring, assumed)
    if slow is None:
        return fast, fast
    slower = inflation(panel, slow, fast).at_least(fast)
    return (fast.at_least(slower, SURELY) if len(slow) >= DAY else fast), slower


def told_within(
    panel: Panel, ring: Ring, bursts: Inflation, change: float, assumed: Inflation
) -> Inflation:
    """The `bursts` of a ring, as certain as what comes before and after a `change` tells.

    As in a t test: what two stretches differ by is no part of how much each varies by itself. Else
    a sudden change looks like a burst, and makes uncertain what was known. Of both stretches (unix
    seconds part them) the one that knows less counts; one of fewer than ten buckets knows nothing.
    """
    at = int(np.searchsorted(ring.starts, change))
    both = ring.part(slice(at)), ring.part(slice(at, None))
    parts = [part for part in both if len(part) >= FEWEST_BESIDE]
    if not parts:
        return bursts
    told = [inflation(panel, part, assumed, FEWEST_BESIDE).freedom for part in parts]
    return replace(bursts, freedom=np.maximum(bursts.freedom, np.min(told, axis=0)))


def inflation(panel: Panel, ring: Ring, assumed: Inflation, fewest: int = FEWEST) -> Inflation:
    """F from a ring's counts; the `assumed` one where there are too few buckets.

    Fewer than 20 buckets are not enough to estimate it (`fewest`). A flag for values out of range
    or unseen follows its column's main signal, for bursts of what is rare cannot be known
    beforehand. A direction of signals together has what is found in it beyond the F of each of
    them: a scene that moves many columns by little shows in none alone.
    """
    if len(ring) < fewest:
        return assumed
    flat = ring.cells.astype(np.float64)
    # Flags are mostly quiet, and would hide what the values of their columns do.
    pools = 2 * panel.pools + panel.flags
    levels = list(_levels(panel, flat))
    busy = levels[0][1] if levels else np.zeros(0, dtype=np.int64)
    # What has no values tells nothing, and makes no crowd.
    tells = np.zeros(panel.signals)
    tells[busy] = panel.tells[busy]
    found = _estimate(levels, pools, tells, len(flat))
    found[busy] = lifted(found[busy], pools[busy], tells[busy])
    follows = panel.main >= 0
    found[follows] = np.maximum(found[follows], found[panel.main[follows]])
    members = panel.members(stepped(found))
    directions = []
    for row, each in enumerate(panel.together, start=panel.signals):
        beyond = _beyond(each, flat, members[each.where])
        directions.append(members[each.where].min() * beyond)
        members[row] *= beyond.mean()
    with np.errstate(divide="ignore"):
        freedom = TELLING / (members - 1)
    return Inflation(members, tuple(directions), freedom, False)


def _beyond(together: Together, flat: Floats, inflation: Floats) -> Floats:
    """F of each direction beyond the F of its signals, at least 1, ``[K]``."""
    signals, rows = together.sums(flat)
    moves = together.whitened(signals, inflation) / np.sqrt(inflation.min())
    grown = sums(np.stack([moves.T, np.broadcast_to(rows, moves.T.shape)], axis=2))
    every = np.arange(len(moves.T))
    pools, tells = np.zeros(len(every), dtype=np.int64), np.ones(len(every))
    return _estimate([(2, every, grown)], pools, tells, len(flat), two_means)


def stepped(factor: Floats) -> Floats:
    """The nearest power of `STEP`: what F is not known to better, and few values judge faster."""
    return np.asarray(STEP ** np.round(np.log(factor) / np.log(STEP)))


def ceiling(panel: Panel, slow: Ring | None) -> Floats:
    """How many independent requests an hour of each member can weigh at the most, ``[T]``.

    Hours differ without harm (day and night). Where a day or more of slow buckets shows by how
    much, the variance τ² between them limits what any shorter window can say to 1/τ² requests;
    infinite where they do not differ. Signals together weigh no more than the least of theirs.
    """
    found = np.full(panel.signals, np.inf)
    if slow is None or len(slow) < DAY:
        return panel.members(found, np.min)
    flat = slow.cells.astype(np.float64)
    table = quiet(len(slow))
    for block in panel.blocks:
        counts = block.gather(flat)
        rows = counts.sum(axis=2).mean(axis=1)
        for level in _levels_of(block):
            mean, _, high = table[level, 0]
            spread = around(block.merged(counts, level), mean) / mean
            with np.errstate(divide="ignore"):
                limit = rows / np.maximum(spread - 1, 0)
            limit = np.where(spread > high, limit, np.inf)
            found[block.where] = np.minimum(found[block.where], limit)
    return panel.members(found, np.min)


def _levels(panel: Panel, flat: Floats) -> Iterable[tuple[int, Ints, Floats]]:
    """For each level of merging the signals that have it, and their `sums`.

    Signals with values in fewer than two buckets are left out.
    """
    counts = [block.gather(flat) for block in panel.blocks]
    busy = [np.flatnonzero((each.sum(axis=2) > 0).sum(axis=1) > 1) for each in counts]
    for level in LEVELS:
        parts = [
            (block.where[rows], sums(block.merged(each, level)[rows]))
            for block, each, rows in zip(panel.blocks, counts, busy, strict=True)
            if level in _levels_of(block)
        ]
        if parts:
            which, grown = zip(*parts, strict=True)
            yield level, np.concatenate(which), np.concatenate(grown, axis=1)


def _estimate(
    levels: Iterable[tuple[int, Ints, Floats]],
    pools: Ints,
    tells: Floats,
    buckets: int,
    of: Compare | None = None,
) -> Floats:
    """The largest of: short blocks' upper estimates; each sure excess; where it tends to.

    F, at least 1, of series in `pools`, from sums by level of merging. Blocks longer than the ring
    can judge are asked only where the excess is sure and has grown with each doubling before: there
    bursts outlast buckets. A single change does not do so, for it is left out of the short blocks.
    `pools` (``[T]``) says which series share their bursts, `tells` as how many independent ones
    each counts there.
    """
    table, found = quiet(buckets), np.ones(len(pools))
    usual, further = lengths(buckets), crowding(pools, tells)
    for level, rows, grown in levels:
        before, growing = np.zeros(len(rows)), np.ones(len(rows), dtype=bool)
        for length in (s for s in LENGTHS if (level, s) in table and 2 * s <= buckets):
            if length == 2 * usual[-1]:
                rows, grown, before = rows[growing], grown[:, growing], before[growing]
            if not len(rows):
                break
            mean, deviation, high = table[level, length]
            excess = allan_of_sums(grown, length, mean, of) / mean
            best = found[rows]
            if length <= SHORT:
                base = pooled(excess, pools[rows], tells[rows], deviation)
                best = np.maximum(best, base)
            excess = lifted(excess, pools[rows], tells[rows])
            sure = excess > 1 + (high - 1) * further[rows]
            best = np.where(sure, np.maximum(best, SURE * excess), best)
            if length <= usual[-1]:
                growing &= sure & (excess > GROWING * before)
            if length >= usual[-1] > 1:
                best = np.where(sure, np.maximum(best, excess * _onward(excess / before)), best)
            found[rows], before = best, np.maximum(excess, TINY)
    return found


def _onward(ratio: Floats) -> Floats:
    """By how much the excess will still grow in longer blocks, from its last doubling's growth.

    In an autoregressive stream the growth beyond 1 about halves with each doubling of the blocks.
    To the power of 1.5: at ρ = 0.98 and 50 requests a bucket the median F is then the true one from
    20 buckets on, and the share of false alarms within what is promised (1: a quarter beyond).
    """
    step = np.clip(ratio, 1.0, 2.6) - 1
    growth = np.prod([1 + step / 2**power for power in range(1, 5)], axis=0)
    return np.asarray(growth**1.5)


def _levels_of(block: Block) -> tuple[int, ...]:
    return (2,) if block.kind == "flag" else LEVELS
