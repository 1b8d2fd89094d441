"""Planted faults are found and named, and the policies do what they say."""

from __future__ import annotations

import errno
import json
import math
import time
from pathlib import Path

import mindspore as ms
import numpy as np
import pytest
from mindspore import nn
from mindspore.dataset import GeneratorDataset, NumpySlicesDataset
from watched import Trained, cross_entropy, mlp, rows, train

from driftline.train_side import journal
from driftline.train_side.policies import Log, SaveCheckpoint, Stop
from driftline.train_side.probes import Gauge, default_probes
from driftline.train_side.rules import FrozenLearningRate, ThroughputDrop, default_rules
from driftline.train_side.settings import MonitorSettings, Sampling

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("graph")]

EVERY_STEP = MonitorSettings(sampling=Sampling(every=1, deep_every=1), report=False)


def with_rate(rate: object):
    def make():
        network = mlp()
        optimizer = nn.SGD(network.trainable_params(), rate)
        return network, ms.Model(network, cross_entropy(), optimizer)

    return make


def regression(rate: float):
    def make():
        network = nn.Dense(12, 1)
        optimizer = nn.SGD(network.trainable_params(), rate)
        return network, ms.Model(network, nn.MSELoss(), optimizer)

    return make


def numbers(count: int, *, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    x, _ = rows(count, seed=seed)
    return x, x[:, :1] * 2


def sentence(trained: Trained, rule: str) -> str:
    return next(each.sentence for each in trained.notices() if each.rule == rule)


def test_a_learning_rate_times_1000_explodes_saves_and_stops(tmp_path: Path) -> None:
    trained = train(
        tmp_path / "run",
        make=regression(100.0),
        data=NumpySlicesDataset(numbers(1600), shuffle=False).batch(16),
        epochs=20,
        settings=EVERY_STEP,
        policies={"gradient_explosion": (Log(), SaveCheckpoint(), Stop())},
    )
    assert "gradient_explosion" in trained.rules()
    assert len(trained.losses) < 2000
    (checkpoint,) = (tmp_path / "run" / "faults").glob("gradient_explosion-step*.ckpt")
    saved = ms.load_checkpoint(str(checkpoint))
    assert sorted(saved) == trained.keys
    assert np.isfinite(saved["weight"].asnumpy()).all(), "saved too late to be of use"
    assert trained.notices()[-1].sentence == "The training has stopped."
    events = [each.rule for each in trained.monitor.health().events]
    assert "gradient_explosion" in events


def test_a_layer_of_zeros_is_named(tmp_path: Path) -> None:
    def make():
        network = nn.SequentialCell(
            nn.Dense(12, 16),
            nn.ReLU(),
            nn.Dense(16, 16, weight_init="zeros", bias_init="zeros"),
            nn.ReLU(),
            nn.Dense(16, 3),
        )
        optimizer = nn.SGD(network.trainable_params(), 0.1)
        return network, ms.Model(network, cross_entropy(), optimizer)

    trained = train(tmp_path / "run", make=make, settings=EVERY_STEP)
    assert "0, 2" in sentence(trained, "gradient_vanishing")
    worst = " ".join(trained.monitor.health().worst_layers)
    assert "0: gradient norm below" in worst


def test_a_nan_in_one_batch_is_seen_kept_and_outlived(tmp_path: Path) -> None:
    x, y = numbers(160)
    x[100, 3] = np.nan  # in the seventh batch of 16
    data = NumpySlicesDataset((x, y), shuffle=False).batch(16)
    trained = train(tmp_path / "run", data=data, make=regression(0.01), settings=EVERY_STEP)
    assert len(trained.losses) == 20
    assert math.isnan(trained.losses[6])
    (notice,) = [each for each in trained.notices() if each.rule == "non_finite"]
    assert notice.step == 7
    assert notice.sentence.startswith("The loss, the gradient norm, the norm of the parameters")
    assert trained.series("loss")[7] is None
    folder = tmp_path / "run" / "faults" / "step-7"
    fault = json.loads((folder / "fault.json").read_text())
    assert fault["batch"][0]["nan"] == 1
    assert fault["batch"][0]["shape"] == [16, 12]
    parameters = np.load(folder / "parameters.npz")
    assert sorted(parameters) == sorted(trained.parameters)
    points = (folder / "points.jsonl").read_text().splitlines()
    assert [json.loads(line)["step"] for line in points] == list(range(1, 8))
    assert trained.monitor.health().finite is False


def test_a_loss_that_swings_is_oscillation(tmp_path: Path) -> None:
    """From the seventh epoch on every other batch has targets five times as large."""
    x, y = numbers(160)
    wild = y.copy().reshape(10, 16)
    wild[::2] *= 5
    epochs = [y] * 6 + [wild.reshape(-1, 1)] * 2

    class Source:
        epoch = 0

        def __iter__(self):
            yield from zip(x, epochs[min(self.epoch, 7)], strict=True)
            self.epoch += 1

    data = GeneratorDataset(Source(), ["x", "y"], shuffle=False, python_multiprocessing=False)
    trained = train(
        tmp_path / "run",
        make=regression(1e-4),
        data=data.batch(16),
        epochs=8,
        settings=MonitorSettings(sampling=Sampling(every=1), report=False),
    )
    assert "standard deviation" in sentence(trained, "oscillation")


def test_a_frozen_schedule_is_found(tmp_path: Path) -> None:
    trained = train(
        tmp_path / "run", make=with_rate([0.1] * 1000), rules=[FrozenLearningRate(steps=10)]
    )
    assert "has a schedule" in sentence(trained, "frozen_learning_rate")


def test_slow_data_are_found(tmp_path: Path) -> None:
    x, y = rows(16)

    class Source:
        def __iter__(self):
            for step in range(60):
                time.sleep(0.02 if step < 40 else 0.2)
                yield x, y

    data = GeneratorDataset(
        Source(), ["x", "y"], shuffle=False, python_multiprocessing=False, num_parallel_workers=1
    )
    rule = ThroughputDrop(window=8, seconds=1.0)
    rule.calm = 1  # a moment in which the machine is busy is another episode
    trained = train(tmp_path / "run", data=data, epochs=1, rules=[rule])
    found = [each.sentence for each in trained.notices() if each.rule == "throughput_drop"]
    assert "of the time it waits for data" in found[-1]


class Oven(Gauge):
    kind = "oven"
    every = 0.0

    def read(self) -> dict[str, float]:
        return {"npu0/temperature_celsius": 93.0}


def test_a_device_that_is_too_warm_is_named(tmp_path: Path) -> None:
    probes = [*default_probes(), Oven()]
    trained = train(tmp_path / "run", probes=probes, epochs=60, rules=default_rules())
    assert sentence(trained, "over_temperature") == "npu0 is at 93 °C, above 85 °C."


def test_an_error_of_the_users_passes_through_and_the_journal_is_whole(tmp_path: Path) -> None:
    from mindspore.train.callback import Callback

    class Raises(Callback):
        def on_train_step_end(self, run_context) -> None:
            if run_context.original_args().cur_step_num == 8:
                raise RuntimeError("planted")

    with pytest.raises(RuntimeError, match="planted"):
        train(tmp_path / "run", callbacks=[Raises()], settings=EVERY_STEP)
    trained = Trained([], [], {}, tmp_path / "run")
    assert list(trained.series("loss")) == list(range(1, 9))
    assert trained.notices()[-1].sentence == "It ended: RuntimeError: planted."


def test_an_unwritable_folder_leaves_the_training_alone(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    alone = train(tmp_path / "alone", watched=False, epochs=1)
    watched = train(
        tmp_path / "watched",
        epochs=1,
        callbacks=[_monitor(tmp_path / "file" / "run")],
        watched=False,
    )
    assert watched.losses == alone.losses


def test_a_disk_that_is_full_for_a_while_leaves_the_training_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, calls = journal._write_all, []

    def full(file, data) -> None:
        calls.append(1)
        if len(calls) == 2:
            file.write(data[: len(data) // 2])
            raise OSError(errno.ENOSPC, "No space left on device")
        real(file, data)

    monkeypatch.setattr(journal, "_write_all", full)
    alone = train(tmp_path / "alone", watched=False)
    watched = train(tmp_path / "watched", settings=EVERY_STEP)
    assert len(calls) >= 3
    assert watched.losses == alone.losses
    assert list(watched.series("loss")) == list(range(1, 21))


def _monitor(folder: Path):
    from driftline.train_side.monitor import TrainingMonitor

    return TrainingMonitor(folder, sinks=(), settings=EVERY_STEP)
