"""Small MindSpore trainings that tests share. Cells stand in a file: graph mode reads it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import mindspore as ms
import mindspore.dataset as ds
import numpy as np
from mindspore import nn, ops
from mindspore.train import Callback, Model
from numpy.typing import NDArray
from sklearn.datasets import load_digits

Array = NDArray[Any]
NAMES = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
MODES = {"graph": ms.GRAPH_MODE, "pynative": ms.PYNATIVE_MODE}
BATCH = 32
TRAIN = 13 * BATCH
HELD_OUT = 500
TWO_TRAIN = 10 * BATCH


class Cnn(nn.Cell):
    """Logits of ten classes for 8 × 8 images. It repeats to the last bit from run to run, which
    `nn.Dropout` on CPU does not.
    """

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3, pad_mode="same")
        self.norm = nn.BatchNorm2d(8)
        self.relu = nn.ReLU()
        self.pool = nn.MaxPool2d(2, 2)
        self.flat = nn.Flatten()
        self.head = nn.Dense(128, 10)

    def construct(self, image):
        hidden = self.pool(self.relu(self.norm(self.conv(image))))
        return self.head(self.flat(hidden))


class TwoInputs(nn.Cell):
    """Logits of two classes from a number matrix and token ids; the pooled vector besides."""

    def __init__(self) -> None:
        super().__init__()
        self.left = nn.Dense(3, 8)
        self.right = nn.Embedding(20, 8)
        self.drop = nn.Dropout(p=0.2)
        self.head = nn.Dense(8, 2)

    def construct(self, numbers, tokens):
        pooled = self.left(numbers) + self.right(tokens).mean(axis=1)
        return pooled, self.head(self.drop(ops.relu(pooled)))


class TwoInputsLoss(nn.Cell):
    """The loss of `TwoInputs`, as a user writes it who has several inputs."""

    def __init__(self, network: nn.Cell) -> None:
        super().__init__()
        self.network = network
        self.loss = nn.CrossEntropyLoss()

    def construct(self, numbers, tokens, label):
        _, logits = self.network(numbers, tokens)
        return self.loss(logits, label)


class Losses(Callback):
    """Every loss, and the random states and flags after the training."""

    def __init__(self) -> None:
        super().__init__()
        self.values: list[float] = []

    def on_train_step_end(self, run_context: Any) -> None:
        outputs = run_context.original_args().net_outputs
        outputs = outputs[0] if isinstance(outputs, tuple) else outputs
        self.values.append(float(outputs.asnumpy()))


@dataclass
class Trained:
    """What a training left behind."""

    network: nn.Cell
    losses: list[float]
    random: tuple[Any, ...] = ()
    flags: tuple[Any, ...] = ()

    def parameters(self) -> dict[str, Array]:
        return {each.name: each.asnumpy() for each in self.network.get_parameters()}


def digits() -> tuple[Array, Array, Array, Array]:
    """Training images and labels, held-out images and labels; float32 NCHW in 0..1, int32."""
    images, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(labels))
    images = (images[order] / 16).reshape(-1, 1, 8, 8).astype(np.float32)
    labels = labels[order].astype(np.int32)
    return images[:TRAIN], labels[:TRAIN], images[-HELD_OUT:], labels[-HELD_OUT:]


def dataset(columns: dict[str, Array], *, shuffle: bool = False, batch: int = BATCH) -> Any:
    return ds.NumpySlicesDataset(columns, shuffle=shuffle).batch(batch)


def train_digits(
    mode: str,
    *callbacks: Any,
    cell: type[nn.Cell] = Cnn,
    epochs: int = 2,
    frozen: bool = False,
    **settings: Any,
) -> Trained:
    """A seeded training on digits; with `frozen` the batch norm is kept out of training mode."""
    ms.set_context(mode=MODES[mode])
    ms.set_seed(5)
    network = cell()
    losses = Losses()
    images, labels, _, _ = digits()
    data = dataset({"image": images, "label": labels}, shuffle=True)
    optimizer = nn.Adam(network.trainable_params(), learning_rate=5e-3)
    model = Model(network, loss_fn=nn.CrossEntropyLoss(), optimizer=optimizer, **settings)
    if frozen:
        model.train_network.set_train(True)
        network.norm.set_train(False)
    model.train(epochs, data, callbacks=[losses, *callbacks])
    states = (np.random.get_state()[1].tolist(), ms.get_rng_state().asnumpy().tolist())
    flags = [(name, each.training, each.phase) for name, each in network.cells_and_names()]
    return Trained(network, losses.values, states, tuple(flags))


def train_two_inputs(mode: str, network: TwoInputs, *callbacks: Any, epochs: int = 2) -> Trained:
    """A user's own training cell over a dataset of (numbers, tokens, label)."""
    ms.set_context(mode=MODES[mode])
    ms.set_seed(5)
    losses = Losses()
    loss = TwoInputsLoss(network)
    step = nn.TrainOneStepCell(loss, nn.Adam(network.trainable_params(), learning_rate=1e-2))
    Model(step).train(
        epochs, dataset(two_inputs(TWO_TRAIN, seed=1)), callbacks=[losses, *callbacks]
    )
    return Trained(network, losses.values)


def two_inputs(rows: int, *, seed: int) -> dict[str, Array]:
    """Columns for `TwoInputs`; the label follows from the first number."""
    random = np.random.default_rng(seed)
    numbers = random.normal(size=(rows, 3)).astype(np.float32)
    tokens = random.integers(0, 20, size=(rows, 6)).astype(np.int32)
    return {
        "numbers": numbers,
        "tokens": tokens,
        "label": (numbers[:, 0] > 0).astype(np.int32),
    }


def train_regression(mode: str, *callbacks: Any, epochs: int = 3) -> Trained:
    """One target from four numbers, by the mean squared error."""
    ms.set_context(mode=MODES[mode])
    ms.set_seed(5)
    network = nn.Dense(4, 1)
    losses = Losses()
    optimizer = nn.Adam(network.trainable_params(), learning_rate=5e-2)
    model = Model(network, loss_fn=nn.MSELoss(), optimizer=optimizer)
    model.train(epochs, dataset(regression(600, seed=1)), callbacks=[losses, *callbacks])
    return Trained(network, losses.values)


def regression(rows: int, *, seed: int) -> dict[str, Array]:
    """Columns of a linear law with noise of standard deviation 0.1."""
    random = np.random.default_rng(seed)
    x = random.normal(size=(rows, 4)).astype(np.float32)
    y = x @ np.array([1.0, -2.0, 0.5, 0.0], np.float32) + 3
    noise = random.normal(0, 0.1, size=rows).astype(np.float32)
    return {"x": x, "y": (y + noise)[:, None]}
