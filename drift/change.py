"""Changes of a known size: what traffic would look like in cells, told from the reference alone.

A change takes the cell probabilities of some streams, shape ``[S, K]``, to those after it. For a
continuous signal the size is a shift of the mean in reference standard deviations, in either
direction; for flags and categories the share of values that go elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq

from driftline.metadata.reference import ColumnReference, SignalReference
from driftline.metadata.signals import Continuous, Floats

from .effect import positions

Change = Callable[[Floats, float], Floats]


def change_of(each: SignalReference, column: ColumnReference) -> Change:
    """The change that fits a signal: a shift, for flags `rise`, for categories `exchange`.

    A constant has no σ to be moved by, so it exchanges.
    """
    partition = each.signal.partition
    if not isinstance(partition, Continuous):
        return rise if each.signal.kind == "flag" else exchange
    if not column.sd or not np.isfinite(column.sd) or not partition.edges:
        return exchange
    return shift(np.asarray(each.weights), positions(each) / column.sd)


def rise(p: Floats, size: float) -> Floats:
    """The rate of a flag higher by `size`, at most 1."""
    rate = np.minimum(p[:, 1] + size, 1.0)
    return np.stack([1.0 - rate, rate], axis=1)


def exchange(p: Floats, size: float) -> Floats:
    """The share `size` given to the commonest cell by the others, in proportion.

    Where that cell has more than half of all values it gives the share up instead. Of all cells
    its counts vary most, so an equal gain of another is seen sooner.
    """
    top = int(np.argmax(p.mean(axis=0)))
    before = p[:, top]
    after = np.clip(before + np.where(before > 0.5, -size, size), 0.0, 1.0)
    moved = p * ((1.0 - after) / np.maximum(1.0 - before, 1e-300))[:, None]
    moved[:, top] = after
    return moved


def shift(weights: Floats, places: Floats) -> Change:
    """Cells tilted by exp(θ · place) so that the mean moves by `size`, as far as cells reach.

    Of all changes with that mean it is the one with the least Kullback–Leibler divergence, so the
    hardest to see, and the natural one: a normal law moves, an exponential one stretches, counts
    of rare events become those of another rate, and a spike grows or shrinks.

    Args:
        weights: of the reference, ``[K]``.
        places: where the cells lie, ascending, in standard deviations.
    """
    shares = weights / weights.sum()
    scores = places - shares @ places

    def tilted(p: Floats, theta: float) -> Floats:
        exponent = theta * scores
        raised = p * np.exp(exponent - exponent.max())
        return np.asarray(raised / raised.sum(axis=-1, keepdims=True))

    def change(p: Floats, size: float) -> Floats:
        furthest = scores.max() if size > 0 else scores.min()
        if not abs(size) < abs(furthest):
            return np.broadcast_to(np.where(scores == furthest, 1.0, 0.0), p.shape)
        far = np.sign(size)
        while (tilted(shares, far) @ scores - size) * far < 0 and abs(far) < 1e6:
            far *= 2
        theta = brentq(lambda t: tilted(shares, t) @ scores - size, 0.0, far, xtol=1e-9)
        return tilted(p, float(theta))

    return change
