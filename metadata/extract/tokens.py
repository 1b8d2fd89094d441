"""Token sequences: how long they are, what they are made of, which words stand in them."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from ..errors import InputError, SettingError
from ..signals import Column, Floats
from .arrays import numeric, plain_settings, rows_of
from .extractor import Raw, Rows
from .hashing import mixed

if TYPE_CHECKING:
    from typing import Self

TOP = 100


class Tokens(
    Struct,
    frozen=True,
    forbid_unknown_fields=True,
    kw_only=True,
    dict=True,
    tag="tokens",
    tag_field="kind",
):
    """Integer ids, shape ``[n, longest]``: one row of scalars for each sequence.

    ``length`` counts the ids that are not padding; ``padding_share`` and ``unknown_share`` are
    there where their ids are declared. ``bucket_b`` is the share of a sequence's ids that a fixed
    hash puts into bucket b, and ``token`` (a category) one id of the sequence at a place that
    depends on its content alone, so its distribution is that of the ids in running text.
    ``top_share``, once fitted, is the share of ids among the reference's most frequent.
    ``invalid_id`` is 1 where a sequence holds an id outside the vocabulary. Shares are of
    `length`, and NaN for a sequence of nothing but padding.

    Args:
        vocabulary: number of ids, where it is known.
        pad_id, unk_id: the ids of padding and of unknown words.
        buckets: of the hashed histogram, 0 to 32.
        top: at most 100 most frequent ids, ascending, that `fit` found.
    """

    vocabulary: int | None = None
    pad_id: int | None = None
    unk_id: int | None = None
    buckets: int = 8
    top: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        plain_settings(self)
        if self.vocabulary is not None and self.vocabulary < 1:
            raise SettingError("vocabulary", f"1 or more expected, got {self.vocabulary}")
        if not 0 <= self.buckets <= 32:
            raise SettingError("buckets", f"0 to 32 expected, got {self.buckets}")
        if len(self.top) > TOP or list(self.top) != sorted(set(self.top)):
            raise SettingError("top", f"at most {TOP} ascending ids expected")
        for name in ("pad_id", "unk_id"):
            value = getattr(self, name)
            if value is not None and not -(2**63) <= value < 2**63:
                raise SettingError(name, "a 64-bit integer expected")

    def columns(self) -> tuple[Column, ...]:
        """The columns above, in their order, as far as the settings give them a meaning."""
        return self._columns

    def extract(self, array: Raw, *, field: str = "input") -> Floats:
        """Shape ``[n, columns]``.

        Raises:
            InputError: not integers of shape ``[n, longest]``.
        """
        ids = self._ids(array, field)
        present = self._present(ids)
        length, share, found = self._lengths(ids, present)
        hashed = mixed(ids.astype(np.uint64), 0)
        bucket = (hashed % np.uint64(max(self.buckets, 1))).astype(np.int64)
        for index in range(self.buckets):
            found.append(np.count_nonzero(present & (bucket == index), axis=1) * share)
        found.append(_chosen(ids, hashed, present, length))
        if self.top:
            among = np.isin(ids, np.asarray(self.top)) & present
            found.append(np.count_nonzero(among, axis=1) * share)
        if self.vocabulary is not None:
            outside = present & ((ids < 0) | (ids >= self.vocabulary))
            found.append(outside.any(axis=1))
        return np.stack(found, axis=1).astype(np.float64, copy=False)

    def glanced(self) -> int:
        """As many of the lengths as there are."""
        return 1 + (self.pad_id is not None) + (self.unk_id is not None)

    def glance(self, array: Raw, *, field: str = "input") -> Floats:
        """Length, padding share and unknown share, as far as there are such.

        Raises:
            InputError: as `extract`.
        """
        ids = self._ids(array, field)
        _, _, found = self._lengths(ids, self._present(ids))
        return np.stack(found, axis=1).astype(np.float64, copy=False)

    def fit(self, rows: Rows) -> Self:
        """Itself with the most frequent ids of the rows, padding apart, as `top`.

        Raises:
            InputError: the rows are not such ids.
        """
        ids = self._ids(rows_of(rows), "rows")
        distinct, times = np.unique(ids[self._present(ids)], return_counts=True)
        most = distinct[np.argsort(-times, kind="stable")[:TOP]]
        return replace(self, top=tuple(sorted(most.tolist())))

    @cached_property
    def _columns(self) -> tuple[Column, ...]:
        found = [Column("length", "number")]
        if self.pad_id is not None:
            found.append(Column("padding_share", "number"))
        if self.unk_id is not None:
            found.append(Column("unknown_share", "number"))
        found += [Column(f"bucket_{index}", "number") for index in range(self.buckets)]
        found.append(Column("token", "category"))
        if self.top:
            found.append(Column("top_share", "number"))
        if self.vocabulary is not None:
            found.append(Column("invalid_id", "flag"))
        return tuple(found)

    def _lengths(
        self, ids: NDArray[np.int64], present: NDArray[np.bool_]
    ) -> tuple[NDArray[np.int64], Floats, list[NDArray[np.generic]]]:
        """Lengths, one over them (NaN where empty), and the columns that follow from them."""
        length = np.count_nonzero(present, axis=1)
        with np.errstate(all="ignore"):
            share = np.where(length > 0, 1.0 / length, np.nan)
        found: list[NDArray[np.generic]] = [length]
        if self.pad_id is not None:
            longest = max(ids.shape[1], 1)
            found.append((ids.shape[1] - length) / longest)
        if self.unk_id is not None:
            found.append(np.count_nonzero(present & (ids == self.unk_id), axis=1) * share)
        return length, share, found

    def _ids(self, array: Raw, field: str) -> NDArray[np.int64]:
        ids = numeric(array, field, "nt")
        if ids.dtype.kind not in "iu":
            raise InputError(field, f"integer ids expected, got values of type {ids.dtype}")
        return ids.astype(np.int64, copy=False)

    def _present(self, ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        if self.pad_id is None:
            return np.ones(ids.shape, dtype=np.bool_)
        return ids != self.pad_id


def _chosen(
    ids: NDArray[np.int64],
    hashed: NDArray[np.uint64],
    present: NDArray[np.bool_],
    length: NDArray[np.int64],
) -> Floats:
    """One id of each sequence, at a place drawn by a hash of all of them; NaN for an empty one."""
    out = np.full(len(ids), np.nan)
    filled = length > 0
    if not filled.any():
        return out
    place = np.cumsum(present, axis=1)  # padding does not count, wherever it stands
    with np.errstate(over="ignore"):
        one = mixed(hashed + place.astype(np.uint64), 1)
        whole = np.where(present, one, np.uint64(0)).sum(axis=1, dtype=np.uint64)
    nth = (mixed(whole, 2) % np.maximum(length, 1).astype(np.uint64)).astype(np.int64)
    at = (place > nth[:, None]).argmax(axis=1)
    out[filled] = ids[np.arange(len(ids)), at][filled]
    return out
