"""A Prometheus endpoint of the training process."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from typing import Any

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from driftline.metadata.training_values import TRAINING_VALUES

from ..point import GRADIENT, Notice
from .sink import SINKS, Run, Sink, Values

# Everything that has no name here is driftline_train_value, by name.
NAMED = TRAINING_VALUES | {
    "param_norm": ("param_norm", "L2 norm of all parameters."),
    "update_ratio": ("update_ratio", "Length of a step's change over the length of the weights."),
    "epoch": ("epoch", "Epoch that runs."),
}
MOST = 500


@SINKS.register
class Prometheus(Sink):
    """Answers scrapes on `port` with the latest values, labelled by run.

    ``driftline_train_<name>`` for driftline's own numbers, ``driftline_train_layer_grad_norm`` by
    parameter, ``driftline_train_value`` by name for metrics and devices,
    ``driftline_train_events_total``, and ``driftline_train_rule_events_total`` by rule. At most 500
    names.

    Args:
        port: 0 lets the system choose; `port` then tells it.
        address: only this machine, if not told otherwise.
    """

    kind = "prometheus"

    def __init__(self, port: int, *, address: str = "127.0.0.1") -> None:
        self.port = port
        self._address = address
        self._server: Any = None
        self._latest = Latest()

    def open(self, run: Run) -> None:
        """Begins to answer.

        Raises:
            OSError: the port is taken.
        """
        self._latest = Latest(run.name)
        registry = CollectorRegistry()
        registry.register(self._latest)
        self._server, _ = start_http_server(self.port, self._address, registry)
        self.port = self._server.server_port

    def write(self, points: Sequence[Values], notices: Sequence[Notice]) -> None:
        """Keeps the latest values."""
        self._latest.take(points, notices)

    def close(self, seconds: float) -> None:
        """Answers no more."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None


class Latest(Collector):
    """The latest value of each name, as Prometheus asks for it."""

    def __init__(self, run: str = "") -> None:
        self._run = run
        self._values: dict[str, float] = {}
        self._events: dict[str, int] = {}
        self._step = 0
        self._lock = threading.Lock()

    def take(self, points: Sequence[Values], notices: Sequence[Notice]) -> None:
        """Takes in what is new."""
        with self._lock:
            for point in points:
                self._step = max(self._step, point.step)
                for name, value in point.values.items():
                    if name in self._values or len(self._values) < MOST:
                        self._values[name] = value
            for notice in notices:
                self._events[notice.rule] = self._events.get(notice.rule, 0) + 1

    def collect(self) -> Iterator[Metric]:
        """One family for each name."""
        with self._lock:
            values, events, step = dict(self._values), dict(self._events), self._step
        yield self._gauge("step", "The last step.", float(step))
        layers = GaugeMetricFamily(
            "driftline_train_layer_grad_norm",
            "L2 norm of a parameter's gradient.",
            labels=["run", "parameter"],
        )
        others = GaugeMetricFamily(
            "driftline_train_value", "Latest value of a metric.", labels=["run", "name"]
        )
        for name, value in values.items():
            if name in NAMED:
                yield self._gauge(*NAMED[name], value)
            elif name.startswith(GRADIENT):
                layers.add_metric([self._run, name[len(GRADIENT) :]], value)
            else:
                others.add_metric([self._run, name], value)
        yield layers
        yield others
        counted = CounterMetricFamily(
            "driftline_train_events", "What rules have found.", labels=["run"]
        )
        counted.add_metric([self._run], sum(events.values()))
        yield counted
        by_rule = CounterMetricFamily(
            "driftline_train_rule_events", "What each rule has found.", labels=["run", "rule"]
        )
        for rule, count in events.items():
            by_rule.add_metric([self._run, rule], count)
        yield by_rule

    def _gauge(self, name: str, what: str, value: float) -> GaugeMetricFamily:
        family = GaugeMetricFamily(f"driftline_train_{name}", what, labels=["run"])
        family.add_metric([self._run], value)
        return family
