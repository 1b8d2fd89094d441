"""Pictures of a run's curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .point import GRADIENT, Notice
from .series import Curve

DRAWN = 1500
LAYERS = 40
HARDWARE = ("cpu_percent", "util_percent", "memory_percent", "temperature_celsius")


def draw(
    folder: Path, series: Mapping[str, Curve], notices: Sequence[Notice], metrics: Sequence[str]
) -> list[Path]:
    """The pictures that the values allow, as PNG; events are vertical lines.

    Raises:
        OSError: one cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    plans: list[tuple[str, str, Sequence[str], bool]] = [
        ("loss", "Loss", ("loss", "loss_smoothed", "epoch_loss", "eval_loss"), False),
        ("learning_rate", "Learning rate", ("lr",), False),
        ("gradient_norm", "Gradient norm", ("grad_norm",), True),
        ("throughput", "Samples a second", ("samples_per_second",), False),
        ("metrics", "Metrics", [name for name in metrics if name != "eval_loss"][:8], False),
        ("hardware", "Hardware", [name for name in series if name.endswith(HARDWARE)][:8], False),
    ]
    paths = []
    for file, title, names, log in plans:
        shown = {name: series[name] for name in names if name in series}
        if any(np.isfinite(values).any() for _, values in shown.values()):
            paths.append(_curves(folder / f"{file}.png", title, shown, notices, log=log))
    layers = {name: series[name] for name in series if name.startswith(GRADIENT)}
    if len(layers) > 1:
        paths.append(_heat_map(folder / "layers.png", layers))
    return paths


def _figure(height: float = 3.2) -> tuple[Any, Any]:
    # The object interface only: pyplot would choose a window system and keep figures alive.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, height), dpi=110, layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.add_subplot()


def _curves(
    path: Path, title: str, curves: Mapping[str, Curve], notices: Sequence[Notice], *, log: bool
) -> Path:
    figure, axes = _figure()
    for name, curve in curves.items():
        steps, values = thinned(*curve)
        axes.plot(steps, values, label=name, linewidth=1, marker="." if len(steps) < 30 else "")
    for notice in notices[:20]:
        if notice.rule not in ("ended", "resumed"):
            axes.axvline(notice.step, color="tab:red", linewidth=0.6, linestyle=":")
    if log and all((values[np.isfinite(values)] > 0).all() for _, values in curves.values()):
        axes.set_yscale("log")
    axes.set(title=title, xlabel="step")
    axes.grid(alpha=0.3)
    if len(curves) > 1:
        axes.legend(fontsize=8)
    figure.savefig(path)
    return path


def _heat_map(path: Path, layers: Mapping[str, Curve]) -> Path:
    """Logarithms of the norms, a row for each parameter, over the steps that were sampled."""
    names = list(layers)[:LAYERS]
    steps = np.unique(np.concatenate([layers[name][0] for name in names]))
    if len(steps) > DRAWN:
        steps = steps[:: len(steps) // DRAWN + 1]
    table = np.full((len(names), len(steps)), np.nan)
    for row, name in enumerate(names):
        at, values = layers[name]
        found = np.clip(np.searchsorted(at, steps), 0, len(at) - 1)
        exact = at[found] == steps
        table[row, exact] = values[found][exact]
    with np.errstate(divide="ignore", invalid="ignore"):
        table = np.log10(table)
    table[~np.isfinite(table)] = np.nan
    figure, axes = _figure(height=1.5 + 0.18 * len(names))
    image = axes.pcolormesh(np.arange(len(steps) + 1), np.arange(len(names) + 1), table)
    ticks = np.linspace(0, len(steps) - 1, min(6, len(steps))).astype(int)
    axes.set_xticks(ticks + 0.5, [str(steps[each]) for each in ticks])
    axes.set_yticks(
        np.arange(len(names)) + 0.5, [name[len(GRADIENT) :] for name in names], fontsize=7
    )
    axes.invert_yaxis()
    axes.set(title="Gradient norms, log₁₀ (empty: zero or not finite)", xlabel="step")
    figure.colorbar(image)
    figure.savefig(path)
    return path


def thinned(
    steps: NDArray[np.int64], values: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """At most some 1,500 points; of each stretch the smallest and the largest stay."""
    if len(steps) <= DRAWN:
        return steps, values
    width = -(-len(steps) // (DRAWN // 2))
    whole = len(steps) // width * width
    blocks = np.where(np.isfinite(values[:whole]), values[:whole], 0.0).reshape(-1, width)
    starts = np.arange(0, whole, width)
    kept = np.unique(
        np.concatenate(
            [starts + blocks.argmin(axis=1), starts + blocks.argmax(axis=1), [len(steps) - 1]]
        )
    )
    return steps[kept], values[kept]
