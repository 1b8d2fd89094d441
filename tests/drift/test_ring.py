"""A ring holds buckets in time order and refuses what does not belong together."""

from __future__ import annotations

import numpy as np
import pytest

from driftline.drift import Ring
from driftline.metadata.errors import MergeError
from driftline.metadata.reference import Reference


def test_buckets_lie_oldest_first_whatever_their_order(normal: Reference) -> None:
    counts = [normal.layout.count("input", np.full((n, 4), 0.5)) for n in (1, 2, 3)]
    ring = Ring.of(60, {180: counts[2], 60: counts[0], 120: counts[1]})
    assert ring.starts.tolist() == [60, 120, 180]
    assert ring.rows[:, 0].tolist() == [1, 2, 3]
    assert len(ring) == 3


def test_an_empty_ring_is_a_ring() -> None:
    assert len(Ring.of(60, {})) == 0


def test_counts_of_two_references_do_not_share_a_ring(normal: Reference, fit) -> None:
    other = fit(np.random.default_rng(0).normal(size=(100, 1)))
    with pytest.raises(MergeError):
        Ring.of(60, {0: normal.layout.zeros(), 60: other.layout.zeros()})


def test_a_bucket_has_a_length() -> None:
    with pytest.raises(ValueError, match="one second"):
        Ring.of(0, {})
