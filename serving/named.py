"""Arrays by name, of whatever form a function took or gave them in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftline.metadata.errors import InputError
from driftline.metadata.schema import TensorSpec


def named(value: Any, specs: tuple[str, ...] | tuple[TensorSpec, ...]) -> dict[str, NDArray[Any]]:
    """Arrays by name, of one array, a list or tuple in order, or a mapping.

    Raises:
        InputError: their number or names are others than those of `specs`.
    """
    names = [each if isinstance(each, str) else each.name for each in specs]
    if isinstance(value, Mapping):
        for name in value:
            if name not in names:
                raise InputError(str(name), f"is not one of {', '.join(names)}")
        return {str(name): np.asarray(array) for name, array in value.items()}
    if isinstance(value, tuple) or (len(names) > 1 and isinstance(value, list)):
        if len(value) != len(names):
            raise InputError("", f"{len(names)} arrays expected, got {len(value)}")
        return {name: np.asarray(array) for name, array in zip(names, value, strict=True)}
    return {names[0]: np.asarray(value)}
