"""Outputs of a regression: each target's value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from ..errors import InputError, SettingError
from ..signals import Column, Floats
from .arrays import check_names, floats, numeric, plain_settings
from .extractor import Raw, Rows

if TYPE_CHECKING:
    from typing import Self


class Regression(
    Struct, frozen=True, forbid_unknown_fields=True, tag="regression", tag_field="kind"
):
    """Predicted values, shape ``[n, targets]``, or ``[n]`` for one: a column of its own name each.

    Args:
        targets: 1 to 64 names, in the order of the values.
    """

    targets: tuple[str, ...] = ("prediction",)

    def __post_init__(self) -> None:
        plain_settings(self)
        if not 1 <= len(self.targets) <= 64:
            raise SettingError("targets", f"1 to 64 names expected, got {len(self.targets)}")
        check_names(self.targets, "targets")

    def columns(self) -> tuple[Column, ...]:
        """One number a target."""
        return tuple(Column(name, "number") for name in self.targets)

    def extract(self, array: Raw, *, field: str = "output") -> Floats:
        """The values as float64, shape ``[n, targets]``.

        Raises:
            InputError: not numbers of that shape.
        """
        if getattr(array, "ndim", 0) == 1 and len(self.targets) == 1:
            array = array[:, None]
        numeric(array, field, "nt")
        if array.shape[1] != len(self.targets):
            reason = f"{len(self.targets)} values a row expected, got {array.shape[1]}"
            raise InputError(field, reason)
        return floats(array).copy()

    def fit(self, rows: Rows) -> Self:
        """Itself: nothing is to be learned."""
        return self
