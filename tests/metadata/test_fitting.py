"""From samples to a reference: exact laws where they are claimed, and every awkward column."""

from __future__ import annotations

import itertools
import math

import msgspec
import numpy as np
import pytest
from fits import fitted, names, signal
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

from driftline.metadata.fitting import CELLS, STANDS_ALONE
from driftline.metadata.reference import Reference
from driftline.metadata.signals import Categorical, ColumnKind, Continuous, Flag, Unseen

# Numbers without ties


@pytest.mark.parametrize(
    ("n", "cells", "gaps"), [(8, 4, 2), (31, 16, 2), (63, 32, 2), (200, 32, 6), (4991, 32, 156)]
)
def test_untied_numbers_are_cut_into_cells_of_equally_many_gaps(n: int, cells: int, gaps: int):
    reference, _ = fitted(np.random.default_rng(n).normal(size=n))
    found = signal(reference, "x")
    assert found.weights == (float(gaps),) * cells
    assert found.rows == n
    edges = np.array(found.signal.partition.edges)
    assert (np.diff(edges) > 0).all()
    assert gaps * cells <= n + 1


@pytest.mark.parametrize("draw", ["uniform", "standard_normal", "standard_cauchy", "lognormal"])
def test_true_cell_probabilities_follow_the_dirichlet_of_the_weights(draw: str):
    """1,500 references: marginals, covariances and a whole-vector statistic are SciPy's Dirichlet.

    The law is free of the distribution, so its quantile function turns edges into probabilities.
    """
    law = {
        "uniform": stats.uniform,
        "standard_normal": stats.norm,
        "standard_cauchy": stats.cauchy,
        "lognormal": stats.lognorm(1.0),
    }[draw]
    random = np.random.default_rng(1)
    probabilities, weights = [], None
    for seed in range(1500):
        reference, _ = fitted(getattr(random, draw)(size=70), seed=seed)
        found = signal(reference, "x")
        assert weights is None or weights == found.weights
        weights = found.weights
        at = law.cdf(np.array(found.signal.partition.edges))
        probabilities.append(np.diff(np.concatenate([[0.0], at, [1.0]])))
    seen = np.array(probabilities)
    alpha = np.array(weights)
    total = alpha.sum()
    for cell in (0, 1, 15, 30, 31):
        marginal = stats.beta(alpha[cell], total - alpha[cell])
        assert stats.kstest(seen[:, cell], marginal.cdf).pvalue > 1e-3
    draws = stats.dirichlet(alpha).rvs(size=20_000, random_state=2)
    for statistic in (lambda p: np.log(p).sum(axis=1), lambda p: p[:, ::2].sum(axis=1)):
        assert stats.ks_2samp(statistic(seen), statistic(draws)).pvalue > 1e-3
    covariance = stats.dirichlet(alpha).cov()
    assert np.cov(seen[:, 3], seen[:, 4])[0, 1] == pytest.approx(
        covariance[3, 4], abs=4 * covariance[3, 3] / math.sqrt(1500)
    )


def test_leaving_the_range_of_the_sample_has_the_law_that_is_claimed():
    """P(a new value lies outside n others) is Beta(2, n − 1)."""
    random = np.random.default_rng(3)
    outside = []
    for seed in range(1500):
        reference, _ = fitted(random.random(40), seed=seed)
        found = signal(reference, "x:out_of_range")
        when = found.signal.partition.when
        outside.append(1.0 - (when.high - when.low))
    inside, out = found.weights
    assert stats.kstest(outside, stats.beta(out, inside).cdf).pvalue > 1e-3


def test_a_few_repeated_values_do_not_count_as_ties():
    values = np.random.default_rng(4).normal(size=5000)
    values[:3] = values[3:6]
    assert len(set(signal(fitted(values)[0], "x").weights)) == 1


# Columns with atoms


def random_halves(n: int) -> np.ndarray:
    return np.round(np.random.default_rng(5).normal(size=n) * 2) / 2


def spiked(n: int) -> np.ndarray:
    random = np.random.default_rng(6)
    return np.where(random.random(n) < 0.4, 0.0, random.exponential(size=n))


TIED = {
    "halves": random_halves(4000),
    "a spike at zero": spiked(4000),
    "a constant": np.full(4000, 3.25),
    "two values": np.random.default_rng(7).integers(0, 2, 4000).astype(float),
    "small integers": np.random.default_rng(8).poisson(30, 4000).astype(float),
    "many integers": np.random.default_rng(9).integers(0, 1000, 4000).astype(float),
    "heavy-tailed integers": np.random.default_rng(10).zipf(1.3, 4000).astype(float),
    "a spike and a heavy tail": np.where(
        np.arange(4000) % 3 == 0, -1.0, np.random.default_rng(11).standard_cauchy(4000)
    ),
    "the ends of float64": np.random.default_rng(12).choice(
        [-1.7976931348623157e308, -5e-324, -0.0, 0.0, 5e-324, 1.7976931348623157e308], 4000
    ),
    "few rows": np.random.default_rng(13).integers(0, 2, 30).astype(float),
}


@pytest.mark.parametrize("name", TIED)
def test_cells_are_chosen_on_one_quarter_and_counted_on_the_rest(name: str):
    """Weights are the counts of three quarters plus ½, recounted here cell by cell."""
    reference, values = fitted(TIED[name])
    found = signal(reference, "x")
    edges = found.signal.partition.edges
    rest = values[len(values) // 4 :]
    bounds = [-math.inf, *edges, math.inf]
    expected = [
        sum(low <= v < high for v in rest.tolist()) + 0.5
        for low, high in itertools.pairwise(bounds)
    ]
    assert list(found.weights) == expected
    assert found.rows == len(rest)
    assert len(found.weights) <= 3 * CELLS
    # The choice looks at nothing but the first quarter.
    first = values[: len(values) // 4]
    after = [math.nextafter(v, math.inf) for v in first.tolist()]
    assert set(edges) <= {*first.tolist(), *after}


@pytest.mark.parametrize("name", ["halves", "a spike at zero", "two values", "a constant"])
def test_each_frequent_value_has_a_cell_of_its_own(name: str):
    reference, values = fitted(TIED[name])
    partition = signal(reference, "x").signal.partition
    first = values[: len(values) // 4]
    distinct, times = np.unique(first, return_counts=True)
    frequent = distinct[times >= 10 * STANDS_ALONE]
    assert len(frequent)
    cells = partition.cells(frequent)
    below = partition.cells(np.nextafter(frequent, -np.inf))
    above = partition.cells(np.nextafter(frequent, np.inf))
    assert len(set(cells.tolist())) == len(frequent)
    assert not (cells == below).any()
    assert not (cells == above).any()


def test_a_constant_leaves_room_below_and_above():
    found = signal(fitted(np.full(400, 2.0))[0], "x")
    assert found.weights == (0.5, 300.5, 0.5)


def test_no_cell_of_a_tied_column_is_needlessly_coarse():
    """1,000 equally likely integers: no value is frequent, the cells are still about even."""
    weights = np.array(signal(fitted(TIED["many integers"])[0], "x").weights)
    assert len(weights) >= CELLS / 2
    assert weights.max() < 4 * weights.mean()


# Categories


def test_frequent_categories_stand_alone_and_the_others_share_a_cell():
    codes = np.random.default_rng(14).zipf(1.5, 8000).clip(max=5000).astype(float)
    reference, values = fitted(codes, "category")
    first, rest = values[:2000], values[2000:]
    found = signal(reference, "x")
    assert isinstance(found.signal.partition, Categorical)
    known = [v for v in sorted(set(first)) if (first == v).sum() >= STANDS_ALONE]
    assert list(found.signal.partition.values) == known
    expected = [(rest == v).sum() + 0.5 for v in known]
    expected.append((~np.isin(rest, known)).sum() + 0.5)
    assert list(found.weights) == expected
    unseen = signal(reference, "x:unseen")
    assert unseen.signal.partition == Flag(Unseen(tuple(sorted(set(first)))))
    strangers = (~np.isin(rest, first)).sum()
    assert unseen.weights == (len(rest) - strangers + 0.5, strangers + 0.5)


def test_many_rare_categories_leave_the_flags():
    """Nothing is frequent: one cell would say nothing, so there is no distribution to compare."""
    codes = np.random.default_rng(15).permutation(4000).astype(float)
    reference, _ = fitted(codes, "category")
    assert names(reference) == ["x:missing", "x:unseen"]
    assert signal(reference, "x:unseen").weights == (0.5, 3000.5)


# Flags, missing values, small samples


def test_a_flag_column_is_its_rate():
    reference, _ = fitted(np.repeat([0.0, 1.0, np.nan], [90, 10, 5]), "flag")
    assert names(reference) == ["x"]
    assert reference.signals[0].weights == (90.5, 10.5)
    assert reference.signals[0].rows == 100


def test_missing_values_are_counted_beside_and_never_within():
    values = np.random.default_rng(16).normal(size=1000)
    values[:100] = np.nan
    values[100:150] = np.inf
    reference, _ = fitted(values)
    assert signal(reference, "x:missing").weights == (850.5, 150.5)
    assert signal(reference, "x").rows == 850
    column = reference.columns[0]
    finite = values[np.isfinite(values)]
    assert column.count == 850
    assert (column.low, column.high) == (finite.min(), finite.max())
    assert column.mean == pytest.approx(finite.mean())
    assert column.sd == pytest.approx(finite.std(ddof=1))


@pytest.mark.parametrize("kind", ["number", "category", "flag"])
@pytest.mark.parametrize("n", range(0, 45))
def test_any_number_of_rows_gives_a_valid_reference(kind: ColumnKind, n: int):
    random = np.random.default_rng(n)
    for values in (random.normal(size=n), np.zeros(n), random.integers(0, 3, n).astype(float)):
        reference, _ = fitted(values, kind)
        assert_valid(reference)
        if kind == "number" and n < 8:
            assert names(reference) == ["x:missing"]


def test_a_column_of_nothing_finite_has_no_moments():
    reference, _ = fitted(np.full(50, np.nan))
    assert names(reference) == ["x:missing"]
    column = reference.columns[0]
    assert (column.count, column.mean, column.sd, column.low) == (0, None, None, None)


def assert_valid(reference: Reference) -> None:
    for each in reference.signals:
        partition = each.signal.partition
        assert len(each.weights) == partition.size >= 2
        assert all(weight > 0 for weight in each.weights)
        if isinstance(partition, Continuous):
            edges = partition.edges
            assert all(a < b for a, b in itertools.pairwise(edges))
            assert np.isfinite(edges).all()
    again = msgspec.json.decode(msgspec.json.encode(reference), type=Reference)
    assert again == reference
    assert again.layout == reference.layout


SPECIAL = [0.0, -0.0, 5e-324, 1.7976931348623157e308, -1.7976931348623157e308, np.nan, np.inf, 1.0]


@settings(max_examples=150, deadline=None)
@given(
    hnp.arrays(np.float64, st.integers(0, 80), elements=st.sampled_from(SPECIAL) | st.floats()),
    st.sampled_from(["number", "category", "flag"]),
    st.integers(1, 4),
)
def test_any_values_give_a_valid_reference(values: np.ndarray, kind: ColumnKind, times: int):
    """Strict JSON holds it, edges ascend, and the values themselves can be counted under it."""
    repeated = np.repeat(values, times)
    reference, _ = fitted(repeated, kind)
    assert_valid(reference)
    counts = reference.layout.count("input", repeated[:, None])
    for each in reference.signals:
        assert counts.of(each.name).sum() <= len(repeated)
