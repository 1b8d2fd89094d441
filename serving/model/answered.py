"""Answering: a batch through the model, its columns, and what people are told of each row.

All of it once a batch, however many requests the batch is made of.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from numpy.typing import NDArray

from driftline.metadata.schema import ModelMetadata
from driftline.metadata.signals import Floats

from ..hooks.columns import Columns
from .answers import Answer, Answers, Oddities, Warning_
from .predictor import Arrays, Predictor


class Answered:
    """What some rows were answered.

    `outputs` are the model's own; `predictions` one a row, if they were asked for.
    """

    __slots__ = ("_confidence", "_glance", "_odd", "_oddities", "outputs", "predictions")

    def __init__(
        self,
        outputs: Arrays,
        predictions: list[Answer],
        glance: Floats | None,
        confidence: Floats | None,
        oddities: Oddities,
    ) -> None:
        self.outputs = outputs
        self.predictions = predictions
        self._glance = glance
        self._confidence = confidence
        self._oddities = oddities
        self._odd = oddities.odd(glance, confidence) if predictions else None

    @property
    def warnings(self) -> list[Warning_]:
        """What is odd about the rows; the first row's `instance` is 0."""
        if self._odd is None or not self._odd.any():
            return []
        return self._oddities.warnings(self._glance, self._confidence)

    def rows(self, start: int, stop: int) -> Answered:
        """Some of the rows."""
        part = slice(start, stop)
        found = Answered.__new__(Answered)
        found.outputs = {name: array[part] for name, array in self.outputs.items()}
        found.predictions = self.predictions[part]
        found._glance = None if self._glance is None else self._glance[part]
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
        self._oddities = Oddities(
            metadata, low_confidence=low_confidence, columns=columns.glanced("input")
        )
        self._described = "input" in columns.groups

    def answer(self, arrays: Mapping[str, NDArray[Any]], explained: bool) -> Answered:
        """The answer to a batch; when it is to be `explained`, with predictions and columns."""
        outputs = self._predictor.predict(arrays)
        if not explained:
            return Answered(outputs, [], None, None, self._oddities)
        predictions = self._answers.predictions(outputs)
        confidence = self._answers.confidence(predictions)
        return Answered(outputs, predictions, self._glance(arrays), confidence, self._oddities)

    def _glance(self, inputs: Mapping[str, NDArray[Any]]) -> Floats | None:
        """The columns that the warnings are about; the monitor makes all of them, later."""
        if not self._described:
            return None
        try:
            return self._columns.glance("input", inputs)
        except Exception as error:
            self._caught("extract", error)
            return None
