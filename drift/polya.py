"""The Dirichlet–multinomial (Pólya) law of cell counts, without its multinomial coefficient."""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

from driftline.metadata.signals import Floats, Ints

# ln E never goes below: a change far from all alternatives must not end in −inf.
LOWEST = -700.0


def log_polya(
    weights: Floats, counts: Floats, inflation: Floats, total: Floats | None = None
) -> Floats:
    """ln of Γ(A)/Γ(A+m) · Π Γ(aᵢ+cᵢ)/Γ(aᵢ) for c = counts / inflation, shape ``[T, B]``.

    `weights` is ``[T, K]``, `counts` whole numbers ``[T, B, K]``, `inflation` ``[T]``. A weight of
    0 marks padding: no counts may lie there. `total` (``[T]``) is A where cells without counts
    were left out.
    """
    rows = counts.sum(axis=2)[:, :, None]
    whole = weights.sum(axis=1) if total is None else total
    below = log_rising(whole[:, None], rows, inflation)[..., 0]
    return np.asarray(log_rising(weights, counts, inflation).sum(axis=2) - below)


def log_rising(weights: Floats, counts: Floats, inflation: Floats) -> Floats:
    """ln Γ(a + c/F) − ln Γ(a), shape ``[T, B, K]``; 0 where the weight is 0.

    Counts are whole, so where few different weights meet many counts (cells of equal mass, the
    usual case) a table by count is filled once and read, which is ten times as fast.
    """
    if not counts.size:
        return np.zeros(counts.shape)
    length = int(counts.max()) + 1
    distinct, which = _distinct(weights, inflation)
    if 2 * len(distinct) * length > counts.size:
        a = np.where(weights > 0, weights, 1.0)[:, None, :]
        found = gammaln(a + counts / inflation[:, None, None]) - gammaln(a)
        return np.asarray(np.where(weights[:, None, :] > 0, found, 0.0))
    a = np.where(distinct[:, 0] > 0, distinct[:, 0], 1.0)[:, None]
    table = gammaln(a + np.arange(length) / distinct[:, 1:]) - gammaln(a)
    table[distinct[:, 0] <= 0] = 0.0
    return table.ravel().take((which * length)[:, None, :] + counts.astype(np.int64))


def log_mean_exp(values: Floats, log_weights: Floats) -> Floats:
    """ln Σ wⱼ exp(xⱼ) over the last axis."""
    values = values + log_weights
    highest = values.max(axis=-1, keepdims=True)
    return np.asarray(np.log(np.exp(values - highest).sum(axis=-1)) + highest[..., 0])


def _distinct(weights: Floats, inflation: Floats) -> tuple[Floats, Ints]:
    """Pairs (weight, inflation) that differ, ``[U, 2]``, and which each cell has (broadcasts)."""
    even = bool((weights == weights[:, :1]).all())
    cells = weights[:, :1] if even else weights
    codes = cells + 1j * np.broadcast_to(inflation[:, None], cells.shape)
    if (codes == codes.flat[0]).all():
        return np.array([[codes.flat[0].real, codes.flat[0].imag]]), np.zeros((1, 1), np.int64)
    found, which = np.unique(codes, return_inverse=True)
    return np.stack([found.real, found.imag], axis=1), which.reshape(cells.shape)
