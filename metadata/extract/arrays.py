"""Checks that every extractor makes on what it is given."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..errors import InputError, SettingError
from ..sample import RowSample
from ..signals import Floats
from .extractor import Raw, Rows

# What fitting appends to a column's name for the flags beside it.
FLAGS = (":missing", ":unseen", ":out_of_range")


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


def floats(array: Raw) -> Floats:
    """The array as float64 in C order: sums along rows then have the same bits for any layout."""
    with np.errstate(all="ignore"):  # a long double beyond float64 becomes infinite
        return np.ascontiguousarray(array, dtype=np.float64)


def rows_of(rows: Rows) -> Raw:
    """The rows of a sample, or the array itself."""
    return rows.rows if isinstance(rows, RowSample) else rows


def check_names(names: Sequence[str], field: str, taken: Sequence[str] = ()) -> None:
    """Nothing, if the names can be columns of one matrix beside those that are `taken`.

    Raises:
        SettingError: one is empty, twice there, taken, or ends as the flag beside a column does.
    """
    seen = set(taken)
    for name in names:
        if not name:
            raise SettingError(field, "a name is empty")
        if name in seen:
            raise SettingError(field, f"the name {name!r} is taken")
        if name.endswith(FLAGS):
            raise SettingError(field, f"{name!r} ends like the flag of another column")
        seen.add(name)
