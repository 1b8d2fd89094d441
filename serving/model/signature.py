"""A request's arrays against the signature that the model declares."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftline.metadata.errors import InputError
from driftline.metadata.schema import TensorSpec

Arrays = dict[str, NDArray[Any]]
_WANTED = {"f": "numbers", "i": "whole numbers", "u": "whole numbers", "b": "booleans"}


def checked(
    arrays: Mapping[str, NDArray[Any]], specs: tuple[TensorSpec, ...], most: int, field: str
) -> Arrays:
    """The arrays in the signature's own types and order; missing values are let through as NaN.

    Raises:
        InputError: naming `field` or the input: one is missing or unknown, has another shape or
            type, the batch is empty, larger than `most`, or not the same for all.
    """
    known = [spec.name for spec in specs]
    for name in arrays:
        if name not in known:
            reason = f"is no input of this model; it has {', '.join(known)}"
            raise InputError(_below(field, name), reason)
    found: Arrays = {}
    for spec in specs:
        where = field if len(specs) == 1 else _below(field, spec.name)
        if spec.name not in arrays:
            raise InputError(where, "is missing")
        array = arrays[spec.name]
        _check_shape(array, spec, where)
        found[spec.name] = cast(array, spec, where)
    rows = {name: len(array) for name, array in found.items()}
    if len(set(rows.values())) > 1:
        raise InputError(field, f"the inputs have different numbers of rows: {rows}")
    count = next(iter(rows.values()))
    if not count:
        raise InputError(field, "the batch is empty")
    if count > most:
        raise InputError(field, f"at most {most} instances a request, got {count}")
    return found


def refuse_missing(arrays: Arrays, specs: tuple[TensorSpec, ...], field: str) -> None:
    """Says which value is not finite, unless the signature allows it.

    Raises:
        InputError: naming the first row with such a value.
    """
    for spec in specs:
        array = arrays[spec.name]
        if spec.allow_missing or array.dtype.kind != "f":
            continue
        finite = np.isfinite(array)
        if not finite.all():
            at = ", ".join(str(index) for index in np.argwhere(~finite)[0])
            where = field if len(specs) == 1 else _below(field, spec.name)
            raise InputError(where, f"the value at [{at}] is missing or not finite")


def cast(array: NDArray[Any], spec: TensorSpec, field: str) -> NDArray[Any]:
    """The array in the signature's type, if no value is changed beyond rounding.

    Raises:
        InputError: its values are of another type or do not fit into this one.
    """
    if spec.dtype == "string":
        if array.dtype.kind not in "UO":
            raise InputError(field, f"strings expected, got {_named(array)}")
        return array
    wanted = np.dtype(spec.dtype)
    if array.dtype == wanted:
        return array
    if array.dtype.kind not in "biuf" or (array.dtype.kind == "b") != (wanted.kind == "b"):
        raise InputError(field, f"{_WANTED[wanted.kind]} expected, got {_named(array)}")
    if wanted.kind in "iu":
        bounds = np.iinfo(wanted)
        if array.dtype.kind == "f" and not np.equal(array, np.floor(array)).all():
            raise InputError(field, f"whole numbers ({spec.dtype}) expected, got fractions")
        if array.size and not (array.min() >= bounds.min and array.max() <= bounds.max):
            reason = f"a value lies outside {spec.dtype}, {bounds.min} to {bounds.max}"
            raise InputError(field, reason)
        return array.astype(wanted)
    with np.errstate(over="ignore"):
        found = array.astype(wanted)
    if np.isinf(found).sum() > np.isinf(array).sum():
        raise InputError(field, f"a value is too large for {spec.dtype}")
    return found


def _check_shape(array: NDArray[Any], spec: TensorSpec, field: str) -> None:
    wanted = spec.shape
    fits = array.ndim == len(wanted) and all(
        want is None or have == want
        for have, want in zip(array.shape[1:], wanted[1:], strict=False)
    )
    # An empty list has no inner lengths to compare; it is an empty batch, and called so.
    if not fits and array.shape[:1] != (0,):
        shown = ", ".join(["n", *("any" if n is None else str(n) for n in wanted[1:])])
        raise InputError(field, f"shape [{shown}] expected, got {list(array.shape)}")


def _named(array: NDArray[Any]) -> str:
    kinds = {"U": "strings", "O": "mixed values", "b": "booleans", "i": "whole numbers"}
    return kinds.get(array.dtype.kind, f"values of type {array.dtype}")


def _below(field: str, name: str) -> str:
    return f"{field}.{name}" if field else name
