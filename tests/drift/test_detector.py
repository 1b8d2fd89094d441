"""The e-detector sums over starts, and its false alarms are as rare as promised."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp

from driftline.drift import Ring
from driftline.drift.detector import SLOW_SHARE, onset, trace, weights
from driftline.drift.evidence import log_evidence
from driftline.drift.inflation import Inflation
from driftline.drift.panel import Panel
from driftline.metadata.reference import Reference


def cells_of(reference: Reference, batches: np.ndarray) -> np.ndarray:
    return np.stack([reference.layout.count("input", rows).cells for rows in batches])


def ring_of_cells(cells: np.ndarray) -> Ring:
    starts = 60 * np.arange(len(cells), dtype=np.int64)
    return Ring(60, starts, cells, np.zeros((len(cells), 1), np.int64), np.zeros((1, 1, 5)))


def once(panel: Panel) -> Inflation:
    """Each request counts as one."""
    return Inflation.of(panel, np.ones(panel.signals))


def test_m_is_the_sum_of_evidence_over_all_starts(normal: Reference, ring) -> None:
    batches = list(np.random.default_rng(1).normal(0.2, 1, size=(7, 30, 4)))
    held = ring(normal, batches)
    panel = Panel.of(normal)
    found = trace(panel, held, once(panel), 0.0)
    for index, each in enumerate(normal.signals):
        low, high = normal.layout.offsets[index : index + 2]
        cells = held.cells[:, low:high]
        suffixes = [cells[first:].sum(axis=0) for first in range(7)]
        truth = [float(log_evidence(each, counts)) for counts in suffixes]
        np.testing.assert_allclose(found.log_e[index], truth, atol=1e-9)
        assert found.later[index, 0] == pytest.approx(logsumexp(truth))
        assert found.later[index, 4] == pytest.approx(logsumexp(truth[4:]))
        assert found.later[index, 7] == -np.inf


def test_the_onset_is_the_latest_of_the_best_starts() -> None:
    assert onset(np.array([[0.0, 3.0, 1.0], [2.0, 2.0, 0.0]])).tolist() == [1, 1]


def test_an_empty_ring_has_no_evidence(normal: Reference) -> None:
    panel = Panel.of(normal)
    found = trace(panel, Ring.of(60, {}), once(panel), 0.0)
    assert (found.later == -np.inf).all()


def test_both_rings_together_weigh_one_for_each_fast_bucket() -> None:
    """Over any time the starts of both rings weigh no more than those of the fast one alone,
    when the threshold is 1/alpha of the same alpha."""
    alpha, fast, slow = 1 / 43200, 60, 3600
    first, second = np.exp(weights(fast, slow, alpha))
    for seconds in (60, 3600, 3601, 86400, 43200 * 60):
        spent = first * np.ceil(seconds / fast) + second * (seconds // slow + 1)
        constant = SLOW_SHARE * slow / fast
        assert spent <= (np.ceil(seconds / fast) + constant) / (1 + alpha * constant) + 1e-9
    assert weights(fast, None, alpha) == (0.0, -np.inf)


def test_a_limit_takes_evidence_to_a_power(normal: Reference, ring) -> None:
    held = ring(normal, list(np.random.default_rng(2).normal(1, 1, size=(4, 50, 4))))
    panel = Panel.of(normal)
    free = trace(panel, held, once(panel), 0.0)
    limited = trace(panel, held, once(panel), 0.0, np.full(panel.size, 100.0))
    np.testing.assert_allclose(limited.log_e[0], free.log_e[0] * [0.5, 100 / 150, 1, 1])


@pytest.mark.slow
def test_false_alarms_are_as_rare_as_promised(fit) -> None:
    """60 columns of 200 buckets at α = 1/100: the mean time to M ≥ 100 is at least 100 buckets,
    so of 60 × 200 buckets at most 120 begin after an alarm that starts the count anew."""
    random = np.random.default_rng(3)
    columns, buckets = 60, 200
    reference = fit(random.normal(size=(2000, columns)))
    cells = cells_of(reference, random.normal(size=(buckets, 20, columns)))
    panel = Panel.of(reference)
    main = np.flatnonzero([each.signal.kind == "continuous" for each in reference.signals])
    begun, alarms = np.zeros(panel.size, dtype=int), 0
    for last in range(1, buckets + 1):
        first = max(last - 60, 0)
        log_e = trace(panel, ring_of_cells(cells[first:last]), once(panel), 0.0).later
        log_m = log_e[np.arange(panel.size), np.maximum(begun - first, 0)]
        alarmed = main[log_m[main] >= np.log(100)]
        # later[0] − later[first] is not subtracted: starting anew means only later starts count.
        begun[alarmed] = last
        alarms += len(alarmed)
    expected = columns * buckets / 100
    assert alarms <= expected + 3 * np.sqrt(expected)
