"""`RowSample`: uniform, and the same however the rows arrive."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from driftline.metadata.errors import MergeError
from driftline.metadata.sample import RowSample


def numbered(start: int, n: int) -> np.ndarray:
    return np.arange(start, start + n, dtype=np.float64)[:, None]


def sampled(n: int, *, stream: int = 0, size: int = 10, seed: int = 0) -> RowSample:
    sample = RowSample(1, size=size, seed=seed, stream=stream)
    sample.add(numbered(1000 * stream, n))
    return sample


def merged(*samples: RowSample) -> RowSample:
    first = RowSample(samples[0].width, size=samples[0].size)
    for sample in samples:
        first.merge(sample)
    return first


@given(st.lists(st.integers(0, 20), max_size=8))
def test_batches_do_not_matter(sizes: list[int]):
    whole = sampled(sum(sizes))
    parts = RowSample(1, size=10)
    start = 0
    for n in sizes:
        parts.add(numbered(start, n))
        start += n
    assert parts.rows.tolist() == whole.rows.tolist()
    assert parts.seen == whole.seen == sum(sizes)


@given(st.tuples(*[st.integers(0, 40)] * 3), st.permutations(range(3)))
def test_merging_is_commutative_and_associative(sizes: tuple[int, ...], order: list[int]):
    a, b, c = (sampled(n, stream=i) for i, n in enumerate(sizes))
    expected = merged(a, b, c)
    assert merged(*[(a, b, c)[i] for i in order]).rows.tolist() == expected.rows.tolist()
    assert merged(a, merged(b, c)).rows.tolist() == expected.rows.tolist()
    assert expected.seen == sum(sizes)
    assert len(expected.rows) == min(10, sum(sizes))


def test_an_empty_sample_is_the_identity():
    sample = sampled(30)
    before = sample.rows.tolist()
    sample.merge(RowSample(1, size=10, stream=5))
    assert sample.rows.tolist() == before


def test_merging_leaves_the_other_as_it_was():
    a, b = sampled(30), sampled(30, stream=1)
    before = b.rows.copy()
    a.merge(b)
    a.add(numbered(5000, 100))
    assert b.rows.tolist() == before.tolist()
    assert b.seen == 30


def test_every_row_is_as_likely_as_any_other():
    """Over 4,000 seeds, from two merged streams of unequal length: χ² of how often each stays."""
    times = np.zeros(40)
    for seed in range(4000):
        one = RowSample(1, size=8, seed=seed)
        one.add(numbered(0, 30))
        two = RowSample(1, size=8, seed=seed, stream=1)
        two.add(numbered(30, 10))
        one.merge(two)
        times[one.rows[:, 0].astype(int)] += 1
    # Without replacement the counts vary less than χ² allows for, by the factor (1 - 8/40).
    statistic = ((times - 800) ** 2 / 800).sum() / (1 - 8 / 40)
    assert 1e-3 < stats.chi2.sf(statistic, 39) < 1 - 1e-3


def test_the_kept_rows_lie_in_random_order():
    """Fitting takes the first quarter for a random one."""
    first = [sampled(8, seed=seed).rows[0, 0] for seed in range(4000)]
    assert stats.chisquare(np.bincount(np.array(first, int), minlength=8)).pvalue > 1e-3


def test_hostile_rows_are_rows_like_any_other():
    sample = RowSample(2, size=5)
    sample.add(np.array([[np.nan, np.inf], [1e308, -np.inf]]))
    assert sample.seen == len(sample.rows) == 2


def test_a_sample_never_holds_more_than_its_size():
    sample = RowSample(1, size=10)
    for start in range(0, 5000, 50):
        sample.add(numbered(start, 50))
        assert len(sample.rows) <= 10
    assert sample.seen == 5000


def test_misuse_is_refused():
    with pytest.raises(ValueError, match="width 1 expected"):
        RowSample(1).add(np.ones((2, 2)))
    with pytest.raises(ValueError, match="width 1 expected"):
        RowSample(1).add(np.ones(2))
    with pytest.raises(MergeError):
        RowSample(1).merge(RowSample(2))
    with pytest.raises(MergeError):
        RowSample(1, size=5).merge(RowSample(1, size=6))
