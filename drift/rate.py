"""Evidence that a rate rose: the one-sided e-value of flags."""

from __future__ import annotations

import numpy as np
from scipy.special import betaincc, betaln

from driftline.metadata.signals import Floats

# Two priors of the new rate, both cut off below the reference's rate: any rate at all, and one
# near the reference's, in the weight of so many observations.
NEAR = 100.0
LOWEST = -700.0


def log_rise(weights: Floats, counts: Floats, inflation: Floats) -> Floats:
    """ln of ∫ Bin(x | m, q) dπ(q | q > q₀) / predictive, shape ``[T, B]``.

    `weights` (``[T, 2]``) are the Beta parameters of the reference (false, true) and q₀ its mean
    rate; `counts` are whole, ``[T, B, 2]``, and enter divided by `inflation` (``[T]``). A rate
    that falls is no evidence.
    """
    which, back = _distinct(weights, counts, inflation)
    row = which[:, 0]
    scale = inflation[row]
    false, true = which[:, 1] / scale, which[:, 2] / scale
    b, a = weights[row, 0], weights[row, 1]
    rate = a / (a + b)
    null = betaln(a + true, b + false) - betaln(a, b)
    mixed = np.full(len(row), -np.inf)
    for first, second in ((0.5, 0.5), (NEAR * rate, NEAR * (1 - rate))):
        with np.errstate(divide="ignore"):
            above = np.log(betaincc(first + true, second + false, rate))
        before = betaln(first, second) + np.log(betaincc(first, second, rate))
        part = betaln(first + true, second + false) + above - before
        mixed = np.logaddexp(mixed, part - np.log(2))
    return np.asarray(np.maximum(mixed - null, LOWEST)[back].reshape(counts.shape[:2]))


def _distinct(
    weights: Floats, counts: Floats, inflation: Floats
) -> tuple[
    np.ndarray[tuple[int, int], np.dtype[np.int64]], np.ndarray[tuple[int], np.dtype[np.int64]]
]:
    """Rows (signal, false, true) that differ, and where each of ``[T, B]`` is among them.

    Most flags are never true, so that many share one answer, and the special functions are slow.
    """
    laws = np.concatenate([weights, inflation[:, None]], axis=1)
    _, first, law = np.unique(laws, axis=0, return_index=True, return_inverse=True)
    rows = np.repeat(first[law.ravel()], counts.shape[1])
    flat = counts.reshape(-1, 2).astype(np.int64)
    keys = np.stack([rows.astype(np.int64), flat[:, 0], flat[:, 1]], axis=1)
    base = int(flat.max(initial=0)) + 1
    if len(first) * base * base < 2**62:
        code = (keys[:, 0] * base + keys[:, 1]) * base + keys[:, 2]
        _, index, back = np.unique(code, return_index=True, return_inverse=True)
        return keys[index], back.ravel()
    return keys, np.arange(len(keys))
