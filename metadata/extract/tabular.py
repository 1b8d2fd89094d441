"""Tables: each column as it is, whether a row's types are right, and how columns go together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct
from msgspec.structs import force_setattr, replace
from numpy.typing import NDArray

from ..errors import InputError, SettingError
from ..signals import Column, Floats
from .arrays import check_names, floats, numeric, plain_settings, rows_of
from .extractor import Raw, Rows
from .projection import Projection
from .row import Category, Number, Value, encoded

if TYPE_CHECKING:
    from typing import Self

ADDED = ("wrong_type", "joint_residual", "joint_distance")
# Most columns a table's joint behaviour is told from, and most components it is told by.
JOINT_COLUMNS = 256
JOINT_RANK = 32


class Tabular(
    Struct, frozen=True, forbid_unknown_fields=True, dict=True, tag="tabular", tag_field="kind"
):
    """A float matrix, shape ``[n, fields]``: each field under its own name, ``wrong_type``, and
    once fitted ``joint_residual`` and ``joint_distance`` of the numeric fields.

    A category's entry is a code, the position of its word in the vocabulary. Missing is NaN.
    ``wrong_type`` is 1 where a row holds an infinity (what `encode` writes for a value of the
    wrong type when it is not strict) or a fraction where a code belongs. The joint columns are
    the PCA residual and the Mahalanobis distance of the standardised numbers, a missing one
    taken at its centre: they see a correlation that breaks though no column changes.

    Args:
        fields: `Number` or `Category`, in the order of the matrix, 1 to 2,000; a bare name is a
            number.
        joint: whether `fit` looks for joint behaviour, which takes two numbers.
        projection: what `fit` found.
    """

    fields: tuple[Number | Category, ...]
    joint: bool = True
    projection: Projection | None = None

    def __post_init__(self) -> None:
        plain_settings(self)
        fields = (Number(each) if isinstance(each, str) else each for each in self.fields)
        force_setattr(self, "fields", tuple(fields))
        if not 1 <= len(self.fields) <= 2000:
            raise SettingError("fields", f"1 to 2000 expected, got {len(self.fields)}")
        check_names([each.name for each in self.fields], "fields", ADDED)
        if self.projection is not None and self.projection.size != len(self._joint):
            raise SettingError("projection", "is of another number of columns")

    def columns(self) -> tuple[Column, ...]:
        """The fields, ``wrong_type``, and the joint columns if they are fitted."""
        return self._columns

    def extract(self, array: Raw, *, field: str = "input") -> Floats:
        """Shape ``[n, columns]``, the matrix itself first.

        Raises:
            InputError: not numbers of shape ``[n, fields]``.
        """
        rows = self._matrix(array, field)
        width = len(self.fields)
        out = np.empty((len(rows), len(self._columns)))
        out[:, :width] = rows
        wrong = np.logical_or.reduce(np.isinf(rows), axis=1)
        if len(self._codes):
            codes = rows[:, self._codes]
            # NaN differs from itself, but is missing, not a fraction.
            fraction = (codes != np.floor(codes)) & (codes == codes)
            wrong |= np.logical_or.reduce(fraction, axis=1)
        out[:, width] = wrong
        if self.projection is not None:
            z = self.projection.standardised(rows.take(self._joint, axis=1))
            # A sum of bounded values is NaN only if one of them is: quicker than to look at each.
            total = np.add.reduce(z, axis=None)
            missing = None if total == total else np.isnan(z)
            if missing is not None:
                np.copyto(z, 0.0, where=missing)
            out[:, width + 1], out[:, width + 2] = self.projection.distances(z)
            if missing is not None:
                out[np.logical_and.reduce(missing, axis=1), width + 1 :] = np.nan
        return out

    def glanced(self) -> int:
        """The fields."""
        return len(self.fields)

    def glance(self, array: Raw, *, field: str = "input") -> Floats:
        """The fields only, shape ``[n, fields]``.

        Raises:
            InputError: as `extract`.
        """
        return self._matrix(array, field)

    def fit(self, rows: Rows) -> Self:
        """Itself with the `projection` of the complete rows; itself where there is no use for one.

        Raises:
            InputError: the rows are not such a matrix.
        """
        matrix = self._matrix(rows_of(rows), "rows")
        if not self.joint or len(self._joint) < 2:
            return self
        numbers = matrix[:, self._joint]
        complete = numbers[np.isfinite(numbers).all(axis=1)]
        if len(complete) < max(8, 2 * len(self._joint)):
            return self
        return replace(self, projection=Projection.fitted(complete, rank=JOINT_RANK))

    def encode(
        self,
        rows: Sequence[Mapping[str, Value] | Sequence[Value]],
        *,
        field: str = "input",
        strict: bool = True,
    ) -> Floats:
        """The matrix of rows given by name or in order, shape ``[n, fields]``.

        None, and in a row by name whatever is left out, is NaN; a word that is not in the
        vocabulary is the category's `unseen` code.

        Args:
            rows: one mapping or sequence a row.
            field: what the rows are called in errors.
            strict: if not, a value of the wrong type becomes infinite instead of an error.

        Raises:
            InputError: naming row and column: a value of the wrong type, an unknown name, a row
                of another length.
        """
        return encoded(self.fields, rows, field, strict)

    @cached_property
    def _columns(self) -> tuple[Column, ...]:
        found = [Column(each.name, each.column_kind) for each in self.fields]
        found.append(Column("wrong_type", "flag"))
        if self.projection is not None:
            found += [Column(name, "number") for name in ADDED[1:]]
        return tuple(found)

    @cached_property
    def _codes(self) -> NDArray[np.intp]:
        return np.flatnonzero([isinstance(each, Category) for each in self.fields])

    @cached_property
    def _joint(self) -> NDArray[np.intp]:
        numbers = np.flatnonzero([isinstance(each, Number) for each in self.fields])
        return numbers[:JOINT_COLUMNS]

    def _matrix(self, array: Raw, field: str) -> Floats:
        numeric(array, field, "nc")
        if array.shape[1] != len(self.fields):
            reason = f"{len(self.fields)} columns expected, got {array.shape[1]}"
            raise InputError(field, reason)
        return floats(array)
