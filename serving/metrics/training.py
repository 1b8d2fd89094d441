"""Trainings under way, as Prometheus gauges by run: the last value of what always matters."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from driftline.metadata.training_values import TRAINING_VALUES

from ..runs.runs import Runs
from ..runs.summary import Summary

# Shorter than the five minutes for which rules wait: the last value of a run that ended must not
# be taken for one that lasts.
SILENT_SECONDS = 240.0
MOST_RUNS = 20


class RunCollector:
    """The runs heard of within four minutes, at most 20 of them, the newest first."""

    def __init__(self, runs: Runs, now: float) -> None:
        self._runs = runs
        self._now = now

    def collect(self) -> Iterator[Metric]:
        """The gauges of all runs.

        Raises:
            StoreError: the store is away.
        """
        runs = self._live()
        for name, (metric, words) in TRAINING_VALUES.items():
            family = GaugeMetricFamily(f"driftline_train_{metric}", words, labels=("run",))
            for run, summary in runs.items():
                value = summary.latest.get(name, (0, None))[1]
                if value is not None:
                    family.add_metric((run,), value)
            yield family
        step = GaugeMetricFamily("driftline_train_step", "The last step.", labels=("run",))
        heard = GaugeMetricFamily(
            "driftline_train_heard_timestamp_seconds",
            "Unix second at which the run was last heard of.",
            labels=("run",),
        )
        events = CounterMetricFamily(
            "driftline_train_events", "What rules have found.", labels=("run",)
        )
        for run, summary in runs.items():
            step.add_metric((run,), summary.last_step)
            heard.add_metric((run,), summary.received)
            events.add_metric((run,), summary.events)
        yield from (step, heard, events)

    def _live(self) -> dict[str, Summary]:
        found = {name: self._runs.summary(name) for name in self._runs.names()}
        live = {
            name: summary
            for name, summary in found.items()
            if summary is not None and self._now - summary.received < SILENT_SECONDS
        }
        newest = sorted(live, key=lambda each: live[each].received, reverse=True)
        return {name: live[name] for name in newest[:MOST_RUNS]}
