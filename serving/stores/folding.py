"""Deltas of one call, folded to one sum for each place they go to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from driftline.metadata.counts import Counts

from .store import Delta


class Place(NamedTuple):
    """Where counts lie; those of different layouts lie side by side and never mix."""

    series: str
    bucket: int
    layout: str


def folded(deltas: Iterable[Delta]) -> dict[Place, Counts]:
    """The sum of the deltas of each place; counts of a place named once are passed through."""
    sums: dict[Place, Counts] = {}
    for delta in deltas:
        place = Place(delta.series, delta.bucket, delta.counts.layout.key)
        sums[place] = sums[place] + delta.counts if place in sums else delta.counts
    return sums
