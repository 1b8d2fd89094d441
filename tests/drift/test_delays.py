"""Detection: no later than statistics.md says, by more than a tenth."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from driftline.drift.panel import Panel
from driftline.metadata.reference import Reference

STREAMS = 150
Change = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]


def moved(shift: float) -> Change:
    return lambda random, shape: random.normal(shift, 1, size=shape)


def scaled(factor: float) -> Change:
    return lambda random, shape: factor * random.normal(size=shape)


def stuck(random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return np.where(random.random(shape) < 0.05, 0.3, random.normal(size=shape))


@pytest.fixture(scope="module")
def references(fit) -> Reference:
    """Columns that are streams with a reference of their own, 19,999 rows each."""
    return fit(np.random.default_rng(1).normal(size=(19_999, STREAMS)))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "median", "slowest", "step"),
    [
        (moved(0.1), 2475, 5950, 100),
        (moved(0.2), 510, 790, 10),
        (moved(0.3), 200, 310, 5),
        (moved(0.5), 80, 130, 2),
        (moved(1.0), 20, 40, 1),
        (scaled(1.1), 1250, 2370, 50),
        (scaled(1.5), 80, 120, 2),
        (scaled(2.0), 30, 60, 1),
        (scaled(0.5), 50, 60, 1),
        (stuck, 815, 1640, 20),
    ],
    ids=["0.1σ", "0.2σ", "0.3σ", "0.5σ", "1σ", "×1.1", "×1.5", "×2", "×0.5", "stuck"],
)
def test_requests_until_evidence_of_a_thousand(
    references: Reference, change: Change, median: int, slowest: int, step: int
) -> None:
    random = np.random.default_rng(2)
    panel = Panel.of(references)
    at = next(index for index, each in enumerate(panel.blocks) if each.kind == "continuous")
    block, evidence = panel.blocks[at], panel.evidence[at]
    looks = slowest * 3 // 2 // step
    cells = np.stack(
        [
            references.layout.count("input", change(random, (step, STREAMS))).cells
            for _ in range(looks)
        ]
    )
    grown = np.cumsum(cells, axis=0).astype(np.float64)
    log_e = evidence(block.gather(grown), np.ones(len(block.where)))
    reached = log_e >= np.log(1000)
    delays = np.where(reached.any(axis=1), (reached.argmax(axis=1) + 1) * step, 10**9)
    assert np.median(delays) <= 1.1 * median
    assert np.quantile(delays, 0.9) <= 1.1 * slowest
