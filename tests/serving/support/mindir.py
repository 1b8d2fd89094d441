"""Run as a program: exports a small MindSpore network and what it answers, into a folder."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np


def main(folder: Path) -> None:
    import mindspore as ms
    from mindspore import Tensor, nn

    ms.set_context(mode=ms.GRAPH_MODE)
    ms.set_seed(3)
    network = nn.SequentialCell(nn.Dense(4, 16), nn.ReLU(), nn.Dense(16, 3))
    network.set_train(False)
    random = np.random.default_rng(4)
    rows = random.normal(size=(70, 4)).astype(np.float32)
    rows[:, 3] = random.integers(0, 3, 70)
    np.savez(folder / "expected.npz", rows=rows, logits=network(Tensor(rows)).asnumpy())
    shape = Tensor(shape=[None, 4], dtype=ms.float32)
    ms.export(network, shape, file_name=str(folder / "toy"), file_format="MINDIR")
    ms.save_checkpoint(network, str(folder / "toy.ckpt"))


def network():
    """What ``--network mindir:network`` names: the same network, not yet trained."""
    from mindspore import nn

    return nn.SequentialCell(nn.Dense(4, 16), nn.ReLU(), nn.Dense(16, 3))


def other_network():
    """A network that is not the checkpoint's."""
    from mindspore import nn

    return nn.SequentialCell(nn.Dense(4, 16), nn.ReLU(), nn.Dense(16, 3), nn.Dense(3, 3))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
