"""What the callback itself measures of a training."""

from __future__ import annotations

import mindspore as ms
import numpy as np
import pytest
from mindspore import Tensor

from driftline.train_side.watch import TrainingWatch, loss_of


@pytest.mark.parametrize(
    ("outputs", "loss"),
    [
        (Tensor(0.5), 0.5),
        (Tensor(np.array([0.5], np.float32)), 0.5),
        (Tensor(np.array([0.25, 0.75], np.float32)), 0.5),
        ((Tensor(0.5), Tensor(False), Tensor(1024.0)), 0.5),
        (((Tensor(0.5), Tensor(1.0)), Tensor(2.0)), 0.5),
        (Tensor(0.5, ms.bfloat16), 0.5),
        (0.5, 0.5),
        ((), None),
        (None, None),
        (Tensor(np.empty(0, np.float32)), None),
    ],
)
def test_the_loss_is_found_in_whatever_a_training_cell_gives(outputs, loss):
    assert loss_of(outputs) == loss


def test_steps_and_rows_of_a_sink_count_together():
    watch = TrainingWatch()
    watch.step(Tensor(2.0), rows=320, steps=10)
    watch.step(Tensor(1.0), rows=320, steps=10)
    watch.epoch()
    watch.stop()
    health = watch.health(finite=True, precision="float32", scale=None)
    assert (health.steps, health.epochs, health.rows_seen) == (20, 1, 640)
    assert (health.best_loss, health.final_loss, health.loss_by_epoch) == (1.0, 1.0, (1.5,))


def test_an_unfinished_epoch_is_told_too():
    watch = TrainingWatch()
    watch.step(Tensor(3.0), rows=8)
    health = watch.health(finite=True, precision="float32", scale=2.0)
    assert (health.epochs, health.loss_by_epoch, health.loss_scale) == (0, (3.0,), 2.0)


def test_a_loss_that_was_not_finite_makes_the_training_so():
    watch = TrainingWatch()
    watch.step(Tensor(np.nan, ms.float32), rows=8)
    assert watch.health(finite=True, precision="float32", scale=None).finite is False


def test_time_ends_where_the_training_ends():
    watch = TrainingWatch()
    watch.stop()
    first = watch.health(finite=True, precision="float32", scale=None).seconds
    assert watch.health(finite=True, precision="float32", scale=None).seconds == first
