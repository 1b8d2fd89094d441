"""The sections on small windows and on speed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .markdown import percent, table

SMALL = """## Small windows are quiet

Windows of 30, 50 and 100 rows of the table of 20 fields without drift, reference of 4,991 rows,
each looked at once: share in which at least one field was called. What distances on so few rows
measure is mostly chance, which a fixed threshold does not know.

{table}
"""
SPEED = """## The verdict is quick

One verdict on 60 buckets of 50 requests, with onset, effects and sentences, of the columns and the
two flags beside each; beside it SciPy's `ks_2samp` of each column alone, from the raw 3,000 values.
Milliseconds of one core, least of some rounds:

{table}
"""


def page(found: list[dict[str, Any]], pictures: Path) -> str:
    """Methods by rows, numbers of rows by columns."""
    methods = list(found[0]["hits"])
    head = ("method", *(f"{each['rows']} rows" for each in found))
    rows = [
        [name, *(percent(each["hits"][name] / each["windows"]) for each in found)]
        for name in methods
    ]
    windows = found[0]["windows"]
    return SMALL.format(table=table(head, rows)) + f"\n{windows:,} windows of each size.\n"


def speed(found: list[dict[str, Any]], pictures: Path) -> str:
    """Signals by rows."""
    rows = [
        [
            f"{each['signals']} columns + {each['flags']} flags",
            f"{each['driftline']:.1f}",
            f"{each['ks_2samp']:.1f}",
        ]
        for each in found
    ]
    return SPEED.format(table=table(("signals", "driftline", "ks_2samp loop"), rows))
