"""References of one column, fitted for tests."""

from __future__ import annotations

import numpy as np

from driftline.metadata.fitting import fit_reference
from driftline.metadata.reference import Reference, SignalReference
from driftline.metadata.sample import RowSample
from driftline.metadata.signals import Column, ColumnKind


def fitted(
    values: np.ndarray, kind: ColumnKind = "number", seed: int = 0
) -> tuple[Reference, np.ndarray]:
    """The reference of one column `x`, and its sample in the order that fitting saw."""
    sample = RowSample(1, seed=seed)
    sample.add(np.asarray(values, dtype=np.float64)[:, None])
    columns = {"input": [Column("x", kind)]}
    reference = fit_reference({"input": sample}, columns, source="held_out", seed=seed)
    return reference, sample.rows[:, 0]


def signal(reference: Reference, name: str) -> SignalReference:
    return next(each for each in reference.signals if each.name == name)


def names(reference: Reference) -> list[str]:
    return [each.name for each in reference.signals]
