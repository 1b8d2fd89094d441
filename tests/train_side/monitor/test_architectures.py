"""Other networks than the one of most tests: convolutions, a Transformer, a sparse embedding."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import mindspore as ms
import numpy as np
import pytest
from mindspore import nn
from watched import Cnn, TokenLoss, Transformer, cross_entropy, train

pytestmark = pytest.mark.slow


def images() -> Any:
    random = np.random.default_rng(0)
    x = random.normal(size=(96, 1, 8, 8)).astype(np.float32)
    y = random.integers(0, 3, size=96).astype(np.int32)
    return ms.dataset.NumpySlicesDataset((x, y), shuffle=False).batch(16)


def sentences() -> Any:
    tokens = (np.arange(96 * 9).reshape(96, 9) * 7 % 11).astype(np.int32)
    columns = (tokens[:, :-1].copy(), tokens[:, 1:].copy())
    return ms.dataset.NumpySlicesDataset(columns, shuffle=False).batch(16)


def cnn() -> tuple[Any, Any]:
    network = Cnn()
    optimizer = nn.Adam(network.trainable_params(), 0.01)
    return network, ms.Model(network, cross_entropy(), optimizer)


def transformer() -> tuple[Any, Any]:
    network = Transformer()
    optimizer = nn.AdamWeightDecay(network.trainable_params(), 0.01)
    return network, ms.Model(network, TokenLoss(), optimizer)


@pytest.mark.parametrize(("make", "data"), [(cnn, images), (transformer, sentences)])
def test_nothing_changes_and_everything_is_seen(
    mode: str, make: Any, data: Any, tmp_path: Path
) -> None:
    alone = train(tmp_path / "alone", watched=False, make=make, data=data())
    watched = train(tmp_path / "watched", make=make, data=data())
    assert watched.losses == alone.losses
    assert watched.keys == alone.keys
    for name, values in alone.parameters.items():
        assert np.array_equal(values, watched.parameters[name]), name
    names = {name for point in watched.points() for name in point.values}
    trained = {each.name for each in watched.network.trainable_params()}
    assert {f"grad_norm/{name}" for name in trained} <= names
    assert all(norm > 0 for norm in watched.series("grad_norm").values())
    if make is transformer:
        expected = {step: math.exp(loss) for step, loss in enumerate(watched.losses, 1)}
        assert watched.series("perplexity") == pytest.approx(expected, rel=1e-6)
    else:
        assert "perplexity" not in names


@pytest.mark.usefixtures("graph")
def test_what_cannot_be_tapped_is_left_alone_and_said(tmp_path: Path) -> None:
    """A dictionary of gradients is nothing that norms can be taken of."""

    class Odd(nn.Momentum):
        def construct(self, gradients: Any) -> Any:
            return super().construct(gradients["all"])

    class OddStep(nn.Cell):
        def __init__(self, network: nn.Cell, optimizer: nn.Cell) -> None:
            super().__init__(auto_prefix=False)
            self.network = network
            self.optimizer = optimizer
            self.weights = optimizer.parameters
            self.gradient = ms.ops.GradOperation(get_by_list=True)

        def construct(self, x: Any, y: Any) -> Any:
            loss = self.network(x, y)
            gradients = self.gradient(self.network, self.weights)(x, y)
            return ms.ops.depend(loss, self.optimizer({"all": gradients}))

    def make() -> tuple[Any, Any]:
        network = Cnn()
        optimizer = Odd(network.trainable_params(), 0.1, 0.9)
        step = OddStep(nn.WithLossCell(network, cross_entropy()), optimizer)
        return network, ms.Model(step)

    alone = train(tmp_path / "alone", watched=False, make=make, data=images())
    watched = train(tmp_path / "watched", make=make, data=images())
    assert watched.losses == alone.losses
    assert watched.series("grad_norm") == {}
    assert watched.series("param_norm")
