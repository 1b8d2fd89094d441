"""Alerts as Prometheus sees them: what fires, and how their delivery goes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from ..alerts.alerts import Alerts

_OUTCOMES = ("delivered", "retried", "refused", "dead")


class AlertCollector:
    """The alerts of several books, each by its name: a model, or trainings."""

    def __init__(self, books: Mapping[str, Alerts]) -> None:
        self._books = books

    def collect(self) -> Iterator[Metric]:
        """Open alerts by kind and severity; messages by sink and what became of them.

        Raises:
            StoreError: the store is away.
        """
        opened = GaugeMetricFamily(
            "driftline_alerts_open", "Alerts that fire.", labels=("book", "kind", "severity")
        )
        outcomes = CounterMetricFamily(
            "driftline_alerts",
            "Messages by what became of them.",
            labels=("book", "sink", "outcome"),
        )
        waiting = GaugeMetricFamily(
            "driftline_alerts_waiting", "Messages not delivered yet.", labels=("book", "sink")
        )
        for book, alerts in self._books.items():
            firing = Counter((each.kind, each.severity) for each in alerts.open_alerts())
            for (kind, severity), number in sorted(firing.items()):
                opened.add_metric((book, kind, severity), number)
            for sink in alerts.health():
                waiting.add_metric((book, sink.name), sink.waiting)
                totals = dict.fromkeys(_OUTCOMES, 0) | sink.totals | {"lost": sink.lost}
                for outcome, number in totals.items():
                    outcomes.add_metric((book, sink.name, outcome), number)
        yield from (opened, outcomes, waiting)
