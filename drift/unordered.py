"""Evidence in unordered cells: categories that became more or less frequent."""

from __future__ import annotations

import numpy as np

from driftline.metadata.signals import Floats

from .block import Block
from .polya import LOWEST, log_mean_exp, log_polya

# Relative spreads of the cells' probabilities around the reference's.
SPREADS = (1.0, 0.3, 0.1, 0.03)


class Unordered:
    """ln E of a block of categorical signals: Dirichlet–multinomials at the cells as they are."""

    def __init__(self, block: Block) -> None:
        self._weights = block.weights
        count = block.real.sum(axis=1)
        self._laws = [
            (np.minimum(np.maximum(count - 1, 1) / spread**2, block.total / 3)) / block.total
            for spread in SPREADS
        ]
        self._log_weights = np.full(len(SPREADS), -np.log(len(SPREADS)))

    def __call__(self, counts: Floats, inflation: Floats) -> Floats:
        """ln E, shape ``[T, B]``, of whole counts ``[T, B, K]`` at inflations ``[T]``."""
        # A cell without counts adds nothing: of ten thousand categories few are in a window.
        used = counts.any(axis=1)
        width = max(int(used.sum(axis=1).max(initial=0)), 1)
        first = np.argsort(~used, axis=1, kind="stable")[:, :width]
        counts = np.take_along_axis(counts, first[:, None, :], axis=2)
        weights = np.take_along_axis(self._weights, first, axis=1)
        total = self._weights.sum(axis=1)
        null = log_polya(weights, counts, inflation, total)
        found = np.empty((*null.shape, len(self._laws)))
        for place, factor in enumerate(self._laws):
            law = weights * factor[:, None]
            found[..., place] = log_polya(law, counts, inflation, total * factor)
        return np.maximum(log_mean_exp(found, self._log_weights) - null, LOWEST)
