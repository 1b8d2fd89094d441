"""A signal is a named scalar with a fixed partition of its values into cells.

An extractor yields *columns* (a float matrix); fitting the reference turns each column into one
or more *signals*: its distribution and the flags beside it (missing, unseen, out of range).
The partition lives in the metadata and is never guessed at serving time.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

Group = Literal["input", "output", "embedding", "service"]
GROUPS: tuple[Group, ...] = ("input", "output", "embedding", "service")
ColumnKind = Literal["number", "category", "flag"]

NOT_COUNTED = -1


class Column(Struct, frozen=True, forbid_unknown_fields=True):
    """One column of an extractor's matrix, before it has a reference.

    A ``number`` may be anything; a ``category`` holds codes (missing is NaN); a ``flag`` holds
    0 or 1, and only its rise is of interest.
    """

    name: str
    kind: ColumnKind


class Continuous(
    Struct, frozen=True, forbid_unknown_fields=True, tag="continuous", tag_field="kind"
):
    """Ordered cells between ascending `edges`; cell i holds ``edges[i-1] <= value < edges[i]``.

    A value that stands alone (an atom `a`) is the cell between the two edges ``a`` and
    ``nextafter(a, inf)``, so ties and spikes need no second mechanism. Non-finite values are not
    counted here: they belong to the ``missing`` flag.
    """

    edges: tuple[float, ...]

    @property
    def size(self) -> int:
        """Number of cells."""
        return len(self.edges) + 1

    def cells(self, values: Floats) -> Ints:
        """Cell of each value, shape ``[n]``; `NOT_COUNTED` where the value is not finite."""
        found = np.searchsorted(np.asarray(self.edges, dtype=np.float64), values, side="right")
        return np.where(np.isfinite(values), found, NOT_COUNTED).astype(np.int64)


class Categorical(
    Struct, frozen=True, forbid_unknown_fields=True, tag="categorical", tag_field="kind"
):
    """One cell for each of the ascending `values`, and one last cell, *other*, for all the rest."""

    values: tuple[float, ...]

    @property
    def size(self) -> int:
        """Number of cells."""
        return len(self.values) + 1

    def cells(self, values: Floats) -> Ints:
        """Cell of each code, shape ``[n]``; `NOT_COUNTED` where it is not finite."""
        known = np.asarray(self.values, dtype=np.float64)
        found = _position(known, values)
        return np.where(np.isfinite(values), found, NOT_COUNTED).astype(np.int64)


class Missing(Struct, frozen=True, forbid_unknown_fields=True, tag="missing", tag_field="kind"):
    """True where the value is NaN or infinite."""

    def __call__(self, values: Floats) -> NDArray[np.bool_]:
        """Truth of each value, shape ``[n]``."""
        return ~np.isfinite(values)


class Outside(Struct, frozen=True, forbid_unknown_fields=True, tag="outside", tag_field="kind"):
    """True where a finite value lies below `low` or above `high` (None: no bound)."""

    low: float | None = None
    high: float | None = None

    def __call__(self, values: Floats) -> NDArray[np.bool_]:
        """Truth of each value, shape ``[n]``."""
        out = np.zeros(values.shape, dtype=np.bool_)
        with np.errstate(invalid="ignore"):
            if self.low is not None:
                out |= values < self.low
            if self.high is not None:
                out |= values > self.high
        return out & np.isfinite(values)


class Unseen(Struct, frozen=True, forbid_unknown_fields=True, tag="unseen", tag_field="kind"):
    """True where a finite code is none of the ascending `known` ones."""

    known: tuple[float, ...]

    def __call__(self, values: Floats) -> NDArray[np.bool_]:
        """Truth of each value, shape ``[n]``."""
        known = np.asarray(self.known, dtype=np.float64)
        return np.isfinite(values) & (_position(known, values) == len(self.known))


Condition = Missing | Outside | Unseen


class Flag(Struct, frozen=True, forbid_unknown_fields=True, tag="flag", tag_field="kind"):
    """Two cells: 0 where the condition is false, 1 where it is true.

    Values that are not finite are not counted, except by `Missing`, whose subject they are.
    """

    when: Condition

    @property
    def size(self) -> int:
        """Number of cells."""
        return 2

    def cells(self, values: Floats) -> Ints:
        """Cell of each value, shape ``[n]``: 0, 1 or `NOT_COUNTED`."""
        true = self.when(values).astype(np.int64)
        if isinstance(self.when, Missing):
            return true
        return np.where(np.isfinite(values), true, NOT_COUNTED)


Partition = Continuous | Categorical | Flag


class Signal(Struct, frozen=True, forbid_unknown_fields=True):
    """A named scalar: which column of which group it reads, and how its values fall into cells."""

    name: str
    group: Group
    column: str
    partition: Partition

    @property
    def kind(self) -> str:
        """``continuous``, ``categorical`` or ``flag``."""
        return str(self.partition.__struct_config__.tag)


def _position(known: Floats, values: Floats) -> Ints:
    """Index of each value in ascending `known`; ``len(known)`` where it is not among them."""
    if not len(known):
        return np.zeros(values.shape, dtype=np.int64)
    at = np.searchsorted(known, values)
    at_or_last = np.minimum(at, len(known) - 1)
    return np.where(known[at_or_last] == values, at_or_last, len(known)).astype(np.int64)
