"""Counts as Redis keeps them: in pieces that are appended, and summed up by whoever reads them."""

from __future__ import annotations

import os
import zlib
from collections.abc import Sequence

from driftline.metadata.counts import Counts, Layout
from driftline.metadata.errors import MergeError, StoreError

# Every piece begins with a random mark of its own.
MARK = 16


def packed(counts: Counts) -> bytes:
    """A mark and the compressed counts; most cells are small numbers, so little is left."""
    return os.urandom(MARK) + zlib.compress(counts.to_bytes(), 1)


def total(layout: Layout, pieces: Sequence[bytes]) -> Counts:
    """The sum of pieces, of which there is at least one.

    Raises:
        StoreError: a piece is damaged.
    """
    try:
        counts = [layout.read(zlib.decompress(piece[MARK:])) for piece in pieces]
    except (zlib.error, MergeError) as error:
        raise StoreError("the store holds damaged counts") from error
    whole = counts[0]
    for more in counts[1:]:
        whole = whole + more
    return whole
