"""What counters say of the last five minutes: requests that do not fit, failures of the monitor."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..alerts.condition import Condition
from ..alerts.tolerance import Tolerance
from ..known import Version
from .recent import Added
from .share import percent, too_large

# What clients may be at fault for, but not who they are (401) or how fast they come (429).
_MISFITS = frozenset({"400", "413", "415", "422"})


def misfits(
    growth: Mapping[str, Added] | None, version: Version, tolerance: Tolerance
) -> Condition:
    """Too many requests that do not fit the signature; None in `growth`: nothing can be said."""
    total = answers = 0.0
    wrong: list[Added] = []
    for name, added in (growth or {}).items():
        kind, _, rest = name.partition("|")
        endpoint, _, code = rest.partition("|")
        if kind == "responses" and endpoint.startswith(("predict.", "v2.infer")):
            answers += added.number
            if code in _MISFITS:
                wrong.append(added)
        elif name == "unusable|input":
            wrong.append(added)
        elif name == "requests":
            total += added.number
    hits = sum(each.number for each in wrong)
    total = max(total, answers, hits)
    share = hits / total if total else 0.0
    return Condition(
        kind="schema",
        model=version[0],
        version=version[1],
        # Without requests nothing is wrong any more: a client that was cut off stays silent.
        firing=None if growth is None else False if not total else too_large(
            hits, total, tolerance.schema
        ),
        since=_since(wrong),
        sentence_en=(
            f"{percent(share)} of {total:,.0f} requests of the last 5 minutes did not fit the "
            f"signature; {percent(tolerance.schema)} are tolerated."
        ),
        sentence_zh=(
            f"最近 5 分钟的 {total:,.0f} 个请求中有 {percent(share)} 不符合签名,"
            f"容许 {percent(tolerance.schema)}。"
        ),
    )  # fmt: skip


def faults(growth: Mapping[str, Added] | None, version: Version) -> Condition:
    """Failures of the monitor itself, which predictions never notice."""
    found = {
        name.removeprefix("monitor|"): added
        for name, added in (growth or {}).items()
        if name.startswith("monitor|")
    }
    times = sum(each.number for each in found.values())
    most = sorted(found, key=lambda each: found[each].number, reverse=True)[:3]
    return Condition(
        kind="health",
        model=version[0],
        version=version[1],
        name="monitor",
        firing=None if growth is None else times > 0,
        since=_since(found.values()),
        sentence_en=(
            f"The monitor itself failed {times:,.0f} times in the last 5 minutes "
            f"({', '.join(most)}); predictions are not affected, counts may be missing."
        ),
        sentence_zh=(
            f"最近 5 分钟监控自身出错 {times:,.0f} 次({', '.join(most)});"
            "预测不受影响,但计数可能缺失。"
        ),
    )


def _since(wrong: Iterable[Added]) -> float | None:
    return min((each.since for each in wrong), default=None)
