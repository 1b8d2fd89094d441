"""Populations: what values come, and how they hang together in time."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.signal import lfilter

from driftline.metadata.fitting import fit_reference
from driftline.metadata.reference import Reference
from driftline.metadata.sample import RowSample
from driftline.metadata.signals import Column, Floats

# A draw gives an array of that many independent values.
Draw = Callable[[np.random.Generator, int], Floats]

DAY = 1440
SWING = 0.3


def categories(count: int, rare: bool) -> Draw:
    """Codes below `count`: equally likely, or by Zipf's law, so that most are rare."""
    weight = 1.0 / np.arange(1, count + 1) if rare else np.ones(count)
    below = np.cumsum(weight / weight.sum())[:-1]
    return lambda random, n: np.searchsorted(below, random.random(n)).astype(np.float64)


def gaussian(random: np.random.Generator, n: int) -> Floats:
    """Standard normal."""
    return random.standard_normal(n)


def cauchy(random: np.random.Generator, n: int) -> Floats:
    """Tails so heavy that there is no mean."""
    return random.standard_cauchy(n)


def ties(random: np.random.Generator, n: int) -> Floats:
    """Poisson counts with mean 4."""
    return random.poisson(4.0, n).astype(np.float64)


def spike(random: np.random.Generator, n: int) -> Floats:
    """0 in three of ten, else log-normal."""
    return np.where(random.random(n) < 0.3, 0.0, random.lognormal(size=n))


ALONE: dict[str, tuple[str, Draw]] = {
    "Gaussian": ("number", gaussian),
    "Cauchy": ("number", cauchy),
    "ties (Poisson counts)": ("number", ties),
    "spike at zero": ("number", spike),
    "2 categories": ("category", categories(2, rare=False)),
    "10 categories, many rare": ("category", categories(10, rare=True)),
    "1,000 categories, alike": ("category", categories(1000, rare=False)),
    "1,000 categories, many rare": ("category", categories(1000, rare=True)),
}
# Twenty signals at once: twelve numbers, four with atoms, four categories.
TOGETHER: tuple[tuple[str, Draw], ...] = (
    *(("number", gaussian),) * 8,
    *(("number", cauchy),) * 4,
    *(("number", ties),) * 2,
    *(("number", spike),) * 2,
    *(("category", categories(10, rare=True)),) * 4,
)


def autoregressive(random: np.random.Generator, streams: int, n: int, rho: float) -> Floats:
    """Standard normal values, neighbours of correlation `rho`, ``[streams, n]``."""
    noise = random.standard_normal((streams, n)) * np.sqrt(1 - rho * rho)
    noise[:, 0] /= np.sqrt(1 - rho * rho)
    return np.asarray(lfilter([1.0], [1.0, -rho], noise, axis=1))


def daily(random: np.random.Generator, minutes: Floats) -> Floats:
    """Normal values whose mean goes up and down by `SWING` σ with the hour of the day."""
    return random.standard_normal(minutes.shape) + SWING * np.sin(2 * np.pi * minutes / DAY)


def matrix(draws: Sequence[tuple[str, Draw]], random: np.random.Generator, n: int) -> Floats:
    """Rows of independent columns, ``[n, len(draws)]``."""
    return np.stack([draw(random, n) for _, draw in draws], axis=1)


def fitted(rows: Floats, kinds: Sequence[str], seed: int) -> Reference:
    """A reference of one group of columns x0, x1, …"""
    sample = RowSample(rows.shape[1], seed=seed)
    sample.add(rows)
    columns = [Column(f"x{index}", kind) for index, kind in enumerate(kinds)]
    return fit_reference({"input": sample}, {"input": columns}, source="held_out", seed=seed)
