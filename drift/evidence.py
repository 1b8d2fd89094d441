"""Evidence: one e-value from the counts of a signal.

    E(c) = Σⱼ wⱼ · Aⱼ(c) / DM(c | reference),    Σⱼ wⱼ = 1

DM is the exact predictive probability of the counts when production equals training, the
reference's own sampling error inside it; each alternative Aⱼ is a probability distribution over
the same cells. So E has expectation at most 1 without drift, at any time anyone looks (Ville 1939;
Ramdas et al. 2023, "Game-theoretic statistics and safe anytime-valid inference").
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from driftline.metadata.reference import SignalReference
from driftline.metadata.signals import Floats, Ints

from .block import Block, block_of, merged
from .polya import log_polya
from .rate import LOWEST, log_rise

# Normal scores tilted: where the values moved, and whether they spread or drew together.
LOCATION = (-1.2, -0.6, -0.3, -0.15, 0.15, 0.3, 0.6, 1.2)
SCALE = (-0.8, -0.35, -0.15, 0.15, 0.35, 0.8)
# (groups, relative spread of their probabilities): spikes, gaps, several modes.
ORDERED = ((2, 0.1), (8, 0.1), (8, 0.3), (32, 0.3), (32, 1.0))
UNORDERED = (1.0, 0.3, 0.1, 0.03)


@dataclass(frozen=True, eq=False)
class _Polya:
    """A Dirichlet–multinomial over merged cells; each group's counts spread by reference mass.

    Spreading is itself a probability distribution, so the whole is one over the fine cells.
    """

    weights: Floats
    groups: Ints
    log_inside: Floats


def log_evidence(each: SignalReference, counts: Floats, inflation: float = 1.0) -> Floats:
    """ln E of whole counts ``[..., K]`` of one signal, shape ``[...]``.

    With an `inflation` F above 1 the counts enter as c/F (a tempered likelihood).
    """
    size = len(each.weights)
    block = block_of(each.signal.kind, [each], np.array([0, size]), size, [0])
    flat = np.asarray(counts, dtype=np.float64).reshape(1, -1, size)
    found = Evidence(block)(flat, np.array([inflation]))
    return found[0].reshape(np.shape(counts)[:-1])


class Evidence:
    """ln E of a block's signals; what does not depend on counts is worked out once."""

    def __init__(self, block: Block) -> None:
        self._block = block
        if block.kind == "flag":
            return
        inside, self._polya = _alternatives(block)
        logs = [np.where(block.real, np.log(np.where(block.real, q, 1.0)), 0.0) for q in inside]
        self._tilts = np.stack(logs, axis=2) if logs else None
        if self._tilts is None:
            self._weights = np.full(len(UNORDERED), 1 / len(UNORDERED))
        else:
            self._weights = np.concatenate(
                [
                    np.full(len(part), share / len(part))
                    for part, share in ((LOCATION, 0.5), (SCALE, 0.2), (ORDERED, 0.3))
                ]
            )

    def __call__(self, counts: Floats, inflation: Floats) -> Floats:
        """ln E, shape ``[T, B]``, of whole counts ``[T, B, K]`` at inflations ``[T]``."""
        if self._block.kind == "flag":
            return log_rise(self._block.weights, counts, inflation)
        weights = self._block.weights
        null = log_polya(weights, counts, inflation)
        parts = []
        if self._tilts is not None:
            parts.append(counts @ self._tilts / inflation[:, None, None])
        for polya in self._polya:
            coarse = merged(counts, polya.groups, polya.weights.shape[1])
            inside = (counts @ polya.log_inside[:, :, None])[..., 0] / inflation[:, None]
            parts.append((log_polya(polya.weights, coarse, inflation) + inside)[..., None])
        alternatives = np.concatenate(parts, axis=2) + np.log(self._weights)
        highest = alternatives.max(axis=2, keepdims=True)
        mixed = np.log(np.exp(alternatives - highest).sum(axis=2)) + highest[..., 0]
        return np.maximum(mixed - null, LOWEST)


def _alternatives(block: Block) -> tuple[list[Floats], list[_Polya]]:
    """Tilted cell probabilities (each ``[T, K]``) and Dirichlet–multinomials."""
    size = block.weights.shape[1]
    if block.kind == "categorical":
        fine = np.broadcast_to(np.arange(size), block.weights.shape)
        return [], [_polya(block, fine, size, spread) for spread in UNORDERED]
    scores = np.where(block.real, ndtri(np.where(block.real, block.middles, 0.5)), 0.0)
    curve = (scores**2 - 1) / np.sqrt(2)
    tilts = [_tilted(block.shares, theta * scores) for theta in LOCATION]
    tilts += [_tilted(block.shares, theta * curve) for theta in SCALE]
    return tilts, [_polya(block, block.groups(most), most, spread) for most, spread in ORDERED]


def _tilted(shares: Floats, exponent: Floats) -> Floats:
    raised = shares * np.exp(exponent)
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))


def _polya(block: Block, groups: Ints, most: int, spread: float) -> _Polya:
    """Concentration κ = (k−1)/δ² for k groups of relative spread δ, at most a third of R."""
    mass = merged(block.shares[:, None, :], groups, most)[:, 0]
    count = (mass > 0).sum(axis=1)
    kappa = np.minimum(np.maximum(count - 1, 1) / spread**2, block.total / 3)
    inside = np.where(block.real, block.shares / np.take_along_axis(mass, groups, axis=1), 1.0)
    return _Polya(mass * kappa[:, None], groups, np.log(inside))
