"""Looking back at networks of many kinds: labels, layouts, tasks."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import mindspore as ms
import numpy as np
import pytest
from mindspore import nn
from PIL import Image
from watched import mlp, rows

from driftline.train_side.lookback import LookBack, Saved, look_back
from driftline.train_side.samples import channels_last

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("graph")]


def looked(network: nn.Cell, held_out: Any, folder: Path) -> LookBack:
    ms.save_checkpoint(network, str(folder / "a.ckpt"))
    saved = Saved(checkpoint=folder / "a.ckpt", network=network)
    return look_back(saved, [held_out], folder / "samples")


def flat(outputs: int) -> nn.Cell:
    return nn.SequentialCell(nn.Flatten(), nn.Dense(192, outputs))


@pytest.mark.parametrize("kind", [np.float32, np.int32])
def test_labels_may_be_one_hot(kind: Any, tmp_path: Path) -> None:
    x, y = rows(20)
    network = mlp()
    said = network(ms.Tensor(x[:16])).asnumpy().argmax(1)
    found = looked(network, (x, np.eye(3, dtype=kind)[y]), tmp_path)
    assert found.failure is None
    assert found.right == int((said == y[:16]).sum())
    assert found.error is None
    with (tmp_path / "samples" / "predictions.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    assert [each["truth"] for each in lines] == [str(each) for each in y[:16]]
    assert [each["predicted"] for each in lines] == [str(each) for each in said]


def test_labels_may_stand_in_a_column(tmp_path: Path) -> None:
    x, y = rows(20)
    assert looked(mlp(), (x, y[:, None]), tmp_path).right is not None


def test_several_numbers_are_no_classes(tmp_path: Path) -> None:
    x, _ = rows(20)
    found = looked(mlp(), (x, x[:, :3]), tmp_path)
    assert found.right is None
    assert found.error is not None


@pytest.mark.parametrize("shape", [(3, 8, 8), (8, 8, 3)])
@pytest.mark.parametrize("task", ["classes", "numbers"])
def test_images_of_either_layout_are_drawn(
    shape: tuple[int, ...], task: str, tmp_path: Path
) -> None:
    random = np.random.default_rng(0)
    x = random.normal(size=(20, *shape)).astype(np.float32)
    y = random.integers(0, 3, size=20).astype(np.int32) if task == "classes" else x[:, 0, 0, :1]
    found = looked(flat(3 if task == "classes" else 1), (x, y), tmp_path)
    assert found.failure is None
    assert (found.right is None) == (task == "numbers")
    with Image.open(tmp_path / "samples" / "samples.png") as picture:
        assert picture.size[0] > 500


def test_layouts_are_told_apart() -> None:
    images = np.arange(2 * 3 * 4 * 5).reshape(2, 3, 4, 5)
    shown = channels_last(images)
    assert shown is not None
    assert shown.shape == (2, 4, 5, 3)
    assert shown[1, 2, 3, 0] == images[1, 0, 2, 3]
    last = channels_last(np.zeros((2, 4, 5, 1)))
    assert last is not None
    assert last.shape == (2, 4, 5, 1)
    assert channels_last(np.zeros((2, 12))) is None
    assert channels_last(np.zeros((2, 5, 4, 5))) is None
