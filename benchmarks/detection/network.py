"""A small classifier in MindSpore, trained here and now, and its gradient-sign images."""

from __future__ import annotations

import mindspore as ms
import numpy as np
from mindspore import nn, ops

from driftline.metadata.signals import Floats, Ints

from .images import Collection, Images

STEPS = 600
BATCH = 100


class Network(nn.Cell):
    """Three dense layers; ``[n, 1, 28, 28]`` → logits of ten classes.

    Convolutions took most of the benchmark's time and told no more.
    """

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.SequentialCell(
            nn.Flatten(),
            nn.Dense(28 * 28, 256),
            nn.ReLU(),
            nn.Dense(256, 64),
            nn.ReLU(),
            nn.Dense(64, 10),
        )

    def construct(self, images: ms.Tensor) -> ms.Tensor:
        """Logits."""
        return self.layers(images)


def trained(collection: Collection, seed: int) -> Network:
    """The network after some steps of Adam on batches of the training part."""
    ms.set_seed(seed)
    network = Network()
    network.set_train()
    optimizer = nn.Adam(network.trainable_params(), learning_rate=2e-3)

    def loss(images: ms.Tensor, labels: ms.Tensor) -> ms.Tensor:
        return ops.cross_entropy(network(images), labels)

    gradients_of = ms.value_and_grad(loss, None, optimizer.parameters)

    @ms.jit
    def step(images: ms.Tensor, labels: ms.Tensor) -> ms.Tensor:
        value, gradients = gradients_of(images, labels)
        optimizer(gradients)
        return value

    images, labels = collection.train
    random = np.random.default_rng(seed)
    for _ in range(STEPS):
        part = random.integers(len(images), size=BATCH)
        step(ms.Tensor(images[part]), ms.Tensor(labels[part].astype(np.int32)))
    network.set_train(False)
    return network


def logits(network: Network, images: Images) -> Floats:
    """Shape ``[n, 10]``."""
    parts = [
        network(ms.Tensor(images[at : at + 500])).asnumpy() for at in range(0, len(images), 500)
    ]
    return np.concatenate(parts).astype(np.float64)


def gradient_sign(network: Network, images: Images, labels: Ints, size: float) -> Images:
    """Images moved by `size` along the sign of the loss's gradient (Goodfellow et al. 2015)."""

    def loss(some: ms.Tensor, of: ms.Tensor) -> ms.Tensor:
        return ops.cross_entropy(network(some), of)

    gradient = ms.grad(loss)
    parts = []
    for at in range(0, len(images), 500):
        some = images[at : at + 500]
        sign = np.sign(
            gradient(ms.Tensor(some), ms.Tensor(labels[at : at + 500].astype(np.int32))).asnumpy()
        )
        parts.append(np.clip(some + np.float32(size) * sign, 0, 1))
    return np.concatenate(parts).astype(np.float32)
