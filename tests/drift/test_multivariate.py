"""Signals together: many small shifts are found soon, and bursts and odd laws cry no wolf."""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby, pairwise

import numpy as np
import pytest
from msgspec.structs import replace
from scipy.signal import lfilter
from scipy.stats import multivariate_normal

from driftline.drift import Ring, judge, sentence
from driftline.drift.detector import trace
from driftline.drift.inflation import Inflation, inflation
from driftline.drift.multivariate import LENGTHS, Together
from driftline.drift.panel import TOGETHER_SHARE, Panel
from driftline.metadata.reference import Reference
from driftline.metadata.thresholds import Rule, Thresholds

Draw = Callable[[np.random.Generator, int], np.ndarray]
COLUMNS, ROWS = 20, 50


def normal(random: np.random.Generator, n: int) -> np.ndarray:
    return random.normal(size=(n, COLUMNS))


def common_factor(random: np.random.Generator, n: int) -> np.ndarray:
    return 0.8 * random.normal(size=(n, 1)) + 0.6 * random.normal(size=(n, COLUMNS))


def heavy_together(random: np.random.Generator, n: int) -> np.ndarray:
    """Student's t with 2 degrees of freedom: all columns are extreme in the same rows."""
    return random.normal(size=(n, COLUMNS)) / np.sqrt(random.chisquare(2, (n, 1)) / 2)


def rarely_all_at_once(random: np.random.Generator, n: int) -> np.ndarray:
    """One row in a hundred has all columns at one end."""
    rows = random.normal(size=(n, COLUMNS))
    odd = random.random(n) < 0.01
    rows[odd] = 3 * random.choice([-1, 1], size=(odd.sum(), 1)) + rows[odd] / 10
    return rows


def tied(random: np.random.Generator, n: int) -> np.ndarray:
    return np.round(random.gamma(0.5, 2, size=(n, COLUMNS)))


LAWS = {
    "normal": normal,
    "common factor": common_factor,
    "heavy together": heavy_together,
    "rarely all at once": rarely_all_at_once,
    "tied": tied,
}


def cells_of(reference: Reference, rows: np.ndarray, each: int = ROWS) -> np.ndarray:
    batches = rows.reshape(-1, each, rows.shape[1])
    return np.stack([reference.layout.count("input", batch).cells for batch in batches])


def ring_of_cells(cells: np.ndarray) -> Ring:
    starts = 60 * np.arange(len(cells), dtype=np.int64)
    columns = np.zeros((len(cells), COLUMNS, 5))
    return Ring(60, starts, cells, np.full((len(cells), 1), ROWS), columns)


def told(reference: Reference, rows: np.ndarray, **more: object):
    return judge(reference, ring_of_cells(cells_of(reference, rows)), **more)  # type: ignore[arg-type]


def test_evidence_is_the_quotient_of_normal_densities(fit) -> None:
    """Beside SciPy's densities of the whitened mean under the mixture and without a change."""
    random = np.random.default_rng(1)
    reference = fit(common_factor(random, 3_000)[:, :4])
    (each,) = Panel.of(reference).together
    flat = cells_of(reference, common_factor(random, 400)[:, :4]).cumsum(axis=0).astype(float)
    factor = np.array([1.0, 1.5, 1.0, 3.0])
    found, rows = each.log_e(flat, np.array([1.0, 1.0, 2.0, 1.0]), factor)
    assert rows.tolist() == [ROWS * (at + 1) for at in range(8)]
    sums, _ = each.sums(flat)
    relative = np.sqrt(np.array([1.0, 1.0, 2.0, 1.0]))
    for at in range(8):
        x = np.array(each.reference.whitening) @ (sums[at] / relative) / rows[at]
        v = factor / rows[at] + 1 / 3_000
        x = x / np.sqrt(each.spread)
        null = multivariate_normal(np.zeros(4), np.diag(v)).pdf(x)
        changed = [
            multivariate_normal(np.zeros(4), np.diag(v + length / 4)).pdf(x) for length in LENGTHS
        ]
        assert found[at] == pytest.approx(np.log(np.mean(changed) / null), abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("rows", [200, 2_000])
def test_without_drift_no_more_than_promised_ever_alarm(fit, rows: int, law: str) -> None:
    """150 streams of 2,000 requests, each with a reference of its own, looked at every 20."""
    random = np.random.default_rng([2, rows])
    highest = []
    for _ in range(150):
        reference = fit(LAWS[law](random, rows))
        (each,) = Panel.of(reference).together
        flat = cells_of(reference, LAWS[law](random, 2_000), 20).cumsum(axis=0).astype(float)
        ones = np.ones(len(each.where))
        highest.append(each.log_e(flat, ones, np.ones(each.directions))[0].max())
    for alpha in (0.1, 0.05, 0.01):
        share = (np.array(highest) >= -np.log(alpha)).mean()
        assert share <= alpha + 3 * np.sqrt(alpha * (1 - alpha) / 150), alpha


def first_call(reference: Reference, rows: np.ndarray, change: int, demand: float) -> float:
    """Requests from the change to the first look of ten at which M reaches exp(`demand`)."""
    panel = Panel.of(reference)
    cells = cells_of(reference, rows, 10)
    for at in range(change // 10, len(cells)):
        first = max(at // 5 - 59, 0) * 5
        own = cells[first : at + 1]
        grouped = np.add.reduceat(own, np.arange(0, len(own), 5))
        ring = ring_of_cells(grouped)
        bursts = inflation(panel, ring, Inflation.of(panel, np.ones(panel.signals)))
        log_m = trace(panel, ring, bursts, 0.0).later[:, 0]
        if np.logaddexp.reduce(log_m + np.log(panel.shares)) >= demand:
            return (at + 1) * 10 - change
    return np.inf


@pytest.mark.slow
@pytest.mark.parametrize(("shift", "longest"), [(0.25, 300), (0.5, 100), (1.0, 50)])
def test_a_shift_of_five_columns_is_called_sooner_than_by_each_alone(
    fit, shift: float, longest: int
) -> None:
    """statistics.md allows 300 and 100 requests for 0.25 and 0.5 σ in 5 of 20, at 1 in 10,000
    buckets of 50; the signs are at random. Without the signals together it takes longer."""
    random = np.random.default_rng([3, round(100 * shift)])
    delays, alone = [], []
    for _ in range(12):
        reference = fit(normal(random, 4_991))
        rows = normal(random, 62 * ROWS + 600)
        moved = random.permutation(COLUMNS)[:5]
        rows[60 * ROWS :, moved] += shift * random.choice([-1, 1], 5)
        demand = np.log(1e4)
        delays.append(first_call(reference, rows, 60 * ROWS, demand))
        parted = replace(reference, multivariates=())
        alone.append(first_call(parted, rows, 60 * ROWS, demand))
    assert np.median(delays) <= longest
    assert np.median(delays) < np.median(alone)


def test_one_column_alone_is_called_hardly_later(fit) -> None:
    """What the signals together take of the overall mean is a third of a nat for the others."""
    panel = Panel.of(fit(normal(np.random.default_rng(4), 2_000)))
    alone = Panel(replace(fit(normal(np.random.default_rng(4), 2_000)), multivariates=()))
    ratio = panel.shares[: panel.signals] / alone.shares
    np.testing.assert_allclose(ratio, 1 - TOGETHER_SHARE)


@pytest.mark.slow
@pytest.mark.parametrize("rho", [0.5, 0.9])
def test_a_common_mode_in_bursts_alarms_no_more_than_promised(fit, rho: float) -> None:
    """Twenty columns that share one bursty factor, 24 streams looked at every fifth bucket."""
    random = np.random.default_rng([5, round(10 * rho)])
    alarms, looks = 0, range(20, 120, 5)
    for _ in range(24):
        reference = fit(common_factor(random, 2_000))
        noise = random.normal(size=(120 * ROWS, 1))
        start = rho * random.normal(size=(1, 1))
        scene, _ = lfilter([np.sqrt(1 - rho**2)], [1, -rho], noise, axis=0, zi=start)
        rows = 0.8 * scene + 0.6 * random.normal(size=(120 * ROWS, COLUMNS))
        cells = cells_of(reference, rows)
        panel = Panel.of(reference)
        for last in looks:
            ring = ring_of_cells(cells[max(last - 60, 0) : last])
            bursts = inflation(panel, ring, Inflation.of(panel, np.ones(panel.signals)))
            log_m = trace(panel, ring, bursts, 0.0).later[panel.signals :, 0]
            if log_m[0] >= np.log(1_000):
                alarms += 1
                break
    promised = 24 * (1 - np.exp(-100 / 1_000))
    assert alarms <= promised + 3 * np.sqrt(promised)


def test_a_verdict_names_those_that_moved_most_and_calls_drift_by_itself(fit) -> None:
    """All twenty moved by less than matters in one; together that is a large shift."""
    random = np.random.default_rng(6)
    reference = fit(normal(random, 4_991))
    rows = normal(random, 40 * ROWS)
    shift = np.linspace(0.16, 0.2, COLUMNS)
    rows[30 * ROWS :] += shift
    verdict = told(reference, rows)
    (many,) = verdict.multivariates
    assert (verdict.state, many.state) == ("drift", "drift")
    assert not [each.name for each in verdict.signals if each.state == "drift"]
    assert many.onset == verdict.onset == 30 * 60
    assert many.distance == pytest.approx(np.sqrt((shift**2).sum()), rel=0.2)
    assert many.severity == "major"
    assert len(many.moved) == 5
    assert list(many.moved.values()) == sorted(many.moved.values(), reverse=True)
    assert verdict.sentence.startswith("input together: moved by 0.")
    assert "None of them has drifted by itself" in verdict.sentence
    chinese = sentence(verdict, "zh")
    assert "输入信号整体移动了" in chinese
    assert "没有任何一个单独发生漂移" in chinese
    assert "input together" not in chinese


def test_many_shifts_too_small_to_matter_are_a_warning(fit) -> None:
    """Twenty of 0.1 σ are sure, and less than √20 times the floor of one."""
    random = np.random.default_rng(10)
    reference = fit(normal(random, 4_991))
    rows = normal(random, 60 * ROWS)
    rows[30 * ROWS :] += 0.1
    verdict = told(reference, rows)
    assert (verdict.state, verdict.multivariates[0].state) == ("warning", "warning")
    assert verdict.evidence_log10 > -np.log10(verdict.alpha)


def test_a_floor_for_one_signal_holds_for_those_together(fit) -> None:
    """Who lets a column move does not want to be woken by it in company."""
    random = np.random.default_rng(6)
    reference = fit(normal(random, 4_991))
    rows = normal(random, 40 * ROWS)
    rows[30 * ROWS :] += 0.18
    lenient = Thresholds(signals={"x3": Rule(psi=5.0)})
    assert told(reference, rows).state == "drift"
    assert told(reference, rows, thresholds=lenient).state == "warning"


def test_after_a_return_it_is_stable_again_and_a_lull_ends_nothing(fit) -> None:
    random = np.random.default_rng(7)
    reference = fit(normal(random, 4_991))
    rows = normal(random, 70 * ROWS)
    rows[30 * ROWS : 40 * ROWS] += 0.25
    found, state = {}, None
    for last in range(25, 70):
        state = told(reference, rows[max(last - 60, 0) * ROWS : last * ROWS], previous=state)
        found[last] = state.state
    assert set(map(found.get, range(25, 30))) == {"stable"}
    assert set(map(found.get, range(33, 41))) == {"drift"}
    assert found[69] == "stable"
    assert sum(a != b for a, b in pairwise(found.values())) <= 4


@pytest.mark.slow
def test_a_change_that_ended_is_forgotten_and_does_not_come_back(fit) -> None:
    """Ten minutes of a change in some columns, 12 streams; its end is told in the verdict."""
    for seed in range(12):
        random = np.random.default_rng([11, seed])
        columns = int(random.integers(3, 10))
        reference = fit(random.normal(size=(4_991, columns)))
        rows = random.normal(size=(60, ROWS, columns))
        rows[10:20, :, : int(random.integers(1, columns))] += random.choice([0.3, 0.6, 1.0])
        cells = np.stack([reference.layout.count("input", each).cells for each in rows])
        verdict, states = None, []
        for last in range(8, 61):
            moments = np.zeros((last, columns, 5))
            starts = 60 * np.arange(last, dtype=np.int64)
            ring = Ring(60, starts, cells[:last], np.full((last, 1), ROWS), moments)
            verdict = judge(reference, ring, previous=verdict)
            states.append(verdict.state)
        changes = [state for state, _ in groupby(states) if state != "warning"]
        assert changes in (["stable", "drift", "stable"], ["stable", "stable"], ["stable"]), seed
        members = (*verdict.signals, *verdict.multivariates)
        ended = [each.quiet_since for each in members if each.quiet_since is not None]
        assert not ended or {"drift", "warning"} & set(states)
        assert min(ended, default=600) >= 10 * 60, seed


def test_values_that_are_missing_are_no_shift(fit) -> None:
    random = np.random.default_rng(8)
    reference = fit(normal(random, 2_000))
    (each,) = Panel.of(reference).together
    rows = normal(random, 40 * ROWS)
    rows[:, :10] = np.nan
    flat = cells_of(reference, rows).sum(axis=0, keepdims=True).astype(float)
    assert each.log_e(flat, np.ones(COLUMNS), np.ones(each.directions))[0][0] < 0
    empty = np.zeros_like(flat)
    log_e, counted = each.log_e(empty, np.ones(COLUMNS), np.ones(each.directions))
    assert (log_e[0], counted[0]) == (0.0, 0.0)
    assert each.effect(empty[0], np.ones(1)[0]) == 0.0


def test_the_effect_is_the_squared_distance_of_the_shift(fit) -> None:
    """Of correlated normal columns: δᵀ Σ⁻¹ δ, from the law that the rows were drawn from."""
    random = np.random.default_rng(9)
    law = np.full((4, 4), 0.64) + 0.36 * np.eye(4)
    draw = np.linalg.cholesky(law)
    reference = fit(random.normal(size=(19_999, 4)) @ draw.T)
    (each,) = Panel.of(reference).together
    shift = np.array([0.3, -0.1, 0.0, 0.2])
    rows = random.normal(size=(40_000, 4)) @ draw.T + shift
    flat = cells_of(reference, rows).sum(axis=0).astype(float)
    assert isinstance(each, Together)
    expected = shift @ np.linalg.solve(law, shift)
    assert float(each.effect(flat, 1.0)) == pytest.approx(expected, rel=0.1)
