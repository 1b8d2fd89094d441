"""Latency: do more requests than usual take longer than nineteen in twenty usually did?"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from driftline.metadata.quality import LATENCY_EDGES
from driftline.metadata.thresholds import Rule, Thresholds

from .baseline import RISE, Cells, Usual, mark
from .judge import judge
from .single import Pair, single_reference, single_ring
from .verdict import Verdict


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
