"""Moments of a column's finite values, in a form that merges: count, mean, M2, smallest, largest.

M2 is the sum of squared deviations from the mean (Chan, Golub and LeVeque 1979, "Updating formulae
and a pairwise algorithm for computing sample variances").
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .signals import Floats

COUNT, MEAN, M2, LOW, HIGH = range(5)
# Sums of squares beyond this could overflow in M2, however many rows; the moments see values
# clipped to it, the cells and the extremes do not.
LARGEST = 1e140


def moments_of(values: Floats) -> Floats:
    """Count, mean, sum of squared deviations, minimum and maximum of the finite values."""
    finite = values[np.isfinite(values)]
    if not len(finite):
        return np.array([0.0, 0.0, 0.0, np.inf, -np.inf])
    clipped = np.clip(finite, -LARGEST, LARGEST)
    mean = float(np.mean(clipped))
    m2 = float(np.sum((clipped - mean) ** 2))
    return np.array([len(finite), mean, m2, finite.min(), finite.max()])


def merge_moments(a: Floats, b: Floats) -> Floats:
    """Moments of both samples together, elementwise over leading axes; shape ``[..., 5]``."""
    n = a[..., COUNT] + b[..., COUNT]
    share: NDArray[np.float64] = b[..., COUNT] / np.where(n > 0, n, 1.0)
    delta = b[..., MEAN] - a[..., MEAN]
    merged = np.empty(np.broadcast_shapes(a.shape, b.shape))
    merged[..., COUNT] = n
    merged[..., MEAN] = np.where(
        b[..., COUNT] == 0,
        a[..., MEAN],
        np.where(a[..., COUNT] == 0, b[..., MEAN], a[..., MEAN] + delta * share),
    )
    cross = delta * delta * (a[..., COUNT] * share)
    empty = (a[..., COUNT] == 0) | (b[..., COUNT] == 0)
    merged[..., M2] = a[..., M2] + b[..., M2] + np.where(empty, 0.0, cross)
    merged[..., LOW] = np.minimum(a[..., LOW], b[..., LOW])
    merged[..., HIGH] = np.maximum(a[..., HIGH], b[..., HIGH])
    return merged


def column_moments(columns: Floats, finite: NDArray[np.bool_]) -> Floats:
    """`moments_of` each row of `columns`, shape ``[c, n]`` in C order → ``[c, 5]``.

    `finite` tells which values are. One pass over all of them: a column at a time costs ten times
    as much where there are few rows.
    """
    out = np.empty((len(columns), 5))
    if not columns.shape[1]:
        out[:] = (0.0, 0.0, 0.0, np.inf, -np.inf)
        return out
    whole = np.logical_and.reduce(finite, axis=1)
    full = columns if whole.all() else columns[whole]
    clipped = np.minimum(np.maximum(full, -LARGEST), LARGEST)
    mean = clipped.mean(axis=1)
    found = np.empty((len(full), 5))
    found[:, COUNT] = columns.shape[1]
    found[:, MEAN] = mean
    found[:, M2] = np.square(clipped - mean[:, None]).sum(axis=1)
    found[:, LOW] = np.minimum.reduce(full, axis=1)
    found[:, HIGH] = np.maximum.reduce(full, axis=1)
    out[whole] = found
    for index in np.flatnonzero(~whole).tolist():
        out[index] = moments_of(columns[index])
    return out
