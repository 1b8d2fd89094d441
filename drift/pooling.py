"""Pooling: signals of one stream of traffic tell its bursts better together than each alone.

Excesses are those of `allan` over what independent requests show, each 1 or so without bursts.
Arrays are ``[T]``; `pools` says which signals share their bursts, `tells` as how many independent
ones each counts there.
"""

from __future__ import annotations

import numpy as np

from driftline.metadata.signals import Floats, Ints

# An upper estimate, which tightens as the ring fills: by so many of its deviations.
UPPER = 0.7
# Where bursts are sure, room for the modes that merged cells show less than fully.
SURE = 1.4
# By so many deviations at the most is an excess drawn down to that of the others.
FURTHEST = 2.0
# Spread that is kept has to be more than so many times that of chance. With 1 what twenty quiet
# signals keep costs a tenth of the delay; with 2 three bursty ones among twenty are drawn to 1.
CHANCE = 1.5
TINY = 1e-9


def crowding(pools: Ints, tells: Floats) -> Floats:
    """By how much further from 1 an excess is sure than the 99 % point, ``[T]``, 1 to 1.25.

    Of many signals some are beyond that point by chance. 1 for a signal by itself; counted are n
    independent ones, for signals that move as one err as one: 1.25 − (4/(n + 4))^0.75/4.
    """
    _, which, signals = np.unique(pools, return_inverse=True, return_counts=True)
    number = np.bincount(which.ravel(), weights=tells)
    found = np.where(signals > 1, 1.25 - (4 / (number + 4)) ** 0.75 / 4, 1.0)
    return np.asarray(found[which.ravel()])


def lifted(excess: Floats, pools: Ints, tells: Floats) -> Floats:
    """Excesses of signals that vary together, none much below the others': they err as one.

    Of those as independent as they are many each keeps its own; of those that are one, the lowest
    would else decide for all. Drawn to the upper quartile: the mean of evidence is its largest.
    """
    if (tells >= 1).all():
        return excess
    found = excess.copy()
    for pool in {*pools[tells < 1].tolist()}:
        here = (pools == pool) & (tells < 1)
        middle = np.sort(excess[here])[-(-3 * int(here.sum()) // 4) - 1]
        found[here] = np.maximum(
            excess[here], excess[here] ** tells[here] * middle ** (1 - tells[here])
        )
    return found


def pooled(excess: Floats, pools: Ints, tells: Floats, deviation: float) -> Floats:
    """Upper estimates of excesses, drawn to the median of their pool on the log scale, ``[T]``.

    Bursts come from the traffic and mostly touch all signals alike, so n signals together tell
    them better than each alone. Of the median counts what is surely there: less its standard
    error, or, where it is surely above 1, with room for the modes. Each keeps of what it has beyond
    the share of their spread that is more than chance (James and Stein 1961, its positive part,
    around an estimated middle), and none is drawn further than `FURTHEST` (Efron and Morris 1971,
    "limited translation"). So quiet signals have the F of their pool, and where some are bursty
    each has its own. A signal by itself keeps what it is.
    """
    base, kept = excess.copy(), np.ones(len(excess))
    for pool in {*pools.tolist()}:
        here = pools == pool
        if here.sum() == 1:
            continue
        ranked = np.sort(np.maximum(excess[here], TINY))
        number = max(float(tells[here].sum()), 1.0)
        median = float(ranked[len(ranked) // 2] + ranked[(len(ranked) - 1) // 2]) / 2
        error = 1.25 * deviation / np.sqrt(number)
        middle = SURE * median if median > 1 + 3 * error else max(median - error, 1.0)
        # Signals that err as one do not spread, whatever chance does.
        chance = CHANCE * deviation**2 * max(number - 3, 0.0)
        spread = float((np.log(ranked / median) ** 2).sum())
        kept[here] = max(1 - chance / max(spread, TINY), 0.0)
        drawn = excess[here] ** kept[here] * middle ** (1 - kept[here])
        base[here] = np.maximum(drawn, excess[here] * np.exp(-FURTHEST * deviation))
    return base * (1 + UPPER * kept * deviation)
