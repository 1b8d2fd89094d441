"""Looking back: what was saved is loaded again, and asked about rows it has not seen."""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from driftline.metadata.package import ModelPackage

from .batches import Array, Batch, batches, to_array
from .network import as_serving, predict

ROWS = 16

Predict = Callable[[Sequence[Array]], Array]


@dataclass(frozen=True)
class LookBack:
    """What came of it; `failure` says why it could not be done, or what was wrong.

    `right` counts rows predicted as labelled (classification); `error` is the mean absolute error
    (regression).
    """

    source: str
    rows: int = 0
    right: int | None = None
    error: float | None = None
    failure: str | None = None


@dataclass(frozen=True)
class Saved:
    """What there is to look back at: a package, or a checkpoint beside the network it is of."""

    package: Path | None = None
    checkpoint: Path | None = None
    network: Any = None


def look_back(saved: Saved, held_out: Any, folder: Path) -> LookBack:
    """Loads what was saved, predicts up to 16 rows, and writes them beside the truth.

    In `folder`: ``predictions.csv``, and ``samples.png`` where the input is an image. No error is
    raised: it is the `failure`.

    Args:
        saved: the package if there is one.
        held_out: a MindSpore dataset, or an iterable of (inputs…, label) arrays.
        folder: is made.
    """
    source = str(saved.package or saved.checkpoint)
    try:
        batch = _first_rows(held_out)
        with tempfile.TemporaryDirectory(prefix="driftline-") as scratch:
            names, ask = _loaded(saved, Path(scratch))
            found = np.concatenate(
                [ask([each[row : row + 1] for each in batch.inputs]) for row in range(batch.rows)]
            )
        if not np.isfinite(found).all():
            return LookBack(source, batch.rows, failure="a prediction is not finite")
        return _written(source, batch, found, names, folder)
    except Exception as error:
        return LookBack(source, failure=f"{type(error).__name__}: {error}".splitlines()[0])


def _first_rows(held_out: Any) -> Batch:
    batch = next(batches(held_out))
    return Batch(tuple(each[:ROWS] for each in batch.inputs), batch.label[:ROWS])


def _loaded(saved: Saved, scratch: Path) -> tuple[Sequence[str], Predict]:
    """The class names, and what answers a single row."""
    import mindspore as ms
    from mindspore import nn

    names: Sequence[str] = ()
    checkpoint = saved.checkpoint
    if saved.package is not None:
        opened = ModelPackage.open(saved.package, into=scratch / "package")
        names = opened.metadata.class_names
        if any(entry.role == "model" for entry in opened.metadata.files):
            graph = nn.GraphCell(ms.load(str(opened.file("model"))))
            return names, lambda rows: _first(predict(graph, rows))
        checkpoint = opened.file("checkpoint")
    _compare(ms.load_checkpoint(str(checkpoint)), saved.network)

    def ask(rows: Sequence[Array]) -> Array:
        with as_serving(saved.network):
            return _first(predict(saved.network, rows))

    return names, ask


def _compare(loaded: Any, network: Any) -> None:
    """The network answers for the checkpoint only if they are the same, bit by bit."""
    for parameter in network.get_parameters():
        if parameter.name not in loaded:
            raise ValueError(f"the checkpoint lacks {parameter.name}")
        if not np.array_equal(
            to_array(loaded[parameter.name]), to_array(parameter), equal_nan=True
        ):
            raise ValueError(f"{parameter.name} was saved with other values")


def _first(outputs: dict[str, Array]) -> Array:
    return next(iter(outputs.values()))


def _written(
    source: str, batch: Batch, found: Array, names: Sequence[str], folder: Path
) -> LookBack:
    folder.mkdir(parents=True, exist_ok=True)
    label = batch.label
    if label.dtype.kind in "iu" and label.ndim == 1 and found.ndim == 2 and found.shape[1] > 1:
        truth = [_name(names, int(each)) for each in label]
        shares = _shares(found)
        said = [_name(names, int(each)) for each in shares.argmax(axis=1)]
        rows = list(zip(truth, said, (f"{each:.4f}" for each in shares.max(axis=1)), strict=True))
        _table(folder, ("truth", "predicted", "confidence"), rows)
        _picture(folder, batch, [(said, truth) for truth, said, _ in rows])
        right = sum(truth == said for truth, said, _ in rows)
        return LookBack(source, batch.rows, right=right)
    pairs = [(np.array2string(t, precision=6), np.array2string(p, precision=6))
             for t, p in zip(label, found, strict=True)]  # fmt: skip
    _table(folder, ("truth", "predicted"), pairs)
    error = None
    if label.size == found.size:
        error = float(np.abs(label.reshape(-1).astype(float) - found.reshape(-1)).mean())
    return LookBack(source, batch.rows, error=error)


def _shares(scores: Array) -> Array:
    """The scores if they are probabilities already, else their softmax."""
    values = scores.astype(np.float64)
    if (values >= 0).all() and np.allclose(values.sum(axis=1), 1, atol=1e-3):
        return values
    grown = np.exp(values - values.max(axis=1, keepdims=True))
    shares: Array = grown / grown.sum(axis=1, keepdims=True)
    return shares


def _name(names: Sequence[str], index: int) -> str:
    return names[index] if 0 <= index < len(names) else str(index)


def _table(folder: Path, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    with (folder / "predictions.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(("row", *head))
        writer.writerows((index, *row) for index, row in enumerate(rows))


def _picture(folder: Path, batch: Batch, titles: Sequence[tuple[str, str]]) -> None:
    """A sheet of the images, wrong ones in red, if the input is [rows, 1 or 3 channels, h, w]."""
    images = batch.inputs[0]
    if images.ndim != 4 or images.shape[1] not in (1, 3):
        return
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 2.1 * -(-len(images) // 4)), dpi=110, layout="constrained")
    FigureCanvasAgg(figure)
    for index, (image, title) in enumerate(zip(images, titles, strict=True)):
        axes = figure.add_subplot(-(-len(images) // 4), 4, index + 1)
        low, high = float(image.min()), float(image.max())
        shown = np.moveaxis((image.astype(float) - low) / ((high - low) or 1.0), 0, -1)
        axes.imshow(shown[..., 0] if shown.shape[-1] == 1 else shown, cmap="gray")
        said, truth = title
        axes.set_title(f"{said}, is {truth}", fontsize=8, color="k" if said == truth else "tab:red")
        axes.axis("off")
    figure.savefig(folder / "samples.png")
