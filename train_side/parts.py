"""The extractors of a group, by the name of the input or output that each reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from driftline.metadata.errors import InputError, SettingError
from driftline.metadata.extract import EXTRACTORS, Extractor
from driftline.metadata.registry import kind_of
from driftline.metadata.schema import Extraction
from driftline.metadata.signals import Group

from .batches import Array

Parts = dict[str, Extractor]
Chosen = Mapping[str, Extractor] | Extractor


def parts_of(chosen: Chosen, names: Sequence[str], field: str) -> Parts:
    """The extractors by name; a single one reads the first of `names`.

    Raises:
        InputError: one is given for a name that is not there.
    """
    parts = dict(chosen) if isinstance(chosen, Mapping) else {names[0]: chosen}
    for name in parts:
        if name not in names:
            raise InputError(field, f"{name!r} is none of {', '.join(names)}")
    return parts


def first_of(chosen: Chosen) -> Extractor:
    """The single extractor, or the first of several."""
    return next(iter(chosen.values())) if isinstance(chosen, Mapping) else chosen


def checked(chosen: Chosen, field: str) -> Chosen:
    """The same.

    Raises:
        SettingError: it is no extractor, and no mapping of names to extractors with an entry.
    """
    parts = list(chosen.values()) if isinstance(chosen, Mapping) else [chosen]
    if not parts:
        raise SettingError(field, "is empty")
    for part in parts:
        kind = kind_of(type(part))
        if kind is None or not hasattr(part, "extract"):
            reason = f"an extractor such as Image(), or a dict of them expected, got {part!r}"
            raise SettingError(field, reason)
        EXTRACTORS.get(kind)
    return chosen


def fitted(parts: Parts, arrays: Mapping[str, Array]) -> Parts:
    """The same, each fitted on the rows of what it reads.

    Raises:
        InputError: rows that do not fit an extractor.
    """
    return {name: part.fit(arrays[name]) for name, part in parts.items()}


def extractions(group: Group, parts: Parts) -> list[Extraction]:
    """How serving rebuilds `Joined(parts)`: with several parts each has its name as prefix."""
    several = len(parts) > 1
    return [
        Extraction(group, name, EXTRACTORS.encode(part), f"{name}." if several else "")
        for name, part in parts.items()
    ]
