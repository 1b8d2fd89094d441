"""Rows by column name, put into the network's order, coded, filled and standardised."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import force_setattr
from numpy.typing import NDArray

from ..errors import SettingError
from ..extract.arrays import check_names, plain_settings
from ..extract.row import Category, Number, encoded
from .preprocessing import Form

Matrix = NDArray[Any]


class TablePreprocessing(
    Struct, frozen=True, forbid_unknown_fields=True, tag="table", tag_field="kind"
):
    """Rows → ``(value − mean) / std``, shape ``[n, fields]``.

    Words become codes as `Category` says. Without `fill` a missing value stays NaN.

    Args:
        fields: `Number` or `Category`, in the network's order; a bare name is a number.
        fill: what stands for a missing value, one for each field, before standardising.
        mean, std: one for each field; of a category usually 0 and 1.
        dtype: of the matrix; it is computed in float64.
    """

    fields: tuple[Number | Category, ...]
    fill: tuple[float, ...] = ()
    mean: tuple[float, ...] = ()
    std: tuple[float, ...] = ()
    dtype: Literal["float32", "float64"] = "float32"

    form: ClassVar[Form] = "row"

    def __post_init__(self) -> None:
        plain_settings(self)
        fields = (Number(each) if isinstance(each, str) else each for each in self.fields)
        force_setattr(self, "fields", tuple(fields))
        if not 1 <= len(self.fields) <= 2000:
            raise SettingError("fields", f"1 to 2000 expected, got {len(self.fields)}")
        check_names([each.name for each in self.fields], "fields")
        for name in ("fill", "mean", "std"):
            values = getattr(self, name)
            if values and len(values) != len(self.fields):
                raise SettingError(name, f"{len(self.fields)} numbers expected")
            if not all(math.isfinite(each) for each in values):
                raise SettingError(name, "finite numbers expected")
        if not all(each > 0 for each in self.std):
            raise SettingError("std", "numbers above 0 expected")

    def __call__(self, raw: Any) -> Matrix:
        """One row, by name or in order → ``[fields]``; a list of rows → ``[n, fields]``.

        Raises:
            InputError: naming row and column: a value of the wrong type, an unknown name.
        """
        if isinstance(raw, np.ndarray):
            raw = raw.tolist()
        several = isinstance(raw, Sequence) and bool(raw) and _is_row(raw[0])
        return self.batch(list(raw)) if several else self.batch([raw])[0]

    def batch(self, raw: list[Any], *, field: str = "rows") -> Matrix:
        """The rows as one matrix; errors name the row below `field`."""
        matrix = encoded(self.fields, raw, field, True)
        if self.fill:
            matrix = np.where(np.isnan(matrix), np.asarray(self.fill), matrix)
        if self.mean:
            matrix = matrix - np.asarray(self.mean)
        if self.std:
            matrix = matrix / np.asarray(self.std)
        with np.errstate(over="ignore"):
            return matrix.astype(self.dtype, copy=False)


def _is_row(value: object) -> bool:
    return isinstance(value, Mapping) or (
        isinstance(value, Sequence) and not isinstance(value, str)
    )
