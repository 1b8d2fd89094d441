"""Without drift: of a thousand streams of a kind no more than promised ever alarm."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from driftline.drift.panel import Panel
from driftline.metadata.reference import Reference

Draw = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]
ALPHAS = (0.1, 0.05, 0.01)
STREAMS, ROWS, LOOK = 1_000, 1_500, 50
# Columns that are fitted at once; all of them would be a table of 160 MB.
PART = 250


def zipf(classes: int) -> Draw:
    shares = 1 / np.arange(1, classes + 1)
    bounds = np.cumsum(shares / shares.sum())
    return lambda random, shape: np.minimum(
        np.searchsorted(bounds, random.random(shape), side="right"), classes - 1
    ).astype(np.float64)


def common_and_many_rare(random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return np.where(random.random(shape) < 0.9, 0, random.integers(1, 800, shape)).astype(float)


def spiked(random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return np.where(random.random(shape) < 0.3, 0.0, random.normal(size=shape))


def sometimes_missing(random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return np.where(random.random(shape) < 0.03, np.nan, random.normal(size=shape))


KINDS: dict[str, tuple[str, Draw]] = {
    "normal": ("number", lambda random, shape: random.normal(size=shape)),
    "cauchy": ("number", lambda random, shape: random.standard_cauchy(shape)),
    "tied": ("number", lambda random, shape: np.round(random.normal(size=shape), 1)),
    "constant": ("number", lambda random, shape: np.full(shape, 3.25)),
    "spiked": ("number", spiked),
    "missing": ("number", sometimes_missing),
    "two": ("category", zipf(2)),
    "ten": ("category", zipf(10)),
    "thousand": ("category", zipf(1000)),
    "rare": ("category", common_and_many_rare),
    "flag": ("flag", lambda random, shape: (random.random(shape) < 0.01).astype(float)),
}


def highest(reference: Reference, batches: np.ndarray) -> np.ndarray:
    """The highest ln E of each signal over all looks at growing counts from one start."""
    panel, layout = Panel.of(reference), reference.layout
    cells = np.stack([layout.count("input", rows).cells for rows in batches])
    grown = np.cumsum(cells, axis=0).astype(np.float64)
    found = np.zeros(panel.signals)
    for block, evidence in zip(panel.blocks, panel.evidence, strict=True):
        log_e = evidence(block.gather(grown), np.ones(len(block.where)))
        found[block.where] = log_e.max(axis=1)
    return found


def allowed(alpha: float, streams: int) -> float:
    return alpha + 3 * np.sqrt(alpha * (1 - alpha) / streams)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [200, 2_000, 20_000])
def test_no_more_streams_alarm_than_promised(fit, size: int, kind: str) -> None:
    """Each column is a stream with a reference of its own, looked at every 50 requests."""
    layout, draw = KINDS[kind]
    random = np.random.default_rng([size, list(KINDS).index(kind)])
    found: dict[bool, list[np.ndarray]] = {True: [], False: []}
    while sum(map(len, found[True])) < STREAMS:
        reference = fit(draw(random, (size, PART)), [layout] * PART, seed=len(found[True]))
        values = highest(reference, draw(random, (ROWS // LOOK, LOOK, PART)))
        main = np.array([":" not in each.name for each in reference.signals])
        found[True].append(values[main])
        found[False].append(values[~main])
    for main, parts in found.items():
        values = np.concatenate(parts)
        for alpha in ALPHAS if len(values) else ():
            share = (values >= -np.log(alpha)).mean()
            assert share <= allowed(alpha, len(values)), (main, alpha, share)
