"""Evidence in ordered cells: moved, spread, drawn together, piled up, or anything else."""

from __future__ import annotations

import numpy as np

from driftline.metadata.multivariate import normal_scores
from driftline.metadata.signals import Floats

from .block import Block, members
from .polya import LOWEST, log_mean_exp, log_polya

# Normal scores tilted: where the values moved, and whether they spread or drew together.
LOCATION = (-1.2, -0.6, -0.3, -0.2, -0.1, 0.1, 0.2, 0.3, 0.6, 1.2)
SCALE = (-0.8, -0.35, -0.15, 0.15, 0.35, 0.8)
# (groups, relative spread of their probabilities): spikes, gaps, several modes.
POLYA = ((8, 0.3), (32, 0.3), (32, 1.0))
# Weights of the three kinds, chosen by simulated delays over shifts of 0.1 to 1 σ, scales of ×0.5
# to ×2 and 5 % of values stuck: other grids and weights gained in one what they lost in another.
WEIGHTS = (
    (0.6 / len(LOCATION),) * len(LOCATION)
    + (0.22 / len(SCALE),) * len(SCALE)
    + (0.045, 0.09, 0.045)
)


class Ordered:
    """ln E of a block of continuous signals; what does not depend on counts is worked out once.

    Tilted cell probabilities are qᵢ ∝ pᵢ exp(θ uᵢ) and qᵢ ∝ pᵢ exp(θ (uᵢ² − 1)/√2), with the
    normal score uᵢ of the reference mass at the middle of cell i. A Dirichlet–multinomial over
    merged cells is spread inside each by reference mass, which is itself a probability
    distribution, so the whole is one over the fine cells.
    """

    def __init__(self, block: Block) -> None:
        self._block = block
        real, shares = block.real, block.shares
        scores = normal_scores(block.weights)
        curve = (scores**2 - 1) / np.sqrt(2)
        tilts = [_log_tilted(shares, theta * scores) for theta in LOCATION]
        tilts += [_log_tilted(shares, theta * curve) for theta in SCALE]
        self._laws: list[tuple[int, Floats]] = []
        inside, merges = {}, {}
        for most, spread in POLYA:
            groups = block.groups(most)
            merges[most] = members(groups, most) * real[..., None]
            mass = (shares[:, None, :] @ merges[most])[:, 0]
            count = (mass > 0).sum(axis=1)
            kappa = np.minimum(np.maximum(count - 1, 1) / spread**2, block.total / 3)
            self._laws.append((most, mass * kappa[:, None]))
            around = np.where(real, np.take_along_axis(mass, groups, axis=1), 1.0)
            inside[most] = np.log(np.where(real, shares, 1.0) / around)
        # Cells of equal mass merge into as many groups as they are: nothing to do.
        cells = np.arange(real.shape[1])
        self._whole = [
            most == len(cells) and bool((block.groups(most) == cells).all()) for most in merges
        ]
        for most in [most for most, whole in zip(merges, self._whole, strict=True) if whole]:
            merges[most] = merges[most][..., :0]
        # Everything linear in the counts is one product: tilts, shares inside groups, merging.
        widths = [each.shape[2] for each in merges.values()]
        self._parts = np.cumsum([len(tilts), len(inside), *widths])
        self._linear = np.concatenate(
            [np.stack([*tilts, *inside.values()], axis=2), *merges.values()], axis=2
        )
        self._most = list(merges)
        self._log_weights = np.log(WEIGHTS)

    def __call__(self, counts: Floats, inflation: Floats) -> Floats:
        """ln E, shape ``[T, B]``, of whole counts ``[T, B, K]`` at inflations ``[T]``."""
        null = log_polya(self._block.weights, counts, inflation)
        tilts, inside, *merges = np.split(counts @ self._linear, self._parts[:-1], axis=2)
        scale = inflation[:, None, None]
        found = np.empty((*null.shape, len(self._log_weights)))
        found[..., : len(LOCATION) + len(SCALE)] = tilts / scale
        for place, (most, weights) in enumerate(self._laws, start=tilts.shape[2]):
            level = self._most.index(most)
            merged = counts if self._whole[level] else merges[level]
            law = log_polya(weights, merged, inflation)
            found[..., place] = law + inside[..., level] / scale[..., 0]
        return np.maximum(log_mean_exp(found, self._log_weights) - null, LOWEST)


def _log_tilted(shares: Floats, exponent: Floats) -> Floats:
    raised = shares * np.exp(exponent)
    raised = raised / raised.sum(axis=1, keepdims=True)
    return np.asarray(np.log(np.where(shares > 0, raised, 1.0)))
