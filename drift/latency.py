"""Latency: do more requests than usual take longer than nineteen in twenty usually did?

Timings depend on the machine, so what is usual is the package's where the service runs on a
machine of the same kind and requests are single rows as they were there, else the service's own
first stable stretch. Of several replicas whichever judges, the baseline is one and the same. Both
are counts over the fixed `LATENCY_EDGES`, and so is the window.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from driftline.metadata.quality import LATENCY_EDGES, LatencyBaseline
from driftline.metadata.signals import Ints
from driftline.metadata.thresholds import Rule, Thresholds

from .judge import judge
from .single import Pair, single_reference, single_ring
from .verdict import Verdict

Cells = Sequence[int]

SLOW = 0.05
# From one request in eight on that is slower than one in twenty was, it is worth attention.
RISE = 0.05
# The package timed the bare model; what a service does around it is no regression.
SLACK_RATIO, SLACK_SECONDS = 1.25, 0.001
# A stretch that can be a baseline.
BUCKETS, REQUESTS = 10, 200
# More rows a request than this, and single-row timings are no measure.
ROWS = 1.5


class Usual(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What is usual: counts over the latency cells on machines of the kind `host`.

    `p95` is the package's 95th percentile in seconds; `since` and `until` bound the service's own
    stretch, in unix seconds.
    """

    source: Literal["package", "service"]
    counts: tuple[int, ...]
    host: str
    p95: float | None = None
    since: int | None = None
    until: int | None = None


class Latency(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What the window's latencies say.

    `rate` of the window's requests took longer than `seconds`, `usual_rate` is that of the
    baseline. `regressed` rests on evidence and effect together (`verdict` is that of this one
    rate). Without a baseline only `reason` is set: why there is none, or why it is not the
    package's; ``""`` where it is.
    """

    usual: Usual | None = None
    reason: str = ""
    seconds: float | None = None
    rate: float | None = None
    usual_rate: float | None = None
    regressed: bool = False
    verdict: Verdict | None = None


def choose(
    package: LatencyBaseline | None,
    buckets: Mapping[int, Cells],
    *,
    host: str,
    rows: float,
    before: Usual | None = None,
    held: bool = False,
) -> tuple[Usual | None, str]:
    """The baseline, and why it is not the package's (``""`` where it is).

    Args:
        package: the package's timings.
        buckets: start of each time bucket → counts over the latency cells; the last is unfinished.
        host: fingerprint of the machine that judges; replicas may run on others.
        rows: rows a request in the window has on average.
        before: the baseline so far. The service's own is kept, whichever replica judges. The
            package's gives way where one judges whose machine is another, and not before there is
            a stretch to take its place.
        held: latency is called regressed just now; what is slow becomes no baseline.
    """
    if package is None:
        reason = "the package holds no timings"
    elif tuple(package.edges) != LATENCY_EDGES:
        reason = "the package was timed over other cells"
    elif package.host != host:
        reason = "the package was timed on another kind of machine"
    elif rows > ROWS:
        reason = f"the package was timed on single rows, requests have {rows:.3g} on average"
    elif before is not None and before.source == "service":
        reason = "the service's own was chosen before"
    else:
        return Usual(source="package", counts=package.counts, host=host, p95=package.p95), ""
    if before is not None and before.source == "service":
        return before, reason
    moved = before is not None and package is not None and package.host != host and rows <= ROWS
    if moved:
        reason = "replicas run on other kinds of machine than the package was timed on"
    own = None if held and moved else first_stable(buckets, host)
    return (before if own is None and moved else own), reason


def first_stable(buckets: Mapping[int, Cells], host: str) -> Usual | None:
    """The first stretch of 10 buckets and 200 requests or more that agrees with itself.

    Its two halves have median and 95th percentile in the same or neighbouring cells, a quarter
    apart at the most. The first bucket (the service warms up) and the last (it is not finished)
    are left out. None where there is no such stretch.
    """
    starts = sorted(buckets)[1:-1]
    if len(starts) < BUCKETS:
        return None
    cells = np.array([buckets[start] for start in starts], dtype=np.int64)
    rows = np.cumsum(cells.sum(axis=1))
    for first in range(len(starts) - BUCKETS + 1):
        base = rows[first - 1] if first else 0
        last = max(int(np.searchsorted(rows, base + REQUESTS)), first + BUCKETS - 1)
        if last >= len(starts):
            return None
        middle = int(np.searchsorted(rows, (base + rows[last]) / 2)) + 1
        early, late = cells[first:middle].sum(axis=0), cells[middle : last + 1].sum(axis=0)
        if late.any() and all(abs(_cell(early, q) - _cell(late, q)) <= 1 for q in (0.5, 0.95)):
            return Usual(
                source="service",
                counts=tuple((early + late).tolist()),
                host=host,
                since=starts[first],
                until=starts[last],
            )
    return None


def latency(
    usual: Usual,
    buckets: Mapping[int, Cells],
    *,
    width: int,
    reason: str = "",
    thresholds: Thresholds | None = None,
    previous: Latency | None = None,
) -> Latency:
    """Whether the window's requests are slower than `usual`, and since when.

    The mark stands at the 95th percentile of a random quarter of the baseline's timings and is
    counted on the others; against the package a quarter above its 95th percentile, or a
    millisecond where that is more.

    Args:
        usual: the baseline.
        buckets: as in `choose`.
        width: seconds of a bucket.
        reason: why `usual` is not the package's.
        thresholds: the promise on false alarms, which holds for this alone, and the rule of the
            group ``service``; its `rise` is 0.05 where it is not set.
        previous: what was said before, under whichever baseline.
    """
    thresholds = thresholds or Thresholds()
    marked = mark(usual)
    if marked is None:
        return Latency(usual=usual, reason=reason or "timings are beyond all cells")
    edge, weights = marked
    rule = thresholds.groups.get("service", Rule())
    rates: dict[int, Pair] = {}
    for start, cells in buckets.items():
        slow = int(sum(cells[edge + 1 :]))
        rates[start] = (int(sum(cells)) - slow, slow)
    same = previous is not None and previous.usual == usual
    verdict = judge(
        single_reference("latency", "service", weights),
        single_ring(width, rates),
        thresholds=Thresholds(
            false_alarms=thresholds.false_alarms,
            default=replace(rule, rise=RISE if rule.rise is None else rule.rise),
        ),
        previous=previous.verdict if same and previous else None,
    )
    effect = verdict.signals[0].effect
    return Latency(
        usual=usual,
        reason=reason,
        seconds=LATENCY_EDGES[edge],
        rate=None if effect is None else effect.rate,
        usual_rate=weights[1] / sum(weights),
        regressed=verdict.state == "drift",
        verdict=verdict,
    )


def mark(usual: Usual) -> tuple[int, tuple[float, float]] | None:
    """The edge that slow requests are beyond, and the Beta parameters (under, over) of their rate.

    None where the timings lie beyond the last edge.
    """
    counts = np.array(usual.counts, dtype=np.int64)
    if usual.p95 is not None:
        target = max(usual.p95 * SLACK_RATIO, usual.p95 + SLACK_SECONDS)
        edge = int(np.searchsorted(LATENCY_EDGES, target, side="left"))
    else:
        # What chose the mark must not be counted, and what is random must repeat.
        random = np.random.default_rng(usual.counts)
        chosen = random.multivariate_hypergeometric(counts, -(-int(counts.sum()) // 4))
        edge = _cell(chosen, 1 - SLOW)
        counts = counts - chosen
    if edge >= len(LATENCY_EDGES):
        return None
    over = float(counts[edge + 1 :].sum())
    return edge, (float(counts.sum()) - over + 0.5, over + 0.5)


def _cell(counts: Ints, q: float) -> int:
    """The cell that holds the q-quantile; it ends at the edge of the same number."""
    reached = np.cumsum(counts)
    return int(np.searchsorted(reached, q * reached[-1], side="left"))
