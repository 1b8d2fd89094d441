"""The models that are served: the CNN of the demo, and an MLP over a table of 20 columns.

``python -m benchmarks.serving.models NAME PACKAGE`` trains and packages one.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

COLUMNS = 20
NAMES = ("MLP", "CNN")


def rows(name: str, count: int = 64) -> list[list[object]]:
    """Instances of the model as training knew them, as nested lists."""
    if name == "CNN":
        from examples.digits.data import pools

        images, _ = pools()[1].draw(count, seed=7)
        return list(images.round(4).astype(float).tolist())
    found = np.random.default_rng(3).normal(size=(count, COLUMNS))
    return list(found.round(4).tolist())


def make(name: str, package: Path) -> None:
    """Trains and packages the model."""
    if name == "CNN":
        from examples.digits.train import train

        train(package, epochs=1)
    else:
        _mlp(package)


def _mlp(package: Path) -> None:
    import mindspore as ms
    from mindspore import dataset, nn

    from driftline.train_side import Classification, FingerprintCallback, Tabular

    random = np.random.default_rng(1)
    truth = random.normal(size=(COLUMNS, 3))

    def batches(count: int) -> dataset.Dataset:
        x = random.normal(size=(count, COLUMNS)).astype(np.float32)
        y = (x @ truth).argmax(axis=1).astype(np.int32)

        def rows() -> Iterator[tuple[np.ndarray, np.ndarray]]:
            yield from zip(x, y, strict=True)

        return dataset.GeneratorDataset(rows, ["x", "label"], shuffle=False).batch(64)

    ms.set_context(mode=ms.GRAPH_MODE)
    net = nn.SequentialCell(
        nn.Dense(COLUMNS, 64), nn.ReLU(), nn.Dense(64, 64), nn.ReLU(), nn.Dense(64, 3)
    )
    model = ms.Model(net, nn.CrossEntropyLoss(), nn.Adam(net.trainable_params()))
    fingerprint = FingerprintCallback(
        package,
        reference=batches(4_000),
        inputs=Tabular(tuple(f"c{index}" for index in range(COLUMNS))),
        task=Classification(("red", "green", "blue")),
        model_name="mlp",
    )
    model.train(1, batches(12_800), callbacks=[fingerprint])


if __name__ == "__main__":
    make(sys.argv[1], Path(sys.argv[2]))
