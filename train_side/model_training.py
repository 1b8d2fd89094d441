"""One training by MindSpore's `Model`, seen through its callbacks."""

from __future__ import annotations

import logging
from functools import partial
from typing import Any

import numpy as np

from driftline.metadata.errors import InputError
from driftline.metadata.quality import Health

from .gradients import GradientTap
from .health import health_of
from .network import inference_network, parameters_finite, precision_of
from .obeying import obeyed
from .plan import Plan, about
from .point import Notice
from .probes.probe import Step
from .ranks import rank_and_size
from .record import Record
from .snapshot import Snapshots

log = logging.getLogger("driftline")


class ModelTraining:
    """From `on_train_begin` to the end; `params` is what MindSpore tells its callbacks.

    Steps go on after those of the run that is continued, whatever MindSpore counts from.
    """

    def __init__(self, plan: Plan, params: Any, *, again: bool, past: Record | None) -> None:
        network = params.get("network") or params.get("train_network")
        self.stopped = self.deep = self._tapped = False
        self.network = _inference_network(params)
        self._params = params
        self._tap = GradientTap(params.get("train_network"), params.get("optimizer"))
        if params.get("dataset_sink_mode"):
            # There the training cell is wrapped once more after this, and one call runs many steps.
            self._tap.error = RuntimeError("steps are not seen one by one in data sink mode")
        steps = int(params.get("epoch_num") or 0) * int(params.get("batch_num") or 0)
        self.session = plan.open(
            about=about(network, self._tap.optimizer, epochs=params.get("epoch_num")),
            steps=steps or None,
            again=again,
            past=past,
        )
        self._seen = int(params.get("cur_step_num") or 0)
        self._offset = (self.session.place.resumed_after or 0) - self._seen
        self._epoch_offset: int | None = None
        self._step: Step | None = None
        self._savers = [each for each in self.callbacks if hasattr(each, "latest_ckpt_file_name")]
        self._checkpoint = ""
        self._snapshots = Snapshots(self.session)
        self._scale = _scale_of(params)

    @property
    def callbacks(self) -> Any:
        """All callbacks of the training."""
        return self._params.get("list_callback") or ()

    @property
    def step_number(self) -> int:
        """The last step that has ended, as the run counts."""
        return self._seen + self._offset

    def epoch_number(self, params: Any) -> int:
        """The epoch that runs, as the run counts."""
        number = int(params.get("cur_epoch_num") or 0)
        if self._epoch_offset is None:
            # `initial_epoch` lets MindSpore itself count on.
            before = self.session.epochs_before
            self._epoch_offset = 0 if number > before else before
        return number + self._epoch_offset

    def step_begin(self, params: Any) -> None:
        """Chooses whether to look at the step that begins."""
        if self._tapped:  # the end of the last step was never told
            self._take_out()
        if self._savers:
            self.look_for_checkpoint()
        depth = self.session.choose()
        self.deep = depth == "deep"
        if depth == "none":
            self._step = None
            return
        batch = params.get("train_dataset_element") or ()
        step = Step(
            number=int(params.get("cur_step_num")) + self._offset,
            epoch=self.epoch_number(params),
            batch=batch,
            optimizer=self._tap.optimizer,
            network=params.get("network") or params.get("train_network"),
            deep=self.deep,
        )
        if step.deep:
            self._tapped = True
            self._tap.put_in(batch)
        self.session.begin(step)
        self._step = step

    def step_end(self, params: Any) -> None:
        """Takes the values of a step that was chosen."""
        if self._tapped:
            self._take_out()
        number = int(params.get("cur_step_num"))
        steps, self._seen = number - self._seen, number
        rows = self._rows(params, steps)
        step, self._step = self._step, None
        if step is None:
            self.session.skipped(rows, steps, params.get("net_outputs"))
            return
        step.number = self.step_number
        step.outputs = params.get("net_outputs")
        step.rows = rows
        if step.deep:
            step.gradients = self._tap.read()
        values = self.session.end(step, steps)
        self._snapshots.look(step, values)

    def epoch_end(self, params: Any) -> None:
        """Closes the epoch, with the metrics of an evaluation if there was one."""
        results = params.get("eval_results") or params.get("metrics") or {}
        metrics = {
            name if name.startswith("eval") else f"eval_{name}": float(value)
            for name, value in dict(results).items()
            if isinstance(value, int | float | np.number)  # not a confusion matrix
        }
        self.session.epoch(self.epoch_number(params), self.step_number, metrics)

    def look_for_checkpoint(self) -> None:
        """Takes note of one that MindSpore's `ModelCheckpoint` has saved since the last call.

        Called where the step that runs next has not begun: the other callbacks may have their turn
        after this one, and saved the checkpoint of the step that has ended.
        """
        for saver in self._savers:
            path = saver.latest_ckpt_file_name
            if path and path != self._checkpoint:
                self._checkpoint = path
                noted = self.session.desk.checkpoint
                self.session.do(partial(noted, str(path), self.step_number))

    def obey(self, run_context: Any) -> None:
        """Does what policies have asked for; of several ranks none stops alone."""
        cell = run_context.original_args().get("train_network")
        stop = obeyed(self.session, cell, self.step_number)
        if stop is not None and rank_and_size()[1] == 1:
            self.stop(run_context, stop)

    def stop(self, run_context: Any, why: Notice) -> None:
        """Ends the training after the step that runs."""
        if not self.stopped:
            self.stopped = True
            run_context.request_stop()
            log.warning("training is stopped: %s", why.sentence)

    def take_out(self) -> None:
        """Gives the training cell back as it was."""
        self._tap.take_out()
        note = f"Gradients were not measured: {self._tap.error}".splitlines()[0]
        if self._tap.error is not None and note not in self.session.notes:
            self.session.notes.append(note)

    def _take_out(self) -> None:
        self._tapped = False
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


def _scale_of(params: Any) -> float | None:
    manager = params.get("loss_scale_mananger")  # MindSpore spells it so
    return float(manager.get_loss_scale()) if manager is not None else None


def _inference_network(params: Any) -> Any:
    """The cell from inputs to predictions; None if the training's cells do not show it."""
    try:
        return inference_network(params)
    except InputError:
        return None
