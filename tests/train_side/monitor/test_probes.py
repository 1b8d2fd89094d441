"""What probes make of the outputs that training cells give."""

from __future__ import annotations

import math
from typing import Any

import mindspore as ms
import numpy as np
import pytest
from mindspore import nn
from watched import mlp

from driftline.train_side.gradients import norms_of
from driftline.train_side.probes import (
    PROBES,
    GradientNorms,
    Gradients,
    LearningRate,
    Loss,
    Parameters,
    Step,
    Throughput,
    Timing,
    default_probes,
)
from driftline.train_side.probes.gradients import MOST, grouped


def t(value: Any, kind: Any = ms.float32) -> ms.Tensor:
    return ms.Tensor(value, kind)


def loss_of(outputs: Any, **step: Any) -> dict[str, float]:
    return dict(Loss().take(Step(1, 1, outputs=outputs, **step)))


@pytest.mark.parametrize(
    ("outputs", "expected"),
    [
        (t(0.5), {"loss": 0.5}),
        (t([0.5, 1.5]), {"loss": 1.0}),
        (t(0.5, ms.float16), {"loss": 0.5}),
        (t(0.5, ms.bfloat16), {"loss": 0.5}),
        ((t(0.5),), {"loss": 0.5}),
        ((t(3.0), t(2.0), t(1.0)), {"loss": 3.0, "loss/1": 2.0, "loss/2": 1.0}),
        ((t(3.0), t([[1.0, 2.0]])), {"loss": 3.0}),  # logits
        ({"loss": t(3.0), "kl": t(1.0)}, {"loss": 3.0, "loss/kl": 1.0}),
        ({"total": t(3.0), "kl": 1.0}, {"loss": 3.0, "loss/kl": 1.0}),
        (
            (t(0.5), t(False, ms.bool_), t(1024.0)),
            {"loss": 0.5, "overflow": 0.0, "loss_scale": 1024.0},
        ),
        (
            (t(0.5), True, t(512.0), t(1e-4), None, None, 8),
            {"loss": 0.5, "overflow": 1.0, "loss_scale": 512.0, "lr": pytest.approx(1e-4)},
        ),
        (
            (t(0.5), t(False, ms.bool_), t(512.0), t(1e-4), t(1.25)),
            {
                "loss": 0.5,
                "overflow": 0.0,
                "loss_scale": 512.0,
                "lr": pytest.approx(1e-4),
                "grad_norm": 1.25,
            },
        ),
        (None, {}),
        ("text", {}),
        ((), {}),
        (t(np.zeros((0,), np.float32)), {}),
    ],
)
def test_losses_of_many_forms(outputs: Any, expected: dict[str, float]) -> None:
    assert loss_of(outputs) == expected


def test_perplexity_is_for_tokens() -> None:
    tokens = t(np.zeros((4, 7)), ms.int32)
    classes = t(np.zeros(4), ms.int32)
    assert loss_of(2.0, batch=(tokens, tokens))["perplexity"] == pytest.approx(math.exp(2))
    assert "perplexity" not in loss_of(2.0, batch=(tokens, classes))
    assert "perplexity" in Loss(language=True).take(Step(1, 1, outputs=2.0))
    assert loss_of(5000.0, batch=(tokens, tokens))["perplexity"] == math.inf


def test_norms_are_those_of_numpy() -> None:
    random = np.random.default_rng(0)
    arrays = [random.normal(size=shape).astype(np.float32) for shape in ((3, 4), (7,), (2, 2, 2))]
    found = norms_of([t(each) for each in arrays], ("a.weight", "a.bias", "b.weight"))
    values = GradientNorms().take(Step(1, 1, gradients=found))
    assert values["grad_norm/a.bias"] == pytest.approx(np.linalg.norm(arrays[1]), rel=1e-6)
    every = np.concatenate([each.ravel() for each in arrays])
    assert values["grad_norm"] == pytest.approx(np.linalg.norm(every), rel=1e-6)
    with pytest.raises(ValueError, match="2 gradients for 3 parameters"):
        norms_of([1, 2], ("a", "b", "c"))


def test_many_parameters_are_put_together_by_cell() -> None:
    names = [f"blocks.{block}.{part}" for block in range(200) for part in ("weight", "bias")]
    groups = grouped(names)
    assert len(set(groups)) == 200
    assert groups[:2] == ["blocks.0", "blocks.0"]
    found = Gradients(names, [3.0, 4.0] * 200)
    values = GradientNorms().take(Step(1, 1, gradients=found))
    assert values["grad_norm/blocks.7"] == 5.0
    assert values["grad_norm"] == pytest.approx(5.0 * math.sqrt(200))
    assert len(set(grouped([f"parameter{index}" for index in range(1000)]))) == MOST


def test_no_gradients_are_no_zeros() -> None:
    assert GradientNorms().take(Step(1, 1)) == {}
    assert GradientNorms().take(Step(1, 1, gradients=Gradients((), ()))) == {}


def test_the_update_is_compared_with_the_weights() -> None:
    network = mlp()
    optimizer = nn.Momentum(network.trainable_params(), 0.1, 0.9)
    probe, step = Parameters(), Step(1, 1, optimizer=optimizer)
    probe.begin(step)
    for each in network.trainable_params():
        each.set_data(each * 1.01)
    values = probe.take(step)
    assert values["update_ratio"] == pytest.approx(0.01, rel=1e-3)
    squares = sum(float((each.asnumpy() ** 2).sum()) for each in network.trainable_params())
    assert values["param_norm"] == pytest.approx(math.sqrt(squares), rel=1e-5)
    network[0].weight.set_data(t(np.full((16, 12), np.nan)))
    assert math.isnan(probe.take(step)["param_norm"])


def test_a_rate_that_is_given_counts() -> None:
    assert LearningRate().take(Step(1, 1, rate=t(0.5))) == {"lr": 0.5}
    assert LearningRate().take(Step(1, 1)) == {}


@pytest.mark.parametrize("groups", [1, 2])
def test_the_newer_optimizers_tell_their_rate(groups: int) -> None:
    first, *others = mlp().trainable_params()
    parts = [{"params": [first], "lr": 0.05}, {"params": others}][-groups:]
    optimizer = ms.experimental.optim.SGD(parts, lr=0.1)
    probe, step = LearningRate(), Step(1, 1, optimizer=optimizer)
    probe.begin(step)
    rates = [0.05, 0.1][-groups:]
    values = probe.take(step)
    assert values["lr"] == pytest.approx(rates[0])
    assert len(values) == (1 if groups == 1 else 3)


def test_throughput_is_rows_over_seconds() -> None:
    step = Step(1, 1, timing=lambda: Timing(rows=640, steps=10, seconds=2.0, waiting=0.5))
    assert Throughput().take(step) == {
        "samples_per_second": 320.0,
        "step_seconds": 0.2,
        "data_wait": 0.25,
    }
    assert Throughput().take(Step(1, 1, timing=lambda: Timing(0, 0, 0.0, 0.0))) == {}


def test_kinds_are_those_of_the_defaults() -> None:
    assert set(PROBES.kinds()) == {probe.kind for probe in default_probes()}
