"""One training by MindSpore's `Model`, seen through its callbacks."""

from __future__ import annotations

import logging
import math
from pathlib import Path
from typing import Any

from driftline.metadata.quality import Health

from .gradients import GradientTap
from .health import health_of
from .network import parameters_finite, precision_of
from .plan import Plan, about
from .probes.probe import Step
from .ranks import rank_and_size
from .snapshot import Snapshots

log = logging.getLogger("driftline")


class ModelTraining:
    """From `on_train_begin` to the end; `params` is what MindSpore tells its callbacks.

    Steps go on after those of the run that is continued, whatever MindSpore counts from.
    """

    def __init__(self, plan: Plan, params: Any, *, again: bool, epochs_before: int) -> None:
        network = params.get("network") or params.get("train_network")
        self.stopped = False
        self._params = params
        self._sinks_data = bool(params.get("dataset_sink_mode"))
        self._tap = GradientTap(params.get("train_network"), params.get("optimizer"))
        if self._sinks_data:
            # There the training cell is wrapped once more after this, and one call runs many steps.
            self._tap.error = RuntimeError("steps are not seen one by one in data sink mode")
        steps = int(params.get("epoch_num") or 0) * int(params.get("batch_num") or 0)
        self.session = plan.open(
            about=about(network, self._tap.optimizer, epochs=params.get("epoch_num")),
            steps=steps or None,
            again=again,
        )
        self._seen = int(params.get("cur_step_num") or 0)
        self._offset = (self.session.place.resumed_after or 0) - self._seen
        self._epochs_before = epochs_before
        self._step: Step | None = None
        self._snapshots = Snapshots(self.session)
        self._scale = _scale_of(params)

    @property
    def step_number(self) -> int:
        """The last step that has ended, as the run counts."""
        return self._seen + self._offset

    def epoch_number(self, params: Any) -> int:
        """The epoch that runs, as the run counts."""
        number = int(params.get("cur_epoch_num") or 0)
        return number if number > self._epochs_before else number + self._epochs_before

    def step_begin(self, params: Any) -> None:
        """Chooses whether to look at the step that begins."""
        depth = self.session.choose()
        if depth == "none":
            self._step = None
            return
        batch = params.get("train_dataset_element") or ()
        step = Step(
            number=int(params.get("cur_step_num")) + self._offset,
            epoch=self.epoch_number(params),
            batch=batch,
            optimizer=self._tap.optimizer,
            deep=depth == "deep",
        )
        if step.deep:
            self._tap.put_in(batch)
        self.session.begin(step)
        self._step = step

    def step_end(self, params: Any) -> None:
        """Takes the values of a step that was chosen."""
        number = int(params.get("cur_step_num"))
        steps, self._seen = number - self._seen, number
        rows = self._rows(params, steps)
        step, self._step = self._step, None
        if step is None:
            self.session.skipped(rows, steps)
            return
        step.number = self.step_number
        step.outputs = params.get("net_outputs")
        step.rows = rows
        if step.deep:
            self._tap.take_out()
            step.gradients = self._tap.read()
        values = self.session.end(step, steps)
        self._snapshots.look(step, values)

    def epoch_end(self, params: Any) -> None:
        """Closes the epoch, with the metrics of an evaluation if there was one."""
        results = params.get("eval_results") or params.get("metrics") or {}
        metrics = {
            name if name.startswith("eval") else f"eval_{name}": float(value)
            for name, value in dict(results).items()
            if isinstance(value, int | float) and math.isfinite(value)
        }
        self.session.epoch(self.epoch_number(params), self.step_number, metrics)

    def obey(self, run_context: Any) -> None:
        """Does what policies have asked for."""
        checkpoint, stop = self.session.wishes.taken()
        if checkpoint is not None:
            network = run_context.original_args().get("train_network")
            name = f"{checkpoint.rule}-step{self.step_number}.ckpt"
            save_checkpoint(network, self.session.place.folder / "faults" / name)
        if stop is not None and not self.stopped:
            self.stopped = True
            run_context.request_stop()
            log.warning("training is stopped: %s", stop.sentence)

    def take_out(self) -> None:
        """Gives the training cell back as it was."""
        self._tap.take_out()

    def health(self) -> Health:
        """What the training came to so far."""
        params = self._params
        network = params.get("network") or params.get("train_network")
        return health_of(
            self.session,
            precision=precision_of(network),
            loss_scale=self._scale,
            finite=parameters_finite(network),
            ranks=rank_and_size()[1],
        )

    def _rows(self, params: Any, steps: int) -> int:
        batch = params.get("train_dataset_element")
        if batch:
            shape = getattr(batch[0], "shape", ())
            return int(shape[0]) if shape else 0
        dataset = params.get("train_dataset")
        return int(dataset.get_batch_size()) * steps if dataset is not None else 0


def save_checkpoint(network: Any, path: Path) -> None:
    """Saves all parameters of the cell, the optimizer's among them if it has one."""
    import mindspore as ms

    path.parent.mkdir(parents=True, exist_ok=True)
    ms.save_checkpoint(network, str(path))
    log.warning("checkpoint saved: %s", path)


def _scale_of(params: Any) -> float | None:
    manager = params.get("loss_scale_mananger")  # MindSpore spells it so
    return float(manager.get_loss_scale()) if manager is not None else None
