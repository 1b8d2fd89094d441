"""Effect: how far a window lies from its reference, whatever the evidence.

All from the same counts. PSI, Jensen–Shannon and severity look at no more than ten merged cells,
since what many small cells add is mostly chance; Wasserstein at all cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from driftline.metadata.moments import COUNT, LARGEST, MEAN
from driftline.metadata.reference import SignalReference
from driftline.metadata.signals import Continuous, Floats, Ints

from .block import Block
from .verdict import Severity

CELLS = 10
# A quarter of a row in each cell keeps an empty one finite. Simulated without drift, the corrected
# PSI then averages 0.00 to 0.01 from 30 rows on (with half a row: −0.05 at 30 rows).
PSEUDO = 0.25


def psi(window: Floats, reference: Floats) -> Floats:
    """Σ (q − p) ln(q / p) over the last axis: the population stability index of distributions."""
    return np.asarray(np.sum((window - reference) * np.log(window / reference), axis=-1))


def js_distance(window: Floats, reference: Floats) -> Floats:
    """Jensen–Shannon distance over the last axis, in nats (Endres and Schindelin 2003)."""
    middle = (window + reference) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        left = np.where(window > 0, window * np.log(window / middle), 0.0)
        right = np.where(reference > 0, reference * np.log(reference / middle), 0.0)
    return np.asarray(np.sqrt(np.maximum((left + right).sum(axis=-1) / 2, 0.0)))


def wasserstein(window: Floats, reference: Floats, positions: Floats) -> Floats:
    """Wasserstein-1 distance of two distributions on ascending `positions`, over the last axis."""
    gap = np.cumsum(window - reference, axis=-1)[..., :-1]
    return np.asarray(np.sum(np.abs(gap) * np.diff(positions, axis=-1), axis=-1))


def severity(corrected: float) -> Severity:
    """Minor under 0.1 of corrected PSI, moderate under 0.25, else major."""
    return "minor" if corrected < 0.1 else "moderate" if corrected < 0.25 else "major"


@dataclass(frozen=True, eq=False)
class Effects:
    """Measures of a block's signals, each ``[T]``; `cell` is the one that moved most.

    `w1` is in the column's own unit and NaN where cells have no order; `rate` and
    `reference_rate` belong to `cell`.
    """

    psi: Floats
    js: Floats
    w1: Floats
    cell: Ints
    rate: Floats
    reference_rate: Floats
    rows: Floats

    @classmethod
    def empty(cls, size: int) -> Effects:
        """Room for `size` signals."""
        psi, js, w1, rate, reference_rate, rows = np.zeros((6, size))
        return cls(psi, js, w1, np.zeros(size, dtype=np.int64), rate, reference_rate, rows)

    def put(self, where: Ints, part: Effects) -> None:
        """Writes the measures of some signals to their places."""
        for name in ("psi", "js", "w1", "cell", "rate", "reference_rate", "rows"):
            getattr(self, name)[where] = getattr(part, name)


class Ruler:
    """Measures the effects of a block's signals."""

    def __init__(self, block: Block, signals: Sequence[SignalReference]) -> None:
        self._block = block
        self._mass = block.merged(block.shares[:, None, :], CELLS)[:, 0]
        self._count = (self._mass > 0).sum(axis=1)
        self._positions: Floats | None = None
        if block.kind == "continuous":
            self._positions = np.zeros(block.weights.shape)
            for row, position in enumerate(block.where.tolist()):
                where = positions(signals[position])
                self._positions[row, : len(where)] = where
                self._positions[row, len(where) :] = where[-1]

    def corrected_psi(self, counts: Floats, inflation: Floats) -> Floats:
        """PSI less its expectation without drift, (K−1)(F/m + 1/R), at least 0; ``[T, B]``.

        `counts` is ``[T, B, K]``; 0 where there are none.
        """
        coarse = self._block.merged(counts, CELLS)
        mass, number = self._mass[:, None, :], self._count[:, None]
        rows = coarse.sum(axis=2)
        window = coarse + PSEUDO * number[..., None] * mass
        window /= (rows + PSEUDO * number)[..., None]
        there = mass > 0
        plain = psi(np.where(there, window, 1.0), np.where(there, mass, 1.0))
        chance = inflation[:, None] / np.maximum(rows, 1) + 1 / self._block.total[:, None]
        return np.where(rows > 0, np.maximum(plain - (number - 1) * chance, 0.0), 0.0)

    def __call__(self, counts: Floats, inflation: Floats) -> Effects:
        """All measures of whole counts ``[T, K]``."""
        rows = np.maximum(counts.sum(axis=1, keepdims=True), 1.0)
        coarse = self._block.merged(counts[:, None, :], CELLS)[:, 0]
        window, reference = counts / rows, self._block.shares
        w1 = np.full(len(counts), np.nan)
        if self._positions is not None:
            w1 = wasserstein(window, reference, self._positions)
        if self._block.kind == "flag":
            cell = np.ones(len(counts), dtype=np.int64)
        else:
            # The signed root of each cell's part in G²: a rare cell that fills up stands out.
            moved = (window - reference) / np.sqrt(np.where(reference > 0, reference, 1.0))
            cell = np.argmax(np.abs(moved), axis=1)
        at = cell[:, None]
        return Effects(
            self.corrected_psi(counts[:, None, :], inflation)[:, 0],
            js_distance(coarse / rows, self._mass),
            w1,
            cell,
            np.take_along_axis(window, at, axis=1)[:, 0],
            np.take_along_axis(reference, at, axis=1)[:, 0],
            counts.sum(axis=1),
        )


def positions(each: SignalReference) -> Floats:
    """Where each cell of a continuous signal lies: its middle, ascending, ``[K]``.

    The two outer cells have no end; their values lie about as far beyond the last edge as the
    next cell is wide (so it is for normal tails, and a wild value cannot dominate).
    """
    partition = each.signal.partition
    assert isinstance(partition, Continuous)
    edges = np.clip(np.asarray(partition.edges), -LARGEST, LARGEST)
    if len(edges) < 2:
        return np.repeat(edges, 2) if len(edges) else np.zeros(1)
    inner = edges[:-1] / 2 + edges[1:] / 2
    low, high = edges[1] - edges[0], edges[-1] - edges[-2]
    return np.concatenate([[edges[0] - low], inner, [edges[-1] + high]])


def means(moments: Floats) -> Floats:
    """Mean of each column from each start bucket to the end, ``[B, columns]``.

    NaN where there is no value. Rounded to six digits, so that the order in which counts were
    merged cannot be seen in it.
    """
    counts = np.cumsum(moments[::-1, :, COUNT], axis=0)[::-1]
    sums = np.cumsum((moments[..., COUNT] * moments[..., MEAN])[::-1], axis=0)[::-1]
    found = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
    return six_digits(found)


def six_digits(values: Floats) -> Floats:
    """Values rounded to six significant digits."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        power = 10.0 ** (5 - np.floor(np.log10(np.abs(values))))
        rounded = np.round(values * power) / power
    return np.where(np.isfinite(power) & np.isfinite(rounded), rounded, values)
