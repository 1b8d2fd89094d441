"""All that is remembered of a run while it runs; of constant size however long it is."""

from __future__ import annotations

import logging
import math
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass

from .epochs import EpochTable
from .layers import LayerTable
from .loss_curve import LossRecord
from .point import GRADIENT, Notice, Sample

log = logging.getLogger("driftline")

RECENT = 256
NAMES = 500
SMOOTHING = 0.05
NORMS = 50


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A checkpoint that training saved; `loss` is the smoothed one at that moment."""

    path: str
    step: int
    loss: float


class Record:
    """The latest values by name, and summaries of the whole run. Only the worker changes it.

    To each sample it adds what follows from earlier ones: `loss_smoothed`, an exponential mean of
    the loss with weight 0.05 for the newest (bias taken out as in Kingma and Ba 2015), and
    `grad_cv`, standard deviation over mean of the last 50 gradient norms; with a loss scale
    `overflows`, the steps skipped so far.

    `looked` counts the steps whose loss was looked at.

    A run may have several lives: `rows_before`, `seconds_before` and `notices_before` are those
    of the ones that have ended.
    """

    def __init__(self) -> None:
        self.step = self.epoch = self.samples = self.looked = 0
        self.time = 0.0
        self.losses = LossRecord()
        self.norms = LossRecord()
        self.epochs = EpochTable()
        self.layers = LayerTable()
        self.notices: deque[Notice] = deque(maxlen=500)
        self.notice_count = 0
        self.checkpoints: deque[Checkpoint] = deque(maxlen=50)
        self.overflows = self.others_overflows = 0.0
        self.unlisted = 0
        self.rows_before = self.notices_before = 0
        self.seconds_before = 0.0
        self._recent: dict[str, deque[float]] = {}
        self._metrics: set[str] = set()
        self._smooth = (0.0, 0.0)

    def add(self, sample: Sample) -> dict[str, float]:
        """Takes a sample in; its values with those that follow from earlier samples."""
        values = dict(sample.values)
        self.step, self.epoch, self.time = sample.step, sample.epoch, sample.time
        self.samples += 1
        self._loss(sample, values)
        self._gradients(values)
        if "overflow" in values:
            self.overflows += values["overflow"] + sample.overflows
            values["overflows"] = self.overflows
        for name, value in values.items():
            if not name.startswith(GRADIENT):
                self._keep(name, value)
        return values

    def add_overflows(self, steps: float) -> None:
        """Takes steps that were skipped after the last sample."""
        self.overflows += steps

    def add_looked(self, steps: int) -> None:
        """Takes steps without a sample whose loss was seen all the same."""
        self.looked += steps

    def add_metric(self, name: str, value: float) -> None:
        """Takes a value that the user's script gave."""
        self._keep(name, value)
        if name in self._recent:
            self._metrics.add(name)
        self.epochs.metric(name, value)

    def add_gauges(self, values: Mapping[str, float]) -> None:
        """Takes what was read beside the steps."""
        for name, value in values.items():
            self._keep(name, value)

    def add_notice(self, notice: Notice) -> None:
        """Takes what a rule has found."""
        self.notices.append(notice)
        self.notice_count += 1

    def add_checkpoint(self, path: str, step: int, loss: float | None) -> None:
        """Takes note of a checkpoint that was saved."""
        self.checkpoints.append(Checkpoint(path, step, math.inf if loss is None else loss))

    def end_life(self, rows: int, seconds: float, step: int = 0) -> None:
        """What comes is a life of its own, of the same run; `step` is the last one of this life."""
        self.step = max(self.step, step)
        self.rows_before += rows
        self.seconds_before += seconds
        self.notices_before = self.notice_count
        self.epochs.broke()

    def last(self, name: str) -> float | None:
        """The latest value; None if there was none."""
        values = self._recent.get(name)
        return values[-1] if values else None

    def recent(self, name: str, count: int = RECENT) -> list[float]:
        """Up to `count` latest values, oldest first; at most 256 are kept."""
        values = self._recent.get(name)
        if not values:
            return []
        return list(values)[-count:]

    def latest(self) -> dict[str, float]:
        """The latest value of each name."""
        return {name: values[-1] for name, values in self._recent.items() if values}

    @property
    def metrics(self) -> Mapping[str, float]:
        """The latest value of each metric the user's script or an evaluation gave."""
        return {name: self._recent[name][-1] for name in self._metrics if name in self._recent}

    def _keep(self, name: str, value: float) -> None:
        values = self._recent.get(name)
        if values is None:
            if len(self._recent) >= NAMES:
                if not self.unlisted:
                    log.warning(
                        "%r is the name of a value beyond the %dth: such stand in the journal only",
                        name,
                        NAMES,
                    )
                self.unlisted += 1
                return
            values = self._recent[name] = deque(maxlen=RECENT)
        values.append(value)

    def _loss(self, sample: Sample, values: dict[str, float]) -> None:
        loss = values.get("loss")
        if loss is None:
            return
        self.looked += 1
        self.losses.add(sample.step, loss)
        self.epochs.loss(loss)
        if math.isfinite(loss):
            total, weight = self._smooth
            total += SMOOTHING * (loss - total)
            weight += SMOOTHING * (1 - weight)
            self._smooth = (total, weight)
        if self._smooth[1]:
            values["loss_smoothed"] = self._smooth[0] / self._smooth[1]

    def _gradients(self, values: dict[str, float]) -> None:
        norm = values.get("grad_norm")
        if norm is None:
            return
        self.norms.add(self.step, norm)
        self.layers.add(values)
        last = [each for each in self.recent("grad_norm", NORMS) if math.isfinite(each)]
        if len(last) >= 10:
            mean = sum(last) / len(last)
            if mean > 0:
                spread = sum((each - mean) ** 2 for each in last) / (len(last) - 1)
                values["grad_cv"] = math.sqrt(spread) / mean
