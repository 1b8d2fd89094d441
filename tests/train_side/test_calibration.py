"""Temperature and calibration error against SciPy, scikit-learn and known answers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.metrics import log_loss

from driftline.train_side.calibration import (
    COLDEST,
    HOTTEST,
    expected_calibration_error,
    fit_temperature,
    negative_log_likelihood,
)


def drawn(temperature, rows=20_000, classes=5, seed=0):
    """Logits whose labels are drawn from their softmax at `temperature`."""
    random = np.random.default_rng(seed)
    logits = random.normal(0, 3, size=(rows, classes))
    gumbel = random.gumbel(size=logits.shape)
    return logits, (logits / temperature + gumbel).argmax(axis=1)


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.5])
def test_the_temperature_that_made_the_labels_is_found(temperature):
    assert fit_temperature(*drawn(temperature)) == pytest.approx(temperature, rel=0.05)


@pytest.mark.parametrize("seed", range(5))
def test_no_other_optimiser_finds_a_better_temperature(seed):
    logits, labels = drawn(1.7, rows=300, seed=seed)
    found = fit_temperature(logits, labels)
    best = minimize(
        lambda t: negative_log_likelihood(logits, labels, t[0]),
        [1.0],
        method="Nelder-Mead",
        options={"xatol": 1e-10, "fatol": 1e-14},
    )
    assert found == pytest.approx(best.x[0], rel=1e-4)


def test_the_likelihood_is_scikit_learns_log_loss():
    logits, labels = drawn(1.0, rows=200)
    p = np.exp(logits / 1.3)
    p /= p.sum(axis=1, keepdims=True)
    assert negative_log_likelihood(logits, labels, 1.3) == pytest.approx(log_loss(labels, p))


@pytest.mark.parametrize(
    ("logits", "labels"),
    [
        (np.zeros((0, 3)), np.zeros(0, int)),
        (np.zeros((10, 3)), np.zeros(10, int)),
    ],
    ids=["no row", "equal logits"],
)
def test_where_nothing_can_be_told_the_temperature_stays_one(logits, labels):
    assert fit_temperature(logits, labels) == 1.0


def test_the_temperature_stays_in_its_bounds():
    logits = np.eye(3)[np.zeros(50, int)]
    right, wrong = np.zeros(50, int), np.ones(50, int)
    assert COLDEST <= fit_temperature(logits, right) < 0.2
    assert 50 < fit_temperature(logits, wrong) <= HOTTEST


def test_huge_logits_are_no_trouble():
    assert np.isfinite(fit_temperature(np.array([[1e300, 0.0], [0.0, 1e300]]), np.array([0, 1])))


def test_a_perfectly_calibrated_bin_has_no_error():
    assert expected_calibration_error(np.full(4, 0.75), np.array([1, 1, 1, 0], bool)) == 0


def test_the_error_is_the_gap_weighted_by_rows():
    confidence = np.array([0.9, 0.9, 0.6, 0.6, 0.6, 0.6])
    correct = np.array([1, 1, 1, 0, 0, 0], bool)
    wanted = 2 / 6 * abs(0.9 - 1.0) + 4 / 6 * abs(0.6 - 0.25)
    assert expected_calibration_error(confidence, correct) == pytest.approx(wanted)


@pytest.mark.parametrize("confidence", [0.0, 1 / 15, 0.2, 1.0])
def test_every_confidence_has_its_bin(confidence):
    found = expected_calibration_error(np.array([confidence]), np.array([True]))
    assert found == pytest.approx(1 - confidence)


def test_no_row_is_no_error():
    assert expected_calibration_error(np.empty(0), np.empty(0, bool)) == 0.0
