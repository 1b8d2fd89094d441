"""Inflation: bursts are told from bucket counts alone, and do not cry wolf."""

from __future__ import annotations

import numpy as np
import pytest
from bursts import ROWS, apart, bursty, cells_of, ring_of_cells, told

from driftline.drift import Ring, judge
from driftline.drift.allan import allan, allan_of_sums, lengths, sums, two_sample
from driftline.drift.detector import trace
from driftline.drift.inflation import Inflation, ceiling, inflation, inflations
from driftline.drift.panel import Panel
from driftline.drift.quiet import GRID, QUIET, quiet, simulate
from driftline.metadata.reference import Reference

STREAMS, PART, BUCKETS, RING = 1_000, 200, 140, 60
ALPHA = 1e-3


def joint(panel: Panel, reference: Reference, cells: np.ndarray) -> np.ndarray:
    """ln of the mean M of each column's signals after the last bucket, ``[columns]``."""
    ring = ring_of_cells(cells[-RING:])
    factor = told(panel, ring)
    assert not factor.assumed
    log_m = trace(panel, ring, factor, 0.0).later[:, 0]
    names = [each.signal.column for each in reference.signals]
    return np.array(
        [
            np.logaddexp.reduce((log_m + np.log(panel.shares))[where])
            - np.log(panel.shares[where].sum())
            for column in dict.fromkeys(names)
            if len(where := np.flatnonzero([name == column for name in names]))
        ]
    )


@pytest.mark.slow
@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9, 0.98])
def test_bursts_without_drift_alarm_no_more_than_promised(fit, rho: float) -> None:
    """A thousand streams of 140 buckets, looked at every fourth from the twentieth on."""
    random = np.random.default_rng([5, round(100 * rho)])
    alarmed = np.zeros((STREAMS // PART, PART), dtype=bool)
    for each in alarmed:
        reference = fit(random.normal(size=(4991, PART)))
        panel = apart(reference)
        cells = cells_of(reference, bursty(random, rho, BUCKETS * ROWS, PART))
        for last in range(20, BUCKETS + 1, 4):
            each |= joint(panel, reference, cells[:last]) >= -np.log(ALPHA)
    promised = 1 - np.exp(-ALPHA * (BUCKETS - 19))
    assert alarmed.mean() <= promised + 3 * np.sqrt(promised * (1 - promised) / STREAMS)


@pytest.mark.parametrize(("rho", "longest"), [(0.0, 3), (0.5, 8), (0.9, 24)])
def test_a_real_change_in_bursts_is_found(fit, rho: float, longest: int) -> None:
    """Half of the streams see 1 σ within 50 / 100 / 600 requests, as statistics.md has it, or
    within twice that."""
    random = np.random.default_rng([6, round(100 * rho)])
    reference = fit(random.normal(size=(4991, 12)))
    panel = apart(reference)
    rows = bursty(random, rho, 110 * ROWS, 12)
    rows[80 * ROWS :] += 1
    cells = cells_of(reference, rows)
    found = joint(panel, reference, cells[: 80 + longest]) >= -np.log(ALPHA)
    assert np.median(found) == 1


def test_a_change_that_stays_does_not_hide_itself(fit) -> None:
    """With the change in the middle of the ring, F is hardly larger and the evidence stays."""
    random = np.random.default_rng(7)
    reference = fit(random.normal(size=(4991, 12)))
    panel = apart(reference)
    rows = random.normal(size=(60 * ROWS, 12))
    rows[30 * ROWS :] += 1
    assert (joint(panel, reference, cells_of(reference, rows)) > 40).mean() > 0.9


def test_signals_of_one_stream_tell_its_bursts_together(fit) -> None:
    """Twenty quiet signals hardly pay for the caution that one alone has to pay for."""
    random = np.random.default_rng(8)
    reference = fit(random.normal(size=(4991, 20)))
    cells = cells_of(reference, random.normal(size=(RING * ROWS, 20)))
    together = told(Panel(reference), ring_of_cells(cells)).members[:60]
    alone = told(apart(reference), ring_of_cells(cells)).members
    assert np.median(together[::3]) < 1.15 < np.median(alone[::3])
    assert together[::3].mean() < alone[::3].mean()


def test_a_category_has_the_bursts_of_the_numbers_beside_it(fit) -> None:
    """Alone it would pay for the caution of one signal, as it did."""
    factors = []
    for seed in range(6):
        random = np.random.default_rng([14, seed])
        rows = np.column_stack([random.normal(size=(7991, 19)), random.integers(0, 6, 7991)])
        reference = fit(rows[:4991], ["number"] * 19 + ["category"])
        cells = cells_of(reference, rows[4991:])
        position = reference.layout.position["x19"]
        panels = Panel(reference), apart(reference)
        factors.append([told(each, ring_of_cells(cells)).members[position] for each in panels])
    beside, alone = np.median(factors, axis=0)
    assert beside < 1.15 < alone


def test_what_is_rare_is_not_taken_for_bursts(fit) -> None:
    """A few values out of range an hour, each by itself, and so F is 1; in bursts it is not.

    χ² of single values is always 1, which is more than independent requests give once the largest
    tenth is left out: F was 2.05.
    """
    random = np.random.default_rng(15)
    reference = fit(random.normal(size=(4991, 6)))
    panel = apart(reference)
    out = [reference.layout.position[f"x{at}:out_of_range"] for at in range(6)]
    panel.main[out] = -1
    rows = random.uniform(-1, 1, size=(RING * ROWS, 6))
    for at in range(6):
        rows[random.choice(len(rows), 1 + 3 * at, replace=False), at] = 9.0
    assert told(panel, ring_of_cells(cells_of(reference, rows))).members[out].max() < 1.5
    rows[np.arange(0, len(rows), 400)[:, None] + np.arange(20)] = 9.0
    assert told(panel, ring_of_cells(cells_of(reference, rows))).members[out].min() > 3


def test_one_bursty_signal_among_quiet_ones_is_caught_by_itself(fit) -> None:
    random = np.random.default_rng(9)
    reference = fit(random.normal(size=(4991, 10)))
    rows = random.normal(size=(RING * ROWS, 10))
    rows[:, 3] = bursty(random, 0.9, RING * ROWS, 1)[:, 0]
    factor = told(Panel(reference), ring_of_cells(cells_of(reference, rows))).members[:30]
    assert factor[9] > 10
    assert factor[11] == factor[9], "its out-of-range flag comes in the same bursts"
    assert np.delete(factor[::3], 3).max() < 3


def test_signals_that_vary_together_have_nearly_one_f(fit) -> None:
    """A common mode in bursts (ρ = 0.98): estimates differ by chance, up to a hundredfold, and the
    least of them would decide."""
    random = np.random.default_rng(16)

    def rows(scene: np.ndarray) -> np.ndarray:
        return 0.8 * scene + 0.6 * random.normal(size=(len(scene), 10))

    reference = fit(rows(random.normal(size=(2_000, 1))))
    panel = Panel(reference)
    (many,) = panel.together
    for _ in range(6):
        cells = cells_of(reference, rows(bursty(random, 0.98, RING * ROWS, 1)))
        factor = told(panel, ring_of_cells(cells)).members[many.where]
        assert np.quantile(factor, 0.75) < 1.5 * factor.min()


def test_a_replay_of_the_same_rows_in_varying_number_is_judged_like_any_traffic(fit) -> None:
    """Counts of neighbouring blocks are proportional, χ² is 0 but for rounding; below 0 it made F
    no number, and hid a shift of 3 σ."""
    random = np.random.default_rng(17)
    reference = fit(random.normal(size=(4991, 6)))
    block = random.normal(size=(30, 6))
    cells = [
        reference.layout.count(
            "input", np.tile(block + 3.0 * (at >= 40), (int(random.integers(1, 6)), 1))
        ).cells
        for at in range(RING)
    ]
    starts = 60 * np.arange(RING, dtype=np.int64)
    ring = Ring(60, starts, np.stack(cells), np.zeros((RING, 1), np.int64), np.zeros((RING, 6, 5)))
    assert np.isfinite(told(Panel(reference), ring).members).all()
    assert judge(reference, ring).state == "drift"


def test_columns_without_values_make_no_crowd(fit) -> None:
    """Two that have some pay for the caution of two, however many others are missing."""
    random = np.random.default_rng(18)
    reference = fit(random.normal(size=(4991, 20)))
    rows = random.normal(size=(RING * ROWS, 20))
    rows[:, 2:] = np.nan
    of_twenty = told(Panel(reference), ring_of_cells(cells_of(reference, rows))).members
    few = fit(random.normal(size=(4991, 2)))
    few_cells = cells_of(few, rows[:, :2])
    assert of_twenty[0] == pytest.approx(told(Panel(few), ring_of_cells(few_cells)).members[0], 0.2)


def test_a_quiet_flag_has_no_ceiling(fit) -> None:
    """A week of hours in which it was raised three times: they do not differ."""
    random = np.random.default_rng(19)
    reference = fit(random.normal(size=(5000, 1)))
    rows = np.clip(random.normal(size=(168 * 200, 1)), -3, 3)
    rows[[1_000, 9_000, 20_000]] = 9.0
    cells = np.stack(
        [reference.layout.count("input", each).cells for each in rows.reshape(168, 200, 1)]
    )
    assert np.isinf(ceiling(Panel(reference), ring_of_cells(cells, 3600))[1:]).all()


def test_few_buckets_leave_the_setting_and_the_sentence_says_so(normal, ring) -> None:
    random = np.random.default_rng(10)
    few = judge(normal, ring(normal, list(random.normal(size=(19, 50, 4)))))
    many = judge(normal, ring(normal, list(random.normal(size=(20, 50, 4)))))
    assert few.independent
    assert "assumes independent requests" in few.sentence
    assert not many.independent
    assert "assumes" not in many.sentence


def test_hours_that_differ_limit_what_one_of_them_can_say(fit) -> None:
    """A day and night of ±0.3 σ: an hour weighs no more than the difference between hours."""
    random = np.random.default_rng(11)
    hours = np.arange(72)
    swing = 0.3 * np.sin(2 * np.pi * hours / 24)
    reference = fit(random.normal(size=(5000, 1)) + 0.3 * np.sin(random.uniform(0, 6.3, (5000, 1))))
    rows = random.normal(size=(72, 3000, 1)) + swing[:, None, None]
    cells = np.stack([reference.layout.count("input", each).cells for each in rows])
    limit = ceiling(Panel(reference), ring_of_cells(cells, 3600))
    assert 5 < limit[0] < 60
    assert np.isinf(limit[1])
    assert np.isinf(ceiling(Panel(reference), ring_of_cells(cells[:20], 3600))).all()


def test_a_day_of_hours_tells_of_bursts_that_outlast_the_fast_ring(fit) -> None:
    """Five requests a bucket, ρ = 0.98: F is 99, and an hour holds three independent requests."""
    random = np.random.default_rng(13)
    reference = fit(random.normal(size=(2_000, 1)))
    panel = Panel(reference)
    once = Inflation.of(panel, np.ones(panel.signals))

    def both(rho: float, hours: int) -> tuple[Inflation, Inflation]:
        """With the hours, and without."""
        rows = bursty(random, rho, hours * 300, 1)
        cells = np.stack(
            [reference.layout.count("input", each).cells for each in rows.reshape(-1, 5, 1)]
        )
        slow = cells.reshape(hours, 60, -1).sum(axis=1)
        fast = ring_of_cells(cells[-RING:])
        with_hours, _ = inflations(panel, fast, ring_of_cells(slow, 3600), once)
        return with_hours, inflation(panel, fast, once)

    pairs = [both(0.98, 72) for _ in range(8)]
    assert min(found.members[0] for found, _ in pairs) > 40
    assert np.median([alone.members[0] for _, alone in pairs]) < 99
    # Independent hours raise nothing, and fewer than a day of them are not asked.
    for found, alone in [both(0.0, 30) for _ in range(8)] + [both(0.98, 23)]:
        assert found.members[0] == alone.members[0]


def test_the_two_sample_statistic_averages_one_without_bursts() -> None:
    random = np.random.default_rng(12)
    first = random.multinomial(30, [0.2, 0.3, 0.5], size=20_000).astype(float)
    second = random.multinomial(50, [0.2, 0.3, 0.5], size=20_000).astype(float)
    assert two_sample(first.T, second.T).mean() == pytest.approx(1, abs=0.03)


@pytest.mark.parametrize(
    "cells", [np.zeros((1, 30, 2)), [[[50, at in (3, 20)] for at in range(30)]]]
)
def test_empty_buckets_and_single_values_say_nothing(cells) -> None:
    """They count as what independent requests give."""
    cells = np.array(cells, float)
    assert allan(cells, 1)[0] == pytest.approx(1)
    assert allan_of_sums(sums(cells), 1, 0.64)[0] == pytest.approx(0.64)


def test_a_longer_ring_can_judge_longer_blocks() -> None:
    assert [lengths(buckets) for buckets in (20, 60, 168)] == [(1, 2), (1, 2, 4), (1, 2, 4, 8)]


def test_the_stored_table_is_what_its_function_makes() -> None:
    assert simulate(grid=(24,))[24] == QUIET[24]
    assert tuple(QUIET) == GRID
    assert quiet(23) is QUIET[20]
    assert quiet(1000) is QUIET[168]
