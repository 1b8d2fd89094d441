"""What the training data looks like: moments of every column, and labels. It only adds."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np

from driftline.metadata.extract import Classification, Extractor, Image, Joined
from driftline.metadata.moments import COUNT, HIGH, LOW, M2, MEAN, merge_moments, moments_of
from driftline.metadata.schema import ColumnStats, TrainDataStats
from driftline.metadata.signals import Floats

from .batches import Array, Batch
from .labels import NO_CLASS, class_codes, class_hits, distribution
from .parts import Parts, fitted

# Extractors learn on the first rows: enough for ranges and vocabularies, few enough to be held.
FIT_ROWS = 2000
FIT_BYTES = 64 * 1024**2


class DataStatistics:
    """Moments of the input columns and of the labels over all batches that were added.

    Extractors are fitted on the first batches, which wait until there are enough rows.

    Args:
        parts: extractors of the inputs, by name.
        names: all inputs of a batch, in order.
        task: says what labels mean.
    """

    def __init__(self, parts: Parts, names: tuple[str, ...], task: Extractor | None) -> None:
        self.parts = parts
        self.names = names
        self.task = task
        self.rows = 0
        self._waiting: list[tuple[Array, ...]] | None = []
        self._moments: Floats | None = None
        self._rows_moments = 0
        self._classes: Counter[int] = Counter()
        self._label = moments_of(np.empty(0))
        self._label_values = 0

    def add(self, batch: Batch) -> None:
        """Takes in one batch.

        Raises:
            InputError: an array does not fit its extractor, or the label its task.
        """
        self.rows += batch.rows
        self._add_label(batch.label)
        if self._waiting is None:
            self._add_inputs(batch.inputs)
            return
        self._waiting.append(batch.inputs)
        rows = sum(len(each[0]) for each in self._waiting)
        size = sum(array.nbytes for each in self._waiting for array in each)
        if rows >= FIT_ROWS or size >= FIT_BYTES:
            self.settle()

    def settle(self) -> None:
        """Fits the extractors on what there is, and counts what waited for it."""
        waiting, self._waiting = self._waiting, None
        if not waiting:
            return
        arrays = {
            name: _of_one_shape([each[index] for each in waiting])
            for index, name in enumerate(self.names)
            if name in self.parts
        }
        self.parts = fitted(self.parts, arrays)
        for inputs in waiting:
            self._add_inputs(inputs)

    def merge(self, other: DataStatistics) -> bool:
        """Takes in another rank's; False if its columns were fitted otherwise and stay out."""
        self.rows += other.rows
        self._classes.update(other._classes)
        self._label = merge_moments(self._label, other._label)
        self._label_values += other._label_values
        if other._moments is None:
            return True
        if self._moments is None:
            self.parts, self._moments = other.parts, other._moments
        elif self.parts == other.parts:
            self._moments = merge_moments(self._moments, other._moments)
        else:
            return False
        self._rows_moments += other._rows_moments
        return True

    @property
    def unknown_labels(self) -> int:
        """Number of rows whose label is none of the classes."""
        return self._classes[NO_CLASS]

    def stats(self) -> TrainDataStats:
        """All of it as the metadata holds it."""
        found: dict[str, ColumnStats] = {}
        if self._moments is not None:
            for column, moments in zip(Joined(self.parts).columns(), self._moments, strict=True):
                found[column.name] = _column_stats(moments, self._rows_moments)
        mean, std = _image(self.parts, found)
        names = self.task.classes if isinstance(self.task, Classification) else ()
        label = None if names else _column_stats(self._label, self._label_values)
        return TrainDataStats(
            rows=self.rows,
            image_mean=mean,
            image_std=std,
            columns=found,
            label_distribution=distribution(self._classes, names) if names else None,
            label=label,
        )

    def _add_inputs(self, inputs: tuple[Array, ...]) -> None:
        matrix = Joined(self.parts).extract(dict(zip(self.names, inputs, strict=True)))
        moments = np.stack([moments_of(column) for column in matrix.T])
        self._moments = moments if self._moments is None else merge_moments(self._moments, moments)
        self._rows_moments += len(matrix)

    def _add_label(self, label: Array) -> None:
        task = self.task
        if not isinstance(task, Classification):
            self._label = merge_moments(self._label, moments_of(np.asarray(label, np.float64)))
            self._label_values += label.size
        elif task.head.startswith("multilabel"):
            hits = class_hits(label, len(task.classes)).sum(axis=0)
            self._classes.update(dict(enumerate(hits.tolist())))
        else:
            codes, times = np.unique(class_codes(label, len(task.classes)), return_counts=True)
            self._classes.update(dict(zip(codes.tolist(), times.tolist(), strict=True)))


def _of_one_shape(arrays: list[Array]) -> Array:
    """All rows of the shape that most rows have; lengths may vary from batch to batch."""
    rows: Counter[tuple[int, ...]] = Counter()
    for array in arrays:
        rows[array.shape[1:]] += len(array)
    shape = rows.most_common(1)[0][0]
    return np.concatenate([array for array in arrays if array.shape[1:] == shape])


def _column_stats(moments: Floats, values: int) -> ColumnStats:
    count = int(moments[COUNT])
    if not count:
        return ColumnStats(count=0, missing=values, mean=None, sd=None, low=None, high=None)
    return ColumnStats(
        count=count,
        missing=values - count,
        mean=float(moments[MEAN]),
        sd=math.sqrt(float(moments[M2]) / max(count - 1, 1)),
        low=float(moments[LOW]),
        high=float(moments[HIGH]),
    )


def _image(
    parts: Parts, columns: dict[str, ColumnStats]
) -> tuple[tuple[float, ...] | None, tuple[float, ...] | None]:
    """Mean and standard deviation of each channel over all pixels of the first image input.

    Images of one input are of one size, so the mean over pixels is the mean of the images' means,
    and the mean square follows from the images' means and standard deviations.
    """
    for name, part in parts.items():
        if not isinstance(part, Image) or part.channels is None or not columns:
            continue
        prefix = f"{name}." if len(parts) > 1 else ""
        means, stds = [], []
        for channel in range(part.channels):
            mean = columns[f"{prefix}mean_{channel}"]
            sd = columns[f"{prefix}sd_{channel}"]
            if mean.mean is None or mean.sd is None or sd.mean is None or sd.sd is None:
                return None, None
            share = (mean.count - 1) / mean.count
            within = sd.mean**2 + sd.sd**2 * share
            means.append(mean.mean)
            stds.append(math.sqrt(within + mean.sd**2 * share))
        return tuple(means), tuple(stds)
    return None, None
