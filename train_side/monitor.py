"""The one callback by which a training is seen from outside."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mindspore.train.callback import Callback

from driftline.metadata.errors import SettingError
from driftline.metadata.quality import Health

from .ending import report_on
from .fence import Fence
from .late import Afterwards
from .loop import Loop
from .loop_training import LoopTraining
from .loss_curve import Floats, LossRecord
from .model_training import ModelTraining
from .plan import Plan
from .policies import Policy
from .probes import Gauge, Probe, default_gauges, default_probes
from .ranks import rank_and_size
from .record import Record
from .rules import Rule, default_rules
from .runs import FINISHED, STOPPED
from .settings import MonitorSettings
from .sinks import Board, Sink, default_sinks
from .together import Meetings

log = logging.getLogger("driftline")

SECONDS_TO_END = 10.0


class TrainingMonitor(Callback):
    """Writes down what a training does, says what goes wrong, and changes nothing in it.

    Everything is in `folder`: a journal of JSON lines, and at the end a report. Parameters,
    random states, losses and checkpoints are what they are without it. No error of its own ends a
    training: it is logged by the logger ``driftline``. Steps are sampled so that the added time
    stays under one hundredth; printing, files and network are the business of another thread.

    One monitor may see several trainings, one after the other: they are one run.

    Args:
        folder: of the run. A run in it that was interrupted is continued, one that had ended is
            moved to ``earlier/``.
        board: address of a driftline service that shows the run live. A bearer token is taken
            from the environment variable ``DRIFTLINE_TOKEN``.
        probes: what is measured, if not everything.
        rules: what is looked for, if not everything at default thresholds.
        sinks: where points go beside journal and board, if not to the default places.
        policies: what is done for a rule, by its kind, if not only to log it.
        settings: how it works.

    Raises:
        SettingError: policies for a rule that there is none of.
    """

    def __init__(
        self,
        folder: Path | str,
        *,
        board: str | None = None,
        probes: Sequence[Probe | Gauge] | None = None,
        rules: Sequence[Rule] | None = None,
        sinks: Sequence[Sink] | None = None,
        policies: Mapping[str, Sequence[Policy]] | None = None,
        settings: MonitorSettings | None = None,
    ) -> None:
        super().__init__()
        chosen = [*default_probes(), *default_gauges()] if probes is None else list(probes)
        places = list(default_sinks() if sinks is None else sinks)
        if board is not None:
            places.append(Board(board))
        self._plan = Plan(
            folder=Path(folder),
            settings=settings or MonitorSettings(),
            probes=[each for each in chosen if isinstance(each, Probe)],
            gauges=[each for each in chosen if isinstance(each, Gauge)],
            rules=tuple(default_rules() if rules is None else rules),
            sinks=places,
            policies=dict(policies or {}),
        )
        known = {rule.kind for rule in self._plan.rules}
        for kind in self._plan.policies:
            if kind not in known:
                reason = f"there is no rule {kind!r}; there are {', '.join(sorted(known))}"
                raise SettingError("policies", reason)
        self._fence = Fence()
        self._entered = 0
        self._lives = 0
        self._past: Record | None = None
        self._ended: Afterwards | None = None
        self._training: ModelTraining | LoopTraining | None = None
        self._meetings: Meetings | None = None
        self._health: Health | None = None

    @property
    def folder(self) -> Path:
        """The folder of the run."""
        return self._plan.folder

    def add_metric(self, name: str, value: float) -> None:
        """Adds a value by name, at the step that ran last.

        Also when the training has ended: then it is written at once, and stands at the end of the
        report. Before the first training it is forgotten, and that is logged.
        """
        training = self._training
        if training is not None:
            metric = training.session.metric
            self._fence.call("add_metric", metric, name, value, training.step_number)
        elif self._ended is not None:
            self._fence.call("add_metric", self._ended.add, name, value)
            if self._past is not None:
                self._fence.call("add_metric", self._past.add_metric, name, value)
        else:
            log.warning("%s was added before a training began, and is forgotten", name)

    def health(self) -> Health | None:
        """What the training came to so far, or came to; None before the first one."""
        return self._fence.call("health", self._make_health)

    def losses(self) -> tuple[Floats, Floats]:
        """Steps and losses so far, over all lives of the run, as means where there are many."""
        record = self._past if self._training is None else self._training.session.record
        return (LossRecord() if record is None else record.losses).series()

    @contextmanager
    def loop(self, *, network: Any = None, optimizer: Any = None) -> Iterator[Loop]:
        """Watches a loop of the user's own; what happens in it passes through unchanged."""
        again, past = self._next_life()
        opened = Loop(self._plan, network=network, optimizer=optimizer, again=again, past=past)
        self._health = None
        self._training = opened.training
        kind, raised = None, None
        try:
            yield opened
        except BaseException as error:
            kind, raised = type(error), error
            raise
        finally:
            self._fence.call("end", self._settle)
            self._fence.call("end", self._close, _reason(kind, raised))
            opened.end(self.add_metric)

    def __enter__(self) -> TrainingMonitor:
        """`Model.fit` enters once more for each evaluation; only the outermost counts."""
        self._entered += 1
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        """Ends the run, however the training ended."""
        self._entered = max(self._entered - 1, 0)
        if self._entered == 0 and self._training is not None:
            self._fence.call("end", self._close, _reason(kind, error))

    def on_train_begin(self, run_context: Any) -> None:
        """Opens the run."""
        if self._training is not None:
            self._fence.call("end", self._close, "another training began")
        self._health = None
        self._training = self._fence.call("begin", self._begin, run_context.original_args())
        self._meetings = None
        if rank_and_size()[1] > 1:
            session = self._training.session if self._training is not None else None
            self._meetings = Meetings(session, self._plan.policies)

    def on_train_step_begin(self, run_context: Any) -> None:
        """Chooses whether to look at the step."""
        if isinstance(self._training, ModelTraining):
            self._fence.call("step begin", self._training.step_begin, run_context.original_args())

    def on_train_step_end(self, run_context: Any) -> None:
        """Takes the step's values, and does what policies have asked for."""
        training = self._training
        if isinstance(training, ModelTraining):
            self._fence.call("step end", training.step_end, run_context.original_args())
            if training.session.wishes.pending:
                self._fence.call("obey", training.obey, run_context)
            if self._meetings is not None and self._meetings.often and training.deep:
                self._meet(run_context)

    def on_train_epoch_end(self, run_context: Any) -> None:
        """Closes the epoch."""
        if isinstance(self._training, ModelTraining):
            self._fence.call("epoch end", self._training.epoch_end, run_context.original_args())
            if self._meetings is not None:
                self._meet(run_context)

    def on_eval_begin(self, run_context: Any) -> None:
        """Keeps the evaluation out of the steps' time."""
        if self._training is not None:
            self._training.session.pause()

    def on_train_end(self, run_context: Any) -> None:
        """Settles what the training came to; the run ends when all callbacks have ended."""
        training = self._training
        if not isinstance(training, ModelTraining):
            return
        self._fence.call("end", self._settle)
        if training.session.wishes.pending:
            self._fence.call("obey", training.obey, run_context)
        if not self._entered:
            self._fence.call("end", self._close, FINISHED)

    def _meet(self, run_context: Any) -> None:
        """Not fenced by a count of failures: a rank that stays away leaves the others waiting."""
        assert self._meetings is not None
        why = self._meetings.meet()
        if why is not None and isinstance(self._training, ModelTraining):
            self._training.stop(run_context, why)

    def _begin(self, params: Any) -> ModelTraining:
        again, past = self._next_life()
        return ModelTraining(self._plan, params, again=again, past=past)

    def _next_life(self) -> tuple[bool, Record | None]:
        """Whether this monitor has seen the run before, and what it remembers of it."""
        self._lives += 1
        past, self._past = self._past, None
        return self._lives > 1, past

    def _settle(self) -> None:
        """What the training came to is known from here on."""
        training = self._training
        if training is None:
            return
        training.take_out()
        training.look_for_checkpoint()
        self._fence.call("overflows", training.session.settle)
        training.session.flush(SECONDS_TO_END)
        self._health = training.health()

    def _close(self, reason: str) -> None:
        training, self._training = self._training, None
        if training is None:
            return
        training.take_out()
        if training.stopped and reason == FINISHED:
            reason = STOPPED
        training.look_for_checkpoint()
        session = training.session
        self._fence.call("overflows", session.settle)
        ended = session.close(reason, SECONDS_TO_END)
        if self._health is None:
            self._health = training.health()
        if ended:
            seconds = time.monotonic() - session.began
            session.record.end_life(session.clock.rows, seconds, session.last_step)
            self._past = session.record
            self._ended = Afterwards(session.place, self._plan.sinks)
        else:
            log.warning("the monitor of %s did not end in time", self.folder)
        if self._plan.settings.report and session.place.rank == 0 and session.steps:
            report_on(
                self._plan,
                session,
                reason,
                self._health,
                network=training.network,
                callbacks=training.callbacks,
            )

    def _make_health(self) -> Health | None:
        if self._health is None and self._training is not None:
            self._training.session.flush(SECONDS_TO_END)
            return self._training.health()
        return self._health


def _reason(kind: Any, error: Any) -> str:
    return FINISHED if kind is None else f"{kind.__name__}: {error}"
