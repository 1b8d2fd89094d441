"""Rows: the values of a training as packed columns, exact at first, coarser as they age.

A row is one point, or a stretch of points of which the mean, the least and the largest value are
kept. Rows of any coarseness join, and reducing them further gives what reducing the points at once
would have given (the mean to rounding).
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from driftline.metadata.errors import StoreError
from driftline.metadata.signals import Floats, Ints

from .push import Point, unix


class _Packed(Struct, frozen=True, array_like=True):
    """The stored form; where `exact`, one array of values stands for four."""

    exact: bool
    rows: int
    names: list[str]
    data: bytes


_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(_Packed)


@dataclass(frozen=True, eq=False, slots=True)
class Rows:
    """Rows in the order in which they came.

    `first` and `last` are the steps a row spans (int64 ``[n]``), `times` the Unix seconds of the
    last (float64 ``[n]``); `mean`, `low`, `high` (float64 ``[n, names]``) are NaN where the row has
    no value, and `weight` counts the values behind them.
    """

    names: tuple[str, ...]
    first: Ints
    last: Ints
    times: Floats
    mean: Floats
    low: Floats
    high: Floats
    weight: Floats

    @classmethod
    def of_points(cls, points: Sequence[Point]) -> Rows:
        """One row a point; None becomes NaN."""
        names = tuple(dict.fromkeys(name for point in points for name in point.values))
        where = {name: index for index, name in enumerate(names)}
        values = np.full((len(points), len(names)), np.nan)
        for row, point in enumerate(points):
            for name, value in point.values.items():
                if value is not None:
                    values[row, where[name]] = value
        steps = np.array([point.step for point in points], dtype=np.int64)
        times = np.array([unix(point.time) for point in points], dtype=np.float64)
        return cls.exactly(names, steps, times, values)

    @classmethod
    def exactly(cls, names: tuple[str, ...], steps: Ints, times: Floats, values: Floats) -> Rows:
        """One row a point, of columns."""
        weight = np.isfinite(values).astype(np.float64)
        return cls(names, steps, steps, times, values, values, values, weight)

    @classmethod
    def joined(cls, parts: Iterable[Rows]) -> Rows:
        """All rows of the parts, whose names may differ."""
        parts = [part for part in parts if len(part)] or [cls.of_points([])]
        if len(parts) == 1:
            return parts[0]
        names = tuple(dict.fromkeys(name for part in parts for name in part.names))
        exact = all(part.is_exact for part in parts)
        mean = _stack(parts, names, [part.mean for part in parts])
        low, high = (
            (mean, mean)
            if exact
            else (
                _stack(parts, names, [part.low for part in parts]),
                _stack(parts, names, [part.high for part in parts]),
            )
        )
        weight = np.nan_to_num(_stack(parts, names, [part.weight for part in parts]))
        return cls(
            names,
            np.concatenate([part.first for part in parts]),
            np.concatenate([part.last for part in parts]),
            np.concatenate([part.times for part in parts]),
            mean,
            low,
            high,
            weight,
        )

    def __len__(self) -> int:
        return len(self.first)

    @property
    def is_exact(self) -> bool:
        """True when every row is one point."""
        return self.low is self.mean and self.high is self.mean

    def pick(self, names: Sequence[str]) -> Rows:
        """The same rows with those of the names that are there, in the order asked for."""
        where = {name: index for index, name in enumerate(self.names)}
        found = tuple(name for name in names if name in where)
        at = np.array([where[name] for name in found], dtype=np.int64)
        mean = self.mean[:, at]
        low, high = (mean, mean) if self.is_exact else (self.low[:, at], self.high[:, at])
        return Rows(found, self.first, self.last, self.times, mean, low, high, self.weight[:, at])

    def within(self, low: int, high: int) -> Rows:
        """The rows that touch the steps from `low` to `high`, both included."""
        there = (self.last >= low) & (self.first <= high)
        return self if there.all() else self._at(np.flatnonzero(there))

    def every(self, size: int) -> Rows:
        """Each `size` rows that follow one another made one."""
        return self._reduced(np.arange(0, len(self), size))

    def binned(self, bins: int) -> Rows:
        """At most `bins` rows, each over a stretch of steps of equal length, ascending."""
        if not len(self):
            return self
        order = np.argsort(self.last, kind="stable")
        ordered = self if (np.diff(order) == 1).all() else self._at(order)
        if len(self) <= bins:
            return ordered
        low, high = int(ordered.last[0]), int(ordered.last[-1])
        edges = low + (high - low + 1) * np.arange(bins) / bins
        starts = np.unique(np.searchsorted(ordered.last, edges, side="left"))
        return ordered._reduced(starts[starts < len(self)])

    def pack(self) -> bytes:
        """A lossless form that `unpack` reads."""
        parts: list[NDArray[np.generic]] = [self.first, self.times, self.mean]
        if not self.is_exact:
            parts += [self.last, self.low, self.high, self.weight]
        data = b"".join(np.ascontiguousarray(part).tobytes() for part in parts)
        packed = _Packed(self.is_exact, len(self), list(self.names), data)
        return zlib.compress(_ENCODER.encode(packed), 1)

    def _at(self, where: Ints) -> Rows:
        mean = self.mean[where]
        ends = (mean, mean) if self.is_exact else (self.low[where], self.high[where])
        last, times = self.last[where], self.times[where]
        return Rows(self.names, self.first[where], last, times, mean, *ends, self.weight[where])

    def _reduced(self, starts: Ints) -> Rows:
        if not len(starts) or len(starts) == len(self):
            return self
        weight = np.add.reduceat(self.weight, starts)
        lengths = np.diff(np.append(starts, len(self)))
        # Shares and not sums: a sum of large values could overflow.
        shares = self.weight / np.repeat(np.maximum(weight, 1), lengths, axis=0)
        mean = np.add.reduceat(np.where(self.weight > 0, self.mean, 0.0) * shares, starts)
        mean = np.where(weight > 0, mean, np.nan)
        return Rows(
            self.names,
            np.minimum.reduceat(self.first, starts),
            np.maximum.reduceat(self.last, starts),
            np.maximum.reduceat(self.times, starts),
            mean,
            np.fmin.reduceat(self.low, starts),
            np.fmax.reduceat(self.high, starts),
            weight,
        )


def unpack(data: bytes) -> Rows:
    """Rows from `Rows.pack`.

    Raises:
        StoreError: these are not such bytes.
    """
    try:
        packed = _DECODER.decode(zlib.decompress(data))
        rows, names = packed.rows, tuple(packed.names)
        raw = np.frombuffer(packed.data, dtype="<i8")
        if len(raw) != rows * ((2 + len(names)) if packed.exact else (3 + 4 * len(names))):
            raise ValueError("their length is another")
        first, raw = raw[:rows], raw[rows:]
        values = raw.view("<f8")
        times, values = values[:rows], values[rows:]
        mean, size = values[: rows * len(names)].reshape(rows, len(names)), rows * len(names)
        if packed.exact:
            return Rows.exactly(names, first, times, mean)
        last = raw[rows + size : 2 * rows + size]
        low, high, weight = values[size + rows :].reshape(3, rows, len(names))
    except (zlib.error, msgspec.DecodeError, ValueError) as error:
        raise StoreError(f"the points of a run are damaged: {error}") from None
    return Rows(names, first, last, times, mean, low, high, weight)


def _stack(parts: Sequence[Rows], names: tuple[str, ...], columns: Sequence[Floats]) -> Floats:
    """The columns one below the other, NaN where a part lacks a name."""
    if all(part.names == names for part in parts):
        return np.concatenate(columns)
    where = {name: index for index, name in enumerate(names)}
    out = np.full((sum(len(part) for part in parts), len(names)), np.nan)
    row = 0
    for part, values in zip(parts, columns, strict=True):
        at = [where[name] for name in part.names]
        out[row : row + len(part), at] = values
        row += len(part)
    return out
