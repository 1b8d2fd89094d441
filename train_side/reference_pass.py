"""One pass over data the training did not see, through the network as it will serve."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from driftline.metadata.errors import InputError
from driftline.metadata.extract import Extractor, Joined
from driftline.metadata.sample import DEFAULT_SIZE, RowSample
from driftline.metadata.signals import Floats

from .batches import Array, Batch
from .parts import Parts
from .scores import Scores, scores_of

# Raw outputs wait in memory until the temperature is known; wide ones in fewer rows.
MOST_VALUES = 1 << 26


@dataclass(frozen=True, slots=True)
class Place:
    """Where one array of each row lies in the sample's flat rows."""

    start: int
    shape: tuple[int, ...]
    dtype: Any

    def of(self, rows: Floats) -> Array:
        """The array as the network gave it, shape ``[n, …]``."""
        width = int(np.prod(self.shape, dtype=np.int64))
        part = rows[:, self.start : self.start + width]
        return part.reshape(len(rows), *self.shape).astype(self.dtype)


class ReferencePass:
    """What held-out data showed: samples of input columns and raw outputs, and scores.

    Args:
        inputs: fitted extractors of the inputs, by name.
        tasks: extractors of the outputs, by name; the first says what is right.
        seed: of the samples.
        rank: this process's, so that ranks draw different priorities.
    """

    def __init__(self, inputs: Parts, tasks: Parts, *, seed: int = 0, rank: int = 0) -> None:
        self.inputs = inputs
        self.tasks = tasks
        self.rows = 0
        self.digest = 0
        self.places: dict[str, Place] = {}
        self.label: Place | None = None
        self.input_sample = RowSample(len(Joined(inputs).columns()), seed=seed, stream=rank)
        self.output_sample: RowSample | None = None
        self.scores: Scores | None = scores_of(self._judge)
        self._stream = (seed, rank)

    @property
    def _judge(self) -> Extractor:
        return next(iter(self.tasks.values()))

    def add(self, names: Sequence[str], batch: Batch, outputs: dict[str, Array]) -> None:
        """Takes in one batch and what the network made of it.

        Raises:
            InputError: an array does not fit its extractor; an output is missing or has lost the
                batch axis.
        """
        matrix = Joined(self.inputs).extract(dict(zip(names, batch.inputs, strict=True)))
        chosen = [_checked(name, outputs, batch.rows) for name in self.tasks]
        flat = [np.asarray(each, np.float64).reshape(batch.rows, -1) for each in chosen]
        flat.append(np.asarray(batch.label, np.float64).reshape(batch.rows, -1))
        rows = np.concatenate(flat, axis=1)
        if self.output_sample is None:
            size = min(DEFAULT_SIZE, max(MOST_VALUES // rows.shape[1], 100))
            seed, rank = self._stream
            self.output_sample = RowSample(rows.shape[1], size=size, seed=seed, stream=rank)
            self._lay_out(chosen, batch.label)
        self.input_sample.add(matrix)
        self.output_sample.add(rows)
        if self.scores is not None:
            self.scores.add(chosen[0], batch.label)
        self.rows += batch.rows
        # Not of the outputs: ranks round otherwise, and keep batch norms of their own.
        self.digest = zlib.crc32(flat[-1].tobytes(), zlib.crc32(matrix.tobytes(), self.digest))

    def merge(self, other: ReferencePass) -> None:
        """Takes in another rank's pass.

        Raises:
            MergeError: the ranks saw outputs of different shapes.
        """
        self.rows += other.rows
        self.input_sample.merge(other.input_sample)
        if self.output_sample is None:
            self.output_sample, self.places, self.label = (
                other.output_sample, other.places, other.label,
            )  # fmt: skip
        elif other.output_sample is not None:
            self.output_sample.merge(other.output_sample)
        if self.scores is not None and other.scores is not None:
            self.scores.merge(other.scores)

    def _lay_out(self, outputs: Sequence[Array], label: Array) -> None:
        start = 0
        for name, array in zip(self.tasks, outputs, strict=True):
            self.places[name] = Place(start, array.shape[1:], array.dtype)
            start += int(np.prod(array.shape[1:], dtype=np.int64))
        self.label = Place(start, label.shape[1:], label.dtype)


def merged_passes(passes: Sequence[ReferencePass]) -> ReferencePass:
    """All ranks' passes in one.

    Ranks that read the very same rows (a reference that is not sharded) count once: rows that are
    repeated say nothing new, and would make the reference look larger than it is.
    """
    first, *others = passes
    seen = {first.digest}
    for each in others:
        if each.digest not in seen:
            seen.add(each.digest)
            first.merge(each)
    return first


def _checked(name: str, outputs: dict[str, Array], rows: int) -> Array:
    if name not in outputs:
        raise InputError("task", f"{name!r} is none of the outputs {', '.join(outputs)}")
    if outputs[name].ndim == 0 or len(outputs[name]) != rows:
        shape = list(outputs[name].shape)
        raise InputError(name, f"{rows} rows went in, an output of shape {shape} came out")
    return outputs[name]
