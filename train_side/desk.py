"""The worker's side of a monitor: record, rules, policies, journal, sinks."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from .fence import Fence
from .gauges import Gauges
from .journal import Journal
from .point import EpochEnd, Metric, Notice, Point, Sample, Saved, Source, stamp
from .policies import DEFAULT, Policies, Training
from .probes.probe import Gauge
from .record import Record
from .rules.rule import Episode, Rule, View
from .sinks.sink import Sink, Values

HOT = "/temperature_celsius"
LONGEST_WAIT = 4.0
# Ranks look at steps of their own: one may find a meeting later what another has found.
MEETINGS = 2
LEFT = 100

Task = Callable[[], None]
Item = Sample | EpochEnd | Metric | Task


@dataclass(frozen=True)
class Watching:
    """Who looks at a run, and what follows from what they see."""

    rules: Sequence[Rule]
    policies: Policies
    gauges: Sequence[Gauge]
    sinks: Sequence[Sink]


class Desk:
    """Handles what the training thread has put down. Every part is fenced from the others."""

    def __init__(
        self, record: Record, journal: Journal, watching: Watching, training: Training
    ) -> None:
        self.record = record
        self.fence = Fence()
        self.cpu = 0.0  # seconds of processor time used here and by the sinks' threads
        self.first: Task | None = None  # comes before everything else, and is charged to nobody
        self._free = 0.0
        self.first_acts = False  # on another rank: rank 0 does what one rank has to do
        self._left: list[Notice] = []
        self._acted: dict[str, int] = {}
        self._meetings = 0
        self._journal = journal
        self._episodes = [Episode(rule) for rule in watching.rules]
        self._policies = watching.policies
        self._gauges = Gauges(watching.gauges, self.fence)
        self._sinks = watching.sinks
        self._training = training
        self._points: list[Values] = []
        self._notices: list[Notice] = []

    def handle(self, batch: list[Item]) -> None:
        """Takes all in, and brings what is new to journal and sinks."""
        if self.first is not None:
            first, self.first = self.first, None
            began = time.thread_time()
            self.fence.call("restoring", first)
            self._free += time.thread_time() - began
        for item in batch:
            self.fence.call(type(item).__name__, self._take, item)
        self._read_gauges()
        self._journal.write()
        points, notices = self._points, self._notices
        self._points, self._notices = [], []
        for sink in self._sinks:
            self.fence.call(sink.kind, sink.write, points, notices)
        sinks = sum(sink.cpu for sink in self._sinks)
        self.cpu = time.thread_time() - self._free + self._gauges.cpu + sinks

    def tell(self, notice: Notice) -> None:
        """Writes an event down."""
        self.record.add_notice(notice)
        self._journal.append(notice)
        self._notices.append(notice)

    def checkpoint(self, path: str, step: int) -> None:
        """Writes down that the training saved a checkpoint."""
        loss = self.record.last("loss_smoothed")
        self.record.add_checkpoint(path, step, loss)
        finite = loss is not None and math.isfinite(loss)
        self._journal.append(
            Saved(time=stamp(time.time()), step=step, path=path, loss=loss if finite else None)
        )

    def hear(self, notices: Sequence[tuple[Notice, str]], told: Sequence[Notice]) -> None:
        """The ranks have met: on rank 0 these were found by others, and `told` from here.

        What one rank has to do is done for each rule once, though several have found the same.
        """
        self._left = [each for each in self._left if each not in told]
        self._meetings += 1
        for notice, sentence in notices:
            self.tell(replace(notice, sentence=sentence))
            acted = self._acted.get(notice.rule, -MEETINGS) > self._meetings - MEETINGS
            if not acted and not self._seen_here(notice.rule):
                self._acted[notice.rule] = self._meetings
                self._act(replace(notice, sentence=sentence), [True])

    def _seen_here(self, rule: str) -> bool:
        return any(each.active for each in self._episodes if each.rule.kind == rule)

    def _notice(self, notice: Notice) -> None:
        """Writes an event down, and does what its rule's policies say."""
        self.tell(notice)
        self._acted[notice.rule] = self._meetings
        if self.first_acts:
            self._left = [*self._left, notice][-LEFT:]
        self._act(notice, [False] if self.first_acts else [False, True])

    def _act(self, notice: Notice, first_rank: Sequence[bool]) -> None:
        for policy in self._policies.get(notice.rule, DEFAULT):
            if policy.first_rank in first_rank:
                self.fence.call(policy.kind, policy.apply, notice, self._training)

    def _take(self, item: Item) -> None:
        if isinstance(item, Sample):
            values = self.record.add(item)
            values["epoch"] = float(item.epoch)
            rows = self.record.rows_before + item.rows_seen
            self._point(item.step, item.time, values, rows=rows)
            self._ask(View(values, self.record), item.step, item.time)
        elif isinstance(item, Metric):
            self.record.add_metric(item.name, item.value)
            self._point(item.step, item.time, {item.name: item.value}, "metric")
            self._ask(View({item.name: item.value}, self.record), item.step, item.time)
        elif isinstance(item, EpochEnd):
            self._epoch(item)
        else:
            item()

    def _epoch(self, item: EpochEnd) -> None:
        for name, value in item.metrics.items():
            self.record.add_metric(name, value)
        epoch = self.record.epochs.close(item.epoch)
        values = dict(item.metrics)
        if epoch.loss.count:
            values |= {"epoch_loss": epoch.loss.mean, "epoch_loss_sd": epoch.loss.sd}
        for name, spread in epoch.metrics.items():
            if spread.count > 1:
                values[f"epoch_{name}"] = spread.mean
                values[f"epoch_{name}_range"] = spread.high - spread.low
        self._point(item.step, item.time, values, "epoch", epoch=item.epoch)
        self._ask(View({}, self.record, epoch), item.step, item.time)

    def _read_gauges(self) -> None:
        if self.record.step:
            self._gauges.ask()
        for when, values in self._gauges.take():
            hot = [value for name, value in values.items() if name.endswith(HOT)]
            if hot:
                values["hottest_celsius"] = max(hot)
            self.record.add_gauges(values)
            self._point(self.record.step, when, values, "gauge")
            self._ask(View(values, self.record), self.record.step, when)

    def _point(
        self,
        step: int,
        when: float,
        values: Mapping[str, float],
        source: Source = "step",
        *,
        rows: int = 0,
        epoch: int = 0,
    ) -> None:
        shown = {name: value if math.isfinite(value) else None for name, value in values.items()}
        self._journal.append(
            Point(time=stamp(when), step=step, values=shown, source=source, rows=rows, epoch=epoch)
        )
        if values:
            self._points.append(Values(step, when, values))

    def _ask(self, view: View, step: int, when: float) -> None:
        for episode in self._episodes:
            rule = episode.rule
            sentence = self.fence.call(rule.kind, episode.ask, view)
            if sentence is not None:
                self._notice(
                    Notice(
                        time=stamp(when),
                        step=step,
                        rule=rule.kind,
                        severity=rule.severity,
                        sentence=sentence,
                    )
                )

    def finish(self, seconds: float) -> None:
        """Waits until what policies have sent has arrived, for at most `seconds` altogether.

        What rank 0 was not told any more is sent from here.
        """
        left, self._left = self._left, []
        for notice in left:
            self._act(notice, [True])
        until = time.monotonic() + seconds
        policies = {id(each): each for chosen in self._policies.values() for each in chosen}
        for policy in (*policies.values(), *DEFAULT):
            self.fence.call(policy.kind, policy.finish, max(until - time.monotonic(), 0.0))

    def close(self, seconds: float) -> None:
        """Lets policies and sinks send what is left, within `seconds`, and closes the journal."""
        self._gauges.stop()
        self._journal.write(sync=True)  # before anything that may have to be waited for
        until = time.monotonic() + seconds
        self.finish(min(seconds / 2, LONGEST_WAIT))
        for sink in self._sinks:
            self.fence.call(sink.kind, sink.close, max(until - time.monotonic(), 0.5))
        self._journal.close()
