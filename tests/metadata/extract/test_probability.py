"""Softmax, logistic and entropies against SciPy, and at the ends of float64."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

from driftline.metadata.extract.probability import (
    binary_entropy,
    entropy,
    logistic,
    logit,
    softmax,
)

SCORES = np.random.default_rng(0).normal(scale=20, size=(200, 7))


@pytest.mark.parametrize("temperature", [1.0, 0.3, 2.5])
def test_softmax_is_scipys(temperature: float):
    expected = special.softmax(SCORES / temperature, axis=1)
    np.testing.assert_allclose(softmax(SCORES, temperature), expected, rtol=1e-12)


def test_softmax_at_the_ends_of_float64():
    scores = np.array(
        [
            [1e308, -1e308, 0.0],
            [1e308, 1e308, 1e308],
            [-np.inf, 0.0, 0.0],
            [np.inf, 0.0, 0.0],
            [np.nan, 0.0, 0.0],
            [-np.inf, -np.inf, -np.inf],
            [5e-324, 0.0, -5e-324],
        ]
    )
    third = [1 / 3] * 3
    nan = [np.nan] * 3
    expected = [[1, 0, 0], third, [0, 0.5, 0.5], nan, nan, nan, third]
    np.testing.assert_allclose(softmax(scores), expected, rtol=1e-15)


@pytest.mark.parametrize("temperature", [1.0, 0.3, 2.5])
def test_logistic_is_scipys(temperature: float):
    scores = np.concatenate([SCORES.ravel(), [-745.0, -800.0, 40.0, 1e308, -1e308, 0.0]])
    with np.errstate(over="ignore"):
        expected = special.expit(scores / temperature)
    np.testing.assert_allclose(logistic(scores, temperature), expected, rtol=1e-13, atol=1e-323)
    ends = logistic(np.array([np.inf, -np.inf, np.nan]))
    np.testing.assert_array_equal(ends, [1.0, 0.0, np.nan])


def test_logit_undoes_logistic():
    scores = np.linspace(-30, 30, 101)
    np.testing.assert_allclose(logit(logistic(scores)), special.logit(special.expit(scores)))
    np.testing.assert_array_equal(logit(np.array([0.0, 1.0])), [-np.inf, np.inf])


def test_entropies_are_scipys():
    p = special.softmax(SCORES, axis=1)
    p[0] = [1, 0, 0, 0, 0, 0, 0]
    np.testing.assert_allclose(entropy(p), special.entr(p).sum(axis=1), rtol=1e-12, atol=1e-15)
    expected = special.entr(p) + special.entr(1 - p)
    np.testing.assert_allclose(binary_entropy(p), expected, rtol=1e-12, atol=1e-15)
