"""Reliability: how right predictions of a given confidence are, and what that tells of new ones.

Both estimates need no labels and look at nothing but cell counts of the confidence and its mean, so
they merge like everything else. Both hold as long as confidence means what it meant in training; a
change of what is right (concept drift) is invisible to them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from driftline.metadata.quality import Reliability
from driftline.metadata.reference import SignalReference
from driftline.metadata.signals import NOT_COUNTED, Floats

# A cell's own confidence counts as so many rows beside its held-out ones.
PRIOR = 2.0
# The 97.5 % point of the normal law.
BOTH_SIDES = 1.959964


def fit_reliability(
    each: SignalReference, confidence: Floats, right: NDArray[np.bool_]
) -> Reliability | None:
    """The reliability of held-out rows in the cells of the signal `each`; None without any row.

    Args:
        each: the reference of the top probability.
        confidence: calibrated, shape ``[n]``; rows that are not finite are left out.
        right: whether the prediction was, shape ``[n]``.
    """
    partition = each.signal.partition
    cells = partition.cells(confidence)
    known = cells != NOT_COUNTED
    cells, confidence, right = cells[known], confidence[known], right[known]
    if not len(cells):
        return None
    size = partition.size
    rows = np.bincount(cells, minlength=size)
    sums = np.bincount(cells, weights=confidence, minlength=size)
    wrong = int(len(right) - right.sum())
    return Reliability(
        signal=each.name,
        rows=tuple(rows.tolist()),
        right=tuple(np.bincount(cells[right], minlength=size).tolist()),
        confidence=tuple(
            float(total / n) if n else None for total, n in zip(sums, rows, strict=True)
        ),
        threshold=float(np.sort(confidence)[wrong - 1]) if wrong else 0.0,
    )


def cbpe(
    known: Reliability, cells: Floats, mean: float | None = None
) -> tuple[float, float, float]:
    """Expected accuracy of the counted predictions, with the ends of its 95 % interval.

    The mean confidence, corrected cell by cell by how right that confidence was on held-out data
    ("confidence-based performance estimation"). The interval holds the sampling errors of the
    held-out rows and of the counted ones: it is for the accuracy that labels would show.

    Args:
        known: from the package.
        cells: counts of the signal's cells, shape ``[K]``, at least one row.
        mean: the mean confidence of the same rows; without it that of each cell is taken to be
            what it was on held-out data.
    """
    rows, right = np.asarray(known.rows, float), np.asarray(known.right, float)
    overall = right.sum() / rows.sum()
    usual = np.array([overall if each is None else each for each in known.confidence])
    share = (right + PRIOR * usual) / (rows + PRIOR)
    m = cells.sum()
    weight = cells / m
    found = float(weight @ share)
    if mean is not None and np.isfinite(mean):
        found += float(mean - weight @ usual)
    spread = share * (1 - share)
    variance = float(weight**2 @ (spread / (rows + PRIOR + 1)) + weight @ spread / m)
    half = BOTH_SIDES * variance**0.5
    low, middle, high = np.clip([found - half, found, found + half], 0.0, 1.0).tolist()
    return middle, low, high


def atc(known: Reliability, cells: Floats) -> float:
    """The share of counted predictions above the threshold that fits the held-out accuracy.

    "Average thresholded confidence" (Garg et al. 2022). The cell that holds the threshold counts in
    the proportion in which its held-out rows lay above it.
    """
    rows = np.asarray(known.rows, float)
    above = np.cumsum(rows[::-1])[::-1] - rows
    part = np.clip((sum(known.right) - above) / np.where(rows > 0, rows, 1.0), 0.0, 1.0)
    # An empty cell lies wholly above or wholly below.
    part = np.where(rows > 0, part, (above < sum(known.right)).astype(float))
    return float(cells @ part / cells.sum())
