"""How right a model is: counts over all held-out rows, and the calibration of a sample."""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from driftline.metadata.extract import Classification, Extractor, Regression
from driftline.metadata.quality import Quality
from driftline.metadata.signals import Floats

from .batches import Array
from .calibration import expected_calibration_error, fit_temperature
from .labels import NO_CLASS, class_codes, class_hits

Ints = NDArray[np.int64]


class Scores(Protocol):
    """Counts of right and wrong, that add."""

    rows: int

    def add(self, output: Array, label: Array) -> None:
        """Takes in one batch of outputs and labels."""

    def merge(self, other: Scores) -> None:
        """Takes in another rank's."""


class ClassScores:
    """The confusion matrix over all rows whose label is a class and whose scores are numbers.

    For multi-label heads the decisions class by class: a 2 × 2 matrix, class absent or present.
    """

    def __init__(self, task: Classification) -> None:
        self.task = task
        self.rows = 0
        size = 2 if _multilabel(task) else len(task.classes)
        self.confusion: Ints = np.zeros((size, size), dtype=np.int64)

    def add(self, output: Array, label: Array) -> None:
        """Takes in one batch.

        Raises:
            InputError: outputs or labels do not fit the task.
        """
        p = self.task.probabilities(output)
        size = len(self.confusion)
        if _multilabel(self.task):
            truth = class_hits(label, len(self.task.classes))
            known = np.isfinite(p)
            cells = truth[known] * size + (p[known] >= 0.5)
            self.rows += int(known.all(axis=1).sum())
        else:
            codes = class_codes(label, size)
            good = (codes != NO_CLASS) & np.isfinite(p).all(axis=1)
            cells = codes[good] * size + p[good].argmax(axis=1)
            self.rows += int(good.sum())
        found = np.bincount(cells.astype(np.int64), minlength=size * size)
        self.confusion += found.reshape(size, size)

    def merge(self, other: Scores) -> None:
        """Takes in another rank's."""
        assert isinstance(other, ClassScores)
        self.rows += other.rows
        self.confusion += other.confusion

    def quality(self, temperature: float, before: float, after: float) -> Quality:
        """All of it as the metadata holds it."""
        total = int(self.confusion.sum())
        return Quality(
            rows=self.rows,
            accuracy=float(np.trace(self.confusion)) / total if total else None,
            temperature=temperature,
            ece_before=before,
            ece_after=after,
            confusion=tuple(tuple(row) for row in self.confusion.tolist()),
        )


class ErrorScores:
    """Sums of absolute and squared errors over all values where both sides are finite."""

    def __init__(self) -> None:
        self.rows = self.values = 0
        self.absolute = self.squared = 0.0

    def add(self, output: Array, label: Array) -> None:
        """Takes in one batch; label and output hold as many values."""
        truth = np.asarray(label, dtype=np.float64).reshape(len(label), -1)
        error = np.asarray(output, dtype=np.float64).reshape(len(output), -1) - truth
        error = error[np.isfinite(error)]
        self.rows += len(label)
        self.values += len(error)
        self.absolute += float(np.abs(error).sum())
        self.squared += float(np.square(error).sum())

    def merge(self, other: Scores) -> None:
        """Takes in another rank's."""
        assert isinstance(other, ErrorScores)
        self.rows += other.rows
        self.values += other.values
        self.absolute += other.absolute
        self.squared += other.squared

    def quality(self) -> Quality:
        """All of it as the metadata holds it."""
        if not self.values:
            return Quality(rows=self.rows)
        mae, mse = self.absolute / self.values, self.squared / self.values
        return Quality(rows=self.rows, mae=mae, rmse=math.sqrt(mse))


def scores_of(task: Extractor) -> Scores | None:
    """Empty scores for a task; None for one that has no notion of right."""
    if isinstance(task, Classification):
        return ClassScores(task)
    return ErrorScores() if isinstance(task, Regression) else None


def calibrated(task: Classification, output: Array, label: Array) -> tuple[Classification, Floats]:
    """The task with its temperature fitted, and the calibration error before and after, ``[2]``.

    Rows whose label is no class or whose scores are no numbers are left out.
    """
    plain = replace(task, temperature=1.0)
    logits, codes = _as_logits(plain, output, label)
    good = (codes != NO_CLASS) & np.isfinite(logits).all(axis=1)
    logits, codes = logits[good], codes[good]
    temperature = fit_temperature(logits, codes)
    errors = []
    for divisor in (1.0, temperature):
        scaled = logits / divisor
        p = np.exp(scaled - scaled.max(axis=1, keepdims=True, initial=-np.inf))
        p /= p.sum(axis=1, keepdims=True)
        right = p.argmax(axis=1) == codes
        errors.append(expected_calibration_error(p.max(axis=1, initial=0.0), right))
    return replace(task, temperature=temperature), np.array(errors)


def _as_logits(task: Classification, output: Array, label: Array) -> tuple[Floats, Ints]:
    """Logits and true classes, a row for each decision; impossible scores become NaN."""
    scores = np.asarray(output, dtype=np.float64).reshape(len(output), -1)
    if task.head.endswith(("probabilities", "probability")):
        p = task.probabilities(output)
        if not _multilabel(task):
            return np.log(np.clip(p, 1e-12, None)), class_codes(label, len(task.classes))
        clipped = np.clip(p, 1e-12, 1 - 1e-12)
        scores = np.log(clipped) - np.log1p(-clipped)
    if _multilabel(task):
        codes = class_hits(label, len(task.classes)).astype(np.int64).ravel()
        scores = scores.reshape(-1, 1)
    else:
        codes = class_codes(label, len(task.classes))
    if scores.shape[1] == 1:
        scores = np.concatenate([np.zeros_like(scores), scores], axis=1)
    return scores, codes


def _multilabel(task: Classification) -> bool:
    return task.head.startswith("multilabel")
