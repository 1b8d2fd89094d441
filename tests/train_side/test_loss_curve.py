"""The record of losses, and the power law fitted to it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import curve_fit

from driftline.train_side.loss_curve import LossRecord, fit_loss_curve


def law(steps, floor, scale, power):
    return floor + scale * (steps + 1.0) ** -power


@pytest.mark.parametrize(
    ("floor", "scale", "power"),
    [(0.3, 2.0, 0.5), (0.0, 5.0, 1.2), (1.0, 0.7, 0.1), (2.0, 9.0, 3.0)],
)
def test_a_curve_without_noise_is_found_exactly(floor, scale, power):
    steps = np.arange(1.0, 401.0)
    found = fit_loss_curve(steps, law(steps, floor, scale, power))
    assert (found.floor, found.scale, found.power) == pytest.approx((floor, scale, power), abs=1e-2)
    assert found.residual < 1e-4
    assert found.points == 400
    assert found.final == law(400, floor, scale, power)


def test_a_noisy_curve_is_fitted_as_well_as_scipy_does():
    steps = np.arange(1.0, 801.0)
    noise = np.random.default_rng(0).normal(0, 0.05, size=800)
    losses = law(steps, 0.4, 3.0, 0.6) + noise
    found = fit_loss_curve(steps, losses)
    best, _ = curve_fit(law, steps, losses, p0=[0.1, 1.0, 1.0])
    squares = np.sqrt(np.mean((losses - law(steps, *best)) ** 2))
    assert found.residual == pytest.approx(squares, rel=1e-4)
    assert found.power == pytest.approx(best[2], rel=1e-2)


def test_a_loss_that_does_not_fall_has_scale_zero():
    steps = np.arange(1.0, 101.0)
    found = fit_loss_curve(steps, 1 + steps / 100)
    assert found.scale == 0.0
    assert found.floor == pytest.approx(np.mean(1 + steps / 100))


def test_the_floor_of_a_loss_that_is_never_negative_is_not_either():
    steps = np.arange(1.0, 201.0)
    losses = np.maximum(2 - steps / 100, 0.0)  # a straight line, whose best floor would be negative
    assert fit_loss_curve(steps, losses).floor >= 0


def test_a_loss_may_be_negative():
    steps = np.arange(1.0, 201.0)
    found = fit_loss_curve(steps, law(steps, -4.0, 2.0, 0.5))
    assert found.floor == pytest.approx(-4.0, abs=0.05)


def test_fewer_than_five_points_tell_nothing():
    assert fit_loss_curve(np.arange(1.0, 5.0), np.ones(4)) is None


def test_the_record_keeps_mean_and_deviation_of_each_epoch():
    record = LossRecord()
    losses = np.random.default_rng(1).normal(2, 1, size=(3, 50))
    for epoch, values in enumerate(losses):
        for index, loss in enumerate(values):
            record.add(epoch * 50 + index + 1, float(loss))
        record.close_epoch()
    assert record.means == pytest.approx(losses.mean(axis=1))
    assert record.sds == pytest.approx(losses.std(axis=1, ddof=1))
    assert (record.best, record.final) == (losses.min(), losses[-1, -1])


def test_an_epoch_without_a_step_leaves_no_entry():
    record = LossRecord()
    record.close_epoch()
    assert record.means == []


def test_the_record_stays_bounded_and_keeps_every_steps_weight():
    record = LossRecord(capacity=64)
    losses = np.random.default_rng(2).random(10_000)
    for step, loss in enumerate(losses, start=1):
        record.add(step, float(loss))
    steps, kept = record.series()
    assert len(kept) <= 64
    whole = 10_000 - 10_000 % record.stride
    assert kept[: whole // record.stride].mean() == pytest.approx(losses[:whole].mean())
    assert steps[0] == (record.stride + 1) / 2
    assert np.all(np.diff(steps) > 0)


def test_the_unfinished_point_is_part_of_the_series():
    record = LossRecord()
    record.stride = 4
    for step in (1, 2, 3):
        record.add(step, float(step))
    assert [list(each) for each in record.series()] == [[2.0], [2.0]]


@pytest.mark.parametrize("loss", [float("nan"), float("inf"), float("-inf")])
def test_a_loss_that_is_not_finite_is_noted_and_kept_out_of_the_means(loss):
    record = LossRecord()
    record.add(1, 1.0)
    record.add(2, loss)
    record.close_epoch()
    assert (record.finite, record.final, record.best, record.means) == (False, None, 1.0, [1.0])
