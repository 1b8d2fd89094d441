"""What a training does while it runs: steps, epochs, losses, rows, time."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from driftline.metadata.quality import Health

from .batches import to_array
from .loss_curve import LossRecord


class TrainingWatch:
    """Counts one training; its memory does not grow with it."""

    def __init__(self) -> None:
        self.losses = LossRecord()
        self.steps = self.epochs = self.rows = 0
        self._began = time.monotonic()
        self._seconds: float | None = None

    def step(self, outputs: Any, *, rows: int, steps: int = 1) -> None:
        """Takes in what the training cell gave after `steps` steps over `rows` rows altogether."""
        self.steps += steps
        self.rows += rows
        loss = loss_of(outputs)
        if loss is not None:
            self.losses.add(self.steps, loss)

    def epoch(self) -> None:
        """Ends an epoch."""
        self.epochs += 1
        self.losses.close_epoch()

    def stop(self) -> None:
        """Ends the training's time."""
        self._seconds = time.monotonic() - self._began

    def health(self, *, finite: bool, precision: str, scale: float | None) -> Health:
        """What was measured, with what the caller knows of the network."""
        import mindspore as ms

        self.losses.close_epoch()
        seconds = time.monotonic() - self._began if self._seconds is None else self._seconds
        seed = ms.get_seed()
        return Health(
            steps=self.steps,
            epochs=self.epochs,
            seconds=seconds,
            rows_seen=self.rows,
            final_loss=self.losses.final,
            best_loss=self.losses.best,
            loss_by_epoch=tuple(self.losses.means),
            loss_sd_by_epoch=tuple(self.losses.sds),
            finite=finite and self.losses.finite,
            rows_per_second=self.rows / seconds if seconds > 0 else None,
            precision=precision,
            loss_scale=scale,
            seed=None if seed is None else int(seed),
        )


def loss_of(outputs: Any) -> float | None:
    """The loss in what a training cell gave: a tensor, or the first of several; None if unknown."""
    while isinstance(outputs, tuple | list):
        if not outputs:
            return None
        outputs = outputs[0]
    if isinstance(outputs, int | float):
        return float(outputs)
    if not hasattr(outputs, "asnumpy"):
        return None
    if outputs.size == 1:
        return float(outputs.item())  # far cheaper than an array
    values = to_array(outputs)
    if not values.size or values.dtype.kind not in "fiu":
        return None
    return float(np.mean(values, dtype=np.float64))
