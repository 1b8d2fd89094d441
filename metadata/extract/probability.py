"""Scores to probabilities, carefully: no overflow, no warning, NaN where there is none."""

from __future__ import annotations

import numpy as np

from ..signals import Floats

SMALLEST = 5e-324


def softmax(scores: Floats, temperature: float = 1.0) -> Floats:
    """``exp(s/T) / Σ exp(s/T)`` along the last of two axes.

    A row with NaN or plus infinity, or with nothing but minus infinity, is NaN.
    """
    with np.errstate(all="ignore"):
        shifted = scores - np.maximum.reduce(scores, axis=1, keepdims=True)
        if temperature != 1.0:
            shifted /= temperature
        np.exp(shifted, out=shifted)
        shifted /= np.add.reduce(shifted, axis=1, keepdims=True)
    return shifted


def logistic(scores: Floats, temperature: float = 1.0) -> Floats:
    """``1 / (1 + exp(-s/T))``; 0 and 1 at the infinities, NaN at NaN."""
    with np.errstate(all="ignore"):
        scaled = scores / temperature
        small = np.exp(-np.abs(scaled))
        out: Floats = np.where(scaled < 0, small, 1.0) / (1.0 + small)
    return out


def logit(p: Floats) -> Floats:
    """``log(p / (1 - p))``; infinite at 0 and 1."""
    with np.errstate(all="ignore"):
        out: Floats = np.log(p) - np.log1p(-p)
        return out


def entropy(p: Floats) -> Floats:
    """``-Σ p log p`` along the last of two axes, in nats; ``0 log 0 = 0``."""
    out: Floats = -np.add.reduce(p * np.log(np.maximum(p, SMALLEST)), axis=1)
    return out


def binary_entropy(p: Floats) -> Floats:
    """``-p log p - (1-p) log(1-p)``, elementwise, in nats."""
    q = 1.0 - p
    out: Floats = -(p * np.log(np.maximum(p, SMALLEST)) + q * np.log(np.maximum(q, SMALLEST)))
    return out
