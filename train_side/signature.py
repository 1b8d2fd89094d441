"""What goes in and comes out of a network, learned from the arrays that did."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from driftline.metadata.errors import InputError
from driftline.metadata.schema import TensorSpec

from .batches import Array


class Signature:
    """Names, types and shapes of arrays; a length that varied is None, and so is the batch."""

    def __init__(self) -> None:
        self._seen: dict[str, TensorSpec] = {}

    def observe(self, arrays: Mapping[str, Array]) -> None:
        """Takes in one batch.

        Raises:
            InputError: an array changed its type or its number of axes.
        """
        for name, array in arrays.items():
            known = self._seen.get(name)
            shape = (None, *array.shape[1:])
            missing = array.dtype.kind == "f" and not bool(np.isfinite(array).all())
            if known is not None:
                if known.dtype != array.dtype.name or len(known.shape) != len(shape):
                    now = f"{array.dtype.name} {list(array.shape)}"
                    raise InputError(name, f"was {known.dtype} {list(known.shape)}, now {now}")
                pairs = zip(known.shape, shape, strict=True)
                shape = tuple(old if old == new else None for old, new in pairs)
                missing = missing or known.allow_missing
            self._seen[name] = TensorSpec(name, array.dtype.name, shape, missing)  # type: ignore[arg-type] # checked when written

    @property
    def specs(self) -> tuple[TensorSpec, ...]:
        """One for each name, in the order in which they were first seen."""
        return tuple(self._seen.values())
