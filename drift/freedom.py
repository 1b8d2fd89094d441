"""Degrees of freedom: evidence is worth less where its own scale is told by few bursts.

A shift of z standard errors has ln E of about z²/2. Where the standard error is itself an estimate
with ν degrees of freedom, z is Student's t, and the likelihood ratio of the t test stands in its
place: ν/2 · ln(1 + t²/ν). So with x = z²/2

    g(x) = ν/2 · ln(1 + 2x/ν)  for x > 0,  else x.

g(x) ≤ x: an e-value stays one. Without it traffic that holds thirty independent requests an hour
alarms by the tails of t, and hardly less often at a stricter promise.
"""

from __future__ import annotations

import numpy as np

from driftline.metadata.signals import Floats

TINY = 1e-9


def tempered(log_e: Floats, freedom: Floats) -> Floats:
    """g of ln E ``[T, B]`` at ν degrees of freedom ``[T]``, infinite where the scale is known."""
    known = np.isinf(freedom)
    if known.all():
        return log_e
    half = np.where(known, 1.0, np.maximum(freedom, TINY) / 2)[:, None]
    found = half * np.log1p(np.maximum(log_e, 0.0) / half)
    return np.asarray(np.where(known[:, None] | (log_e <= 0), log_e, found))


def slowed(gain: Floats, freedom: Floats) -> Floats:
    """What remains of ln E that grows by `gain` with each request, as ν does by `freedom`.

    Of n requests g is n · freedom/2 · ln(1 + 2 gain/freedom): it grows evenly as well.
    """
    known = np.isinf(freedom)
    half = np.where(known, 1.0, np.maximum(freedom, TINY) / 2)
    return np.asarray(np.where(known, gain, half * np.log1p(gain / half)))
