"""A real MindSpore training at about five steps a second: ``slow_training.py FOLDER BOARD``."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import mindspore as ms
import numpy as np
from mindspore import dataset, nn

from driftline.train_side.monitor import TrainingMonitor
from driftline.train_side.settings import MonitorSettings, Sampling

STEPS = 600


class Rows:
    """Batches that take a fifth of a second each."""

    def __len__(self):
        return STEPS

    def __getitem__(self, at):
        time.sleep(0.2)
        x = np.random.default_rng(at).normal(size=(16, 8)).astype(np.float32)
        return x, x.sum(axis=1, keepdims=True)


ms.set_seed(1)
net = nn.SequentialCell(nn.Dense(8, 16), nn.ReLU(), nn.Dense(16, 1))
model = ms.Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.01))
data = dataset.GeneratorDataset(Rows(), ["x", "y"], shuffle=False, num_parallel_workers=1)
folder, board = Path(sys.argv[1]), sys.argv[2]
settings = MonitorSettings(run=folder.name, report=False, sampling=Sampling(every=1))
model.train(1, data, callbacks=[TrainingMonitor(folder, board=board, settings=settings)])
