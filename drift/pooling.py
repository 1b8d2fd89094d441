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
TINY = 1e-9


def own_shares(pools: Ints, tells: Floats) -> Floats:
    """What each signal may keep of its own excess, ``[T]``: (4/(n + 4))^0.75 in a pool of n.

    n counts what is independent: signals that move as one err as one. One by itself keeps all.
    """
    _, which, signals = np.unique(pools, return_inverse=True, return_counts=True)
    number = np.bincount(which.ravel(), weights=tells)
    return np.asarray(np.where(signals > 1, (4 / (number + 4)) ** 0.75, 1.0)[which.ravel()])


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


def pooled(excess: Floats, pools: Ints, own: Floats, deviation: float) -> Floats:
    """Upper estimates of excesses, drawn to the median of their pool on the log scale.

    Bursts come from the traffic and mostly touch all signals alike, so n signals together tell
    them better than each alone. Of the median counts what is surely there: less its standard
    error, or, where it is surely above 1, with room for the modes. Each keeps a share of what it
    has beyond: its `own`, times what of their spread is more than chance (James and Stein 1961,
    the positive part). So independent traffic has F = 1, and is judged a tenth sooner than by
    `own` alone. A signal by itself keeps what it is; one surely burstier is caught by itself.
    """
    base, kept = excess.copy(), own.copy()
    for pool in {*pools[own < 1].tolist()}:
        here = pools == pool
        ranked = np.sort(excess[here])
        middle = float(ranked[len(ranked) // 2] + ranked[(len(ranked) - 1) // 2]) / 2
        error = 1.25 * deviation / np.sqrt(len(ranked))
        middle = SURE * middle if middle > 1 + 3 * error else max(middle - error, 1.0)
        spread = np.mean(np.log(np.maximum(ranked, TINY) / middle) ** 2)
        kept[here] *= max(1 - deviation**2 / max(spread, TINY), 0.0)
        base[here] = excess[here] ** kept[here] * middle ** (1 - kept[here])
    return base * (1 + UPPER * kept * deviation)
