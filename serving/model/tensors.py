"""Nested lists of JSON to arrays, with every value's own type looked at."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftline.metadata.errors import InputError
from driftline.metadata.schema import TensorSpec

_KINDS = {"dict": "an object", "list": "a list", "str": "a string", "bool": "a boolean"}


def tensor(values: list[Any], spec: TensorSpec, field: str) -> NDArray[Any]:
    """One array of nested lists; null is NaN. Shape and range are not compared with `spec`.

    Raises:
        InputError: they are ragged, or hold something other than values of one kind.
    """
    # As objects first: left to itself NumPy makes strings of numbers beside strings, each as wide
    # as the longest of them, which a small body can make larger than any memory.
    found = np.array(values, dtype=object)
    flat = found.ravel().tolist()
    kinds = set(map(type, flat))
    if list in kinds:
        raise InputError(field, _ragged(values))
    if spec.dtype == "string":
        return _only(found, flat, str, field)
    if kinds == {str}:
        raise InputError(field, f"{spec.dtype} expected, got strings")
    if kinds == {bool}:
        return found.astype(bool)
    if not kinds <= {int, float, type(None)}:
        raise InputError(field, f"a number expected at {_stranger(found, flat)}")
    try:
        if kinds == {int} and not spec.dtype.startswith("float"):
            return found.astype(np.int64 if spec.dtype != "uint64" else np.uint64)
        return found.astype(np.float64)
    except OverflowError:
        raise InputError(field, "a number is too large") from None


def _only(found: NDArray[Any], flat: list[Any], kind: type, field: str) -> NDArray[Any]:
    for index, value in enumerate(flat):
        if type(value) is not kind:
            where = _place(found, index)
            raise InputError(field, f"a string expected at {where}, got {_named(value)}")
    return found


def _stranger(found: NDArray[Any], flat: list[Any]) -> str:
    """Where the first value stands that is no number, and what it is."""
    index = next(
        index for index, value in enumerate(flat) if type(value) not in (int, float, type(None))
    )
    return f"{_place(found, index)}, got {_named(flat[index])}"


def _place(found: NDArray[Any], index: int) -> str:
    return f"[{', '.join(str(int(at)) for at in np.unravel_index(index, found.shape))}]"


def _named(value: Any) -> str:
    return "null" if value is None else _KINDS.get(type(value).__name__, "a number")


def _ragged(values: list[Any]) -> str:
    """Which instance is the first that differs from the first one."""
    first = _shape(values[0])
    for index, each in enumerate(values):
        shape = _shape(each)
        if shape is None or shape != first:
            if shape is None:
                return f"instance {index} is {_uneven(each, index)}"
            return f"instance {index} is of shape {list(shape)}, the first has {list(first or ())}"
    return "the instances are nested too deeply"


def _uneven(instance: Any, index: int) -> str:
    """Where the first value stands that is another than those before it: of another length, or a
    list among values."""
    # How long the lists are at each depth: as the first of each is.
    lengths, value = [], instance
    while isinstance(value, list):
        lengths.append(len(value))
        value = value[0] if value else None
    open_lists: list[Iterator[tuple[int, Any]]] = [iter([(index, instance)])]
    at: list[int] = []
    while open_lists:
        depth = len(open_lists) - 1
        place, value = next(open_lists[-1], (None, None))
        if place is None:
            open_lists.pop()
            continue
        at[depth:] = [place]
        wanted = lengths[depth] if depth < len(lengths) else None
        if (len(value) if isinstance(value, list) else None) != wanted:
            first = [index, *[0] * depth]
            return f"ragged: {_long(value)} at {at}, {_long_as(wanted)} at {first}"
        # Of plain values, by far the most, none needs a look of its own.
        if isinstance(value, list) and (depth + 1 < len(lengths) or list in map(type, value)):
            open_lists.append(iter(enumerate(value)))
    return "nested too deeply"


def _long(value: Any) -> str:
    return _long_as(len(value) if isinstance(value, list) else None)


def _long_as(length: int | None) -> str:
    return "a single value" if length is None else f"a list of {length}"


def _shape(value: Any) -> tuple[int, ...] | None:
    """The lengths along each axis; None where they differ within it."""
    found = np.array(value, dtype=object)
    return None if list in set(map(type, found.ravel().tolist())) else found.shape
