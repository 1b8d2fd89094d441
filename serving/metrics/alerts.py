"""Alerts as Prometheus sees them: what fires, and how their delivery goes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from ..alerts.alerts import Alerts


class AlertCollector:
    """The alerts of `book`, a model's name or what else they are kept under."""

    def __init__(self, book: str, alerts: Alerts) -> None:
        self._book = book
        self._alerts = alerts

    def collect(self) -> Iterator[Metric]:
        """Open alerts by kind and severity; messages by sink and what became of them.

        Raises:
            StoreError: the store is away.
        """
        opened = GaugeMetricFamily(
            "driftline_alerts_open", "Alerts that fire.", labels=("book", "kind", "severity")
        )
        firing = Counter((each.kind, each.severity) for each in self._alerts.open_alerts())
        for (kind, severity), number in sorted(firing.items()):
            opened.add_metric((self._book, kind, severity), number)
        outcomes = CounterMetricFamily(
            "driftline_alerts",
            "Messages by what became of them.",
            labels=("book", "sink", "outcome"),
        )
        waiting = GaugeMetricFamily(
            "driftline_alerts_waiting", "Messages not delivered yet.", labels=("book", "sink")
        )
        for sink in self._alerts.health():
            waiting.add_metric((self._book, sink.name), sink.waiting)
            totals = {"delivered": 0, "retried": 0, "refused": 0, "dead": 0} | sink.totals
            for outcome, number in sorted((totals | {"lost": sink.lost}).items()):
                outcomes.add_metric((self._book, sink.name, outcome), number)
        yield from (opened, outcomes, waiting)
