"""Whether the confidence means what it says: temperature and expected calibration error."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

BINS = 15
COLDEST, HOTTEST = 0.01, 100.0


def fit_temperature(logits: Floats, labels: Ints) -> float:
    """The divisor of the logits with the least negative log likelihood, from 0.01 to 100.

    Guo et al. 2017, "On Calibration of Modern Neural Networks". The likelihood is convex in the
    inverse of the temperature, so the bounded search finds the only minimum.

    Args:
        logits: shape ``[n, classes]``; probabilities' logarithms do as well.
        labels: shape ``[n]``, the true class of each row.
    """
    if not len(labels):
        return 1.0

    def loss(log_temperature: float) -> float:
        return negative_log_likelihood(logits, labels, math.exp(log_temperature))

    bounds = (math.log(COLDEST), math.log(HOTTEST))
    found = minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": 1e-6})
    temperature = math.exp(float(found.x))
    # Where every temperature is as good (one class, equal logits) nothing should change.
    return temperature if loss(math.log(temperature)) < loss(0.0) else 1.0


def negative_log_likelihood(logits: Floats, labels: Ints, temperature: float) -> float:
    """Mean of −log p(label) under ``softmax(logits / temperature)``, in nats."""
    scaled = logits / temperature
    right = scaled[np.arange(len(labels)), labels]
    return float(np.mean(logsumexp(scaled, axis=1) - right))


def expected_calibration_error(confidence: Floats, correct: NDArray[np.bool_]) -> float:
    """Mean gap between confidence and accuracy over 15 equal-width bins, weighted by their rows.

    Naeini, Cooper and Hauskrecht 2015, "Obtaining Well Calibrated Probabilities Using Bayesian
    Binning". Bins are closed above: ``(i/15, (i+1)/15]``.

    Args:
        confidence: shape ``[n]``, from 0 to 1.
        correct: shape ``[n]``.
    """
    if not len(confidence):
        return 0.0
    cells = np.clip(np.ceil(confidence * BINS).astype(np.int64) - 1, 0, BINS - 1)
    gaps = np.bincount(cells, weights=confidence - correct, minlength=BINS)
    return float(np.abs(gaps).sum() / len(confidence))
