"""What latency is usual: whose timings a service's requests are compared with.

Timings depend on the machine, so what is usual is the package's where the service runs on a
machine of the same kind, requests are single rows as they were there, and the service has shown
that it can be as quick; else the service's own first stable stretch. Of several replicas whichever
judges, the baseline is one and the same. Counts are over the fixed `LATENCY_EDGES`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
from msgspec import Struct

from driftline.metadata.quality import LATENCY_EDGES, LatencyBaseline
from driftline.metadata.signals import Ints

Cells = Sequence[int]

SLOW = 0.05
# From one request in eight on that is slower than one in twenty was, it is worth attention.
RISE = 0.05
# The package timed the bare model; what a service does around it is no regression.
SLACK_RATIO, SLACK_SECONDS = 1.25, 0.001
# A stretch that can be a baseline.
BUCKETS, REQUESTS = 10, 200
# Of fewer requests nothing can be said.
FEW = 20
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


def choose(
    package: LatencyBaseline | None,
    buckets: Mapping[int, Cells] | None,
    *,
    host: str,
    rows: float,
    before: Usual | None = None,
    told: str = "",
    held: bool = False,
) -> tuple[Usual | None, str]:
    """The baseline, and why it is not the package's (``""`` where it is).

    Args:
        package: the package's timings.
        buckets: start of each time bucket → counts over the latency cells; the last is unfinished.
            None where they are the past that is judged, which is no measure of itself.
        host: fingerprint of the machine that judges; replicas may run on others.
        rows: rows a request in the window has on average.
        before: the baseline so far. The service's own is kept, whichever replica judges. The
            package's gives way where one judges whose machine is another, and not before there is
            a stretch to take its place.
        told: why `before` is not the package's.
        held: latency is called regressed just now; what is slow becomes no baseline.
    """
    reason = _unfit(package, host, rows)
    if before is not None and before.source == "service":
        return before, told or reason
    if package is not None and not reason:
        packaged = Usual(source="package", counts=package.counts, host=host, p95=package.p95)
        if before is not None or buckets is None or as_quick(packaged, buckets):
            return packaged, ""
        limit = f"{package.p95 * 1_000:.3g} ms"
        reason = f"no stretch of requests has been as quick as the package's timings (95 % {limit})"
        return first_stable(buckets, host), reason
    moved = before is not None and package is not None and package.host != host and rows <= ROWS
    if moved:
        reason = "replicas run on other kinds of machine than the package was timed on"
    own = None if buckets is None or (held and moved) else first_stable(buckets, host)
    return (before if own is None and moved else own), reason


def _unfit(package: LatencyBaseline | None, host: str, rows: float) -> str:
    """Why the package's timings are no measure for single rows on `host`; ``""`` if they are."""
    if package is None:
        return "the package holds no timings"
    if tuple(package.edges) != LATENCY_EDGES:
        return "the package was timed over other cells"
    if package.host != host:
        return "the package was timed on another kind of machine"
    if rows > ROWS:
        return f"the package was timed on single rows, requests have {rows:.3g} on average"
    return ""


def as_quick(package: Usual, buckets: Mapping[int, Cells]) -> bool:
    """Whether a stretch of requests, in buckets one after another, was as quick as the package's.

    That is: those beyond the mark were no more than are let pass as no regression. A stretch has
    200 requests, or all that there are where they are fewer, but 20. A service that answers many at
    once, or has slower threads, may never have one; that is how it is built, not something that
    happened to it. True where there is no mark.
    """
    marked = mark(package)
    if marked is None:
        return True
    edge, (under, over) = marked
    cells = np.array([buckets[start] for start in sorted(buckets)], dtype=np.int64)
    total = int(cells.sum())
    if total < FEW:
        return False
    rows = np.concatenate([[0], np.cumsum(cells.sum(axis=1))])
    slow = np.concatenate([[0], np.cumsum(cells[:, edge + 1 :].sum(axis=1))])
    # The shortest stretch of enough requests that ends with each bucket.
    enough = min(REQUESTS, total)
    ends = np.flatnonzero(rows >= enough)
    starts = np.searchsorted(rows, rows[ends] - enough, side="right") - 1
    share = (slow[ends] - slow[starts]) / (rows[ends] - rows[starts])
    return bool((share <= over / (under + over) + RISE).any())


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
