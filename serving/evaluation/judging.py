"""The core of an evaluation: facts in, standing out, nothing touched."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from driftline.drift.judge import judge
from driftline.drift.ring import Ring
from driftline.drift.verdict import Verdict
from driftline.metadata.counts import Counts
from driftline.metadata.schema import ModelMetadata
from driftline.metadata.thresholds import Thresholds

from ..series import SLOW_BUCKET, Series
from ..service_signals import SERVICE
from .confidence import usual_share
from .performance import Performance, estimate_of, harm_of, latency_of
from .standing import Service, Standing

log = logging.getLogger(__name__)

T = TypeVar("T")
Caught = Callable[[str, Exception], None]
"""Is told which part of an evaluation failed, and of what."""


def noted(part: str, error: Exception) -> None:
    """Writes the failure down, where nobody counts it."""
    log.error("%s cannot be said: %s", part, error, exc_info=error)


@dataclass(frozen=True, slots=True)
class Facts:
    """What one evaluation was made of.

    `feedback` maps the start of an hour to how many predictions the labels that came in it found
    (right, wrong); `host` is the fingerprint of the machine. Of the past nothing is learned: there
    `learns` is false, and no stretch of it becomes a baseline.
    """

    fast: Mapping[int, Counts]
    slow: Mapping[int, Counts]
    service: Mapping[int, Counts]
    counters: Mapping[str, float]
    feedback: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    host: str = ""
    learns: bool = True

    @property
    def key(self) -> tuple[object, ...]:
        """Equal where the same counts were facts."""
        rows = sum(int(each.rows.sum()) for each in self.fast.values())
        requests = sum(int(each.rows.sum()) for each in self.service.values())
        labels = tuple(self.feedback.items())
        counters = tuple(self.counters.items())
        return (tuple(self.fast), tuple(self.slow), rows, requests, labels, counters)


def stand(
    metadata: ModelMetadata,
    series: Series,
    facts: Facts,
    *,
    thresholds: Thresholds,
    before: Standing | None,
    now: float,
    performance: Performance | None = None,
    caught: Caught = noted,
) -> Standing:
    """How things stand at `now`; pure, so the same counts give the same standing in any worker.

    A part beside the verdict that fails stays as it was `before`, and `caught` is told of it.
    `performance` is what was said of that, where it is not to be that of `before`.
    """
    ring = Ring.of(series.bucket, facts.fast)
    slow = Ring.of(SLOW_BUCKET, facts.slow) if facts.slow else None
    verdict = judge(
        metadata.reference,
        ring,
        thresholds=thresholds,
        previous=before.verdict if before else None,
        slow=slow,
    )
    last = performance or (before.performance if before else Performance())
    service = SERVICE.zeros()
    for each in facts.service.values():
        service = service + each
    return Standing(
        at=int(now),
        since=_since(verdict, before, int(now)),
        width=series.bucket,
        verdict=verdict,
        service=Service.of(service, usual_share(metadata, thresholds.low_confidence)),
        performance=_performance(metadata, facts, ring, verdict, thresholds, last, caught),
        total=int(facts.counters.get("requests", 0)),
        dropped={
            name: int(value)
            for name, value in sorted(facts.counters.items())
            if name.startswith(("unusable|", "monitor|"))
        },
    )


def _performance(
    metadata: ModelMetadata,
    facts: Facts,
    ring: Ring,
    verdict: Verdict,
    thresholds: Thresholds,
    last: Performance,
    caught: Caught,
) -> Performance:
    width = ring.width

    # Each for itself: labels that cannot be judged must not silence the verdict on drift.
    def part(name: str, said: Callable[[], T], instead: T) -> T:
        try:
            return said()
        except Exception as error:
            caught(name, error)
            return instead

    return Performance(
        latency=part(
            "latency",
            lambda: latency_of(
                metadata, facts.service,
                width=width, host=facts.host, thresholds=thresholds, before=last.latency,
                learns=facts.learns,
            ),
            last.latency,
        ),
        estimate=part("estimate", lambda: estimate_of(metadata, ring, verdict), None),
        harm=part(
            "harm",
            lambda: harm_of(
                metadata, facts.feedback, width=SLOW_BUCKET, thresholds=thresholds, before=last.harm
            ),
            last.harm,
        ),
    )  # fmt: skip


def _since(verdict: Verdict, before: Standing | None, now: int) -> int:
    if verdict.onset is not None:
        return verdict.onset
    if before is not None and before.verdict.state == verdict.state:
        return before.since
    return now
