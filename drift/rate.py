"""Evidence that a rate rose: the one-sided e-value of flags."""

from __future__ import annotations

import numpy as np
from scipy.special import betaln

from driftline.metadata.signals import Floats

from .block import Block
from .polya import LOWEST

# The new rate's prior: so much higher log odds than the reference's, all alike. Beside Beta priors
# cut off below the reference's rate the delays are the same (rates of 0.0001 to 0.3 that rise to
# 1.5 to 500 times themselves), and the special functions of these cost twenty times as much.
RISES = tuple(0.2 * 1.6**step for step in range(10))


class Rate:
    """ln E of a block of flags: Σⱼ wⱼ Bin(x | m, qⱼ) / predictive, every qⱼ above q₀.

    The weights are the Beta parameters (false, true) of the reference and q₀ its mean rate. A rate
    that falls is no evidence.
    """

    def __init__(self, block: Block) -> None:
        self._b, self._a = block.weights.T[:, :, None]
        odds = np.log(self._a / self._b) + np.array(RISES)
        self._log_true = -np.logaddexp(0.0, -odds)[:, None, :]
        self._log_false = -np.logaddexp(0.0, odds)[:, None, :]

    def __call__(self, counts: Floats, inflation: Floats) -> Floats:
        """ln E, shape ``[T, B]``, of whole counts ``[T, B, 2]`` at inflations ``[T]``."""
        scaled = counts / inflation[:, None, None]
        false, true = scaled[..., 0], scaled[..., 1]
        logs = true[..., None] * self._log_true + false[..., None] * self._log_false
        highest = logs.max(axis=2)
        mixed = np.log(np.exp(logs - highest[..., None]).mean(axis=2)) + highest
        null = betaln(self._a + true, self._b + false) - betaln(self._a, self._b)
        return np.asarray(np.maximum(mixed - null, LOWEST))
