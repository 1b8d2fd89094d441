"""What is done when a rule has found something."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import ClassVar, Protocol

from driftline.metadata.registry import Registry

from . import voice
from .point import Notice


class Training(Protocol):
    """What a policy may ask of the training; it is done after the step that runs."""

    run: str

    def want_checkpoint(self, why: Notice) -> None:
        """Asks for a checkpoint."""

    def want_stop(self, why: Notice) -> None:
        """Asks the training to end."""


class Policy:
    """Acts on what a rule has found, on the worker's thread.

    Where several ranks train together what `first_rank` says is done by rank 0 only, for what
    any of them has found.
    """

    kind: ClassVar[str]
    first_rank: ClassVar[bool] = False

    def apply(self, notice: Notice, training: Training) -> None:
        """Does it; an error is logged, and stops no other policy."""
        raise NotImplementedError

    def finish(self, seconds: float) -> None:
        """Waits until all is done that was begun, for at most `seconds`; the training has ended."""


POLICIES: Registry[Policy] = Registry("policy")


@POLICIES.register
class Log(Policy):
    """Writes the sentence to the logger ``driftline``."""

    kind = "log"

    def apply(self, notice: Notice, training: Training) -> None:
        """Informs or warns, as severe as the rule is, without waiting for who takes the line."""
        level = {"info": logging.INFO, "warning": logging.WARNING, "critical": logging.ERROR}
        voice.say(
            level[notice.severity], "step %d: %s: %s", notice.step, notice.rule, notice.sentence
        )

    def finish(self, seconds: float) -> None:
        """Waits a second for a slow place."""
        voice.finish(min(seconds, 1.0))


@POLICIES.register
class SaveCheckpoint(Policy):
    """Saves parameters and optimizer to ``faults/<rule>-step<n>.ckpt`` in the run's folder.

    Of more than five the first and the latest four are kept.
    """

    kind = "save_checkpoint"
    first_rank = True

    def apply(self, notice: Notice, training: Training) -> None:
        """Asks the training thread, which alone may touch the network."""
        training.want_checkpoint(notice)


@POLICIES.register
class Stop(Policy):
    """Ends the training after the step that runs, and writes ``anomaly_report.md``."""

    kind = "stop"

    def apply(self, notice: Notice, training: Training) -> None:
        """Asks the training thread."""
        training.want_stop(notice)


Policies = Mapping[str, Sequence[Policy]]

DEFAULT: Sequence[Policy] = (Log(),)


class Wishes:
    """What policies asked of the training thread and it has not done yet."""

    def __init__(self, run: str = "") -> None:
        self.run = run
        self.pending = False  # one attribute to look at in each step
        self.checkpoint: Notice | None = None
        self.stop: Notice | None = None

    def want_checkpoint(self, why: Notice) -> None:
        """Asks for a checkpoint; the first reason of several is kept."""
        self.checkpoint = self.checkpoint or why
        self.pending = True

    def want_stop(self, why: Notice) -> None:
        """Asks for the end; the first reason of several is kept."""
        self.stop = self.stop or why
        self.pending = True

    def taken(self) -> tuple[Notice | None, Notice | None]:
        """Checkpoint and stop, handed over."""
        self.pending = False
        checkpoint, self.checkpoint = self.checkpoint, None
        return checkpoint, self.stop
