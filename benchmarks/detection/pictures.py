"""Pictures of the page, as SVG that does not change from run to run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

from .delays import summed
from .loudly import NONE

matplotlib.use("svg")
import matplotlib.pyplot as plt

plt.rcParams.update({"svg.hashsalt": "driftline", "svg.fonttype": "none", "font.size": 9})
SHOWN = {
    "driftline": "#0b6e4f",
    "ADWIN": "#c1440e",
    "KS 500, 1/10,000": "#5b5ea6",
    "PSI 500": "#888888",
}
SIZES = (0.1, 0.25, 0.5, 1.0)


def delays(found: dict[str, dict[str, list[int | None]]], path: Path) -> None:
    """Median delay by size of the mean shift, in one and in five of the fields."""
    figure, axes = plt.subplots(1, 2, figsize=(8, 3), sharey=True)
    for axis, columns in zip(axes, (1, 5), strict=True):
        for name, color in SHOWN.items():
            points = []
            for size in SIZES:
                values = found[f"mean +{size:g} σ in {columns} of 20"][name]
                middle = summed(values)[0] if values else None
                points.append(np.nan if middle is None else middle)
            axis.plot(SIZES, points, "o-", color=color, label=name, lw=1.5, ms=4)
        axis.set(xscale="log", yscale="log", xlabel=f"shift in σ, {columns} of 20 fields")
        axis.set_xticks(SIZES, [f"{size:g}" for size in SIZES])
        axis.minorticks_off()
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("median requests to the call")
    axes[1].legend(frameon=False)
    _save(figure, path)


def loudly(found: list[dict[str, Any]], name: str, path: Path) -> None:
    """Share of samples called by sample size, mean over the shifts, by share touched."""
    figure, axis = plt.subplots(figsize=(6, 3))
    sizes = sorted({each["rows"] for each in found})
    styles = {0.0: ":", 0.1: "-.", 0.5: "--", 1.0: "-"}
    for method, color in (("driftline", "#0b6e4f"), ("BBSDs", "#c1440e")):
        for share, style in styles.items():
            some = [e for e in found if e["share"] == share and (e["shift"] != NONE or not share)]
            means = [
                np.mean([e[method] for e in some if e["rows"] == size] or [np.nan])
                for size in sizes
            ]
            label = f"{method}, {100 * share:.0f} %"
            axis.plot(sizes, means, style, color=color, label=label, lw=1.5)
    axis.axhline(0.05, color="#bbbbbb", lw=0.8)
    axis.set(
        xscale="log",
        xlabel="images in the sample",
        ylabel="share called",
        title=name,
        ylim=(0, 1.02),
    )
    axis.legend(frameon=False, fontsize=7, ncol=2)
    axis.grid(alpha=0.3)
    _save(figure, path)


def _save(figure: Any, path: Path) -> None:
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None, "Creator": None})
    plt.close(figure)
