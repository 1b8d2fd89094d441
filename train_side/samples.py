"""A sheet of images, each with what was said of it and what it is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from .batches import Array

CHANNELS = (1, 3)


def draw(
    path: Path, images: Array, titles: Sequence[tuple[str, str]], *, wrong: bool = True
) -> None:
    """Draws the images, if the arrays are such: one or three channels, first or last.

    Args:
        path: of the PNG.
        images: the input of some rows.
        titles: prediction and truth of each.
        wrong: rows whose prediction is not the truth stand in red.

    Raises:
        OSError: the file cannot be written.
    """
    shown = channels_last(images)
    if shown is None:
        return
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 2.1 * -(-len(shown) // 4)), dpi=110, layout="constrained")
    FigureCanvasAgg(figure)
    for index, (image, (said, truth)) in enumerate(zip(shown, titles, strict=True)):
        axes = figure.add_subplot(-(-len(shown) // 4), 4, index + 1)
        low, high = float(image.min()), float(image.max())
        scaled = (image.astype(float) - low) / ((high - low) or 1.0)
        axes.imshow(scaled[..., 0] if scaled.shape[-1] == 1 else scaled, cmap="gray")
        colour = "tab:red" if wrong and said != truth else "k"
        axes.set_title(f"{said}, is {truth}", fontsize=8, color=colour)
        axes.axis("off")
    figure.savefig(path)


def channels_last(images: Array) -> Array | None:
    """``[rows, height, width, channels]`` of images in either layout; None of anything else.

    Where both axes could hold the channels they are taken to be first, as in MindSpore.
    """
    if images.ndim == 4 and images.shape[1] in CHANNELS:
        return np.moveaxis(images, 1, -1)
    if images.ndim == 4 and images.shape[-1] in CHANNELS:
        return images
    return None
