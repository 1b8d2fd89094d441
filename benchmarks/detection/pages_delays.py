"""The section on delays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from . import pictures as draw
from .changes import CHANGES
from .delays import ALPHA, summed
from .markdown import per, table
from .rivals import RIVALS

TEXT = """## How soon a change is called

A table of 20 fields (19 numbers, two of them correlated, and a category), reference of 4,991 rows.
The change begins at any request of a bucket and any minute of an hour; {streams} streams a change
({most} for shifts of the mean from 0.25 σ on, where the race is close). Median requests after the
change until the first call, in brackets the share of streams in which it was called within 10,000
requests if not all; – where fewer than half were. driftline holds the promise of at most 1 false
alarm in {budget:,.0f} windows of 50 requests, sees flags, joint columns and signals together as
packaged, keeps four hours of history and is looked at every 10 requests (after 1,000, every 50).
Rivals get the same rows, 5,000 clean ones first, and look at the 20 fields, each in its usual
setting: river's ADWIN (δ = 0.002; strict: 0.0001) and PageHinkley on standardised fields;
two-sample KS by windows of 50 and 500 (p < 0.05 with Bonferroni, and at our budget); PSI > 0.2 and
Jensen–Shannon distance > 0.1 on deciles of windows of 500; z of mean and variance.

{table}
The last line is the other side: how often each called a window of 50 requests on clean streams of
the same table ({windows:,} windows; for driftline see the table above). A delay means
little where that is more than one in some thousands. A PageHinkley with its usual threshold alarms
all the time on twenty fields; so do KS and z at 5 %.

![Delay by size of the shift](detection/delays.svg)
"""


def page(found: list[dict[str, Any]], pictures: Path) -> str:
    """The table of medians, the rates below it, and the picture."""
    names = ("driftline", *RIVALS)
    delays: dict[str, dict[str, list[int | None]]] = {
        kind: {name: [] for name in names} for kind in CHANGES
    }
    rates, windows = dict.fromkeys(RIVALS, 0), 0
    for each in found:
        if "rates" in each:
            windows += each["windows"]
            for name in RIVALS:
                rates[name] += each["rates"].get(name, 0)
            continue
        for name in names:
            delays[each["kind"]][name] += each["delays"].get(name, [])
    done = {kind: of for kind, of in delays.items() if of["driftline"]}
    rows = [[kind, *(_cell(of[name]) for name in names)] for kind, of in done.items()]
    least = f"≤ {per(ALPHA)}"
    rows.append(["false alarms", least, *(_rate(rates[name], windows) for name in RIVALS)])
    draw.delays(delays, pictures / "delays.svg")
    streams = [len(of["driftline"]) for of in done.values()]
    return TEXT.format(
        streams=min(streams),
        most=max(streams),
        budget=1 / ALPHA,
        windows=windows,
        table=table(("change", *names), rows),
    )


def _rate(alarms: int, windows: int) -> str:
    return per(alarms / windows) if alarms else f"< 1 in {windows:,}"


def _cell(values: list[int | None]) -> str:
    if not values:
        return ""
    middle, _, share = summed(values)
    told = "–" if middle is None else f"{middle:,.0f}"
    return told if share == 1 else f"{told} ({100 * share:.0f} %)"
