"""JSON instances to arrays: nested lists, or objects by input name or column."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftline.metadata.errors import InputError
from driftline.metadata.extract import Tabular
from driftline.metadata.schema import TensorSpec

from ..hooks.columns import Columns

Arrays = dict[str, NDArray[Any]]
FIELD = "instances"


def arrays_of(instances: list[Any], specs: tuple[TensorSpec, ...], columns: Columns) -> Arrays:
    """Arrays by input name; null is NaN. Shapes and types are not compared with the signature.

    Raises:
        InputError: naming the instance: rows are ragged, of mixed forms, or hold what no array can.
    """
    if not instances:
        raise InputError(FIELD, "the batch is empty")
    objects = sum(isinstance(each, dict) for each in instances)
    if objects == 0:
        if len(specs) > 1:
            names = ", ".join(spec.name for spec in specs)
            raise InputError(FIELD, f"objects with the inputs {names} expected")
        return {specs[0].name: tensor(instances, specs[0], FIELD)}
    if objects < len(instances):
        raise InputError(FIELD, "either all instances are objects or none is")
    table = _table(specs, columns)
    if table is not None and specs[0].name not in instances[0]:
        return {specs[0].name: table.encode(instances, field=FIELD)}
    return {spec.name: _gathered(instances, spec, specs) for spec in specs}


def tensor(values: list[Any], spec: TensorSpec, field: str) -> NDArray[Any]:
    """One array of nested lists.

    Raises:
        InputError: they are ragged, or hold something other than values.
    """
    try:
        found = np.array(values)
    except (ValueError, OverflowError, RecursionError):
        raise InputError(field, _ragged(values)) from None
    if found.dtype.kind == "O":
        return _with_missing(found, field)
    # NumPy would make strings of numbers that stand beside strings.
    if found.dtype.kind == "U" and spec.dtype != "string":
        raise InputError(field, f"{spec.dtype} expected, got strings")
    return found


def _gathered(rows: list[Any], spec: TensorSpec, specs: tuple[TensorSpec, ...]) -> NDArray[Any]:
    known = {each.name for each in specs}
    for index, row in enumerate(rows):
        if not row.keys() <= known:
            stranger = next(iter(row.keys() - known))
            reason = f"is no input of this model; it has {', '.join(sorted(known))}"
            raise InputError(f"{FIELD}[{index}].{str(stranger)[:100]}", reason)
        if spec.name not in row:
            raise InputError(f"{FIELD}[{index}].{spec.name}", "is missing")
    return tensor([row[spec.name] for row in rows], spec, f"{FIELD}.{spec.name}")


def _table(specs: tuple[TensorSpec, ...], columns: Columns) -> Tabular | None:
    parts = [part for source, part in columns.part("input") if source == specs[0].name]
    if len(specs) == 1 and len(parts) == 1 and isinstance(parts[0], Tabular):
        return parts[0]
    return None


def _with_missing(found: NDArray[Any], field: str) -> NDArray[Any]:
    """Numbers and nulls as float64."""
    flat = np.empty(found.size)
    for index, value in enumerate(found.flat):
        if value is None:
            flat[index] = np.nan
        elif isinstance(value, int | float) and not isinstance(value, bool):
            try:
                flat[index] = value
            except OverflowError:
                raise InputError(field, "a number is too large") from None
        else:
            kinds = {"dict": "an object", "list": "a list", "str": "a string"}
            kind = kinds.get(type(value).__name__, "a boolean")
            where = ", ".join(str(int(at)) for at in np.unravel_index(index, found.shape))
            raise InputError(field, f"a number expected at [{where}], got {kind}")
    return flat.reshape(found.shape)


def _ragged(values: list[Any]) -> str:
    """Which instance is the first that differs from the first one."""
    first = _shape(values[0])
    for index, each in enumerate(values):
        shape = _shape(each)
        if shape is None or shape != first:
            shown = "ragged" if shape is None else f"of shape {list(shape)}"
            return f"instance {index} is {shown}, the first has {list(first or ())}"
    return "the instances are ragged"


def _shape(value: Any) -> tuple[int, ...] | None:
    try:
        return np.array(value).shape
    except (ValueError, OverflowError, RecursionError):
        return None
