"""Steps that were skipped on overflow are counted, looked at or not."""

from __future__ import annotations

from pathlib import Path

import mindspore as ms
import pytest
from mindspore import nn, ops
from watched import Trained, cross_entropy, mlp, rows, train

from driftline.train_side import overflows
from driftline.train_side.monitor import TrainingMonitor
from driftline.train_side.settings import MonitorSettings, Sampling

EVERY_TENTH = MonitorSettings(sampling=Sampling(every=10, deep_every=1000))


class FlaggedStep(nn.Cell):
    """Answers as a cell that scales the loss does, and learns nothing."""

    def __init__(self, network: nn.Cell) -> None:
        super().__init__()
        self.network = network
        self.scale = ms.Tensor(1024.0)

    def construct(self, x, y):
        loss = self.network(x, y)
        return loss, ops.reduce_max(x) > 100, self.scale


def run(
    folder: Path, flags: dict[int, bool], steps: int = 25, *, dies: bool = False
) -> TrainingMonitor:
    monitor = TrainingMonitor(folder, sinks=(), settings=EVERY_TENTH)
    scale = ms.Tensor(1024.0)
    with monitor.loop() as loop:
        for step in range(1, steps + 1):
            loop.step(loss=(ms.Tensor(1.0), ms.Tensor(flags.get(step, False)), scale))
        if dies:
            raise KeyError
    return monitor


def test_an_overflow_between_two_samples_is_counted(tmp_path: Path) -> None:
    monitor = run(tmp_path, {3: True, 13: True, 14: True, 20: True, 24: True})
    health = monitor.health()
    assert health is not None
    assert health.overflows == 5
    assert "1024, 5 steps skipped" in (tmp_path / "training_report.md").read_text()
    assert "not asked" not in (tmp_path / "training_report.md").read_text()
    assert Trained([], [], {}, tmp_path).series("overflows") == {2: 0.0, 10: 1.0, 20: 4.0}


def test_what_was_counted_before_a_restart_is_not_lost(tmp_path: Path) -> None:
    with pytest.raises(KeyError):
        run(tmp_path, {3: True}, dies=True)
    health = run(tmp_path, {3: True}).health()
    assert health is not None
    assert health.overflows == 2


def test_flags_that_found_no_room_are_said_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(overflows, "MOST", 4)
    run(tmp_path, {2: True, 8: True}, steps=10)
    report = (tmp_path / "training_report.md").read_text()
    assert "1024, at least 1 steps skipped" in report
    assert "3 steps were not asked whether they were skipped on overflow." in report


def test_outputs_without_a_flag_are_not_kept(tmp_path: Path) -> None:
    found = overflows.Overflows()
    for outputs in (ms.Tensor(1.0), (1.0, 2.0, 3.0), None):
        found.note(outputs, 1)
    assert found.take() == 0
    assert found.unseen == 0


@pytest.mark.slow
def test_the_flags_of_a_training_cell_are_those_of_their_steps(graph: None, tmp_path: Path) -> None:
    """Steps with a large input count as overflow; only each tenth step is looked at."""
    x, y = rows(320)
    for step in (3, 4, 12, 17):
        x[(step - 1) * 16] = 1000

    def make():
        network = mlp()
        return network, ms.Model(FlaggedStep(nn.WithLossCell(network, cross_entropy())))

    data = ms.dataset.NumpySlicesDataset((x, y), shuffle=False).batch(16)
    settings = MonitorSettings(sampling=Sampling(every=10, deep_every=1000), report=False)
    trained = train(tmp_path / "run", make=make, data=data, epochs=1, settings=settings)
    assert trained.monitor.health().overflows == 4
