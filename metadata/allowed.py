"""What a field may be, where msgspec only says that it may not be what it is."""

from __future__ import annotations

import re
from typing import Any

from msgspec import inspect

_STEP = re.compile(r"\.(\w+)|\[[^\]]*\]")


def naming_allowed(reason: str, kind: Any, path: str) -> str:
    """msgspec's `reason` to refuse what was to be a `kind`; of an enum value with those there are.

    `path` is where in it, as msgspec writes it: ``$.inputs[0].datatype``.
    """
    if not reason.startswith("Invalid enum value"):
        return reason
    found = [inspect.type_info(kind)]
    for step in _STEP.finditer(path):
        found = [inner for each in _plain(found) for inner in _inside(each, step[1])]
    literals = (each for each in _plain(found) if isinstance(each, inspect.LiteralType))
    values = [str(value) for each in literals for value in each.values]
    return f"{reason}; one of {', '.join(values)} is wanted" if values else reason


def _plain(types: list[inspect.Type]) -> list[inspect.Type]:
    """The types without what is wrapped around them: bounds, and the other types of a union."""
    found: list[inspect.Type] = []
    for each in types:
        if isinstance(each, inspect.Metadata):
            found += _plain([each.type])
        elif isinstance(each, inspect.UnionType):
            found += _plain(list(each.types))
        else:
            found.append(each)
    return found


def _inside(each: inspect.Type, field: str | None) -> list[inspect.Type]:
    """The types of a field; without one, of the items."""
    if field is not None:
        fields = each.fields if isinstance(each, inspect.StructType) else ()
        return [one.type for one in fields if one.encode_name == field]
    if isinstance(each, inspect.CollectionType):
        return [each.item_type]
    return [each.value_type] if isinstance(each, inspect.DictType) else []
