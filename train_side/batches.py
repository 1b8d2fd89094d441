"""Batches as arrays, wherever they come from: a MindSpore dataset, an iterable, a training step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftline.metadata.errors import InputError

Array = NDArray[Any]
Source = Any  # a MindSpore dataset, or an iterable of tuples of arrays


@dataclass(frozen=True, slots=True)
class Batch:
    """One batch: the arrays the network takes, in its order, and what it should answer.

    Every array's first axis is the batch.
    """

    inputs: tuple[Array, ...]
    label: Array

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.label)

    @property
    def bytes(self) -> int:
        """Memory of all arrays."""
        return self.label.nbytes + sum(array.nbytes for array in self.inputs)


def batch_of(element: Sequence[Any], *, copy: bool = False) -> Batch:
    """The batch in one element of a dataset: (inputs…, label), Tensors or arrays.

    `copy` takes the values away from buffers that may be used again.

    Raises:
        InputError: fewer than two parts, or parts with different numbers of rows.
    """
    arrays = [to_array(part, copy=copy) for part in element]
    if len(arrays) < 2:
        raise InputError("batch", f"(inputs…, label) expected, got {len(arrays)} part(s)")
    rows = {len(array) if array.ndim else None for array in arrays}
    if len(rows) != 1 or None in rows:
        shapes = ", ".join(str(list(array.shape)) for array in arrays)
        raise InputError("batch", f"every part needs the batch as first axis, got {shapes}")
    return Batch(tuple(arrays[:-1]), arrays[-1])


def to_array(value: Any, *, copy: bool = False) -> Array:
    """A Tensor or array-like as a NumPy array; bfloat16 becomes float32."""
    if hasattr(value, "asnumpy"):
        if str(value.dtype) == "BFloat16":
            value = value.float()
        value = value.asnumpy()
    return np.array(value) if copy else np.asarray(value)


def batches(source: Source, *, most_rows: int | None = None) -> Iterator[Batch]:
    """Every batch of `source` once, up to at least `most_rows` rows.

    A dataset is read by an iterator of its own, which does not disturb another one over it.

    Raises:
        InputError: a batch is not (inputs…, label).
    """
    seen = 0
    for element in _elements(source):
        batch = batch_of(element)
        yield batch
        seen += batch.rows
        if most_rows is not None and seen >= most_rows:
            return


def input_names(source: Source, inputs: int) -> tuple[str, ...]:
    """The names of the `inputs` inputs: a dataset's columns, or ``input`` / ``input_0``, …"""
    if hasattr(source, "get_col_names"):
        names = tuple(str(name) for name in source.get_col_names())
        if len(names) == inputs + 1:
            return names[:-1]
    return ("input",) if inputs == 1 else tuple(f"input_{index}" for index in range(inputs))


def _elements(source: Source) -> Iterable[Sequence[Any]]:
    if hasattr(source, "create_tuple_iterator"):
        iterator: Iterable[Sequence[Any]] = source.create_tuple_iterator(
            num_epochs=1, output_numpy=True
        )
        return iterator
    elements: Iterable[Sequence[Any]] = source
    return elements
