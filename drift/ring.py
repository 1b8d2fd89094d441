"""A ring: the counts of the last time buckets, as arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from driftline.metadata.counts import Counts
from driftline.metadata.errors import MergeError
from driftline.metadata.signals import Floats, Ints


@dataclass(frozen=True, eq=False, slots=True)
class Ring:
    """Counts by bucket, oldest first; a bucket without data need not be there.

    `width` is the length of a bucket in seconds, `starts` (int64 ``[B]``) their beginnings in unix
    seconds, ascending; `cells` is int64 ``[B, layout.total]``, `rows` int64 ``[B, groups]`` and
    `moments` float64 ``[B, columns, 5]``, each as in `Counts`.
    """

    width: int
    starts: Ints
    cells: Ints
    rows: Ints
    moments: Floats

    def part(self, where: slice) -> Ring:
        """Some of its buckets."""
        moments = self.moments[where]
        return Ring(self.width, self.starts[where], self.cells[where], self.rows[where], moments)

    @classmethod
    def of(cls, width: int, buckets: Mapping[int, Counts]) -> Ring:
        """The ring of `buckets`, which maps the start of each to its counts, in any order.

        Raises:
            ValueError: the width is not positive.
            MergeError: the counts belong to different references.
        """
        if width < 1:
            raise ValueError(f"a bucket lasts at least one second, got {width}")
        starts = sorted(buckets)
        counts = [buckets[start] for start in starts]
        if len({each.layout.key for each in counts}) > 1:
            raise MergeError("the buckets of a ring belong to different references")
        if not counts:
            none = np.zeros((0, 0), dtype=np.int64)
            return cls(width, np.zeros(0, dtype=np.int64), none, none, np.zeros((0, 0, 5)))
        return cls(
            width,
            np.array(starts, dtype=np.int64),
            np.stack([each.cells for each in counts]),
            np.stack([each.rows for each in counts]),
            np.stack([each.moments for each in counts]),
        )

    def __len__(self) -> int:
        return len(self.starts)
