"""Degrees of freedom: evidence whose scale is told by few bursts counts as Student's t does."""

from __future__ import annotations

import numpy as np
import pytest
from bursts import ROWS, bursty, cells_of, ring_of_cells, told
from scipy import stats

from driftline.drift import Ring, judge
from driftline.drift.freedom import slowed, tempered
from driftline.drift.inflation import TELLING, Inflation, told_within
from driftline.drift.panel import Panel


@pytest.mark.parametrize("freedom", [1.0, 2.0, 5.0, 30.0, 1_000.0])
def test_the_tail_of_t_is_bounded_by_the_evidence_as_that_of_the_normal_is(freedom: float) -> None:
    """P(g(t²/2) ≥ x) ≤ exp(−x) for t of ν degrees of freedom, by SciPy's law of t."""
    t = np.sqrt(2 * np.linspace(0.1, 2_000, 500))
    log_e = tempered(t[None, :] ** 2 / 2, np.array([freedom]))[0]
    chance = 2 * stats.t.sf(t, freedom)
    assert (chance <= np.exp(-log_e) * (1 + 1e-9)).all()


def test_it_is_the_likelihood_ratio_of_the_t_test() -> None:
    """(1 + t²/ν)^(ν/2) by hand: ν = 4, t = 4 give 25; below 0 and at no limit nothing changes."""
    values = np.array([[8.0, -3.0, 0.0]])
    assert tempered(values, np.array([4.0]))[0].tolist() == pytest.approx([np.log(25), -3, 0])
    assert tempered(values, np.array([np.inf]))[0].tolist() == [8.0, -3.0, 0.0]
    mixed = tempered(np.full((2, 1), 8.0), np.array([np.inf, 4.0]))
    assert mixed[:, 0].tolist() == pytest.approx([8.0, np.log(25)])


def test_evidence_that_grows_evenly_is_slowed_evenly() -> None:
    """g(n · gain) at ν = n · freedom is n times what `slowed` says; without a limit, nothing."""
    gain, freedom = np.array([0.5, 0.5, 0.02]), np.array([0.1, np.inf, 3.0])
    for n in (1, 50, 3_000):
        whole = tempered(n * gain[:, None], n * freedom)[:, 0]
        assert whole == pytest.approx(n * slowed(gain, freedom))
    assert slowed(gain, freedom)[1] == 0.5


def test_freedom_is_limited_only_where_bursts_show(fit) -> None:
    """It falls with F − 1, what is to be estimated: bursts of a hundred leave few, twenty quiet
    columns have no limit, nor has what is assumed."""
    random = np.random.default_rng(3)
    one, many = fit(random.normal(size=(4991, 1))), fit(random.normal(size=(4991, 20)))
    slow = told(Panel(one), ring_of_cells(cells_of(one, bursty(random, 0.98, 60 * ROWS, 1))))
    assert 60 * ROWS * slow.freedom[0] < 30
    assert slow.freedom[0] == pytest.approx(TELLING / (slow.members[0] - 1))
    every = told(Panel(many), ring_of_cells(cells_of(many, random.normal(size=(60 * ROWS, 20)))))
    assert np.median(60 * ROWS * every.freedom[:60:3]) > 5_000
    few = told(Panel(one), ring_of_cells(cells_of(one, random.normal(size=(10 * ROWS, 1)))))
    assert few.assumed
    assert np.isinf(few.freedom).all()


def test_a_change_that_is_held_does_not_hide_by_the_bursts_that_it_looks_like(fit) -> None:
    """Bursts (ρ = 0.8, 10 requests a bucket) that moved by 2 σ: once called, the same counts hold
    more evidence, for the change itself makes F large and uncertain."""
    random = np.random.default_rng(6)
    reference = fit(random.normal(size=(4991, 1)))
    rows = bursty(random, 0.8, 600, 1)
    rows[200:] += 2
    cells = np.stack([reference.layout.count("input", each).cells for each in np.split(rows, 60)])
    ring = Ring(60, 60 * np.arange(60), cells, np.zeros((60, 1), np.int64), np.zeros((60, 1, 5)))
    first = judge(reference, ring)
    assert first.signals[0].state == "drift"
    again = judge(reference, ring, previous=first)
    assert again.signals[0].evidence_log10 > first.signals[0].evidence_log10 + 1


def test_traffic_of_few_independent_requests_says_that_it_cannot_tell(fit) -> None:
    """A ring of one long scene after another is `insufficient_data`, not `stable`; the same number
    of independent requests is."""
    random = np.random.default_rng(4)
    reference = fit(random.normal(size=(4991, 1)))
    scenes = np.repeat(random.normal(size=(24, 1)), 125, axis=0)
    cells = cells_of(reference, scenes + 0.01 * random.normal(size=scenes.shape))
    assert judge(reference, ring_of_cells(cells)).state == "insufficient_data"
    cells = cells_of(reference, random.normal(size=scenes.shape))
    assert judge(reference, ring_of_cells(cells)).state == "stable"


def test_one_bursty_column_among_correlated_ones_pays_alone(fit) -> None:
    """Its F is its own; the columns that vary together keep nearly what they have without it."""
    random = np.random.default_rng(9)

    def mode(rows: int) -> np.ndarray:
        return 0.8 * random.normal(size=(rows, 1)) + 0.6 * random.normal(size=(rows, 10))

    reference = fit(mode(4991))
    rows = mode(60 * ROWS)
    before = told(Panel(reference), ring_of_cells(cells_of(reference, rows))).members[:30:3]
    rows[:, 4] = bursty(random, 0.9, 60 * ROWS, 1)[:, 0]
    after = told(Panel(reference), ring_of_cells(cells_of(reference, rows))).members[:30:3]
    assert after[4] > 8
    assert np.delete(after / before, 4).max() < 1.25


@pytest.mark.parametrize(("buckets", "change"), [(25, 22), (20, 10), (60, 12)])
def test_a_sudden_change_in_a_ring_does_not_make_uncertain_what_was_known(
    fit, buckets: int, change: int
) -> None:
    """Buckets that moved by 1.5 σ look like a burst; those before and after them, each by
    themselves, know of none."""
    random = np.random.default_rng(8)
    reference = fit(random.normal(size=(4991, 1)))
    rows = random.normal(size=(buckets * ROWS, 1))
    rows[change * ROWS :] += 1.5
    ring = ring_of_cells(cells_of(reference, rows))
    ring = Ring(60, ring.starts, ring.cells, ring.rows, np.zeros((buckets, 1, 5)))
    panel = Panel(reference)
    once = Inflation.of(panel, np.ones(panel.signals))
    bursts = told(panel, ring)
    within = told_within(panel, ring, bursts, change * 60, once)
    assert within.freedom[0] * len(rows) > 100
    assert (within.members == bursts.members).all()
    assert judge(reference, ring).state == "drift"


def test_stretches_too_short_to_know_of_bursts_change_nothing(fit) -> None:
    """Fewer than ten buckets on either side."""
    reference = fit(np.random.default_rng(8).normal(size=(4991, 1)))
    cells = cells_of(reference, np.random.default_rng(9).normal(size=(18 * ROWS, 1)))
    panel = Panel(reference)
    once = Inflation.of(panel, np.ones(panel.signals))
    assert told_within(panel, ring_of_cells(cells), once, 9 * 60, once) is once
