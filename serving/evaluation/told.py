"""Performance as `/drift` tells it: its ``confidence``, ``latency`` and ``accuracy``. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from driftline.drift.baseline import Usual
from driftline.drift.harm import Harm
from driftline.drift.label_shift import LabelShift
from driftline.drift.latency import Latency
from driftline.metadata.quality import LATENCY_EDGES
from driftline.metadata.schema import ModelMetadata
from driftline.metadata.thresholds import Thresholds

from .confidence import threshold, usual_share
from .standing import Service, Standing, evidence
from .times import iso
from .words import estimate_words, harm_words, latency_words

# Classes that a shift of labels names, the most changed ones.
NAMED = 20


def confidence(
    standing: Standing, metadata: ModelMetadata, thresholds: Thresholds
) -> dict[str, Any]:
    """The window's confidence beside the reference's, and how much of it is under the limit.

    ``reference_low_share`` is the reference's share under the same limit. ``state`` is the verdict
    on the package's own signal of little confidence, where that is cut at this limit.
    """
    service, limit = standing.service, thresholds.low_confidence
    means = [
        each.mean
        for each in metadata.reference.columns
        if each.group == "output" and each.name.endswith("top_probability")
    ]
    low = [
        each
        for each in standing.verdict.signals
        if each.group == "output" and each.kind == "flag" and each.name.endswith("low_confidence")
    ]
    return {
        "predictions": service.predictions,
        "mean": service.confidence_mean,
        "reference_mean": means[0] if means else None,
        "low_share": service.low_confidence,
        "reference_low_share": usual_share(metadata, limit),
        "limit": limit,
        "under_limit": _under(service, thresholds),
        "state": low[0].state if low and limit == threshold(metadata) else None,
    }


def latency(standing: Standing, metadata: ModelMetadata, thresholds: Thresholds) -> dict[str, Any]:
    """The window's latencies beside their baseline, and what the evidence says.

    ``baseline.source`` is ``package`` or ``service``, ``reason`` why it is not the package's; while
    the service's own is still to come, the package's figures stand there with ``applies`` false.
    """
    service, found = standing.service, standing.performance.latency
    baseline = _baseline(found, metadata)
    verdict = found.verdict
    return {
        "p50_ms": service.p50_ms,
        "p95_ms": service.p95_ms,
        "p99_ms": service.p99_ms,
        "slow_share": service.slow,
        "error_share": service.errors,
        "limit_ms": thresholds.latency_ms,
        "over_limit": _over(service, thresholds),
        "baseline": baseline,
        "reason": found.reason,
        "p50_ratio": _ratio(service.p50_ms, baseline, "p50_ms"),
        "p95_ratio": _ratio(service.p95_ms, baseline, "p95_ms"),
        "mark_ms": None if found.seconds is None else found.seconds * 1000.0,
        "over_mark_share": found.rate,
        "usual_over_mark_share": found.usual_rate,
        "state": verdict.state if verdict else "no_data",
        "regressed": found.regressed,
        "evidence": evidence(verdict.evidence_log10) if verdict else None,
        "since": iso(verdict.onset) if verdict else None,
        "sentence": latency_words(found).en,
    }


def accuracy(standing: Standing, metadata: ModelMetadata) -> dict[str, Any]:
    """Packaged accuracy, what to expect of predictions without labels, and what labels show."""
    packaged = metadata.quality.accuracy if metadata.quality else None
    found = standing.performance.estimate
    told: dict[str, Any] = {
        "packaged": packaged,
        "estimated": None,
        "label_shift": None,
        "labelled": _labelled(standing.performance.harm),
    }
    if found is not None:
        told["estimated"] = {
            "value": found.cbpe,
            "low": found.low,
            "high": found.high,
            "atc": found.atc,
            "rows": found.rows,
            "unreliable": found.unreliable,
            "sentence": estimate_words(found).en,
        }
        if found.label_shift is not None:
            told["label_shift"] = _shift(found.label_shift, metadata.class_names)
    return told


def _labelled(found: Harm | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "value": found.accuracy,
        "low": found.low,
        "high": found.high,
        "rows": found.rows,
        "packaged": found.packaged,
        "tolerated_loss": found.tolerance,
        "harmful": found.harmful,
        "evidence": evidence(found.evidence_log10),
        "evidence_needed": found.needed_log10,
        "since": iso(found.since),
        "sentence": harm_words(found).en,
    }


def _shift(found: LabelShift, names: Sequence[str]) -> dict[str, Any]:
    change = np.abs(np.array(found.now) - np.array(found.before))
    most = np.sort(np.argsort(-change, kind="stable")[:NAMED]).tolist()
    named = [names[at] if at < len(names) else str(at) for at in most]
    return {
        "before": dict(zip(named, (found.before[at] for at in most), strict=True)),
        "now": dict(zip(named, (found.now[at] for at in most), strict=True)),
        "weights": dict(zip(named, (found.weights[at] for at in most), strict=True)),
        "accuracy": found.accuracy,
    }


def _baseline(found: Latency, metadata: ModelMetadata) -> dict[str, Any] | None:
    usual, package = found.usual, metadata.latency
    if usual is not None and usual.source == "service":
        return _own(usual)
    if package is None:
        return None
    return {
        "source": "package",
        "applies": usual is not None,
        "p50_ms": package.p50 * 1000.0,
        "p95_ms": package.p95 * 1000.0,
        "p99_ms": package.p99 * 1000.0,
        "requests": package.calls,
        "host": package.host,
        "from": None,
        "to": None,
    }


def _own(usual: Usual) -> dict[str, Any]:
    told: dict[str, Any] = {"source": "service", "applies": True}
    for name, q in (("p50_ms", 0.5), ("p95_ms", 0.95), ("p99_ms", 0.99)):
        told[name] = quantile(usual.counts, q) * 1000.0
    return told | {
        "requests": sum(usual.counts),
        "host": usual.host,
        "from": iso(usual.since),
        "to": iso(usual.until),
    }


def quantile(counts: Sequence[int], q: float) -> float:
    """The q-quantile of counts over the latency cells, in seconds, exact to a cell.

    Interpolated in the logarithm; the outer cells are taken to be as wide as their neighbours.
    """
    ratio = LATENCY_EDGES[1] / LATENCY_EDGES[0]
    edges = np.log([LATENCY_EDGES[0] / ratio, *LATENCY_EDGES, LATENCY_EDGES[-1] * ratio])
    reached = np.concatenate([[0], np.cumsum(counts)])
    return float(np.exp(np.interp(q * reached[-1], reached, edges)))


def _under(service: Service, thresholds: Thresholds) -> bool | None:
    """Whether more than one prediction in twenty is less sure than the plain limit."""
    if thresholds.low_confidence is None or service.low_confidence is None:
        return None
    return service.low_confidence > 0.05


def _over(service: Service, thresholds: Thresholds) -> bool | None:
    """Whether more than one request in twenty takes longer than the plain limit."""
    if thresholds.latency_ms is None or service.p95_ms is None:
        return None
    return service.p95_ms > thresholds.latency_ms


def _ratio(ours: float | None, baseline: dict[str, Any] | None, field: str) -> float | None:
    theirs = baseline[field] if baseline else 0.0
    return ours / theirs if ours is not None and theirs > 0 else None
