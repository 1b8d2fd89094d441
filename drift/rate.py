"""Evidence that a rate rose: the one-sided e-value of flags."""

from __future__ import annotations

import numpy as np
from scipy.special import betaincc, betaln

from driftline.metadata.signals import Floats, Ints

from .block import Block
from .polya import LOWEST

# Two priors of the new rate, both cut off below the reference's rate: any rate at all, and one
# near the reference's, in the weight of so many observations.
NEAR = 100.0


class Rate:
    """ln E of a block of flags: ∫ Bin(x | m, q) dπ(q | q > q₀) / predictive.

    The weights are the Beta parameters (false, true) of the reference and q₀ its mean rate. A rate
    that falls is no evidence.
    """

    def __init__(self, block: Block) -> None:
        self._b, self._a = block.weights.T
        self._rate = self._a / (self._a + self._b)
        half = np.full_like(self._rate, 0.5)
        self._priors = [(half, half), (NEAR * self._rate, NEAR * (1 - self._rate))]
        self._before = [
            betaln(first, second) + np.log(betaincc(first, second, self._rate))
            for first, second in self._priors
        ]
        laws = np.stack([self._b, self._a], axis=1)
        _, first, law = np.unique(laws, axis=0, return_index=True, return_inverse=True)
        self._like = first[law.ravel()]

    def __call__(self, counts: Floats, inflation: Floats) -> Floats:
        """ln E, shape ``[T, B]``, of whole counts ``[T, B, 2]`` at inflations ``[T]``."""
        row, scale, outcome, back = self._distinct(counts, inflation)
        false, true = outcome[:, 0] / scale, outcome[:, 1] / scale
        a, b, rate = self._a[row], self._b[row], self._rate[row]
        null = betaln(a + true, b + false) - betaln(a, b)
        mixed = np.full(len(row), -np.inf)
        for (first, second), before in zip(self._priors, self._before, strict=True):
            above, below = first[row] + true, second[row] + false
            with np.errstate(divide="ignore"):
                part = betaln(above, below) + np.log(betaincc(above, below, rate))
            mixed = np.logaddexp(mixed, part - before[row] - np.log(2))
        return np.asarray(np.maximum(mixed - null, LOWEST)[back].reshape(counts.shape[:2]))

    def _distinct(self, counts: Floats, inflation: Floats) -> tuple[Ints, Floats, Ints, Ints]:
        """What differs: signal, inflation, outcome (false, true); and where each ``[T, B]`` is.

        Most flags are never true, so that many share one answer, and the special functions are
        slow.
        """
        scales, scale = np.unique(inflation, return_inverse=True)
        law = np.repeat(self._like * len(scales) + scale, counts.shape[1])
        outcome = counts.reshape(-1, 2).astype(np.int64)
        base = int(outcome.max(initial=0)) + 1
        if (int(law.max(initial=0)) + 1) * base * base < 2**62:
            code = (law * base + outcome[:, 0]) * base + outcome[:, 1]
            _, index, back = np.unique(code, return_index=True, return_inverse=True)
        else:
            index = back = np.arange(len(law))
        law = law[index]
        return law // len(scales), scales[law % len(scales)], outcome[index], back
