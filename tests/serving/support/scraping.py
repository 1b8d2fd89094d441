"""What `/metrics` tells, as a scraper of Prometheus reads it."""

from __future__ import annotations

import time

import served
from prometheus_client.parser import text_string_to_metric_families

OWN = {"model": "toy", "version": "1"}


def scraped(text: str) -> dict[tuple[str, ...], float]:
    """Values by name and label values, those of model and version left out."""
    found = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            rest = [value for name, value in sorted(sample.labels.items()) if name not in OWN]
            found[sample.name, *rest] = sample.value
    return found


def send(client, count: int, **more) -> None:
    for row in served.rows(count, 5, **more).tolist():
        assert client.post("/predict", json={"instances": [row]}).status_code == 200


def evaluated(client) -> dict[tuple[str, ...], float]:
    session = client.engine.monitor.session
    session.flush()
    session.evaluator.turn(time.time())
    return scraped(client.get("/metrics").get_data(as_text=True))
