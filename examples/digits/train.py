"""Trains a small CNN with MindSpore and packages it with what training knew.

``python -m examples.digits.train PACKAGE``
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import mindspore as ms
from mindspore import dataset, nn

from driftline.train_side import Classification, FingerprintCallback, Image
from examples.digits.data import NAMES, SIZE, Images, Labels, pools

BATCH = 64


class Net(nn.Cell):  # MindSpore is untyped
    """Two convolutions and two dense layers; logits of ten classes."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.SequentialCell(
            nn.Conv2d(1, 16, 3, pad_mode="same"), nn.ReLU(), nn.MaxPool2d(2, 2),
            nn.Conv2d(16, 32, 3, pad_mode="same"), nn.ReLU(), nn.MaxPool2d(2, 2),
            nn.Flatten(), nn.Dense(32 * (SIZE // 4) ** 2, 64), nn.ReLU(), nn.Dense(64, 10),
        )  # fmt: skip

    def construct(self, image: ms.Tensor) -> ms.Tensor:
        """Images ``[n, 1, 12, 12]`` → logits ``[n, 10]``."""
        return self.body(image)


def batches(images: Images, labels: Labels) -> dataset.Dataset:
    """A MindSpore dataset of (image, label) in batches, in the order given."""

    def rows() -> Iterator[tuple[Images, Labels]]:
        yield from zip(images, labels, strict=True)

    source = dataset.GeneratorDataset(rows, ["image", "label"], shuffle=False)
    return source.batch(BATCH)


def train(package: Path, *, epochs: int = 4, seed: int = 1) -> None:
    """Trains with a fixed seed; leaves the package at `package`."""
    ms.set_seed(seed)
    ms.set_context(mode=ms.GRAPH_MODE)
    seen, unseen = pools()
    net = Net()
    model = ms.Model(
        net,
        nn.CrossEntropyLoss(),
        nn.Adam(net.trainable_params(), learning_rate=2e-3),
    )
    fingerprint = FingerprintCallback(
        package,
        reference=batches(*unseen.draw(8_000, seed=2)),
        inputs=Image(layout="NCHW", low=0.0, high=1.0),
        task=Classification(NAMES),
        model_name="digits",
        model_version="1",
    )
    model.train(epochs, batches(*seen.draw(12_000, seed=3)), callbacks=[fingerprint])


if __name__ == "__main__":
    train(Path(sys.argv[1] if len(sys.argv) > 1 else "build/demo/package"))
