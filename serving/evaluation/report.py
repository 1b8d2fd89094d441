"""A standing as `/drift` tells it: plain objects, ISO times. Pure."""

from __future__ import annotations

from typing import Any

import msgspec

from driftline.drift.verdict import NO_EVIDENCE, MemberVerdict, Verdict
from driftline.metadata.schema import ModelMetadata
from driftline.metadata.signals import Group
from driftline.metadata.thresholds import Thresholds

from . import told
from .standing import Service, Standing, evidence
from .times import iso as iso

# The evaluator writes at least each 5 s; a document this old says that nobody evaluates.
STALE_SECONDS = 15


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
        "since": iso(standing.since or None),
        "evaluated": iso(standing.at or None),
        "window": _window(standing),
        "evidence": evidence(verdict.evidence_log10),
        "false_alarm": {"at_most": thresholds.false_alarms, "alpha": verdict.alpha},
        "independent": verdict.independent,
        "signals": [signal(each) for each in chosen],
        "multivariates": [
            signal(each)
            for each in verdict.multivariates
            if name is None and (group is None or each.group == group)
        ],
        "limits": msgspec.to_builtins(verdict.breaches),
        "confidence": told.confidence(standing, metadata, thresholds),
        "latency": told.latency(standing, metadata, thresholds),
        "accuracy": told.accuracy(standing, metadata),
        "sensitivity": msgspec.to_builtins(metadata.sensitivity),
    }


def signal(each: MemberVerdict) -> dict[str, Any]:
    """One signal's verdict, or that of several; ``evidence`` is log₁₀ of the e-detector, None
    where there is no data."""
    found: dict[str, Any] = msgspec.to_builtins(each)
    found["evidence"] = evidence(found.pop("evidence_log10"))
    found["onset"] = iso(each.onset)
    return found


def nothing_yet(now: int, width: int, alpha: float) -> Standing:
    """The standing before the first evaluation; `now` is 0 where no time is to be told."""
    sentence = "Nothing was evaluated yet."
    verdict = Verdict("no_data", NO_EVIDENCE, None, None, None, 0, alpha, True, (), (), sentence)
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
