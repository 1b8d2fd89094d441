"""Checks that every extractor makes on what it is given."""

from __future__ import annotations

import numpy as np

from ..errors import InputError
from ..sample import RowSample
from .extractor import Raw, Rows


def numeric(array: Raw, field: str, axes: str) -> Raw:
    """The array as it is, if it holds real numbers and has one axis for each letter of `axes`.

    Raises:
        InputError: it holds something else, or has another rank.
    """
    if not isinstance(array, np.ndarray):
        raise InputError(field, f"an array expected, got {type(array).__name__}")
    if array.dtype.kind not in "fiub":
        raise InputError(field, f"numbers expected, got values of type {array.dtype}")
    if array.ndim != len(axes):
        shape = f"[{', '.join(axes)}]"
        raise InputError(field, f"shape {shape} expected, got {list(array.shape)}")
    return array


def rows_of(rows: Rows) -> Raw:
    """The rows of a sample, or the array itself."""
    return rows.rows if isinstance(rows, RowSample) else rows
