"""How things stand: the document that the evaluator writes and every worker answers from."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from driftline.drift.verdict import NO_EVIDENCE, Verdict
from driftline.metadata.counts import Counts

from ..service_signals import group_rows, quantile, rate, requests_in
from .performance import Performance


class Service(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The window's requests; a share is None where there was nothing to take it of.

    Latencies are in milliseconds, from before the model to after it. `usual_low_confidence` is the
    share that was under the same limit on the reference data, None where that is not known.
    """

    requests: int = 0
    errors: float | None = None
    slow: float | None = None
    p50_ms: float | None = None
    p95_ms: float | None = None
    p99_ms: float | None = None
    predictions: int = 0
    confidence_mean: float | None = None
    low_confidence: float | None = None
    usual_low_confidence: float | None = None

    @classmethod
    def of(cls, counts: Counts, usual_low_confidence: float | None = None) -> Service:
        """The service's signals over one window."""

        def ms(q: float) -> float | None:
            found = quantile(counts, "latency", q)
            return None if found is None else round(found * 1000.0, 4)

        seen, mean = counts.moments[counts.layout.rows["output", "confidence"], :2].tolist()
        return cls(
            requests=requests_in(counts),
            errors=rate(counts, "error"),
            slow=rate(counts, "slow"),
            p50_ms=ms(0.5),
            p95_ms=ms(0.95),
            p99_ms=ms(0.99),
            predictions=group_rows(counts, "output"),
            confidence_mean=mean if seen else None,
            low_confidence=rate(counts, "low_confidence"),
            usual_low_confidence=usual_low_confidence,
        )


class Standing(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The newest verdict with all that `/drift` says; times in Unix seconds.

    `at` is when it was written, `since` since when the state holds (the onset, where there is
    one), `width` the seconds of a bucket, `total` the requests ever counted, `dropped` what could
    not be counted, by kind, `told` the number of the timeline's last entry, which only grows.
    """

    at: int
    since: int
    width: int
    verdict: Verdict
    service: Service
    performance: Performance = Performance()
    total: int = 0
    dropped: dict[str, int] = {}
    told: int = 0


def evidence(log10: float) -> float | None:
    """Evidence as clients are told it; None where there is no data to have any."""
    return None if log10 <= NO_EVIDENCE else log10


def encode(standing: Standing) -> bytes:
    """Its JSON; a number that is not finite becomes null."""
    return msgspec.json.encode(standing)


def decode(data: bytes) -> Standing | None:
    """The standing in `data`; None where another version of driftline wrote it."""
    try:
        return msgspec.json.decode(data, type=Standing)
    except msgspec.MsgspecError:
        return None
