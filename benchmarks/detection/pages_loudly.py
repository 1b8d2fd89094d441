"""The section on images."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from . import pictures as draw
from .loudly import NONE
from .markdown import percent, table

TEXT = """## "Failing Loudly" on images

The protocol of Rabanser, Günnemann and Lipton (2019): a sample of images at a single look, α = 5 %
for both. A small classifier is trained with MindSpore here; driftline compares the image's
and the outputs' signals that its package makes of them with held-out images; BBSDs, the method the
paper recommends, tests the ten softmax outputs by Kolmogorov–Smirnov with Bonferroni. BBSDs spends
its 5 % on this one look; driftline's evidence may be looked at after any request, as often as one
likes, at the same 5 % in all, which costs it some power at a single look.

{parts}"""


def page(found: list[dict[str, Any]], pictures: Path) -> str:
    """For each collection detection by size, and by shift."""
    parts = []
    for each in found:
        name = each["collection"]
        if "skipped" in each:
            parts.append(f"### {name}\n\nLeft out: {each['skipped']}.\n")
            continue
        draw.loudly(each["found"], name, pictures / f"loudly-{name.lower()}.svg")
        parts.append(
            f"### {name}\n\nAccuracy on unshifted images {percent(each['accuracy'])}, "
            f"{each['held_out']:,} held out. Share of samples called, mean over all shifts "
            f"(driftline / BBSDs):\n\n{_by_size(each['found'])}\n"
            f"By shift, mean over the shares touched:\n\n{_by_shift(each['found'])}\n"
            f"![{name}](detection/loudly-{name.lower()}.svg)\n"
        )
    return TEXT.format(parts="\n".join(parts))


def _by_size(found: list[dict[str, Any]]) -> str:
    sizes = sorted({each["rows"] for each in found})
    rows = []
    for share in sorted({each["share"] for each in found}):
        label = f"{100 * share:.0f} % touched" if share else "no shift (false alarms)"
        some = [each for each in found if each["share"] == share]
        rows.append([label, *(_pair([e for e in some if e["rows"] == size]) for size in sizes)])
    return table(("", *(f"{size:,}" for size in sizes)), rows)


def _by_shift(found: list[dict[str, Any]]) -> str:
    sizes = sorted({each["rows"] for each in found})
    kinds = list(dict.fromkeys(each["shift"] for each in found if each["shift"] != NONE))
    rows = [
        [kind, *(_pair([e for e in found if (e["shift"], e["rows"]) == (kind, n)]) for n in sizes)]
        for kind in kinds
    ]
    return table(("shift", *(f"{size:,}" for size in sizes)), rows)


def _pair(some: list[dict[str, Any]]) -> str:
    if not some:
        return ""
    ours, theirs = (100 * np.mean([each[name] for each in some]) for name in ("driftline", "BBSDs"))
    return f"{ours:.0f} / {theirs:.0f}"
