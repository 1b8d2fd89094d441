"""The section on false alarms."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from .clean import ALPHAS, TOGETHER
from .markdown import table
from .populations import ALONE

TEXT = """## No more false alarms than promised

Traffic that does not drift, 50 requests a bucket, a ring of 60 buckets, a look at the end of each
bucket. A stream is followed to its first alarm; a window is one look at one stream. The promise is
α a window: what may be found is α times the windows, and within chance up to three binomial
standard errors more. References are drawn anew for each stream (of the table, for each of ten
streams a batch; day and night, for each week), so their sampling error is in it. Each population
comes with the flags that the package puts beside it (missing, out of range, unseen).

{tables}
AR(1): one request hangs together with the next by ρ, looked at from the 20th bucket on, before
which nobody can know. With 5 requests a bucket the bursts of ρ = 0.9 and 0.98 outlast two to ten
buckets, and an hour holds 16 and 3 independent requests. Three cannot tell a long scene from a
change: for that line nothing is promised in the first day (its alarms are shown), and a day of
hours, which tells of such bursts, keeps the promise. Longer buckets (`--bucket`) help. The common
mode is 0.64 of each signal's variance. Day and
night: the mean goes up and down by 0.3 σ over 24 hours, the reference is of whole days. Of these
and of what is told after a day: both rings, each verdict told the one before, from the second day
on; windows are the buckets that passed.
"""


def page(found: list[dict[str, Any]], pictures: Path) -> str:
    """One table for each α."""
    tables = []
    for alpha in ALPHAS:
        rows = [
            _row(each, rate)
            for each in _ordered(found)
            for rate in each["rates"]
            if rate["alpha"] == alpha
        ]
        broken = [each[0] for each in rows if each[-1] == "**no**"]
        head = ("traffic", "reference rows", "windows", "alarms", "promised", "+ 3 SE", "kept")
        said = "Kept wherever it is made." if not broken else f"Not kept: {'; '.join(broken)}."
        tables.append(f"α = 1/{1 / alpha:,.0f}. {said}\n\n" + table(head, rows))
    return TEXT.format(tables="\n".join(tables))


def broken(found: list[dict[str, Any]]) -> list[str]:
    """The settings in which the promise was not kept, with their budgets."""
    return [
        f"{each['traffic']} (reference {each['reference']:,}) at 1/{1 / rate['alpha']:,.0f}"
        for each in _ordered(found)
        for rate in each["rates"]
        if each.get("promised", True) and rate["alarms"] > _most(rate)
    ]


def _most(rate: dict[str, Any]) -> float:
    allowed = rate["alpha"] * rate["windows"]
    return float(allowed + 3 * math.sqrt(allowed * (1 - rate["alpha"])))


def _row(setting: dict[str, Any], rate: dict[str, Any]) -> list[str]:
    allowed, most = rate["alpha"] * rate["windows"], _most(rate)
    return [
        setting["traffic"],
        f"{setting['reference']:,}",
        f"{rate['windows']:,}",
        str(rate["alarms"]),
        f"{allowed:.1f}",
        f"{most:.1f}",
        _kept(setting.get("promised", True), rate["alarms"] <= most),
    ]


def _kept(promised: bool, within: bool) -> str:
    if not promised:
        return "not promised"
    return "yes" if within else "**no**"


def _ordered(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Single signals first, then all together, then what hangs together in time."""
    names = [*ALONE, TOGETHER]

    def place(each: dict[str, Any]) -> tuple[int, int]:
        name = each["traffic"]
        return (names.index(name) if name in names else len(names)), each["reference"]

    return sorted(found, key=place)
