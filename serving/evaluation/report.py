"""A standing as `/drift` tells it: plain objects, ISO times. Pure."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec

from driftline.drift.verdict import SignalVerdict, Verdict
from driftline.metadata.schema import ModelMetadata
from driftline.metadata.signals import Group
from driftline.metadata.thresholds import Thresholds

from .standing import Service, Standing

# The evaluator writes at least each 5 s; a document this old says that nobody evaluates.
STALE_SECONDS = 15


def iso(seconds: float | None) -> str | None:
    """A Unix time as ISO 8601 in UTC; None stays None."""
    if seconds is None:
        return None
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")


def drift(
    standing: Standing,
    metadata: ModelMetadata,
    thresholds: Thresholds,
    *,
    name: str | None = None,
    group: Group | None = None,
) -> dict[str, Any]:
    """The answer of `/drift` but for its ``health``; `name` and `group` choose signals."""
    verdict = standing.verdict
    chosen = [
        each
        for each in verdict.signals
        if (name is None or each.name == name) and (group is None or each.group == group)
    ]
    return {
        "model": {"name": metadata.model.name, "version": metadata.model.version},
        "state": verdict.state,
        "sentence": verdict.sentence,
        "since": iso(standing.since),
        "evaluated": iso(standing.at),
        "window": _window(standing),
        "evidence": verdict.evidence_log10,
        "false_alarm": {"at_most": thresholds.false_alarms, "alpha": verdict.alpha},
        "independent": verdict.independent,
        "signals": [signal(each) for each in chosen],
        "limits": msgspec.to_builtins(verdict.breaches),
        "confidence": _confidence(standing.service, metadata, thresholds),
        "latency": _latency(standing.service, metadata, thresholds),
        "accuracy": {
            "packaged": metadata.quality.accuracy if metadata.quality else None,
            "estimated": None,
        },
        "sensitivity": msgspec.to_builtins(metadata.sensitivity),
    }


def signal(each: SignalVerdict) -> dict[str, Any]:
    """One signal's verdict; ``evidence`` is log₁₀ of the e-detector."""
    told: dict[str, Any] = msgspec.to_builtins(each)
    told["evidence"] = told.pop("evidence_log10")
    told["onset"] = iso(each.onset)
    return told


def nothing_yet(now: int, width: int, alpha: float) -> Standing:
    """The standing before the first evaluation."""
    sentence = "Nothing was evaluated yet."
    verdict = Verdict("no_data", 0.0, None, None, None, 0, alpha, True, (), (), sentence)
    return Standing(at=now, since=now, width=width, verdict=verdict, service=Service())


def health(standing: Standing | None, store: str, alerts: str, now: float) -> dict[str, Any]:
    """What works; ``ok`` or a reason. `store` is what is wrong with the store, or empty."""
    evaluator = "ok"
    if standing is None:
        evaluator = "has not evaluated yet"
    elif now - standing.at > STALE_SECONDS:
        evaluator = f"last evaluated at {iso(standing.at)}"
    return {
        "store": store or "ok",
        "evaluator": evaluator,
        "alerts": alerts,
        "dropped": standing.dropped if standing else {},
    }


def _window(standing: Standing) -> dict[str, Any]:
    verdict = standing.verdict
    return {
        "from": iso(verdict.window_from),
        "to": iso(verdict.window_to),
        "bucket_seconds": standing.width,
        "requests": standing.service.requests,
        "rows": verdict.window_rows,
        "requests_total": standing.total,
    }


def _confidence(
    service: Service, metadata: ModelMetadata, thresholds: Thresholds
) -> dict[str, Any]:
    reference = [
        each.mean
        for each in metadata.reference.columns
        if each.group == "output" and each.name.endswith("top_probability")
    ]
    return {
        "predictions": service.predictions,
        "mean": service.confidence_mean,
        "reference_mean": reference[0] if reference else None,
        "low_share": service.low_confidence,
        "limit": thresholds.low_confidence,
    }


def _latency(service: Service, metadata: ModelMetadata, thresholds: Thresholds) -> dict[str, Any]:
    """The window's latencies beside the package's baseline, which was taken on another host."""
    baseline = metadata.latency
    told: dict[str, Any] = {
        "p50_ms": service.p50_ms,
        "p95_ms": service.p95_ms,
        "p99_ms": service.p99_ms,
        "slow_share": service.slow,
        "error_share": service.errors,
        "limit_ms": thresholds.latency_ms,
        "baseline": None,
        "p50_ratio": None,
        "p95_ratio": None,
    }
    if baseline is not None:
        p50, p95 = baseline.p50 * 1000.0, baseline.p95 * 1000.0
        told["baseline"] = {"p50_ms": p50, "p95_ms": p95, "host": baseline.host}
        for field, ours, theirs in (
            ("p50_ratio", service.p50_ms, p50),
            ("p95_ratio", service.p95_ms, p95),
        ):
            if ours is not None and theirs > 0:
                told[field] = ours / theirs
    return told
