"""Effects agree with SciPy, and the corrected PSI has no bias."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.spatial.distance import jensenshannon

from driftline.drift.block import block_of
from driftline.drift.effect import (
    Ruler,
    js_distance,
    means,
    positions,
    psi,
    severity,
    six_digits,
    wasserstein,
)
from driftline.metadata.moments import merge_moments, moments_of
from driftline.metadata.reference import SignalReference
from driftline.metadata.signals import Categorical, Continuous, Signal


def two(seed: int, cells: int, zeros: bool = False) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    p, q = random.dirichlet(np.ones(cells), size=2)
    if zeros:
        p[::3] = 0
        p /= p.sum()
    return p, q


@pytest.mark.parametrize("cells", [2, 10, 32])
def test_psi_is_the_sum_of_both_relative_entropies(cells: int) -> None:
    p, q = two(cells, cells)
    truth = stats.entropy(p, q) + stats.entropy(q, p)
    assert psi(p, q) == pytest.approx(truth, abs=1e-9)


@pytest.mark.parametrize("zeros", [False, True])
def test_js_distance_agrees_with_scipy(zeros: bool) -> None:
    for seed in range(20):
        p, q = two(seed, 12, zeros)
        assert js_distance(p, q) == pytest.approx(jensenshannon(p, q), abs=1e-9)


def test_wasserstein_agrees_with_scipy() -> None:
    for seed in range(20):
        p, q = two(seed, 32)
        where = np.sort(np.random.default_rng(seed).standard_cauchy(32))
        truth = stats.wasserstein_distance(where, where, p, q)
        assert wasserstein(p, q, where) == pytest.approx(truth, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("rows", [30, 100, 1000])
def test_corrected_psi_is_unbiased_from_thirty_rows_on(rows: int) -> None:
    """Without drift its parts cancel on average; the plain PSI averages 9/rows."""
    even = np.full(10, 0.1)
    size = 10
    each = SignalReference(
        Signal("x", "input", "x", Categorical(tuple(range(size - 1)))), (1e6,) * size, 10**7
    )
    ruler = Ruler(block_of("categorical", [each], np.array([0, size]), size, [0]), [each])
    counts = np.random.default_rng(rows).multinomial(rows, even, size=4000).astype(float)
    smooth = (counts + 0.25) / (rows + 2.5)
    raw = psi(smooth, even) - (size - 1) * (1 / rows + 1e-7)
    found = ruler.corrected_psi(counts[None], np.ones(1))[0]
    np.testing.assert_allclose(found, np.maximum(raw, 0), atol=1e-9)
    assert abs(raw.mean()) < 0.1 * (size - 1) / rows


def test_severity_follows_the_usual_bounds() -> None:
    assert [severity(value) for value in (0.0, 0.099, 0.1, 0.249, 0.25)] == [
        "minor",
        "minor",
        "moderate",
        "moderate",
        "major",
    ]


@pytest.mark.parametrize("edges", [(), (1.0,), (0.0, 1.0, 3.0), (-1e308, 0.0, 1e308)])
def test_positions_ascend_and_are_finite(edges: tuple[float, ...]) -> None:
    each = SignalReference(
        Signal("x", "input", "x", Continuous(edges)), (1.0,) * (len(edges) + 1), 9
    )
    where = positions(each)
    assert len(where) == len(edges) + 1
    assert np.isfinite(where).all()
    assert (np.diff(where) >= 0).all()


def test_means_of_suffixes_are_those_of_the_rows() -> None:
    rows = np.random.default_rng(1).normal(3, 2, size=(6, 40))
    buckets = np.stack([moments_of(each) for each in rows])[:, None, :]
    found = means(buckets)
    for first in range(6):
        assert found[first, 0] == pytest.approx(rows[first:].mean(), rel=1e-5)


def test_merging_in_another_order_does_not_show_in_the_mean() -> None:
    parts = [moments_of(np.random.default_rng(seed).normal(size=7)) for seed in range(5)]
    one = merge_moments(merge_moments(merge_moments(parts[0], parts[1]), parts[2]), parts[3])
    two = merge_moments(merge_moments(parts[3], parts[1]), merge_moments(parts[2], parts[0]))
    assert means(one[None, None])[0, 0] == means(two[None, None])[0, 0]


def test_six_digits_keep_zero_huge_and_tiny_values() -> None:
    given = np.array([0.0, 1e150, -1.23456789e-5, 5e-324, np.nan, 123456.7])
    found = six_digits(given)
    np.testing.assert_allclose(found, given, rtol=1e-5)
    assert found[5] == 123457.0
