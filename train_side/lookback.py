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
from .samples import draw

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
    label = _classes(batch.label, found)
    if label is not None:
        truth = [_name(names, int(each)) for each in label]
        shares = _shares(found)
        said = [_name(names, int(each)) for each in shares.argmax(axis=1)]
        rows = list(zip(truth, said, (f"{each:.4f}" for each in shares.max(axis=1)), strict=True))
        _table(folder, ("truth", "predicted", "confidence"), rows)
        draw(folder / "samples.png", batch.inputs[0], [(said, truth) for truth, said, _ in rows])
        right = sum(truth == said for truth, said, _ in rows)
        return LookBack(source, batch.rows, right=right)
    pairs = [(np.array2string(t, precision=6), np.array2string(p, precision=6))
             for t, p in zip(batch.label, found, strict=True)]  # fmt: skip
    _table(folder, ("truth", "predicted"), pairs)
    error = None
    if batch.label.size == found.size:
        truths = batch.label.reshape(-1).astype(float)
        error = float(np.abs(truths - found.reshape(-1)).mean())
    draw(folder / "samples.png", batch.inputs[0], [(p[:24], t[:24]) for t, p in pairs], wrong=False)
    return LookBack(source, batch.rows, error=error)


def _classes(label: Array, found: Array) -> Array | None:
    """The class of each row, whole numbers or one-hot; None if rows are not of classes."""
    if found.ndim != 2 or found.shape[1] < 2:
        return None
    if label.dtype.kind in "iu" and label.shape in ((len(found),), (len(found), 1)):
        return label.reshape(-1)
    if label.shape != found.shape or label.dtype.kind not in "iufb":
        return None
    ones = (label == 1).sum(axis=1) == 1
    zeros = (label == 0).sum(axis=1) == label.shape[1] - 1
    if not (ones & zeros).all():
        return None
    classes: Array = label.argmax(axis=1)
    return classes


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
