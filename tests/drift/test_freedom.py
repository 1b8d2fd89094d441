"""Degrees of freedom: evidence whose scale is told by few bursts counts as Student's t does."""

from __future__ import annotations

import numpy as np
import pytest
from bursts import ROWS, bursty, cells_of, ring_of_cells, told
from scipy import stats

from driftline.drift import judge
from driftline.drift.freedom import asked, tempered
from driftline.drift.panel import Panel


@pytest.mark.parametrize("freedom", [1.0, 2.0, 5.0, 30.0, 1_000.0])
def test_the_tail_of_t_is_bounded_by_the_evidence_as_that_of_the_normal_is(freedom: float) -> None:
    """P(g(t²/2) ≥ x) ≤ exp(−x) for t of ν degrees of freedom, and t²/2 itself breaks it."""
    t = np.sqrt(2 * np.linspace(0.1, 2_000, 500))
    log_e = tempered(t[None, :] ** 2 / 2, np.array([freedom]))[0]
    chance = 2 * stats.t.sf(t, freedom)
    assert (chance <= np.exp(-log_e) * (1 + 1e-9)).all()
    if freedom <= 30:
        assert 2 * stats.t.sf(8.0, freedom) > np.exp(-32.0)


def test_it_is_the_likelihood_ratio_of_the_t_test() -> None:
    """(1 + t²/ν)^(ν/2) by hand: ν = 4, t = 4 give 25; below 0 and at no limit nothing changes."""
    values = np.array([[8.0, -3.0, 0.0]])
    assert tempered(values, np.array([4.0]))[0].tolist() == pytest.approx([np.log(25), -3, 0])
    assert tempered(values, np.array([np.inf]))[0].tolist() == [8.0, -3.0, 0.0]
    mixed = tempered(np.full((2, 1), 8.0), np.array([np.inf, 4.0]))
    assert mixed[:, 0].tolist() == pytest.approx([8.0, np.log(25)])


def test_what_is_asked_is_what_reaches_the_demand() -> None:
    """`asked` is the inverse of `tempered`, and stays a number where no ring could hold enough."""
    demand, freedom = np.array([12.0, 12.0, 12.0]), np.array([6.0, 700.0, np.inf])
    there = asked(demand, freedom)
    assert tempered(there[:, None], freedom)[:, 0] == pytest.approx(demand)
    assert np.isfinite(asked(np.array([50.0]), np.array([0.1]))).all()


def test_freedom_counts_independent_requests(fit) -> None:
    """Bursts of a hundred leave few; twenty independent columns tell together as twenty do; what
    is assumed has no limit; columns that are nearly one tell as one."""
    random = np.random.default_rng(3)
    one = fit(random.normal(size=(4991, 1)))
    slow = told(Panel(one), ring_of_cells(cells_of(one, bursty(random, 0.98, 60 * ROWS, 1))))
    quick = told(Panel(one), ring_of_cells(cells_of(one, random.normal(size=(60 * ROWS, 1)))))
    assert slow.freedom[0] < 30
    assert 300 < quick.freedom[0] <= 750
    many = fit(random.normal(size=(4991, 20)))
    every = told(Panel(many), ring_of_cells(cells_of(many, random.normal(size=(60 * ROWS, 20)))))
    assert (every.freedom[:60:3] > 8 * quick.freedom[0]).all()
    few = told(Panel(one), ring_of_cells(cells_of(one, random.normal(size=(10 * ROWS, 1)))))
    assert few.assumed
    assert np.isinf(few.freedom).all()

    def alike(rows: int) -> np.ndarray:
        return random.normal(size=(rows, 1)) + 0.1 * random.normal(size=(rows, 10))

    near = fit(alike(4991))
    as_one = told(Panel(near), ring_of_cells(cells_of(near, alike(60 * ROWS))))
    assert (as_one.freedom[:30:3] <= 1_000).all()


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
