"""A fixed hash of integers, the same on every machine and under every version of NumPy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def mixed(values: NDArray[np.uint64], seed: int) -> NDArray[np.uint64]:
    """64 well-mixed bits of each value: the finaliser of SplitMix64 (Steele, Lea, Flood 2014)."""
    start = np.uint64((seed * 0x9E3779B97F4A7C15 + 0x9E3779B97F4A7C15) & 0xFFFFFFFFFFFFFFFF)
    with np.errstate(over="ignore"):
        z = values * np.uint64(0x9E3779B97F4A7C15) + start
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        out: NDArray[np.uint64] = z ^ (z >> np.uint64(31))
        return out
