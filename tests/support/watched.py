"""Small trainings under a TrainingMonitor. Cells stand in a file: graph mode reads it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import mindspore as ms
import numpy as np
from mindspore import nn, ops
from mindspore.dataset import NumpySlicesDataset
from mindspore.train.callback import Callback

from driftline.train_side.monitor import TrainingMonitor
from driftline.train_side.point import Notice, Point
from driftline.train_side.reading import read_journal
from driftline.train_side.settings import MonitorSettings, Sampling

MODES = {"graph": ms.GRAPH_MODE, "pynative": ms.PYNATIVE_MODE}


class Losses(Callback):
    """What the training itself has seen."""

    def __init__(self) -> None:
        super().__init__()
        self.values: list[float] = []

    def on_train_step_end(self, run_context: Any) -> None:
        outputs = run_context.original_args().net_outputs
        loss = outputs[0] if isinstance(outputs, tuple) else outputs
        self.values.append(float(loss.asnumpy()))


@dataclass
class Trained:
    """A training that has ended."""

    losses: list[float]
    keys: list[str]
    parameters: dict[str, np.ndarray]
    folder: Path
    monitor: TrainingMonitor | None = None
    model: Any = None
    network: Any = None
    extra: dict[str, Any] = field(default_factory=dict)

    def points(self) -> list[Point]:
        return [each for each in read_journal(self.folder) if isinstance(each, Point)]

    def series(self, name: str) -> dict[int, float | None]:
        return {each.step: each.values[name] for each in self.points() if name in each.values}

    def rules(self) -> list[str]:
        return [each.rule for each in self.notices()]

    def notices(self) -> list[Notice]:
        return [each for each in read_journal(self.folder) if isinstance(each, Notice)]


def rows(count: int = 160, *, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Rows of 12 numbers, and which of the first three is the largest."""
    x = np.random.default_rng(seed).normal(size=(count, 12)).astype(np.float32)
    return x, x[:, :3].argmax(axis=1).astype(np.int32)


def dataset(count: int = 160, batch: int = 16) -> Any:
    return NumpySlicesDataset(rows(count), shuffle=False).batch(batch)


def mlp() -> nn.Cell:
    return nn.SequentialCell(
        nn.Dense(12, 16), nn.ReLU(), nn.Dense(16, 16), nn.ReLU(), nn.Dense(16, 3)
    )


class Transformer(nn.Cell):
    """Guesses each next token of eleven from those before it."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(11, 16)
        self.encoder = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
        self.head = nn.Dense(16, 11)
        self.mask = ms.Tensor(np.triu(np.full((8, 8), -1e9, np.float32), 1))

    def construct(self, tokens):
        return self.head(self.encoder(self.embedding(tokens), self.mask))


class TokenLoss(nn.Cell):
    """The mean cross entropy over all tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.loss = nn.CrossEntropyLoss()

    def construct(self, logits, tokens):
        return self.loss(logits.reshape((-1, 11)), tokens.reshape((-1,)))


class Cnn(nn.Cell):
    """Two convolutions with batch norm, over 1 × 8 × 8 images."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(1, 4, 3)
        self.norm = nn.BatchNorm2d(4)
        self.second = nn.Conv2d(4, 8, 3, stride=2)
        self.head = nn.Dense(128, 3)

    def construct(self, image):
        hidden = ops.relu(self.norm(self.first(image)))
        return self.head(ops.relu(self.second(hidden)).reshape((-1, 128)))


class ClippingStep(nn.Cell):
    """A user's own training step, which clips the gradients to length 0.1."""

    def __init__(self, network: nn.Cell, optimizer: nn.Cell) -> None:
        super().__init__()
        self.network = network
        self.rule = optimizer
        self.weights = optimizer.parameters
        self.gradient = ops.GradOperation(get_by_list=True)

    def construct(self, x, y):
        loss = self.network(x, y)
        gradients = self.gradient(self.network, self.weights)(x, y)
        gradients = ops.clip_by_global_norm(gradients, 0.1)
        return ops.depend(loss, self.rule(gradients))


class ScalingStep(nn.Cell):
    """A training step that scales the loss, and answers like MindSpore's own."""

    def __init__(self, network: nn.Cell, optimizer: nn.Cell) -> None:
        super().__init__(auto_prefix=False)
        self.network = network
        self.optimizer = optimizer
        self.weights = optimizer.parameters
        self.gradient = ops.GradOperation(get_by_list=True, sens_param=True)
        self.scale = ms.Tensor(1024.0, ms.float32)
        self.each = ops.HyperMap()

    def construct(self, x, y):
        loss = self.network(x, y)
        gradients = self.gradient(self.network, self.weights)(x, y, self.scale)
        gradients = self.each(ops.partial(unscaled, self.scale), gradients)
        loss = ops.depend(loss, self.optimizer(gradients))
        return loss, ms.Tensor(False), self.scale


def unscaled(scale, gradient):
    return gradient / scale


def cross_entropy() -> nn.Cell:
    return nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")


def train(
    folder: Path,
    *,
    watched: bool = True,
    epochs: int = 2,
    data: Any = None,
    make: Callable[[], tuple[Any, Any]] | None = None,
    fit: bool = False,
    last: bool = False,
    **arguments: Any,
) -> Trained:
    """One training, the same each time; `make` gives network and model anew.

    The monitor is the first of the callbacks, or the last one.
    """
    ms.set_seed(7)
    np.random.seed(7)
    if make is None:
        network = mlp()
        optimizer = nn.Momentum(network.trainable_params(), 0.1, 0.9)
        model = ms.Model(network, cross_entropy(), optimizer, metrics={"accuracy"})
    else:
        network, model = make()
    losses = Losses()
    monitor = None
    callbacks: list[Any] = [losses, *arguments.pop("callbacks", ())]
    if watched:
        arguments.setdefault("sinks", ())
        arguments.setdefault(
            "settings", MonitorSettings(sampling=Sampling(every=1, deep_every=4), report=False)
        )
        monitor = TrainingMonitor(folder, **arguments)
        callbacks.insert(len(callbacks) if last else 0, monitor)
    data = data if data is not None else dataset()
    if fit:
        model.fit(epochs, data, dataset(64), callbacks=callbacks)
    else:
        model.train(epochs, data, callbacks=callbacks)
    cell = model.train_network
    path = folder.with_suffix(".ckpt")
    ms.save_checkpoint(cell, str(path))
    keys = sorted(ms.load_checkpoint(str(path)))
    parameters = {each.name: each.asnumpy().copy() for each in network.get_parameters()}
    return Trained(losses.values, keys, parameters, folder, monitor, model, network)


def until(condition: Callable[[], object], seconds: float = 10.0) -> None:
    """Returns once the condition holds; fails after the deadline."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "the deadline has passed"
        time.sleep(0.01)
