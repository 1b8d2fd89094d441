"""A uniform sample of rows that merges: every row draws a priority, the k smallest stay.

Bottom-k sampling (Cohen and Kaplan 2007, "Summarizing data using bottom-k sketches"). Rows live
only in memory while a reference is fitted; no row is ever written to a package.
"""

from __future__ import annotations

import numpy as np

from .errors import MergeError
from .signals import Floats

DEFAULT_SIZE = 20_000


class RowSample:
    """At most `size` rows of a column matrix, each row of all added being as likely as any other.

    The priorities come from a generator seeded by (`seed`, `stream`): give each rank or worker a
    stream of its own. How a stream is cut into batches does not change the result, nor does the
    order of merging.

    Args:
        width: number of columns.
        size: rows kept at the most.
        seed: seed of the priorities.
        stream: number of the source (a rank), so that two sources do not share priorities.
    """

    def __init__(
        self, width: int, *, size: int = DEFAULT_SIZE, seed: int = 0, stream: int = 0
    ) -> None:
        self.width = width
        self.size = size
        self.seen = 0
        self._random = np.random.default_rng([seed, stream])
        self._rows: Floats = np.empty((0, width))
        self._priorities: Floats = np.empty(0)

    def add(self, matrix: Floats) -> None:
        """Offers rows, shape ``[n, width]``.

        Raises:
            ValueError: the matrix has another width.
        """
        if matrix.ndim != 2 or matrix.shape[1] != self.width:
            raise ValueError(f"rows of width {self.width} expected, got shape {matrix.shape}")
        self.seen += len(matrix)
        self._keep(matrix, self._random.random(len(matrix)))

    def merge(self, other: RowSample) -> None:
        """Takes in another sample of the same width and size; `other` is not changed.

        Raises:
            MergeError: the samples differ in width or size.
        """
        if (self.width, self.size) != (other.width, other.size):
            raise MergeError("samples of different width or size cannot be merged")
        self.seen += other.seen
        self._keep(other._rows, other._priorities)

    @property
    def rows(self) -> Floats:
        """The kept rows in the order of their priorities, which is a random order."""
        return self._rows

    def _keep(self, rows: Floats, priorities: Floats) -> None:
        if len(self._priorities) >= self.size:
            low = priorities < self._priorities[-1]
            rows, priorities = rows[low], priorities[low]
        if not len(rows):
            return
        rows = np.concatenate([self._rows, np.asarray(rows, dtype=np.float64)])
        priorities = np.concatenate([self._priorities, priorities])
        first = np.argsort(priorities, kind="stable")[: self.size]
        self._rows, self._priorities = rows[first], priorities[first]
