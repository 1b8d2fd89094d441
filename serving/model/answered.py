"""Answering: a batch through the model, its columns, and what people are told of each row.

All of it once a batch, however many requests the batch is made of.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftline.metadata.schema import ModelMetadata
from driftline.metadata.signals import Floats, Group

from ..hooks.columns import Columns
from .answers import Answer, Answers, Oddities, Warning_
from .predictor import Arrays, Predictor


class Answered:
    """What some rows were answered.

    `outputs` are the model's own; `matrices` the columns by group, None where there are none to
    be had; `predictions` one a row, if they were asked for.
    """

    __slots__ = ("_odd", "_oddities", "matrices", "outputs", "predictions")

    def __init__(
        self,
        outputs: Arrays,
        matrices: dict[Group, Floats] | None,
        predictions: list[Answer],
        oddities: Oddities,
        odd: NDArray[np.bool_] | None,
    ) -> None:
        self.outputs = outputs
        self.matrices = matrices
        self.predictions = predictions
        self._oddities = oddities
        self._odd = odd

    @property
    def warnings(self) -> list[Warning_]:
        """What is odd about the rows; the first row's `instance` is 0."""
        if self.matrices is None or self._odd is None or not self._odd.any():
            return []
        return self._oddities.warnings(self.matrices.get("input"), self.matrices.get("output"))

    def rows(self, start: int, stop: int) -> Answered:
        """Some of the rows."""
        part = slice(start, stop)
        return Answered(
            {name: array[part] for name, array in self.outputs.items()},
            None
            if self.matrices is None
            else {group: matrix[part] for group, matrix in self.matrices.items()},
            self.predictions[part],
            self._oddities,
            None if self._odd is None else self._odd[part],
        )


class Answering:
    """Calls the model, and reads its outputs.

    Args:
        predictor: the model.
        metadata: of its package.
        columns: its extractors.
        caught: told of failures of the extractors, which fail no prediction.
        low_confidence: below it a prediction is odd (None: never).
    """

    def __init__(
        self,
        predictor: Predictor,
        metadata: ModelMetadata,
        columns: Columns,
        caught: Callable[[str, Exception], None],
        *,
        low_confidence: float | None,
    ) -> None:
        self._predictor = predictor
        self._columns = columns
        self._caught = caught
        self._answers = Answers(metadata, columns)
        self._oddities = Oddities(metadata, low_confidence=low_confidence)
        self._explained: tuple[Group, ...] = tuple(
            group for group in ("input", "output") if group in columns.groups
        )
        self.raw_outputs = "embedding" in columns.groups

    def answer(self, arrays: Mapping[str, NDArray[Any]], explained: bool) -> Answered:
        """The answer to a batch; when it is to be `explained`, with predictions and columns."""
        outputs = self._predictor.predict(arrays)
        if not explained:
            return Answered(outputs, None, [], self._oddities, None)
        matrices, odd = self._matrices(arrays, outputs), None
        if matrices is not None:
            odd = self._oddities.odd(matrices.get("input"), matrices.get("output"))
        return Answered(outputs, matrices, self._answers.predictions(outputs), self._oddities, odd)

    def _matrices(
        self, inputs: Mapping[str, NDArray[Any]], outputs: Arrays
    ) -> dict[Group, Floats] | None:
        """Columns that the warnings need now, and the monitor later."""
        found: dict[Group, Floats] = {}
        try:
            for group in self._explained:
                found[group] = self._columns.matrix(group, inputs if group == "input" else outputs)
        except Exception as error:
            self._caught("extract", error)
            return None
        return found
