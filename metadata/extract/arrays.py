"""Checks that every extractor makes on what it is given."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import force_setattr

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
    if array.dtype == np.float64:
        return np.ascontiguousarray(array)
    with np.errstate(all="ignore"):  # a long double beyond float64 becomes infinite
        return np.ascontiguousarray(array, dtype=np.float64)


def rows_of(rows: Rows) -> Raw:
    """The rows of a sample, or the array itself."""
    return rows.rows if isinstance(rows, RowSample) else rows


def plain_settings(extractor: Struct) -> None:
    """Turns lists and arrays among the settings into tuples, and NumPy's scalars into Python's.

    People write ``Classification(list_of_names)`` and hand over what NumPy computed; JSON, and
    the comparison after it, know only plain values.
    """
    for name in extractor.__struct_fields__:
        value = getattr(extractor, name)
        if isinstance(value, np.ndarray | np.generic):
            value = value.tolist()
        if isinstance(value, list | tuple):
            value = tuple(v.item() if isinstance(v, np.generic) else v for v in value)
        if value is not getattr(extractor, name):
            force_setattr(extractor, name, value)


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
