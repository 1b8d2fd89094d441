"""Rows as people send them, by name and with words, to the float matrix a model takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
from msgspec import Struct

from ..errors import InputError, SettingError
from ..signals import ColumnKind, Floats
from .arrays import plain_settings

Value = str | int | float | bool | None


class Number(Struct, frozen=True, forbid_unknown_fields=True, tag="number", tag_field="kind"):
    """A numeric field; true and false count as 1 and 0."""

    name: str

    column_kind: ClassVar[ColumnKind] = "number"

    def code(self, value: Value) -> float | None:
        """The number, NaN for None; nothing where the value is not one."""
        if value is None:
            return np.nan
        if isinstance(value, bool | int | float | np.number | np.bool_):
            try:
                return float(value)
            except OverflowError:  # an integer beyond float64
                return None
        return None


class Category(
    Struct, frozen=True, forbid_unknown_fields=True, dict=True, tag="category", tag_field="kind"
):
    """A field of words or whole numbers; each is coded by its position in the vocabulary.

    An empty vocabulary means that the values are codes already.

    Args:
        name: of the field.
        vocabulary: the known words, all different, in the order of their codes.
        unseen: the code of every other word; no position in the vocabulary.
    """

    name: str
    vocabulary: tuple[str | int, ...] = ()
    unseen: int = -1

    column_kind: ClassVar[ColumnKind] = "category"

    def __post_init__(self) -> None:
        plain_settings(self)
        codes = {word: float(code) for code, word in enumerate(self.vocabulary)}
        if len(codes) != len(self.vocabulary):
            raise SettingError("fields.vocabulary", f"a word of {self.name!r} is there twice")
        if 0 <= self.unseen < len(self.vocabulary) or abs(self.unseen) > 2**53:
            raise SettingError("fields.unseen", f"{self.unseen} of {self.name!r} is a word's code")
        self.__dict__["_codes"] = codes

    def code(self, value: Value) -> float | None:
        """The value's code, NaN for None; nothing where it is neither a word nor whole."""
        if value is None or value != value:
            return np.nan
        if isinstance(value, np.generic):
            value = value.item()
        if isinstance(value, float):
            if not value.is_integer():
                return None
            value = int(value)
        if not isinstance(value, str | int):
            return None
        if self.vocabulary:
            codes: dict[str | int, float] = self.__dict__["_codes"]
            return codes.get(value, float(self.unseen))
        whole = not isinstance(value, str) and abs(value) <= 2**53
        return float(value) if whole else None


def encoded(
    fields: Sequence[Number | Category],
    rows: Sequence[Mapping[str, Value] | Sequence[Value]],
    name: str,
    strict: bool,
) -> Floats:
    """See `Tabular.encode`."""
    out = np.empty((len(rows), len(fields)))
    names = [each.name for each in fields]
    known = frozenset(names)
    for index, row in enumerate(rows):
        where = f"{name}[{index}]"
        if isinstance(row, Mapping):
            if not row.keys() <= known:
                stranger = next(iter(row.keys() - known))
                raise InputError(f"{where}.{stranger}", "is not a column of this model")
            values: Sequence[Value] = [row.get(each) for each in names]
        elif isinstance(row, str | bytes) or not isinstance(row, Sequence):
            raise InputError(where, f"an object or a list expected, got {type(row).__name__}")
        elif len(row) != len(fields):
            raise InputError(where, f"{len(fields)} values expected, got {len(row)}")
        else:
            values = row
        for column, (field, value) in enumerate(zip(fields, values, strict=True)):
            code = field.code(value)
            if code is None:
                if strict:
                    wanted = "a number" if isinstance(field, Number) else "a word or a whole number"
                    got = f"got {type(value).__name__} {str(value)[:40]!r}"
                    raise InputError(f"{where}.{field.name}", f"{wanted} expected, {got}")
                code = np.inf
            out[index, column] = code
    return out
