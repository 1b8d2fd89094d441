"""Prometheus families of what was counted: requests, labels, seconds, confidence, and losses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from prometheus_client.core import (
    CounterMetricFamily,
    HistogramMetricFamily,
    Metric,
    SummaryMetricFamily,
)

from ..known import Known, Version
from .histogram import CONFIDENCE, INFERENCE, REQUEST

MODEL = ("model", "version")
# Kinds of errors come of the code, so they are few; but nothing here may grow without bound.
MOST_KINDS = 50
# What becomes of an item of feedback; mismatched is one with another number of labels.
FEEDBACK = ("joined", "unknown", "mismatched")

_HISTOGRAMS = (
    (REQUEST, "Seconds from a prediction request's arrival to its answer."),
    (INFERENCE, "Seconds from before the model to after it."),
    (CONFIDENCE, "Top probability of each prediction."),
)


def families(versions: Mapping[Version, Known]) -> Iterator[Metric]:
    """All that is counted of the versions."""
    requests = CounterMetricFamily(
        "driftline_requests", "Answers to prediction requests.", labels=(*MODEL, "code")
    )
    low = CounterMetricFamily(
        "driftline_low_confidence", "Predictions under the confidence limit.", labels=MODEL
    )
    refused = CounterMetricFamily(
        "driftline_refused",
        "Requests whose inputs were counted, and that the model was not asked.",
        labels=MODEL,
    )
    feedback = CounterMetricFamily(
        "driftline_feedback", "Items of feedback by what became of them.", labels=(*MODEL, "status")
    )
    cost = SummaryMetricFamily(
        "driftline_monitor_seconds",
        "Seconds spent counting requests, in a thread off their path; what the hooks take of a "
        "request itself, and judging, are not in it.",
        labels=MODEL,
    )
    dropped = CounterMetricFamily(
        "driftline_dropped", "What could not be counted or watched.", labels=(*MODEL, "what")
    )
    for version, each in versions.items():
        counters = each.counters
        for code, number in sorted(_by_code(counters).items()):
            requests.add_metric((*version, code), number)
        low.add_metric(version, counters.get("low_confidence", 0.0))
        refused.add_metric(version, counters.get("refused", 0.0))
        for status in FEEDBACK:
            feedback.add_metric((*version, status), counters.get(f"feedback|{status}", 0.0))
        cost.add_metric(
            version, int(counters.get("requests", 0.0)), counters.get("monitor_seconds", 0.0)
        )
        for what, number in sorted(_dropped(counters).items()):
            dropped.add_metric((*version, what), number)
    yield from (requests, low, refused, feedback, cost, dropped)
    for histogram, words in _HISTOGRAMS:
        family = HistogramMetricFamily(f"driftline_{histogram.name}", words, labels=MODEL)
        for version, each in versions.items():
            buckets, total = histogram.read(each.counters)
            family.add_metric(version, buckets, total)
        yield family


def predicts(endpoint: str) -> bool:
    """True for the routes whose answers are predictions."""
    return endpoint.startswith(("predict.", "v2.infer"))


def _by_code(counters: Mapping[str, float]) -> dict[str, float]:
    found: dict[str, float] = {}
    for name, number in counters.items():
        kind, _, rest = name.partition("|")
        endpoint, _, code = rest.partition("|")
        if kind == "responses" and predicts(endpoint):
            found[code] = found.get(code, 0.0) + number
    return found


def _dropped(counters: Mapping[str, float]) -> dict[str, float]:
    """By what was dropped; all that goes beyond the bound is one kind."""
    found = {"claims": counters.get("dropped|claims", 0.0), "input": 0.0, "output": 0.0}
    for name, number in counters.items():
        kind, _, what = name.partition("|")
        if kind == "unusable":
            found[what] = found.get(what, 0.0) + number
        elif kind == "monitor":
            found[f"monitor {what}"] = found.get(f"monitor {what}", 0.0) + number
    if len(found) > MOST_KINDS:
        first = dict(sorted(found.items())[:MOST_KINDS])
        first["other"] = sum(found.values()) - sum(first.values())
        return first
    return found
