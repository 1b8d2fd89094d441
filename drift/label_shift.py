"""Label shift: how much commoner each class has become, told by what the model predicts.

If the classes come in other proportions and each class still looks as it did, the predictions q
obey ``q = C w`` with C[k, i] = P(predicted k, true i) on held-out data and w the ratio of the new
to the old share of each class (Lipton, Wang and Smola 2018, "Detecting and Correcting for Label
Shift with Black Box Predictors").
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from driftline.metadata.signals import Floats

# With more classes a window's counts say too little of each.
MOST = 256


class LabelShift(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Estimated shares of the classes, in their order.

    `before` are the shares in the held-out data, `now` those estimated for the window, `weights`
    their ratios; `accuracy` is what the recalls of the classes give at the new shares.
    """

    before: tuple[float, ...]
    now: tuple[float, ...]
    weights: tuple[float, ...]
    accuracy: float


def label_shift(
    confusion: Sequence[Sequence[int]], codes: Sequence[float], cells: Floats
) -> LabelShift | None:
    """What the counts of predicted classes say about the classes.

    None without any count, and with more than 256 classes. Least squares for w ≥ 0 in units of the
    counts' own standard errors, held to 1 as if one more prediction said so (regularised as in
    Azizzadenesheli et al. 2019), so a confusion matrix that has no inverse does no harm. A class
    that held-out data never had keeps its share of 0.

    Args:
        confusion: ``[true][predicted]`` counts of held-out rows.
        codes: the classes that have a cell of their own, ascending.
        cells: counts in the window, of these classes and last of all others together.
    """
    table = np.asarray(confusion, dtype=np.float64)
    total, m = table.sum(), float(np.sum(cells))
    if not total or not m or not 2 <= len(table) <= MOST:
        return None
    joint = np.zeros((len(cells), len(table)))
    own = {round(code): at for at, code in enumerate(codes)}
    for predicted, counts in enumerate(table.T):
        joint[own.get(predicted, len(cells) - 1)] += counts / total
    before = table.sum(axis=1) / total
    error = np.sqrt(np.maximum(joint.sum(axis=1), 0.5 / total) / m)
    weights = _least_squares(joint / error[:, None], np.asarray(cells) / m / error, before)
    now = weights * before
    now = now / now.sum() if now.sum() > 0 else before
    recall = np.diag(table) / np.maximum(table.sum(axis=1), 1.0)
    ratio = np.where(before > 0, now / np.where(before > 0, before, 1.0), 1.0)
    return LabelShift(
        before=tuple(before.tolist()),
        now=tuple(now.tolist()),
        weights=tuple(ratio.tolist()),
        accuracy=float(now @ recall),
    )


def _least_squares(left: Floats, right: Floats, before: Floats) -> Floats:
    """w ≥ 0 with the least ``|left w − right|² + Σ before (w − 1)²``.

    Classes that would be below 0 are set to it and the rest solved again, until none is.
    """
    normal = left.T @ left + np.diag(np.maximum(before, 1e-12))
    target = left.T @ right + before
    weights = np.zeros(len(before))
    free = before > 0
    while free.any():
        found = np.linalg.solve(normal[np.ix_(free, free)], target[free])
        if (found >= 0).all():
            weights[free] = found
            break
        free[np.flatnonzero(free)[found < 0]] = False
    return weights
