"""A training that goes on until it is killed; its steps and their times stand beside the run."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import mindspore as ms
from mindspore.train.callback import Callback
from watched import MODES, cross_entropy, dataset, mlp

from driftline.train_side.monitor import TrainingMonitor
from driftline.train_side.settings import MonitorSettings, Sampling


class Steps(Callback):
    def __init__(self, path: Path) -> None:
        super().__init__()
        self._file = path.open("w", buffering=1)

    def on_train_step_end(self, run_context: Any) -> None:
        step = run_context.original_args().cur_step_num
        self._file.write(f"{step} {time.time()}\n")
        time.sleep(0.002)


if __name__ == "__main__":
    mode, folder = sys.argv[1], Path(sys.argv[2])
    ms.set_context(mode=MODES[mode])
    monitor = TrainingMonitor(
        folder,
        sinks=(),
        settings=MonitorSettings(sampling=Sampling(every=1, deep_every=10), report=False),
    )
    network = mlp()
    optimizer = ms.nn.Momentum(network.trainable_params(), 0.1, 0.9)
    model = ms.Model(network, cross_entropy(), optimizer)
    steps = Steps(folder.with_suffix(".steps"))
    model.train(100_000, dataset(), callbacks=[monitor, steps])
