"""An Allan variance of cell counts: how much neighbouring stretches of time differ.

For blocks of s buckets the two-sample χ² of each block and the next, over its degrees of freedom.
Its mean is 1 when requests are independent, larger when they come in bursts, and what does not
change from one block to the next (the reference, a slow season) cancels. After Allan 1966,
"Statistics of atomic frequency standards"; blocks overlap, which halves the noise (Howe 1981).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from driftline.metadata.signals import Floats

Compare = Callable[[Floats, Floats], Floats]

TRIMMED = 0.1
LENGTHS = (1, 2, 4, 8, 16)
# What lies outside the fullest cell is rare under this share of all, and a pair that is to be
# expected to have fewer of it says nothing: χ² of one such value is always 1, of a few nearly so,
# and its trimmed mean is not what that of independent requests is.
RARE, LEAST = 0.1, 5
# Nor does a pair of which one has fewer values: of none or one χ² is 1, whatever they are.
FEW = 4


def allan(cells: Floats, length: int) -> Floats:
    """Trimmed mean over all neighbouring blocks of `length` buckets, ``[T]`` of ``[T, B, k]``.

    The largest tenth is left out, so that one real change does not hide itself. Pairs that say
    nothing count as 1.
    """
    return allan_of_sums(sums(cells), length, 1.0)


def allan_of_sums(grown: Floats, length: int, usual: float, of: Compare | None = None) -> Floats:
    """`allan` of what `sums` gave, for several lengths of the same cells.

    Or of other sums (``[k, T, B + 1]``) whose neighbouring blocks `of` compares. Pairs with too
    little of what is rare say nothing: they count as `usual`, what the trimmed mean is of
    independent requests, and so raise nothing.
    """
    blocks = grown[:, :, length:] - grown[:, :, :-length]
    first, second = blocks[:, :, :-length], blocks[:, :, length:]
    if of is not None:
        return trimmed(of(first, second))
    silent = _silent(grown[:, :, -1], first + second) | _few(first, second)
    return trimmed(np.where(silent, usual, two_sample(first, second)))


def sums(cells: Floats) -> Floats:
    """Counts before each bucket and after the last, ``[k, T, B + 1]``: the short axis first."""
    first = np.moveaxis(cells, 2, 0)
    grown = np.zeros((*first.shape[:2], first.shape[2] + 1))
    np.cumsum(first, axis=2, out=grown[:, :, 1:])
    return grown


def around(cells: Floats, usual: float = 1.0) -> Floats:
    """The same for each bucket against all others, ``[T]`` of ``[T, B, k]``."""
    first = np.moveaxis(cells, 2, 0)
    whole = first.sum(axis=2, keepdims=True)
    silent = _silent(whole[:, :, 0], first) | _few(first, whole - first)
    return trimmed(np.where(silent, usual, two_sample(first, whole - first)))


def _silent(whole: Floats, pairs: Floats) -> NDArray[np.bool_]:
    """Where too little of what is rare is to be expected, ``[T, n]``, of counts ``[k, T]`` in all
    and ``[k, T, n]`` by pair."""
    total = whole.sum(axis=0)
    other = (total - whole.max(axis=0)) / np.maximum(total, 1)
    expected = other[:, None] * pairs.sum(axis=0)
    return np.asarray((other < RARE)[:, None] & (expected < LEAST))


def _few(first: Floats, second: Floats) -> NDArray[np.bool_]:
    """Where one of two blocks ``[k, T, n]`` has too few values, ``[T, n]``."""
    return np.asarray(np.minimum(first.sum(axis=0), second.sum(axis=0)) < FEW)


def two_sample(first: Floats, second: Floats) -> Floats:
    """Two-sample χ² over its expectation when both have one law, over the first axis.

    1 where a block is empty, or both have all their values in one cell.
    """
    both = first + second
    n, m = first.sum(axis=0), second.sum(axis=0)
    total, used = n + m, (both > 0).sum(axis=0)
    square = (first * first / np.maximum(both, 1)).sum(axis=0)
    # χ² = (N·Σ aᵢ²/(aᵢ + bᵢ) − n²)·N/(n m). Given the margins its expectation is N/(N − 1) for
    # each cell in use beyond the first.
    over = n * m * (used - 1)
    found = (total * square - n * n) * (total - 1) / np.where(over > 0, over, 1.0)
    # Proportional counts, as of a replay, come out a rounding error below 0.
    return np.where(over > 0, np.maximum(found, 0.0), 1.0)


def two_means(first: Floats, second: Floats) -> Floats:
    """Squared difference of two means of unit variance, over its expectation.

    The first axis holds sums and numbers of values. 1 where one has none.
    """
    (a, n), (b, m) = first, second
    there = (n > 0) & (m > 0)
    n, m = np.where(there, n, 1.0), np.where(there, m, 1.0)
    return np.where(there, (a / n - b / m) ** 2 / (1 / n + 1 / m), 1.0)


def trimmed(values: Floats) -> Floats:
    """Mean over the last axis without the largest tenth, the last one left counting in part."""
    keep = values.shape[-1] * (1 - TRIMMED)
    share = np.clip(keep - np.arange(values.shape[-1]), 0.0, 1.0)
    return np.asarray(np.sort(values, axis=-1) @ share / keep)


def lengths(buckets: int) -> tuple[int, ...]:
    """Block lengths that a ring of so many buckets can judge.

    One real change touches 2s − 1 of the pairs; it has to fit into the tenth that is left out.
    """
    return tuple(s for s in LENGTHS if 2 * s - 2 <= 0.12 * (buckets - 2 * s + 1))
