"""Performance: how well the model serves, beside whether its traffic has drifted. Pure."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from msgspec import Struct

from driftline.drift.baseline import choose
from driftline.drift.harm import Harm, harm
from driftline.drift.latency import Latency, latency
from driftline.drift.quality import Estimate, estimate
from driftline.drift.ring import Ring
from driftline.drift.verdict import Verdict
from driftline.metadata.counts import Counts
from driftline.metadata.moments import COUNT, MEAN
from driftline.metadata.schema import ModelMetadata
from driftline.metadata.thresholds import Thresholds

from ..service_signals import group_rows, requests_in


class Performance(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Latency against its baseline, expected accuracy, and accuracy by labels, where there are."""

    latency: Latency = Latency()
    estimate: Estimate | None = None
    harm: Harm | None = None


def latency_of(
    metadata: ModelMetadata,
    buckets: Mapping[int, Counts],
    *,
    width: int,
    host: str,
    thresholds: Thresholds,
    before: Latency,
    learns: bool = True,
) -> Latency:
    """The latencies of the service's `buckets`, on a machine of the kind `host`.

    Where it `learns`, a stable stretch of these buckets may become the baseline.
    """
    cells = {start: counts.of("latency").tolist() for start, counts in buckets.items()}
    requests = sum(requests_in(each) for each in buckets.values())
    predictions = sum(group_rows(each, "output") for each in buckets.values())
    rows = predictions / requests if requests else 1.0
    usual, reason = choose(
        metadata.latency,
        cells if learns else None,
        host=host,
        rows=rows,
        before=before.usual,
        told=before.reason,
        held=before.regressed,
    )
    if usual is None:
        return Latency(reason=f"{reason}; a stable stretch of requests is still to come")
    return latency(usual, cells, width=width, reason=reason, thresholds=thresholds, previous=before)


def estimate_of(metadata: ModelMetadata, ring: Ring, verdict: Verdict) -> Estimate | None:
    """Expected accuracy since the onset of a drift, or over the whole ring where there is none."""
    reliability = metadata.quality.reliability if metadata.quality else None
    if reliability is None or not len(ring):
        return None
    since = min(int(np.searchsorted(ring.starts, verdict.onset or 0)), len(ring) - 1)
    reference = metadata.reference
    signal = reference.layout.signals[reference.layout.position[reliability.signal]]
    moments = ring.moments[since:, reference.layout.rows[signal.group, signal.column]]
    seen = moments[:, COUNT].sum()
    return estimate(
        metadata.quality,
        reference,
        ring.cells[since:].sum(axis=0),
        mean=float(moments[:, COUNT] @ moments[:, MEAN] / seen) if seen else None,
        verdict=verdict,
    )


def harm_of(
    metadata: ModelMetadata,
    feedback: Mapping[int, tuple[int, int]],
    *,
    width: int,
    thresholds: Thresholds,
    before: Harm | None,
) -> Harm | None:
    """What labels say: start of each bucket → how many of those that came were (right, wrong)."""
    if metadata.quality is None or not any(map(any, feedback.values())):
        return None
    return harm(metadata.quality, feedback, width=width, thresholds=thresholds, previous=before)
