"""What a script still has to say when its training is over, and what it need not keep."""

from __future__ import annotations

import gc
import math
import weakref
from pathlib import Path
from typing import Any

import mindspore as ms
import pytest
from mindspore import nn
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from watched import Trained, cross_entropy, dataset, mlp

from driftline.train_side.journal import Journal
from driftline.train_side.monitor import TrainingMonitor
from driftline.train_side.point import End, Start
from driftline.train_side.reading import last_of, read_journal
from driftline.train_side.settings import MonitorSettings, Sampling
from driftline.train_side.sinks import TensorBoard

SETTINGS = MonitorSettings(sampling=Sampling(every=1, deep_every=2))


def trained(folder: Path, **arguments: Any) -> tuple[TrainingMonitor, Any]:
    arguments.setdefault("sinks", ())
    monitor = TrainingMonitor(folder, settings=SETTINGS, **arguments)
    with monitor.loop() as loop:
        for _ in range(3):
            loop.step(loss=1.0)
    return monitor, loop


def test_a_metric_after_the_end_is_in_journal_and_report(tmp_path: Path) -> None:
    monitor, loop = trained(tmp_path, sinks=[TensorBoard()])
    monitor.add_metric("bleu", 0.31)
    loop.add_metric("chrf", 0.5)
    loop.add_metric("odd", math.nan)
    found = Trained([], [], {}, tmp_path)
    assert found.series("bleu") == {3: 0.31}
    assert found.series("chrf") == {3: 0.5}
    assert found.series("odd") == {3: None}
    report = (tmp_path / "training_report.md").read_text(encoding="utf-8")
    assert report.endswith("## After the end\n\n- `bleu`: 0.31\n- `chrf`: 0.5\n- `odd`: nan\n")
    assert [entry.n for entry in read_journal(tmp_path)] == list(range(1, last_of(tmp_path).n + 1))
    reader = EventAccumulator(str(tmp_path / "tensorboard"))
    reader.Reload()
    assert [each.step for each in reader.Scalars("bleu")] == [3]


def test_the_run_stays_one_that_has_ended(tmp_path: Path) -> None:
    monitor, _ = trained(tmp_path)
    monitor.add_metric("bleu", 0.31)
    end = last_of(tmp_path)
    assert isinstance(end, End)
    assert (end.reason, end.step) == ("finished", 3)
    trained(tmp_path)
    (start,) = [each for each in read_journal(tmp_path) if isinstance(each, Start)]
    assert start.resumed_after is None
    assert len(list((tmp_path / "earlier").iterdir())) == 1


def test_the_same_monitor_goes_on_after_it(tmp_path: Path) -> None:
    monitor, _ = trained(tmp_path)
    monitor.add_metric("bleu", 0.31)
    with monitor.loop() as loop:
        loop.step(loss=1.0)
        loop.add_metric("bleu", 0.4)
    assert Trained([], [], {}, tmp_path).series("bleu") == {3: 0.31, 4: 0.4}


def test_a_metric_that_cannot_be_kept_is_logged(
    tmp_path: Path, log: pytest.LogCaptureFixture
) -> None:
    monitor = TrainingMonitor(tmp_path / "a", sinks=(), settings=SETTINGS)
    monitor.add_metric("bleu", 0.31)
    assert "bleu was added before a training began" in log.text
    monitor, _ = trained(tmp_path / "b")
    other = Journal(tmp_path / "b")
    monitor.add_metric("bleu", 0.31)
    assert "add_metric failed" in log.text
    other.close()


def test_a_loop_that_is_over_keeps_nothing_of_the_network(tmp_path: Path) -> None:
    monitor = TrainingMonitor(tmp_path, sinks=(), settings=SETTINGS)
    network = mlp()
    optimizer = nn.Adam(network.trainable_params(), 0.01)
    kept = weakref.ref(network), weakref.ref(optimizer), weakref.ref(network[0].weight)
    with monitor.loop(network=network, optimizer=optimizer) as loop:
        for _ in range(4):
            loop.step(loss=float("nan"))
    del network, optimizer
    gc.collect()
    assert [each() for each in kept] == [None, None, None]
    assert loop.stop_requested is False


@pytest.mark.slow
def test_a_training_that_is_over_keeps_nothing_of_the_network(graph: None, tmp_path: Path) -> None:
    """MindSpore itself lets it go: the same without a monitor is the control."""

    def references(*callbacks: Any) -> list[Any]:
        network = mlp()
        optimizer = nn.Momentum(network.trainable_params(), 0.1, 0.9)
        model = ms.Model(network, cross_entropy(), optimizer)
        model.train(1, dataset(), callbacks=[*callbacks])
        return [weakref.ref(network), weakref.ref(optimizer), weakref.ref(model.train_network)]

    monitor = TrainingMonitor(tmp_path, sinks=(), settings=SETTINGS)
    alone, watched = references(), references(monitor)
    gc.collect()
    left = [each() is not None for each in watched]
    assert left == [each() is not None for each in alone]
    assert monitor.health() is not None
