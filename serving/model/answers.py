"""Outputs to what people read: labels, probabilities, values; and warnings beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftline.metadata.extract import Classification, Regression, Vector
from driftline.metadata.schema import ModelMetadata
from driftline.metadata.signals import Floats

from ..hooks.columns import Columns

Answer = dict[str, Any]
Warning_ = dict[str, Any]


class Answers:
    """Writes the predictions of one model, by what its output extractors say they are.

    Outputs that no extractor explains are given as they are, under their names; embeddings are not,
    since they say nothing to people.
    """

    def __init__(self, metadata: ModelMetadata, columns: Columns) -> None:
        self._names = told(metadata, columns)
        self._parts = dict(columns.part("output"))
        self._sure = next(
            (name for name in self._names if isinstance(self._parts.get(name), Classification)),
            None,
        )

    def predictions(self, outputs: Mapping[str, NDArray[Any]]) -> list[Answer]:
        """One answer a row; with several outputs, what each says stands under its name."""
        several = [self._output(name, outputs[name]) for name in self._names]
        if len(several) == 1:
            return several[0]
        rows = zip(*several, strict=True)
        return [dict(zip(self._names, row, strict=True)) for row in rows]

    def confidence(self, predictions: list[Answer]) -> Floats | None:
        """How sure the first classification is, of each row; None where there is none."""
        if self._sure is None:
            return None
        several = len(self._names) > 1
        rows = (each[self._sure] if several else each for each in predictions)
        return np.array([each["confidence"] for each in rows], np.float64)

    def _output(self, name: str, array: NDArray[Any]) -> list[Answer]:
        part = self._parts.get(name)
        if isinstance(part, Classification):
            return classified(part, part.probabilities(array, field=name))
        if isinstance(part, Regression):
            values = np.asarray(array, dtype=np.float64).reshape(len(array), -1).tolist()
            if len(part.targets) == 1:
                return [{"value": row[0]} for row in values]
            return [{"values": dict(zip(part.targets, row, strict=True))} for row in values]
        return [{"output": row} for row in array.tolist()]


def told(metadata: ModelMetadata, columns: Columns) -> list[str]:
    """The outputs that predictions are made of: all but embeddings, where there are others."""
    names = [spec.name for spec in metadata.outputs]
    predicted = dict(columns.part("output"))
    embedded = {name for name, _ in columns.part("embedding")} - predicted.keys()
    embedded |= {name for name, part in predicted.items() if isinstance(part, Vector)}
    return [name for name in names if name not in embedded] or names


def classified(part: Classification, probabilities: Floats) -> list[Answer]:
    """Label, confidence and probabilities of each row; null where the scores are no numbers.

    A multi-label head gives ``labels``, all classes at one half or more, instead of ``label``.
    """
    found: list[Answer] = []
    multiple = part.head.startswith("multilabel")
    for row in probabilities.tolist():
        named = dict(zip(part.classes, row, strict=True))
        known = row[0] == row[0]
        top = max(range(len(row)), key=row.__getitem__)
        answer: Answer = {"confidence": row[top] if known else None, "probabilities": named}
        if multiple:
            answer["labels"] = [name for name, p in named.items() if p >= 0.5]
        else:
            answer["label"] = part.classes[top] if known else None
        found.append(answer)
    return found


class Oddities:
    """Says of each row what is odd about it: values the reference never saw, little confidence.

    Args:
        metadata: with the reference.
        low_confidence: below it a prediction is reported (None: never).
        columns: which of the reference's input columns the rows have (None: all).
        most: warnings a request at the most; the last one says how many more there were.
    """

    def __init__(
        self,
        metadata: ModelMetadata,
        *,
        low_confidence: float | None,
        columns: Sequence[int] | None = None,
        most: int = 50,
    ) -> None:
        known = [each for each in metadata.reference.columns if each.group == "input"]
        known = known if columns is None else [known[index] for index in columns]
        number = [each.kind == "number" and each.low is not None for each in known]
        self._names = [each.name for each in known]
        self._low = np.array(
            [each.low if ok else -np.inf for each, ok in zip(known, number, strict=True)], float
        )
        self._high = np.array(
            [each.high if ok else np.inf for each, ok in zip(known, number, strict=True)], float
        )
        self._limit = low_confidence
        self._most = most

    def odd(self, inputs: Floats | None, confidence: Floats | None) -> NDArray[np.bool_] | None:
        """Which rows have a warning; None where none has, which is nearly always."""
        found: NDArray[np.bool_] | None = None
        if inputs is not None and inputs.shape[1] == len(self._names):
            # Not within, rather than outside: that is true of a missing value too.
            within = (inputs >= self._low) & (inputs <= self._high)
            if not np.logical_and.reduce(within, axis=None):
                found = ~within.all(axis=1)
        if confidence is not None and self._limit is not None:
            low = confidence < self._limit
            if np.logical_or.reduce(low):
                found = low if found is None else found | low
        return found

    def warnings(self, inputs: Floats | None, confidence: Floats | None) -> list[Warning_]:
        """The warnings about the rows of a column matrix, and about their confidence."""
        found: list[Warning_] = []
        if confidence is not None and self._limit is not None:
            for row in np.flatnonzero(confidence < self._limit).tolist():
                message = f"confidence {float(confidence[row]):.3f} is under {self._limit:g}"
                found.append(_warning("low_confidence", row, "confidence", message))
        if inputs is not None and inputs.shape[1] == len(self._names):
            outside = (inputs < self._low) | (inputs > self._high)
            for row, column in np.argwhere(outside).tolist():
                name, value = self._names[column], float(inputs[row, column])
                low, high = float(self._low[column]), float(self._high[column])
                message = f"{name} is {value:.6g}, the reference had {low:.6g} to {high:.6g}"
                found.append(_warning("out_of_range", row, name, message))
            for row, column in np.argwhere(np.isnan(inputs)).tolist():
                name = self._names[column]
                found.append(_warning("missing", row, name, f"{name} is missing"))
        if len(found) > self._most:
            left = len(found) - self._most
            found[self._most :] = [_warning("more", None, None, f"{left} more warnings")]
        return found


def _warning(code: str, instance: int | None, field: str | None, message: str) -> Warning_:
    return {"code": code, "instance": instance, "field": field, "message": message}
