"""A claim: what a prediction said of one row, in the form that a label is compared with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftline.metadata.errors import InputError
from driftline.metadata.extract import Classification, Regression
from driftline.metadata.schema import ModelMetadata

from ..hooks.columns import Columns
from ..model.answers import classified, told
from .joining import Claim


class Claims:
    """Reads claims off answers, and says whether a label bears one out.

    Only a model's first classification or one-target regression is judged.
    """

    def __init__(self, metadata: ModelMetadata, columns: Columns) -> None:
        parts = dict(columns.part("output"))
        self._several = len(told(metadata, columns)) > 1
        self._name = ""
        self._task: Classification | Regression | None = None
        for spec in metadata.outputs:
            part = parts.get(spec.name)
            if isinstance(part, Classification | Regression) and self._task is None:
                self._name, self._task = spec.name, part
        usual = metadata.quality.usual_error if metadata.quality else None
        self._limit = usual.limit if usual else None
        if isinstance(self._task, Regression) and (
            self._limit is None or len(self._task.targets) != 1
        ):
            self._task = None
        self.multiple = isinstance(self._task, Classification) and (
            self._task.head.startswith("multilabel")
        )

    @property
    def judged(self) -> bool:
        """Whether labels can be judged at all."""
        return self._task is not None

    def of(
        self, outputs: Mapping[str, NDArray[Any]], predictions: Sequence[Mapping[str, Any]] = ()
    ) -> list[Claim] | None:
        """The claim of each row; None where there is none to be had.

        `predictions` are what people were told of the same outputs, where they were told.
        """
        if self._task is None:
            return None
        array = np.asarray(outputs[self._name])
        if isinstance(self._task, Regression):
            return list(array.astype(np.float64).reshape(-1).tolist())
        rows: Iterable[Mapping[str, Any]]
        if predictions:
            rows = (each[self._name] if self._several else each for each in predictions)
        else:
            rows = classified(self._task, self._task.probabilities(array, field=self._name))
        return [row["labels"] if self.multiple else row["label"] for row in rows]

    def checked(self, label: Any, field: str) -> Claim:
        """A label in the form of a claim.

        Raises:
            InputError: it is none; names `field` and what is wanted.
        """
        if isinstance(self._task, Regression):
            if isinstance(label, bool) or not isinstance(label, int | float):
                raise InputError(field, "must be a number")
            return float(label)
        classes = self._task.classes if self._task else ()
        if self.multiple:
            if not isinstance(label, list) or not set(map(str, label)) <= set(classes):
                raise InputError(field, "must be a list of the model's classes")
            return sorted(map(str, label))
        if not isinstance(label, str) or label not in classes:
            some = ", ".join(classes[:10]) + (", …" if len(classes) > 10 else "")
            raise InputError(field, f"must be one of the model's classes: {some}")
        return label

    def right(self, claim: Claim, label: Claim) -> bool:
        """Whether the label bears the claim out; of a regression, within its usual error."""
        if isinstance(claim, list) and isinstance(label, list):
            return sorted(claim) == label
        if isinstance(claim, float) and isinstance(label, float) and self._limit is not None:
            return abs(claim - label) <= self._limit
        return claim == label
