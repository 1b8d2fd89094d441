"""Trainings of two ranks, each on a half of the digits, packaged; started by msrun.

The argument is a folder. In ``whole`` both ranks read the whole reference, in ``halves`` each a
half of it, in ``broken`` rank 1's does not fit.
"""

from __future__ import annotations

import sys

import mindspore as ms
from mindspore import nn
from mindspore.communication import get_rank, init
from mindspore.train import Model
from trainings import NAMES, Cnn, dataset, digits

from driftline.train_side import Classification, FingerprintCallback, Image


def main(folder: str) -> None:
    ms.set_context(mode=ms.GRAPH_MODE)
    init()
    rank = get_rank()
    ms.set_auto_parallel_context(
        parallel_mode=ms.ParallelMode.DATA_PARALLEL, gradients_mean=True, device_num=2
    )
    for how in ("halves", "whole", "broken"):
        train(f"{folder}/{how}", how, rank)
        print(f"rank {rank} has ended {how}", flush=True)


def train(path: str, how: str, rank: int) -> None:
    ms.set_seed(5)
    images, labels, held_out, truth = digits()
    if how == "halves":
        held_out, truth = held_out[rank::2], truth[rank::2]
    if how == "broken" and rank == 1:
        held_out = held_out[:, :, :4]
    network = Cnn()
    callback = FingerprintCallback(
        path,
        reference=[(held_out, truth)],
        inputs=Image(),
        task=Classification(NAMES),
        model_name="digits",
    )
    model = Model(network, nn.CrossEntropyLoss(), nn.Adam(network.trainable_params()))
    half = {"image": images[rank::2], "label": labels[rank::2]}
    model.train(1, dataset(half), callbacks=[callback])


if __name__ == "__main__":
    main(*sys.argv[1:])
