"""The training thread's side of a monitor: chooses steps, takes values, hands them over."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .desk import Desk, Item, Watching
from .fence import Fence
from .interrupts import Interrupts
from .overflows import Overflows
from .point import EpochEnd, Metric, Sample
from .policies import Wishes
from .probes.probe import Probe, Step, Timing
from .record import Record
from .runs import RunFolder
from .sampling import Depth, Sampler
from .settings import Sampling
from .timing import StepClock
from .worker import Worker


class Session:
    """One run of one process, from the first step to the last.

    Everything called from the training thread returns after copying what it needs; nothing of the
    network is kept.
    """

    def __init__(
        self,
        place: RunFolder,
        sampling: Sampling,
        *,
        probes: Sequence[Probe],
        watching: Watching,
        ranks: int = 1,
        past: Record | None = None,
    ) -> None:
        self.place = place
        self.record = Record() if past is None else past
        self.epochs_before = place.epochs_before if past is None else past.epochs.count
        self.wishes = Wishes(place.run)
        self.desk = Desk(self.record, place.journal, watching, self.wishes)
        self.worker: Worker[Item] = Worker(self.desk.handle, name="driftline-monitor")
        self.sampler = Sampler(sampling, ranks=ranks)
        self.clock = StepClock()
        self.overflows = Overflows()
        self.fence = Fence()
        self.saved: list[Path] = []
        self.notes: list[str] = []
        self.about: Mapping[str, str] = {}
        self.steps = self.others_rows = 0
        self.glanced = 0  # steps not sampled whose loss was seen all the same
        self.began = time.monotonic()
        self.interrupts = Interrupts(self.interrupted)
        self.interrupts.install()
        self._probes = probes
        self._deep = any(probe.deep for probe in probes)
        self._booked = 0.0
        self._hooks = self._began_at = 0.0

    def choose(self) -> Depth:
        """How closely the step that begins now is looked at."""
        now = time.perf_counter()
        self.clock.begin(now)
        cpu = self.desk.cpu
        if cpu != self._booked:
            self.sampler.charge(cpu - self._booked)
            self._booked = cpu
        depth = self.sampler.choose(now)
        self._began_at = now
        return "light" if depth == "deep" and not self._deep else depth

    def begin(self, step: Step) -> None:
        """Lets the probes note what has to be known before the step; `choose` came before."""
        for probe in self._probes:
            if step.deep or not probe.deep:
                self.fence.call(probe.kind, probe.begin, step)
        self._hooks = time.perf_counter() - self._began_at

    def skipped(self, rows: int, steps: int = 1, outputs: Any = None) -> None:
        """A step has ended that is not looked at."""
        self.steps += steps
        if self.overflows.on is not False:
            self.overflows.note(outputs, steps)
        self.clock.end(time.perf_counter(), rows, steps)

    def end(self, step: Step, steps: int = 1) -> dict[str, float]:
        """Takes the values of a step that has ended, hands them over, and gives them back."""
        now = time.perf_counter()
        self.steps += steps
        timing: list[Timing] = []

        def settled() -> Timing:
            if not timing:
                self.clock.end(time.perf_counter(), step.rows, steps)
                timing.append(self.clock.take())
            return timing[0]

        step.timing = settled
        values: dict[str, float] = {}
        for probe in self._probes:
            if step.deep or not probe.deep:
                values |= self.fence.call(probe.kind, probe.take, step) or {}
        settled()
        skipped = self.overflows.sampled(values, steps)
        done = time.perf_counter()
        when = time.time()
        self.worker.put(Sample(step.number, step.epoch, when, values, self.clock.rows, skipped))
        if step.deep:  # rare, and what it shows may want to be acted on
            self.worker.wake()
        depth: Depth = "deep" if step.deep else "light"
        self.sampler.took(depth, self._hooks + done - now, done - self._began_at, done)
        return values

    def metric(self, name: str, value: float, step: int) -> None:
        """Hands over a value of the user's script."""
        self.worker.put(Metric(step, time.time(), plain(name), float(value)))

    def epoch(self, number: int, step: int, metrics: Mapping[str, float]) -> None:
        """Hands over the end of an epoch."""
        self.pause()
        self.worker.put(EpochEnd(number, step, time.time(), dict(metrics)), must=True)

    def pause(self) -> None:
        """Something else than steps runs until the next one begins."""
        self.clock.pause()
        self.sampler.pause()

    def do(self, task: Any) -> None:
        """Has the worker call `task`, after all that was handed over before."""
        self.worker.put(task, must=True)

    @property
    def last_step(self) -> int:
        """The last step that has ended, as the run counts."""
        return (self.place.resumed_after or 0) + self.steps

    @property
    def rows(self) -> int:
        """Rows trained on here, over all lives of the run."""
        return self.record.rows_before + self.clock.rows

    @property
    def seconds(self) -> float:
        """How long the run has lived."""
        return self.record.seconds_before + time.monotonic() - self.began

    def settle(self) -> None:
        """No step follows: what waited for the next sample is taken now."""
        skipped = self.overflows.take()
        if skipped:
            self.do(lambda: self.record.add_overflows(skipped))
        glanced, self.glanced = self.glanced, 0
        if glanced:
            self.do(lambda: self.record.add_looked(glanced))

    def flush(self, seconds: float) -> bool:
        """True once all that was handed over is in the journal's file and with the sinks."""
        return self.worker.flush(seconds)

    def interrupted(self, signal: str, dies: bool) -> None:
        """Brings everything to the disk, within 2 s; called by a signal's handler."""
        last = self.last_step

        def write_down() -> None:
            if dies:
                self.place.end(last, f"interrupted by {signal}", self.worker.dropped)
            self.place.journal.write(sync=True)
            if dies:
                self.desk.finish(1.0)

        self.do(write_down)
        self.worker.flush(2.0)

    def close(self, reason: str, seconds: float) -> bool:
        """Ends the run: all is handled, sinks and journal are closed; False if time ran out."""
        self.interrupts.remove()
        until = time.monotonic() + seconds
        place, worker = self.place, self.worker
        last = self.last_step
        self.do(lambda: place.end(last, reason, worker.dropped))
        done = worker.flush(max(until - time.monotonic(), 0))
        self.do(lambda: self.desk.close(max(until - time.monotonic(), 0.5)))
        done = worker.flush(max(until - time.monotonic(), 0)) and done
        return worker.stop(max(until - time.monotonic(), 0)) and done


def plain(name: str) -> str:
    """At most 200 printable characters: a board takes no others."""
    return "".join(each if each.isprintable() else " " for each in str(name))[:200] or "?"
