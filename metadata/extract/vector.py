"""Vectors, embeddings: their length, how far they are from the reference's, a few projections."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from ..errors import InputError, SettingError
from ..signals import Column, Floats
from .arrays import floats, numeric, plain_settings, rows_of
from .extractor import Raw, Rows
from .hashing import mixed
from .projection import Projection, row_products

if TYPE_CHECKING:
    from typing import Self


class Vector(
    Struct,
    frozen=True,
    forbid_unknown_fields=True,
    kw_only=True,
    dict=True,
    tag="vector",
    tag_field="kind",
):
    """One vector a row, shape ``[n, size]``: ``norm``; once fitted also ``residual``,
    ``distance`` and ``projection_0``, ….

    The projections are onto seeded random signs (Achlioptas 2003, "Database-friendly random
    projections"), computed from `seed` and never stored. The norm is Euclidean.

    Args:
        projections: number of random projections, 0 to 32.
        rank: most principal components that are kept, 1 to 64.
        seed: chooses the signs.
        projection: what `fit` found.
    """

    projections: int = 4
    rank: int = 16
    seed: int = 0
    projection: Projection | None = None

    def __post_init__(self) -> None:
        plain_settings(self)
        if not 0 <= self.projections <= 32:
            raise SettingError("projections", f"0 to 32 expected, got {self.projections}")
        if not 1 <= self.rank <= 64:
            raise SettingError("rank", f"1 to 64 expected, got {self.rank}")

    def columns(self) -> tuple[Column, ...]:
        """``norm``, and what is known only after `fit`."""
        names = ["norm"]
        if self.projection is not None:
            names += ["residual", "distance"]
            names += [f"projection_{index}" for index in range(self.projections)]
        return tuple(Column(name, "number") for name in names)

    def extract(self, array: Raw, *, field: str = "input") -> Floats:
        """Shape ``[n, columns]``; a vector with a value that is not finite is NaN throughout.

        Raises:
            InputError: not numbers of shape ``[n, size]`` with the fitted size.
        """
        rows = self._rows(array, field)
        out = np.empty((len(rows), len(self.columns())))
        out[:, 0] = _norms(rows)
        if self.projection is not None:
            z = self.projection.standardised(rows)
            out[:, 1], out[:, 2] = self.projection.distances(z)
            out[:, 3:] = row_products(z, self._signs)
        return out

    def glanced(self) -> int:
        """The norm."""
        return 1

    def glance(self, array: Raw, *, field: str = "input") -> Floats:
        """The norm only, shape ``[n, 1]``.

        Raises:
            InputError: as `extract`.
        """
        return _norms(self._rows(array, field))[:, None]

    def fit(self, rows: Rows) -> Self:
        """Itself with the `projection` of the finite rows, shape ``[n, size]``.

        Raises:
            InputError: the rows are not such, or fewer than 8 are finite.
        """
        matrix = floats(numeric(rows_of(rows), "rows", "nd"))
        finite = matrix[np.isfinite(matrix).all(axis=1)]
        return replace(self, projection=Projection.fitted(finite, rank=self.rank))

    def _rows(self, array: Raw, field: str) -> Floats:
        rows = numeric(array, field, "nd")
        want = None if self.projection is None else self.projection.size
        if rows.shape[1] != want and want is not None:
            raise InputError(field, f"vectors of {want} values expected, got {rows.shape[1]}")
        return floats(rows)

    @cached_property
    def _signs(self) -> Floats:
        """Random signs, scaled so that a projection of standardised values has variance near 1."""
        size = 0 if self.projection is None else self.projection.size
        index = np.arange(self.projections * size, dtype=np.uint64)
        signs = 1.0 - 2.0 * (mixed(index, self.seed) >> np.uint64(63)).astype(np.float64)
        scaled: Floats = signs.reshape(self.projections, size) / np.sqrt(max(size, 1))
        return scaled


def _norms(rows: Floats) -> Floats:
    """Euclidean norms, scaled by the largest value so that squares do not overflow."""
    with np.errstate(all="ignore"):
        largest = np.abs(rows).max(axis=1, initial=0.0)
        unit = rows / np.where(largest > 0, largest, 1.0)[:, None]
        norms: Floats = largest * np.sqrt(np.square(unit).sum(axis=1))
    norms[~np.isfinite(rows).all(axis=1)] = np.nan
    return norms
