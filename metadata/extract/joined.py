"""Several arrays, one matrix: the columns of a group whose model has more than one input."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..errors import InputError
from ..signals import Column, Floats
from .extractor import Extractor, Raw


class Joined:
    """The columns of several extractors side by side, in the order of `parts`.

    With more than one part each column is named ``<part>.<column>``; the only part keeps its
    columns' names. It has no settings of its own: both sides build it from the same parts.
    """

    def __init__(self, parts: Mapping[str, Extractor]) -> None:
        self.parts = dict(parts)

    def columns(self) -> tuple[Column, ...]:
        """All parts' columns, renamed as said above.

        Raises:
            SettingError: a part is not fitted that has to be.
        """
        several = len(self.parts) > 1
        return tuple(
            Column(f"{name}.{column.name}" if several else column.name, column.kind)
            for name, part in self.parts.items()
            for column in part.columns()
        )

    def extract(self, arrays: Mapping[str, Raw]) -> Floats:
        """One matrix, shape ``[n, columns]``, of the arrays by the parts' names.

        Raises:
            InputError: an array is missing, does not fit its part, or has another number of rows.
        """
        found: list[Floats] = []
        for name, part in self.parts.items():
            if name not in arrays:
                raise InputError(name, "is missing")
            found.append(part.extract(arrays[name], field=name))
            if len(found[-1]) != len(found[0]):
                raise InputError(name, f"{len(found[0])} rows expected, got {len(found[-1])}")
        if len(found) == 1:
            return found[0]
        return np.concatenate(found, axis=1) if found else np.empty((0, 0))
