"""A training of the digits that takes minutes: ``python -m examples.pages.training FOLDER BOARD``.

Its learning rate falls by a cosine, but for two steps in the middle of it, when it is far too
large: the loss leaps, the gradients explode, and both recover.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import mindspore as ms
import numpy as np
from mindspore import nn
from mindspore.train.callback import Callback

from driftline.train_side.monitor import TrainingMonitor
from driftline.train_side.rules import GradientExplosion, default_rules
from driftline.train_side.settings import MonitorSettings, Sampling
from examples.digits.data import pools
from examples.digits.train import Net, batches

STEPS, EPOCHS = 80, 12
PAUSE = 0.2
FAULT = range(300, 302)


class Slowly(Callback):  # MindSpore is untyped
    """Waits after each step, so that there is time to look; tells the accuracy of each epoch."""

    def __init__(self, monitor: TrainingMonitor, model: ms.Model, held_out: Any) -> None:
        super().__init__()
        self._monitor, self._model, self._held_out = monitor, model, held_out

    def on_train_step_end(self, run_context: Any) -> None:
        """Takes its time."""
        time.sleep(PAUSE)

    def on_train_epoch_end(self, run_context: Any) -> None:
        """A metric of the user's own."""
        images, labels = self._held_out
        found = self._model.predict(ms.Tensor(images)).asnumpy().argmax(axis=1)
        self._monitor.add_metric("held_out_accuracy", float(np.mean(found == labels)))


def rates() -> list[float]:
    """The learning rate of each step."""
    steps = np.arange(STEPS * EPOCHS)
    found = 2e-3 * (0.02 + 0.98 * (1 + np.cos(np.pi * steps / len(steps))) / 2)
    found[FAULT.start : FAULT.stop] = 3e-2
    return [float(rate) for rate in found]


def train(folder: Path, board: str, seed: int = 1) -> None:
    """Trains, and shows it on the board."""
    ms.set_seed(seed)
    seen, unseen = pools()
    net = Net()
    optimizer = nn.Adam(net.trainable_params(), learning_rate=rates())
    model = ms.Model(net, nn.CrossEntropyLoss(), optimizer)
    settings = MonitorSettings(sampling=Sampling(every=1, deep_every=1), report=False)
    rules = [each for each in default_rules() if each.kind != GradientExplosion.kind]
    rules.append(GradientExplosion(limit=10))
    monitor = TrainingMonitor(folder, board=board, rules=rules, settings=settings)
    data = batches(*seen.draw(64 * STEPS, seed=seed))
    slowly = Slowly(monitor, model, unseen.draw(500, seed=seed))
    model.train(EPOCHS, data, callbacks=[monitor, slowly])


if __name__ == "__main__":
    train(Path(sys.argv[1]), sys.argv[2])
