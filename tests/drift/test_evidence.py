"""Evidence agrees with SciPy's laws, and with what an e-value has to be."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit, logsumexp, ndtri

from driftline.drift.evidence import log_evidence
from driftline.drift.ordered import LOCATION, POLYA, SCALE, WEIGHTS
from driftline.drift.rate import RISES
from driftline.drift.unordered import SPREADS
from driftline.metadata.reference import SignalReference
from driftline.metadata.signals import Categorical, Continuous, Flag, Missing, Signal


def reference(kind: str, weights: tuple[float, ...]) -> SignalReference:
    partition = {
        "continuous": Continuous(tuple(float(edge) for edge in range(len(weights) - 1))),
        "categorical": Categorical(tuple(float(code) for code in range(len(weights) - 1))),
        "flag": Flag(Missing()),
    }[kind]
    return SignalReference(Signal("x", "input", "x", partition), weights, int(sum(weights)))


def coefficient(counts: np.ndarray) -> float:
    """ln of the multinomial coefficient, which cancels in E."""
    even = np.full(len(counts), 1 / len(counts))
    log_even = counts.sum() * np.log(len(counts))
    return float(stats.multinomial.logpmf(counts, counts.sum(), even) + log_even)


def ordered_by_scipy(weights: np.ndarray, counts: np.ndarray) -> float:
    m, shares = int(counts.sum()), weights / weights.sum()
    middles = np.cumsum(shares) - shares / 2
    scores = ndtri(middles)
    logs = []
    for theta in LOCATION:
        q = shares * np.exp(theta * scores)
        logs.append(stats.multinomial.logpmf(counts, m, q / q.sum()))
    for theta in SCALE:
        q = shares * np.exp(theta * (scores**2 - 1) / np.sqrt(2))
        logs.append(stats.multinomial.logpmf(counts, m, q / q.sum()))
    for most, spread in POLYA:
        group = np.minimum((middles * most).astype(int), most - 1)
        used = np.unique(group)
        mass = np.array([shares[group == each].sum() for each in used])
        coarse = np.array([counts[group == each].sum() for each in used])
        kappa = min(max(len(used) - 1, 1) / spread**2, weights.sum() / 3)
        law = 0.0
        if len(used) > 1:
            law = stats.dirichlet_multinomial.logpmf(coarse, kappa * mass, m)
        law -= coefficient(coarse)
        inside = np.sum(counts * np.log(shares / mass[np.searchsorted(used, group)]))
        logs.append(law + inside + coefficient(counts))
    null = stats.dirichlet_multinomial.logpmf(counts, weights, m)
    return float(logsumexp(logs, b=WEIGHTS) - null)


@pytest.mark.parametrize(
    "weights",
    [(156.0,) * 32, (20.5, 300.5, 0.5, 79.5), (40.0, 40.0), (0.5, 999.5, 0.5), (3.5,) * 45],
)
@pytest.mark.parametrize("rows", [1, 7, 900])
def test_ordered_cells_give_the_quotient_of_scipys_laws(
    weights: tuple[float, ...], rows: int
) -> None:
    random = np.random.default_rng(len(weights) + rows)
    even = np.full(len(weights), 1 / len(weights))
    counts = random.multinomial(rows, even)
    found = log_evidence(reference("continuous", weights), counts)
    assert found == pytest.approx(ordered_by_scipy(np.array(weights), counts), abs=1e-9, rel=1e-9)


@pytest.mark.parametrize("rows", [1, 30, 2000])
def test_unordered_cells_give_the_quotient_of_scipys_laws(rows: int) -> None:
    weights = np.array([700.5, 20.5, 3.5, 0.5, 0.5, 88.5])
    counts = np.random.default_rng(rows).multinomial(rows, [0.5, 0.1, 0.1, 0.1, 0.1, 0.1])
    logs = [
        stats.dirichlet_multinomial.logpmf(
            counts, min(5 / spread**2, weights.sum() / 3) * weights / weights.sum(), rows
        )
        for spread in SPREADS
    ]
    null = stats.dirichlet_multinomial.logpmf(counts, weights, rows)
    truth = logsumexp(logs) - np.log(4) - null
    found = log_evidence(reference("categorical", tuple(weights)), counts)
    assert found == pytest.approx(truth, abs=1e-9, rel=1e-9)


@pytest.mark.parametrize(("true", "false"), [(0, 40), (3, 40), (60, 140), (2, 1)])
def test_a_flags_evidence_is_the_quotient_of_scipys_laws(true: int, false: int) -> None:
    b, a = 480.5, 20.5
    higher = expit(np.log(a / b) + np.array(RISES))
    alternative = stats.binom.pmf(true, true + false, higher).mean()
    null = stats.betabinom.pmf(true, true + false, a, b)
    found = log_evidence(reference("flag", (b, a)), np.array([false, true]))
    assert found == pytest.approx(np.log(alternative / null), abs=1e-9)


def test_all_of_a_flags_alternatives_are_higher_rates() -> None:
    """From a fifth more odds on to certainty, however rare the flag was."""
    assert min(RISES) > 0
    rarest = -np.log(2 * 20_000)
    assert expit(rarest + max(RISES)) > 0.9


@pytest.mark.parametrize(
    ("kind", "weights"),
    [
        ("continuous", (8.0, 8.0, 8.0, 8.0)),
        ("continuous", (0.5, 30.5, 2.5)),
        ("categorical", (10.5, 0.5, 3.5)),
        ("flag", (20.5, 0.5)),
        ("flag", (5.5, 15.5)),
    ],
)
def test_evidence_has_expectation_one_under_the_predictive_law(
    kind: str, weights: tuple[float, ...]
) -> None:
    """Summed over every possible outcome of six rows, predictive × E is exactly 1."""
    rows, total = 6, 0.0
    for counts in product(range(rows + 1), repeat=len(weights)):
        if sum(counts) != rows:
            continue
        law = stats.dirichlet_multinomial.pmf(np.array(counts), np.array(weights), rows)
        total += law * np.exp(log_evidence(reference(kind, weights), np.array(counts)))
    assert total == pytest.approx(1.0, abs=1e-9)


def test_table_and_special_function_agree() -> None:
    """One window is evaluated directly, many windows through the table; both say the same."""
    each = reference("continuous", (150.0,) * 32)
    counts = np.random.default_rng(3).multinomial(300, np.full(32, 1 / 32), size=80)
    for inflation in (1.0, 2.7):
        together = log_evidence(each, counts, inflation)
        alone = [float(log_evidence(each, row, inflation)) for row in counts]
        np.testing.assert_allclose(together, alone, rtol=0, atol=1e-9)


def test_no_counts_are_no_evidence() -> None:
    for kind, weights in (("continuous", (5.0,) * 8), ("flag", (9.5, 0.5))):
        assert log_evidence(reference(kind, weights), np.zeros(len(weights))) == pytest.approx(0)


def test_a_falling_rate_is_no_evidence() -> None:
    each = reference("flag", (50.5, 50.5))
    assert log_evidence(each, np.array([1000, 10])) < -20
    assert log_evidence(each, np.array([10, 1000])) > 20


def test_leading_axes_are_kept() -> None:
    counts = np.zeros((2, 3, 8))
    assert log_evidence(reference("continuous", (5.0,) * 8), counts).shape == (2, 3)
