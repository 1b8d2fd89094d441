"""What a monitor says it can see is what it sees, in traffic that no part of it made up."""

from __future__ import annotations

import time

import numpy as np
import pytest
from scipy import stats

from driftline.drift.change import change_of, exchange, rise
from driftline.drift.evidence import log_evidence
from driftline.drift.sensitivity import LOOSE, sensitivity
from driftline.metadata.errors import SettingError
from driftline.metadata.reference import ColumnReference, Reference, SignalReference
from driftline.metadata.schema import Sensitivity
from driftline.metadata.signals import Continuous, Signal
from driftline.metadata.thresholds import Rule, Thresholds


@pytest.fixture(scope="module")
def single(fit) -> Reference:
    return fit(np.random.default_rng(1).normal(size=(2999, 1)))


def signal(reference: Reference, name: str) -> tuple[SignalReference, ColumnReference]:
    each = next(one for one in reference.signals if one.name == name)
    return each, next(one for one in reference.columns if one.name == each.signal.column)


def demand(found: Sensitivity, each: SignalReference, reference: Reference) -> float:
    """ln of the evidence a verdict asks of a signal: budget, share, and the slow ring's part."""
    parts = {one.name: 0.25 if one.signal.kind == "flag" else 1.0 for one in reference.signals}
    slow = np.log(0.75) - np.log1p(found.alpha * 0.25 * 60)
    return float(-np.log(found.alpha) - np.log(parts[each.name] / sum(parts.values())) - slow)


@pytest.mark.parametrize("size", [-0.5, -0.2, 0.05, 0.5])
@pytest.mark.parametrize(
    ("law", "after"),
    [
        (stats.norm(5, 7), lambda size: stats.norm(5 + 7 * size, 7)),
        (stats.expon(scale=2), lambda size: stats.expon(scale=2 + 2 * size)),
    ],
)
def test_a_normal_law_moves_and_an_exponential_one_stretches(law, after, size: float) -> None:
    """The cells that SciPy gives for the law with the other mean, all but 6 % of the mass."""
    edges = law.ppf(np.arange(1, 32) / 32)
    named = Signal("x", "input", "x", Continuous(tuple(edges)))
    each = SignalReference(named, (156.0,) * 32, 4991)
    column = ColumnReference("x", "input", "number", 4991, law.mean(), law.std(), 0.0, 1.0)
    found = change_of(each, column)(np.full((1, 32), 1 / 32), size)[0]
    truth = np.diff(after(size).cdf(edges), prepend=0.0, append=1.0)
    assert found.sum() == pytest.approx(1)
    assert np.abs(found - truth).sum() < 0.06


@pytest.mark.parametrize("size", [-0.5, 0.1, 1.0])
def test_a_tilt_moves_the_mean_by_what_it_says(fit, size: float) -> None:
    random = np.random.default_rng(4)
    reference = fit(random.poisson(3, size=(4000, 1)))
    each, column = signal(reference, "x0")
    shares = np.array(each.weights) / sum(each.weights)
    after = change_of(each, column)(shares[None, :], size)[0]
    values = np.array([0, *each.signal.partition.edges])  # type: ignore[union-attr]
    assert column.sd is not None
    assert values @ (after - shares) == pytest.approx(size * column.sd, rel=0.1)


def test_shares_rise_and_are_exchanged() -> None:
    assert rise(np.array([[0.9, 0.1]]), 0.2) == pytest.approx(np.array([[0.7, 0.3]]))
    assert rise(np.array([[0.9, 0.1]]), 2.0) == pytest.approx(np.array([[0.0, 1.0]]))
    assert exchange(np.array([[0.4, 0.3, 0.3]]), 0.2) == pytest.approx(np.array([[0.6, 0.2, 0.2]]))
    assert exchange(np.array([[0.8, 0.1, 0.1]]), 0.2) == pytest.approx(np.array([[0.6, 0.2, 0.2]]))


@pytest.mark.parametrize("requests", [100, 1_000])
def test_a_shift_that_is_told_is_seen_by_fresh_references_and_fresh_traffic(
    fit, requests: int
) -> None:
    """250 references of their own and real normal values: nine in ten, and not at two thirds."""
    random = np.random.default_rng(requests)
    told = fit(random.normal(size=(1999, 2)))
    found = sensitivity(told)
    size = found.rows[0].mean_shift_sd[str(requests)]
    assert size is not None
    asked = demand(found, told.signals[0], told)
    seen = np.zeros((250, 2))
    for trial in range(250):
        reference = fit(random.normal(size=(1999, 1)), seed=trial)
        each = reference.signals[0]
        for at, part in enumerate((1.0, 0.65)):
            values = random.normal(size=requests) + size * part * random.choice([-1, 1])
            counts = np.bincount(each.signal.partition.cells(values), minlength=32)
            seen[trial, at] = log_evidence(each, counts) >= asked
    # Twice binomial: 250 trials here, 200 streams where it was found.
    error = 3 * np.sqrt(0.9 * 0.1 * (1 / 250 + 1 / 200))
    assert seen[:, 0].mean() == pytest.approx(0.92, abs=0.02 + error)
    assert seen[:, 1].mean() < 0.75


def test_a_rate_that_is_told_is_seen(fit) -> None:
    random = np.random.default_rng(7)
    rows = random.normal(size=(5000, 1))
    rows[random.random(5000) < 0.02] = np.nan
    reference = fit(rows)
    found = sensitivity(reference)
    each, _ = signal(reference, "x0:missing")
    row = next(one for one in found.rows if one.signal == each.name)
    rise_ = row.rate_change["1000"]
    assert rise_ is not None
    assert row.mean_shift_sd == {}
    asked = demand(found, each, reference)
    rates = random.beta(each.weights[1], each.weights[0], size=1000) + rise_
    true = random.binomial(1000, rates)
    seen = log_evidence(each, np.stack([1000 - true, true], axis=1)) >= asked
    assert seen.mean() > 0.9 - 3 * np.sqrt(0.09 * (1 / 1000 + 1 / 200))


def test_false_alarms_are_within_what_is_allowed(fit) -> None:
    random = np.random.default_rng(9)
    rows = np.column_stack(
        [
            random.standard_cauchy(999),
            random.poisson(2, 999),
            random.integers(0, 40, 999),
            np.where(random.random(999) < 0.4, 0, random.normal(size=999)),
        ]
    )
    found = sensitivity(fit(rows, ["number", "number", "category", "number"]))
    assert found.streams >= 2_000
    assert found.false_alarm_share == 0
    assert 0 < found.loose_share <= LOOSE + 3 * np.sqrt(LOOSE / found.streams)


def test_more_requests_and_larger_references_see_more(fit) -> None:
    random = np.random.default_rng(2)
    sizes = []
    for rows in (200, 2_000, 20_000):
        row = sensitivity(fit(random.normal(size=(rows, 1)))).rows[0].mean_shift_sd
        assert row["100"] >= row["1000"] >= row["10000"]  # type: ignore[operator]
        sizes.append(row["10000"])
    assert sizes[0] > sizes[1] > sizes[2]


def test_one_seed_gives_one_answer(single: Reference) -> None:
    first, again = sensitivity(single, seed=3), sensitivity(single, seed=3)
    assert first == again
    assert [row.signal for row in first.rows] == [each.name for each in single.signals]


def test_a_constant_is_told_by_the_share_that_leaves_it(fit) -> None:
    row = sensitivity(fit(np.ones((500, 1)))).rows[0]
    assert row.mean_shift_sd == {}
    assert 0 < row.rate_change["1000"] < 0.3  # type: ignore[operator]


def test_settings_matter_and_impossible_ones_are_refused(single: Reference) -> None:
    plain = sensitivity(single).rows[0].mean_shift_sd["1000"]
    bursts = Thresholds(default=Rule(inflation=10.0))
    assert sensitivity(single, bursts).rows[0].mean_shift_sd["1000"] > 1.8 * plain  # type: ignore
    with pytest.raises(SettingError):
        sensitivity(single, Thresholds(false_alarms="1 per 1m"))


def test_a_hundred_signals_take_less_than_twenty_seconds(fit) -> None:
    reference = fit(np.random.default_rng(0).normal(size=(4991, 34)))
    began = time.process_time()
    found = sensitivity(reference)
    assert len(found.rows) == 102
    assert time.process_time() - began < 20
