"""Evidence from several signals together: small shifts of many columns add up.

The normal scores of a stretch's cells, less their mean in the reference and whitened by it, have
means x₁ … x_K, which have the variances v_k = F_k/m + 1/R when production equals training. The
alternative is that they moved, in no known direction: x_k ~ N(0, v_k + τ²). The quotient

    E = Σ_τ w_τ Π_k (1 + τ²/v_k)^(−1/2) exp(x_k²/(2 v_k) · τ²/(τ² + v_k))

has expectation 1 for normal scores and at most 1 for all that are sub-Gaussian with the same
variances (the method of mixtures: Robbins 1970; de la Peña, Klass and Lai 2004). Scores are
bounded and nearly normal each; what their joint law and the whitening's own error may add is met
by a spread, and measured in docs/detection.md. Only sums of counts are needed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from driftline.metadata.counts import Layout
from driftline.metadata.multivariate import normal_scores
from driftline.metadata.reference import Multivariate, SignalReference
from driftline.metadata.signals import Floats

from .block import block_of
from .polya import LOWEST, log_mean_exp

# K τ²: squared lengths of the shift, in standard deviations, that are looked for alike.
LENGTHS = np.array([0.02, 0.05, 0.12, 0.3, 0.8, 2.0])


class Together:
    """One multivariate, prepared for judging.

    `where` (``[J]``) are the positions of its signals; `directions` is K, `rows` R.
    """

    def __init__(
        self, each: Multivariate, signals: Sequence[SignalReference], layout: Layout
    ) -> None:
        self.reference = each
        self.where = np.array([layout.position[name] for name in each.signals], dtype=np.int64)
        self.directions, self.rows = len(each.whitening), each.rows
        # The largest of K variances is estimated too small by more than their mean.
        self.spread = 1 / (1 - np.sqrt(self.directions / self.rows))
        self._taus = LENGTHS / self.directions
        self._whitening = np.array(each.whitening)
        block = block_of("continuous", signals, layout.offsets, layout.total, self.where.tolist())
        scores = normal_scores(block.weights)
        means = (scores * block.shares).sum(axis=1, keepdims=True)
        self._block, self._scores = block, np.where(block.real, scores - means, 0.0)

    def sums(self, flat: Floats) -> tuple[Floats, Floats]:
        """Sums of scores ``[..., J]``, and numbers of rows ``[...]``, of counts ``[..., total]``.

        A row without a value has the mean score.
        """
        counts = self._block.gather(flat)
        sums = np.einsum("j...k,jk->...j", counts, self._scores)
        return sums, counts.sum(axis=-1).max(axis=0)

    def whitened(self, sums: Floats, inflation: Floats) -> Floats:
        """Sums in each direction, ``[..., K]``.

        What a signal's F (``[J]``) has beyond the least of them scales it down: so each adds no
        more to the variance than the one whose requests are most independent.
        """
        relative = np.sqrt(inflation / inflation.min())
        return np.asarray((sums / relative) @ self._whitening.T)

    def log_e(self, flat: Floats, inflation: Floats, factor: Floats) -> tuple[Floats, Floats]:
        """ln E and the number of rows of counts ``[B, total]``, each ``[B]``.

        `inflation` are the F of its signals, `factor` (``[K]``) those of its directions: the least
        of the former, and what is beyond.
        """
        sums, rows = self.sums(flat)
        safe = np.maximum(rows, 1)[:, None]
        v = factor / safe + 1 / self.rows
        x = self.whitened(sums, inflation) / safe
        z = x * x / self.spread / v
        ratio = self._taus[:, None] / v[:, None, :]
        found = (z[:, None, :] * ratio / (1 + ratio) - np.log1p(ratio)).sum(axis=2) / 2
        even = np.full(len(self._taus), -np.log(len(self._taus)))
        return np.where(rows > 0, np.maximum(log_mean_exp(found, even), LOWEST), 0.0), rows

    def effect(self, flat: Floats, factor: float) -> Floats:
        """Squared length of the shift in standard deviations (Mahalanobis), ``[...]``.

        Less what chance alone would give, at least 0. Of normal columns it is the PSI of the one
        direction in which they moved.
        """
        sums, rows = self.sums(flat)
        safe = np.maximum(rows, 1)
        x = sums @ self._whitening.T / safe[..., None]
        chance = self.directions * (factor / safe + 1 / self.rows)
        return np.where(rows > 0, np.maximum((x * x).sum(axis=-1) - chance, 0.0), 0.0)

    def moved(self, flat: Floats) -> Floats:
        """By how much each signal's mean score moved, in normal standard deviations, ``[J]``."""
        sums, rows = self.sums(flat)
        return np.asarray(sums / max(float(rows), 1.0))
