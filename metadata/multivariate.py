"""What a reference knows of several signals together, without a row being kept.

Small shifts of many columns are seen soonest together. All that this takes of the reference is how
the normal scores of its signals' cells vary with each other: a matrix that whitens them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import ndtri

from .reference import Multivariate, SignalReference
from .signals import Continuous, Floats, Group

# More signals than this are parted: what one shift loses among unmoved others grows with them.
MOST = 32
# Directions in which the scores vary less than this say nothing; two columns are one there.
LEAST_VARIANCE = 0.05
# Fewer rows a direction, and the whitening is chance.
ROWS_EACH = 5


def normal_scores(weights: Floats) -> Floats:
    """The normal score of the reference mass at the middle of each ordered cell, ``[..., K]``.

    Φ⁻¹ of the mass below the middle; 0 at padding, where the weight is 0.
    """
    shares = weights / weights.sum(axis=-1, keepdims=True)
    middles = np.cumsum(shares, axis=-1) - shares / 2
    real = weights > 0
    return np.where(real, ndtri(np.where(real, middles, 0.5)), 0.0)


def fit_multivariates(
    group: Group, signals: Sequence[SignalReference], columns: Sequence[str], rows: Floats
) -> tuple[Multivariate, ...]:
    """The continuous signals of one group, together; in parts of 32 where there are more.

    Args:
        group: theirs.
        signals: of the group; those that have no order are left out.
        columns: names of the columns of `rows`.
        rows: the reference, ``[n, columns]``.

    Returns:
        None for a part of fewer than two signals that vary, or of fewer than 5 rows a direction.
    """
    ordered = [each for each in signals if isinstance(each.signal.partition, Continuous)]
    parts = -(-len(ordered) // MOST)
    found = []
    for part in range(parts):
        own = ordered[len(ordered) * part // parts : len(ordered) * (part + 1) // parts]
        scores = [_deviations(each, rows[:, columns.index(each.signal.column)]) for each in own]
        name = f"{group} together" if parts == 1 else f"{group} together, {part + 1} of {parts}"
        fitted = _whitened(name, group, own, np.stack(scores, axis=1))
        if fitted is not None:
            found.append(fitted)
    return tuple(found)


def _deviations(each: SignalReference, values: Floats) -> Floats:
    """Normal scores less their mean under the reference's law; 0 where there is no value."""
    weights = np.array(each.weights)
    scores = normal_scores(weights)
    cells = each.signal.partition.cells(values)
    return np.where(cells >= 0, scores[cells] - scores @ weights / weights.sum(), 0.0)


def _whitened(
    name: str, group: Group, signals: Sequence[SignalReference], scores: Floats
) -> Multivariate | None:
    spread = scores.std(axis=0)
    vary = np.flatnonzero(spread**2 >= LEAST_VARIANCE)
    if len(vary) < 2:
        return None
    variances, directions = np.linalg.eigh(np.corrcoef(scores[:, vary].T))
    kept = variances >= LEAST_VARIANCE
    matrix = (directions[:, kept] / np.sqrt(variances[kept])).T / spread[vary]
    rows = min(signals[at].rows for at in vary)
    if rows < ROWS_EACH * kept.sum():
        return None
    names = tuple(signals[at].name for at in vary)
    # Six digits are more than the rows can tell, and keep the package small.
    whitening = tuple(tuple(float(f"{x:.6g}") for x in row) for row in matrix)
    independent = float(variances.sum() ** 2 / (variances**2).sum())
    return Multivariate(name, group, names, whitening, rows, round(independent, 3))
