"""One training by a loop of the user's own."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from driftline.metadata.quality import Health

from .glance import Glance, is_seen
from .gradients import norms_of
from .health import health_of
from .network import parameters_finite, precision_of
from .obeying import obeyed
from .plan import Plan, about
from .probes.probe import Gradients, Step
from .ranks import rank_and_size
from .record import Record
from .snapshot import Snapshots

log = logging.getLogger("driftline")


class LoopTraining:
    """Seen from the ends of its steps: the next one is taken to begin where the last one ended."""

    def __init__(
        self, plan: Plan, network: Any, optimizer: Any, *, again: bool, past: Record | None = None
    ) -> None:
        self.stopped = False
        self.callbacks: tuple[Any, ...] = ()
        self.session = plan.open(about=about(network, optimizer), again=again, past=past)
        self.step_number = self.session.place.resumed_after or 0
        self.network = network
        self._optimizer = optimizer
        self._names = tuple(each.name for each in optimizer.parameters) if optimizer else ()
        self._epoch = self.session.epochs_before + 1
        self._snapshots = Snapshots(self.session)
        self._glance = Glance()
        self._step: Step | None = None
        self._begin()

    def step(self, loss: Any, gradients: Any, batch: Sequence[Any], rate: Any) -> None:
        """A step has ended."""
        self.step_number += 1
        rows = int(batch[0].shape[0]) if batch and getattr(batch[0], "shape", ()) else 0
        step, self._step = self._step, None
        if self._glance.is_news(loss, rate) and step is None:
            step = self._seen_step()  # so that the rules hear of it
        if step is None:
            self.session.skipped(rows, outputs=loss)
            self.session.glanced += is_seen(loss)
        else:
            step.number, step.epoch, step.rows = self.step_number, self._epoch, rows
            step.outputs, step.batch, step.rate = loss, batch, rate
            if step.deep and gradients is not None:
                step.gradients = self.session.fence.call("gradients", self._norms, gradients)
            self._snapshots.look(step, self.session.end(step))
        if self.session.wishes.pending:
            self.obey()
        self._begin()

    def epoch(self, metrics: Mapping[str, float]) -> None:
        """An epoch has ended."""
        values = {name: float(value) for name, value in metrics.items()}
        self.session.epoch(self._epoch, self.step_number, values)
        self._epoch += 1

    def obey(self) -> None:
        """Does what policies have asked for; a stop is only `stopped`, for the loop to heed."""
        stop = obeyed(self.session, self.network, self.step_number)
        if stop is not None and not self.stopped:
            self.stopped = True
            log.warning("the loop is asked to stop: %s", stop.sentence)

    def look_for_checkpoint(self) -> None:
        """A loop tells of each itself."""

    def checkpoint(self, path: str) -> None:
        """Takes note of a checkpoint of the step that ran last."""
        self.session.do(partial(self.session.desk.checkpoint, path, self.step_number))

    def take_out(self) -> None:
        """There is nothing in the network to be taken out."""
        self._step = None

    def health(self) -> Health:
        """What the training came to so far."""
        known = self.network is not None
        return health_of(
            self.session,
            precision=precision_of(self.network) if known else None,
            finite=parameters_finite(self.network) if known else None,
            ranks=rank_and_size()[1],
        )

    def _norms(self, gradients: Sequence[Any]) -> Gradients:
        names = self._names or tuple(f"gradient{index}" for index in range(len(gradients)))
        return norms_of(gradients, names)

    def _begin(self) -> None:
        depth = self.session.choose()
        if depth != "none":
            step = self._seen_step(deep=depth == "deep")
            self.session.begin(step)
            self._step = step

    def _seen_step(self, *, deep: bool = False) -> Step:
        return Step(0, self._epoch, optimizer=self._optimizer, network=self.network, deep=deep)
