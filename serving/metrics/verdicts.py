"""How things stand, as Prometheus gauges: states, evidence, effects, the window."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping

from prometheus_client.core import GaugeMetricFamily, Metric

from driftline.drift.verdict import SignalVerdict, Verdict

from ..evaluation.standing import Standing
from ..known import Version
from .service import MODEL

MOST_SIGNALS = 200
STATES = {"no_data": -1, "insufficient_data": -1, "stable": 0, "warning": 1, "drift": 2}
_SIGNAL = (*MODEL, "signal")
_WORDS = "0 stable, 1 warning, 2 drift; -1 where nothing can be said."

Read = Callable[[Standing], float | None]
_GAUGES: tuple[tuple[str, str, Read], ...] = (
    ("model_state", f"All signals together: {_WORDS}", lambda s: STATES[s.verdict.state]),
    (
        "evidence_log10",
        "log10 of the evidence of all signals together.",
        lambda s: s.verdict.evidence_log10,
    ),
    (
        "evidence_needed_log10",
        "log10 of the evidence at which a change is called.",
        lambda s: -math.log10(s.verdict.alpha) if s.verdict.alpha > 0 else None,
    ),
    (
        "since_timestamp_seconds",
        "Unix second since when the state holds; the onset, where there is one.",
        lambda s: float(s.since),
    ),
    ("limits_exceeded", "Plain limits that means are beyond.", lambda s: len(s.verdict.breaches)),
    ("window_requests", "Requests in the window.", lambda s: s.service.requests),
    (
        "window_low_confidence_ratio",
        "Share of the window's predictions under the confidence limit.",
        lambda s: s.service.low_confidence,
    ),
    (
        "usual_low_confidence_ratio",
        "Share of the reference's predictions under the same confidence limit.",
        lambda s: s.service.usual_low_confidence,
    ),
    (
        "window_latency_p95_seconds",
        "95th percentile of the window's inference seconds.",
        lambda s: None if s.service.p95_ms is None else s.service.p95_ms / 1000.0,
    ),
    (
        "estimated_accuracy",
        "Accuracy to expect of the window's predictions, without labels.",
        lambda s: None if s.performance.estimate is None else s.performance.estimate.cbpe,
    ),
    (
        "estimated_accuracy_high",
        "Upper end of the interval of the estimate, where that can be relied on.",
        lambda s: (
            None
            if s.performance.estimate is None or s.performance.estimate.unreliable
            else s.performance.estimate.high
        ),
    ),
    (
        "labelled_accuracy",
        "Accuracy of the window's predictions that labels have come for.",
        lambda s: None if s.performance.harm is None else s.performance.harm.accuracy,
    ),
    (
        "accuracy_harmed",
        "1 where labels show that accuracy fell by more than is tolerated.",
        lambda s: None if s.performance.harm is None else float(s.performance.harm.harmful),
    ),
    (
        "latency_regressed",
        "1 where latency is surely above its baseline.",
        lambda s: (
            None
            if s.performance.latency.verdict is None
            else float(s.performance.latency.regressed)
        ),
    ),
    (
        "evaluated_timestamp_seconds",
        "Unix second at which the verdict was written.",
        lambda s: float(s.at),
    ),
)


def families(standings: Mapping[Version, Standing]) -> Iterator[Metric]:
    """All that the newest verdicts say; of each at most 200 signals, the worst."""
    state = GaugeMetricFamily("driftline_drift_state", f"Per signal: {_WORDS}", labels=_SIGNAL)
    evidence = GaugeMetricFamily(
        "driftline_drift_evidence_log10", "log10 of the evidence for a change.", labels=_SIGNAL
    )
    psi = GaugeMetricFamily(
        "driftline_drift_psi", "Population stability index above chance.", labels=_SIGNAL
    )
    for version, standing in standings.items():
        for each in _told(standing.verdict):
            labels = (*version, each.name)
            state.add_metric(labels, STATES[each.state])
            evidence.add_metric(labels, each.evidence_log10)
            if each.effect is not None:
                psi.add_metric(labels, each.effect.psi)
    yield from (state, evidence, psi)
    for name, about, read in _GAUGES:
        family = GaugeMetricFamily(f"driftline_{name}", about, labels=MODEL)
        for version, standing in standings.items():
            value = read(standing)
            if value is not None:
                family.add_metric(version, value)
        yield family


def _told(verdict: Verdict) -> list[SignalVerdict]:
    signals = list(verdict.signals)
    if len(signals) <= MOST_SIGNALS:
        return signals
    signals.sort(key=lambda each: (STATES[each.state], each.evidence_log10), reverse=True)
    return signals[:MOST_SIGNALS]
