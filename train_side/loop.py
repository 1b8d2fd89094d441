"""What a user holds inside ``with monitor.loop(…)``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from .fence import Fence
from .loop_training import LoopTraining
from .plan import Plan
from .record import Record


class Loop:
    """Watches a training loop: call `step` after each training step, `epoch` after each epoch.

    Nothing is converted on steps that are not sampled, and no error of its own is raised.
    """

    def __init__(
        self,
        plan: Plan,
        *,
        network: Any,
        optimizer: Any,
        again: bool = False,
        past: Record | None = None,
    ) -> None:
        self._fence = Fence()
        self._stopped = False
        self._late: Callable[[str, float], None] | None = None
        self.training: LoopTraining | None = self._fence.call(
            "begin", LoopTraining, plan, network, optimizer, again=again, past=past
        )

    @property
    def stop_requested(self) -> bool:
        """True once a policy wants the training to end; the loop has to look and to break."""
        return self._stopped if self.training is None else self.training.stopped

    def end(self, late: Callable[[str, float], None]) -> None:
        """Lets the network go; metrics that still come are handed to `late`."""
        self._stopped = self.stop_requested
        self.training = None
        self._late = late

    def step(
        self,
        *,
        loss: Any,
        grads: Sequence[Any] | None = None,
        inputs: Any = None,
        labels: Any = None,
        lr: Any = None,
    ) -> None:
        """Tells that a training step has run.

        Args:
            loss: a scalar, or a mapping of scalars by name, of which the one named ``loss`` or
                else the first is the loss.
            grads: in the order of ``optimizer.parameters``, as `value_and_grad` gives them.
            inputs: a tensor, or several; the first axis is the batch.
            labels: what the network should have answered; integers on two axes mean tokens.
            lr: the learning rate of this step, where the optimizer does not know it.
        """
        if self.training is not None:
            batch = _tuple(inputs) + _tuple(labels)
            self._fence.call("step", self.training.step, loss, grads, batch, lr)

    def epoch(self, **metrics: float) -> None:
        """Tells that an epoch has ended, with metrics by name."""
        if self.training is not None:
            self._fence.call("epoch", self.training.epoch, metrics)

    def checkpoint(self, path: Path | str) -> None:
        """Tells that the loop has saved a checkpoint of the step that ran last."""
        if self.training is not None:
            self._fence.call("checkpoint", self.training.checkpoint, str(path))

    def add_metric(self, name: str, value: float) -> None:
        """Adds a value by name, at the step that ran last."""
        if self.training is None and self._late is not None:
            self._late(name, value)
        if self.training is not None:
            metric = self.training.session.metric
            self._fence.call("add_metric", metric, name, value, self.training.step_number)


def _tuple(given: Any) -> tuple[Any, ...]:
    if given is None:
        return ()
    return tuple(given) if isinstance(given, tuple | list) else (given,)
