"""Principal components of a sample, and how far a row lies from what they describe.

Two distances (Jackson and Mudholkar 1979, "Control procedures for residuals associated with
principal component analysis"): the residual, what the main components leave unexplained, and the
Mahalanobis distance within the kept components. Together they see a broken correlation whose
marginals did not change.

All products are sums along rows (no BLAS), whose bits do not depend on the other rows of a batch.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from ..errors import InputError, SettingError
from ..moments import LARGEST
from ..signals import Floats

if TYPE_CHECKING:
    from typing import Self

EXPLAINED = 0.9
# A row's standardised values are held within this, so one wild value is far away but finite.
FAR = 1e6
# In the fit much nearer, or a heavy tail would choose the components alone.
NEAR = 8.0
# A component of less relative variance than this is taken to have this much: a constraint that
# held to rounding is a direction to watch, not one to divide by zero in.
FLOOR = 1e-6


class Projection(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, dict=True):
    """Centre, scale and leading components of a sample; arrays are little-endian base64 in JSON.

    `center` and `scale` are float64 ``[size]``, `components` float32 ``[rank, size]``, rows of
    unit length, by descending variance; `spread` float64 ``[rank]``, the standard deviation of
    each component's score. The residual is what the first `main` components leave.
    """

    center: bytes
    scale: bytes
    components: bytes
    spread: bytes
    main: int

    def __post_init__(self) -> None:
        size, rank = len(self.center) // 8, len(self.spread) // 8
        whole = len(self.center) % 8 == 0 and len(self.spread) % 8 == 0 and 0 < rank <= size
        if not whole or len(self.scale) != 8 * size or len(self.components) != 4 * rank * size:
            raise SettingError("projection", "its arrays do not fit one another")
        if not 0 < self.main <= rank:
            raise SettingError("projection.main", f"1 to {rank} expected, got {self.main}")
        for name in ("center", "scale", "components", "spread"):
            if not np.isfinite(np.frombuffer(getattr(self, name), _TYPES[name])).all():
                raise SettingError(f"projection.{name}", "holds values that are not finite")
        if (self._scale <= 0).any() or (self._spread <= 0).any():
            raise SettingError("projection", "a scale or spread is not positive")

    @classmethod
    def fitted(cls, rows: Floats, *, rank: int, explained: float = EXPLAINED) -> Self:
        """The projection of finite rows, shape ``[n, size]``, with at most `rank` components.

        Columns are centred at their median and divided by the scale of their middle half, so
        heavy tails do not decide. `main` is the fewest components that explain the share
        `explained` of the variance, and always fewer than there are columns.

        Raises:
            InputError: fewer than 8 rows.
        """
        if len(rows) < 8:
            raise InputError("rows", f"at least 8 needed to fit a projection, got {len(rows)}")
        rows = np.clip(rows, -LARGEST, LARGEST)
        center = np.median(rows, axis=0)
        scale = _scales(rows)
        z = np.clip((rows - center) / scale, -NEAR, NEAR)
        mean = z.mean(axis=0)
        center, z = center + mean * scale, z - mean
        variance, axes = _principal(z)
        total = float(variance.sum())
        rank = min(rank, len(variance))
        share = np.cumsum(variance) / total if total > 0 else np.ones(len(variance))
        main = int(np.searchsorted(share, explained)) + 1
        main = max(1, min(main, rank, z.shape[1] - 1))
        spread = np.sqrt(np.maximum(variance[:rank], FLOOR * max(float(variance[0]), FLOOR)))
        # The sign of a component is arbitrary; fixed, so that equal rows give equal bytes.
        axes = axes[:rank]
        largest = np.take_along_axis(axes, np.abs(axes).argmax(axis=1)[:, None], axis=1)
        axes = axes * np.where(largest < 0, -1.0, 1.0)
        return cls(
            center=center.astype("<f8").tobytes(),
            scale=scale.astype("<f8").tobytes(),
            components=axes.astype("<f4").tobytes(),
            spread=spread.astype("<f8").tobytes(),
            main=main,
        )

    @property
    def size(self) -> int:
        """Number of columns of the rows it takes."""
        return len(self.center) // 8

    def standardised(self, rows: Floats) -> Floats:
        """Centred and scaled rows within ±`FAR`, NaN where a value is not finite."""
        with np.errstate(all="ignore"):
            z = (rows - self._center) / self._scale
            np.maximum(np.minimum(z, FAR, out=z), -FAR, out=z)
            z += 0.0 * rows  # NaN where a value is infinite
        return z

    def distances(self, z: Floats) -> tuple[Floats, Floats]:
        """Residual and Mahalanobis distance of standardised rows, each of shape ``[n]``."""
        scores = row_products(z, self._components)
        explained = row_products(scores[:, : self.main], self._main_columns)
        residual = np.sqrt(np.add.reduce(np.square(z - explained), axis=1))
        return residual, np.sqrt(np.add.reduce(np.square(scores / self._spread), axis=1))

    @cached_property
    def _center(self) -> Floats:
        return np.frombuffer(self.center, "<f8").astype(np.float64)

    @cached_property
    def _scale(self) -> Floats:
        return np.frombuffer(self.scale, "<f8").astype(np.float64)

    @cached_property
    def _spread(self) -> Floats:
        return np.frombuffer(self.spread, "<f8").astype(np.float64)

    @cached_property
    def _components(self) -> Floats:
        flat = np.frombuffer(self.components, "<f4").astype(np.float64)
        return flat.reshape(-1, self.size)

    @cached_property
    def _main_columns(self) -> Floats:
        return np.ascontiguousarray(self._components[: self.main].T)


_TYPES = {"center": "<f8", "scale": "<f8", "components": "<f4", "spread": "<f8"}


def row_products(rows: Floats, others: Floats) -> Floats:
    """``rows @ others.T`` whose bits for a row do not depend on how many rows there are: each is
    summed by itself, where a matrix product goes by blocks."""
    out: Floats = np.einsum("ij,kj->ik", rows, others)
    return out


def _principal(z: Floats) -> tuple[Floats, Floats]:
    """Variances, descending, and directions as rows; by whichever matrix is the smaller."""
    if len(z) < z.shape[1]:
        _, singular, axes = np.linalg.svd(z, full_matrices=False)
        return singular**2 / (len(z) - 1), axes
    variance, vectors = np.linalg.eigh(z.T @ z / (len(z) - 1))
    return np.maximum(variance[::-1], 0.0), vectors.T[::-1]


def _scales(rows: Floats) -> Floats:
    """Standard deviation judged by the middle half; by all where that is a point; 1 if constant."""
    low, high = np.quantile(rows, [0.25, 0.75], axis=0)
    scale = (high - low) / 1.349
    scale = np.where(scale > 0, scale, rows.std(axis=0))
    out: Floats = np.where(scale > 0, scale, 1.0)
    return out
