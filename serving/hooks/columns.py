"""Raw arrays of a request to the column matrices that counts are made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftline.metadata.errors import InputError, MetadataError
from driftline.metadata.extract import EXTRACTORS
from driftline.metadata.extract.extractor import Extractor, Glancing
from driftline.metadata.schema import ModelMetadata
from driftline.metadata.signals import Floats, Group

Arrays = Mapping[str, NDArray[Any]]
Extract = Callable[..., Floats]


class Columns:
    """The extractors of a package, rebuilt as they were at its fitting.

    Raises:
        MetadataError: an extractor is unknown, or does not give the columns of the reference.
    """

    def __init__(self, metadata: ModelMetadata) -> None:
        self.inputs = tuple(spec.name for spec in metadata.inputs)
        self.outputs = tuple(spec.name for spec in metadata.outputs)
        self._parts: dict[Group, list[tuple[str, Extractor]]] = {}
        self._whole: dict[Group, list[tuple[str, Extract]]] = {}
        self._quick: dict[Group, list[tuple[str, Extract]]] = {}
        names: dict[Group, list[str]] = {}
        for index, each in enumerate(metadata.extractions):
            extractor: Extractor = EXTRACTORS.decode(
                each.extractor, f"extractions[{index}].extractor"
            )
            self._parts.setdefault(each.group, []).append((each.source, extractor))
            whole = extractor.extract
            quick = extractor.glance if isinstance(extractor, Glancing) else whole
            self._whole.setdefault(each.group, []).append((each.source, whole))
            self._quick.setdefault(each.group, []).append((each.source, quick))
            found = [each.prefix + column.name for column in extractor.columns()]
            names.setdefault(each.group, []).extend(found)
        for group, expected in metadata.reference.layout.columns.items():
            if names.get(group, []) != list(expected):
                reason = f"give {names.get(group, [])} in group {group!r}, not {list(expected)}"
                raise MetadataError("extractions", reason)
        self.groups = tuple(metadata.reference.layout.columns)

    def part(self, group: Group) -> list[tuple[str, Extractor]]:
        """The group's sources with their extractors, in the order of its columns."""
        return self._parts.get(group, [])

    def matrix(self, group: Group, arrays: Arrays) -> Floats:
        """One row a row of the batch, shape ``[n, columns of the group]``.

        Raises:
            InputError: an array is missing, or is not what its extractor takes.
        """
        return _beside(group, self._whole[group], arrays)

    def glance(self, group: Group, arrays: Arrays) -> Floats:
        """The cheap columns only, where an extractor knows such; shape ``[n, len(glanced)]``.

        Raises:
            InputError: as `matrix`.
        """
        return _beside(group, self._quick[group], arrays)

    def glanced(self, group: Group) -> list[int]:
        """Which of the group's columns `glance` gives."""
        found: list[int] = []
        first = 0
        for _, extractor in self._parts.get(group, []):
            width = len(extractor.columns())
            found += range(first, first + _glanced(extractor, width))
            first += width
        return found


def _glanced(extractor: Extractor, width: int) -> int:
    return extractor.glanced() if isinstance(extractor, Glancing) else width


def _beside(group: Group, makers: list[tuple[str, Extract]], arrays: Arrays) -> Floats:
    """What the extractors make of their sources, beside each other."""
    found = []
    for source, extract in makers:
        if source not in arrays:
            raise InputError(source, "is not there")
        found.append(extract(arrays[source], field=source))
    if len(found) == 1:
        return found[0]
    if len({len(each) for each in found}) > 1:
        raise InputError(group, "its arrays have different numbers of rows")
    return np.concatenate(found, axis=1)
