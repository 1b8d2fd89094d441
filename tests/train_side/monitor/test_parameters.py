"""Every parameter is looked at, not only those that the optimizer has."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import mindspore as ms
import numpy as np
import pytest
from mindspore import nn
from watched import Cnn, Trained

from driftline.train_side.monitor import TrainingMonitor
from driftline.train_side.probes import Parameters, Step, parameters
from driftline.train_side.settings import MonitorSettings, Sampling


def spoil(parameter: Any, value: float = math.nan) -> None:
    values = parameter.asnumpy().copy()
    values.reshape(-1)[0] = value
    parameter.set_data(ms.Tensor(values))


@pytest.mark.parametrize("with_optimizer", [True, False])
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_moving_average_that_is_not_finite_is_told_and_kept(
    with_optimizer: bool, value: float, tmp_path: Path
) -> None:
    network = Cnn()
    optimizer = nn.Adam(network.trainable_params(), 0.01) if with_optimizer else None
    settings = MonitorSettings(sampling=Sampling(every=1, deep_every=1), report=False)
    monitor = TrainingMonitor(tmp_path, sinks=(), settings=settings)
    with monitor.loop(network=network, optimizer=optimizer) as loop:
        for step in range(1, 7):
            if step == 4:
                spoil(network.norm.moving_mean, value)
            loop.step(loss=1.0)
    trained = Trained([], [], {}, tmp_path)
    name = network.norm.moving_mean.name
    (notice,) = [each for each in trained.notices() if each.rule == "non_finite"]
    assert notice.step == 4
    assert notice.sentence == f"The parameter {name} is not finite (NaN or infinite)."
    assert trained.series("param_norm")[4] > 0
    fault = json.loads((tmp_path / "faults" / "step-4" / "fault.json").read_text())
    assert fault["not_finite"] == [f"The parameter {name}"]
    saved = np.load(tmp_path / "faults" / "step-4" / "parameters.npz")
    assert sorted(saved) == sorted(each.name for each in network.get_parameters())
    assert not np.isfinite(saved[name]).all()


def test_a_loop_without_an_optimizer_has_parameter_health() -> None:
    network = Cnn()
    squares = [float((each.asnumpy() ** 2).sum()) for each in network.trainable_params()]
    values = Parameters().take(Step(1, 1, network=network))
    assert values["param_norm"] == pytest.approx(math.sqrt(sum(squares)), rel=1e-5)
    spoil(network.first.weight)
    values = Parameters().take(Step(1, 1, network=network))
    assert math.isnan(values["param_norm"])
    assert math.isnan(values[f"param_norm/{network.first.weight.name}"])


def test_large_frozen_weights_are_looked_at_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step looks at a bounded share of them, and at those again that it has found."""
    monkeypatch.setattr(parameters, "LARGEST", 100)
    network = nn.SequentialCell(*(nn.Dense(5, 5, has_bias=False) for _ in range(8)))
    for each in network.get_parameters():
        each.requires_grad = False
    spoil(network[6].weight)
    probe = Parameters()
    found = [
        sorted(name for name in probe.take(Step(step, 1, network=network)) if "/" in name)
        for step in range(1, 12)
    ]
    name = f"param_norm/{network[6].weight.name}"
    first = found.index([name])
    assert 0 < first < 8
    assert found == [[]] * first + [[name]] * (11 - first)


def test_a_large_sum_is_no_infinity() -> None:
    network = Cnn()
    network.norm.moving_variance.set_data(ms.Tensor(np.full(4, 3e38, np.float32)))
    assert list(Parameters().take(Step(1, 1, network=network))) == ["param_norm"]
