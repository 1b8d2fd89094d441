"""What a reference knows of several signals together: a whitening of their normal scores."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from driftline.metadata.fitting import fit_reference
from driftline.metadata.multivariate import LEAST_VARIANCE, MOST, normal_scores
from driftline.metadata.reference import Reference
from driftline.metadata.sample import RowSample
from driftline.metadata.signals import Column


def fitted(rows: np.ndarray, kinds: str = "") -> Reference:
    """Columns x0, x1, …; `kinds` has n, c or f for numbers, categories and flags."""
    words = {"n": "number", "c": "category", "f": "flag"}
    kinds = kinds or "n" * rows.shape[1]
    sample = RowSample(rows.shape[1])
    sample.add(rows)
    columns = [Column(f"x{at}", words[kind]) for at, kind in enumerate(kinds)]
    return fit_reference({"input": sample}, {"input": columns}, source="held_out")


def scores(reference: Reference, rows: np.ndarray) -> np.ndarray:
    """Normal scores of the rows' cells less their mean, from the definition."""
    found = []
    for name in reference.multivariates[0].signals:
        at = reference.layout.position[name]
        each = reference.signals[at]
        shares = np.array(each.weights) / sum(each.weights)
        middles = np.cumsum(shares) - shares / 2
        u = norm.ppf(middles)
        found.append(u[each.signal.partition.cells(rows[:, int(name[1:])])] - u @ shares)
    return np.stack(found, axis=1)


def test_scores_are_those_of_the_reference_mass_at_the_middle_of_each_cell() -> None:
    weights = np.array([[1.0, 2.0, 1.0, 0.0], [1.0, 1.0, 1.0, 1.0]])
    expected = norm.ppf([[0.125, 0.5, 0.875, 0.5], [0.125, 0.375, 0.625, 0.875]])
    np.testing.assert_allclose(normal_scores(weights), expected, atol=1e-12)


def test_whitened_scores_of_the_reference_have_variance_one_and_no_correlation() -> None:
    random = np.random.default_rng(1)
    rows = random.normal(size=(4_991, 6))
    rows[:, 1] += 2 * rows[:, 0]
    rows[:, 2] = np.exp(rows[:, 2] + rows[:, 0])
    reference = fitted(rows)
    (each,) = reference.multivariates
    assert (each.name, each.group, each.rows) == ("input together", "input", 4_991)
    assert each.signals == tuple(f"x{at}" for at in range(6))
    white = scores(reference, rows) @ np.array(each.whitening).T
    np.testing.assert_allclose(np.cov(white.T), np.eye(6), atol=2e-3)
    np.testing.assert_allclose(white.mean(axis=0), 0, atol=0.02)


def test_only_ordered_signals_that_vary_take_part() -> None:
    random = np.random.default_rng(2)
    rows = random.normal(size=(2_000, 5))
    rows[:, 1] = 3.0
    rows[:, 2] = random.integers(0, 4, 2_000)
    rows[:, 3] = random.random(2_000) < 0.5
    assert fitted(rows, "nncfn").multivariates[0].signals == ("x0", "x4")


def test_columns_that_are_all_but_one_are_one_direction() -> None:
    random = np.random.default_rng(3)
    rows = random.normal(size=(2_000, 4))
    rows[:, 3] = rows[:, 2] + 1e-3 * random.normal(size=2_000)
    (each,) = fitted(rows).multivariates
    assert len(each.signals) == 4
    assert len(each.whitening) == 3
    white = scores(fitted(rows), rows) @ np.array(each.whitening).T
    assert white.var(axis=0).min() > 1 - LEAST_VARIANCE


def test_many_signals_are_parted_and_each_is_in_one_part() -> None:
    rows = np.random.default_rng(4).normal(size=(1_000, 70))
    parts = fitted(rows).multivariates
    assert [each.name for each in parts] == [f"input together, {n} of 3" for n in (1, 2, 3)]
    assert max(len(each.signals) for each in parts) <= MOST
    assert [name for each in parts for name in each.signals] == [f"x{at}" for at in range(70)]


@pytest.mark.parametrize(("rows", "columns"), [(4_000, 1), (40, 20)])
def test_one_signal_or_too_few_rows_are_none_together(rows: int, columns: int) -> None:
    assert fitted(np.random.default_rng(5).normal(size=(rows, columns))).multivariates == ()


def test_missing_values_count_as_the_mean() -> None:
    random = np.random.default_rng(6)
    rows = random.normal(size=(4_991, 3))
    rows[:, 0] = np.where(random.random(4_991) < 0.5, np.nan, rows[:, 0])
    (each,) = fitted(rows).multivariates
    at = each.signals.index("x0")
    lengths = np.linalg.norm(np.array(each.whitening), axis=0)
    # Half of its scores are 0, so its variance is half that of the others.
    assert lengths[at] ** 2 == pytest.approx(2 * lengths[(at + 1) % 3] ** 2, rel=0.1)
