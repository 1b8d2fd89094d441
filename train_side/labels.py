"""Labels as trainings hold them, brought into one form."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from driftline.metadata.errors import InputError

from .batches import Array

Ints = NDArray[np.int64]
NO_CLASS = -1


def class_codes(label: Array, classes: int) -> Ints:
    """The class of each row, shape ``[n]``; `NO_CLASS` where it is none of them.

    `label` holds codes, shape ``[n]`` or ``[n, 1]``, or one score a class, of which the largest
    counts (one-hot, smoothed or mixed labels).

    Raises:
        InputError: another shape.
    """
    if label.ndim == 2 and label.shape[1] == classes and classes > 1:
        return label.argmax(axis=1).astype(np.int64)
    if label.ndim == 2 and label.shape[1] == 1:
        label = label[:, 0]
    if label.ndim != 1:
        reason = f"shape [n], [n, 1] or [n, {classes}] expected, got {list(label.shape)}"
        raise InputError("label", reason)
    values = np.nan_to_num(np.asarray(label, dtype=np.float64), nan=-1.0, posinf=-1.0, neginf=-1.0)
    known = (values == np.floor(values)) & (values >= 0) & (values < classes)
    return np.where(known, values, NO_CLASS).astype(np.int64)


def class_hits(label: Array, classes: int) -> NDArray[np.bool_]:
    """Which classes each row has, shape ``[n, classes]``: labels of one score a class, above ½.

    Raises:
        InputError: another shape.
    """
    if label.shape != (len(label), classes):
        raise InputError("label", f"shape [n, {classes}] expected, got {list(label.shape)}")
    return np.asarray(label > 0.5)


def distribution(counts: Counter[int], names: Sequence[str]) -> dict[str, float] | None:
    """The share of each class, those that never came included; None without any label.

    Labels that are none of the classes (`NO_CLASS`) are left out of the total.
    """
    total = sum(counts[index] for index in range(len(names)))
    if not total:
        return None
    return {name: counts[index] / total for index, name in enumerate(names)}
