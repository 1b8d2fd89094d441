"""Data sink mode: MindSpore tells of many steps at once, and of no batch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import mindspore as ms
import pytest
from mindspore import Tensor, nn
from mindspore.train.callback import RunContext
from mindspore.train.callback._callback import InternalCallbackParam
from watched import Trained, cross_entropy, dataset, mlp

from driftline.train_side.monitor import TrainingMonitor
from driftline.train_side.settings import MonitorSettings, Sampling

BATCHES = 10  # of 16 rows


@contextmanager
def sunk(monitor: TrainingMonitor) -> Iterator[tuple[Any, RunContext]]:
    """A training driven by hand, as a device does it: this one machine may have none."""
    network = mlp()
    optimizer = nn.Momentum(network.trainable_params(), 0.1, 0.9)
    params = InternalCallbackParam()
    params.update(
        cur_step_num=0,
        cur_epoch_num=0,
        epoch_num=3,
        batch_num=BATCHES,
        dataset_sink_mode=True,
        network=network,
        optimizer=optimizer,
        train_network=nn.TrainOneStepCell(nn.WithLossCell(network, cross_entropy()), optimizer),
        train_dataset=dataset(),
        train_dataset_element=None,
        list_callback=[],
    )
    context = RunContext(params)
    with monitor:
        monitor.on_train_begin(context)
        yield params, context
        monitor.on_train_end(context)


def epochs(monitor: TrainingMonitor, outputs: Any) -> None:
    with sunk(monitor) as (params, context):
        for epoch in (1, 2, 3):
            params.cur_epoch_num = epoch
            params.cur_step_num = (epoch - 1) * BATCHES + 1
            monitor.on_train_step_begin(context)
            params.cur_step_num = epoch * BATCHES
            params.net_outputs = outputs(epoch)
            monitor.on_train_step_end(context)
            monitor.on_train_epoch_end(context)


@pytest.fixture
def monitor(graph: None, tmp_path: Path) -> TrainingMonitor:
    settings = MonitorSettings(sampling=Sampling(every=1, deep_every=2))
    return TrainingMonitor(tmp_path, sinks=(), settings=settings)


def test_steps_that_ran_together_are_counted_each(monitor: TrainingMonitor) -> None:
    epochs(monitor, lambda epoch: Tensor(1.0 / epoch))
    trained = Trained([], [], {}, monitor.folder)
    assert trained.series("loss") == {10: 1.0, 20: 0.5, 30: pytest.approx(1 / 3)}
    assert list(trained.series("epoch").values()) == [1.0, 2.0, 3.0]
    health = monitor.health()
    assert health is not None
    assert (health.steps, health.epochs, health.rows_seen) == (30, 3, 480)
    assert health.loss_by_epoch == pytest.approx((1.0, 0.5, 1 / 3))


def test_seconds_are_those_of_a_step(monitor: TrainingMonitor) -> None:
    """An epoch's end pauses the clock; two calls within one show what is divided."""
    with sunk(monitor) as (params, context):
        for call in (1, 2):
            params.cur_epoch_num = 1
            monitor.on_train_step_begin(context)
            params.cur_step_num = call * 5
            params.net_outputs = Tensor(1.0)
            monitor.on_train_step_end(context)
        session = monitor._training.session
        assert session.flush(10)
        speed = session.record.last("samples_per_second")
        seconds = session.record.last("step_seconds")
        assert speed == pytest.approx(16 / seconds)


def test_gradients_are_said_not_to_be_measured(monitor: TrainingMonitor) -> None:
    epochs(monitor, lambda epoch: Tensor(1.0))
    report = (monitor.folder / "training_report.md").read_text(encoding="utf-8")
    assert "steps are not seen one by one in data sink mode" in report
    assert "30 in 3 epochs" in report
    trained = Trained([], [], {}, monitor.folder)
    assert trained.series("grad_norm") == {}
    assert trained.series("param_norm")


def test_overflows_within_a_sink_are_a_lower_bound(monitor: TrainingMonitor) -> None:
    epochs(monitor, lambda epoch: (Tensor(1.0), Tensor(epoch == 2), Tensor(64.0)))
    report = (monitor.folder / "training_report.md").read_text(encoding="utf-8")
    assert "64, at least 1 steps skipped" in report
    assert "27 steps were not asked" in report
    assert ms.get_context("mode") == ms.GRAPH_MODE
