"""Answering: a batch through the model, its columns, and what people are told of each row.

All of it once a batch, however many requests the batch is made of.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftline.metadata.schema import ModelMetadata
from driftline.metadata.signals import Floats

from ..hooks.columns import Columns
from .answers import Answer, Answers, Oddities, Warning_
from .predictor import Arrays, Predictor


class Answered:
    """What some rows were answered.

    `outputs` are the model's own; `matrix` the columns of the inputs, None where there are none to
    be had; `predictions` one a row, if they were asked for.
    """

    __slots__ = ("_confidence", "_odd", "_oddities", "matrix", "outputs", "predictions")

    def __init__(
        self,
        outputs: Arrays,
        predictions: list[Answer],
        matrix: Floats | None,
        confidence: Floats | None,
        oddities: Oddities,
    ) -> None:
        self.outputs = outputs
        self.predictions = predictions
        self.matrix = matrix
        self._confidence = confidence
        self._oddities = oddities
        odd = oddities.odd(matrix, confidence) if predictions else None
        # Nearly always nothing is: then no request of the batch need look again.
        self._odd = odd if odd is not None and np.logical_or.reduce(odd) else None

    @property
    def warnings(self) -> list[Warning_]:
        """What is odd about the rows; the first row's `instance` is 0."""
        if self._odd is None or not self._odd.any():
            return []
        return self._oddities.warnings(self.matrix, self._confidence)

    def rows(self, start: int, stop: int) -> Answered:
        """Some of the rows."""
        part = slice(start, stop)
        found = Answered.__new__(Answered)
        found.outputs = {name: array[part] for name, array in self.outputs.items()}
        found.predictions = self.predictions[part]
        found.matrix = None if self.matrix is None else self.matrix[part]
        found._confidence = None if self._confidence is None else self._confidence[part]
        found._oddities = self._oddities
        found._odd = None if self._odd is None else self._odd[part]
        return found


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
        self._described = "input" in columns.groups

    def answer(self, arrays: Mapping[str, NDArray[Any]], explained: bool) -> Answered:
        """The answer to a batch; when it is to be `explained`, with predictions and columns."""
        outputs = self._predictor.predict(arrays)
        if not explained:
            return Answered(outputs, [], None, None, self._oddities)
        predictions = self._answers.predictions(outputs)
        confidence = self._answers.confidence(predictions)
        return Answered(outputs, predictions, self._matrix(arrays), confidence, self._oddities)

    def _matrix(self, inputs: Mapping[str, NDArray[Any]]) -> Floats | None:
        """Columns that the warnings need now, and the monitor later."""
        if not self._described:
            return None
        try:
            return self._columns.matrix("input", inputs)
        except Exception as error:
            self._caught("extract", error)
            return None
