"""Deltas of one call, folded to one sum for each place they go to."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
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


def check(counters: Mapping[str, float]) -> None:
    """Lets finite numbers pass: any other would spoil its sum for ever.

    Raises:
        ValueError: naming the counter.
    """
    for name, value in counters.items():
        if not math.isfinite(value):
            raise ValueError(f"counter {name!r} is {value}, a finite number is wanted")
