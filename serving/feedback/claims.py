"""A claim: what a prediction said of one row, in the form that a label is compared with."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from driftline.metadata.errors import InputError
from driftline.metadata.extract import Classification, Regression
from driftline.metadata.schema import ModelMetadata

from ..named import named
from .joining import Claim

if TYPE_CHECKING:
    # At run time they import this.
    from ..hooks.columns import Columns
    from ..hooks.seen import Seen

# A request's id, and the output of it that is judged.
Output = tuple[str, NDArray[Any]]


class Claims:
    """Reads claims off what was predicted, and says whether a label bears one out.

    Only a model's first classification or one-target regression is judged.
    """

    def __init__(self, metadata: ModelMetadata, columns: Columns) -> None:
        parts = dict(columns.part("output"))
        self._outputs = metadata.outputs
        self._name = ""
        self._task: Classification | Regression | None = None
        for spec in metadata.outputs:
            part = parts.get(spec.name)
            if isinstance(part, Classification | Regression) and self._task is None:
                self._name, self._task = spec.name, part
                self._axes = len(spec.shape)
                self._wide = spec.shape[-1] != 1
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

    def read(
        self, requests: Iterable[Seen], caught: Callable[[str, Exception], None]
    ) -> dict[str, list[Claim]]:
        """The claim of each row by request id, of the requests that have an id and were answered.

        Those that are alike are read together. `caught` is told of outputs that are none of this
        model's; the others are read all the same.
        """
        alike: dict[tuple[Any, ...], list[Output]] = {}
        only = len(self._outputs) == 1
        for seen in requests if self._task is not None else ():
            outputs, request_id = seen.outputs, seen.request_id
            if outputs is None or not request_id or seen.failed:
                continue
            if not only or type(outputs) is not np.ndarray:
                try:
                    outputs = named(outputs, self._outputs)[self._name]
                except Exception as error:
                    caught("claims", error)
                    continue
            key = (outputs.dtype, outputs.shape[1:], outputs.ndim)
            alike.setdefault(key, []).append((request_id, outputs))
        found: dict[str, list[Claim]] = {}
        for (_, _, axes), several in alike.items():
            if not axes or (self._wide and axes == self._axes - 1):
                several = [(request_id, outputs[None]) for request_id, outputs in several]
            found.update(self._together(several, caught))
        return found

    def _together(
        self, several: list[Output], caught: Callable[[str, Exception], None]
    ) -> dict[str, list[Claim]]:
        try:
            rows = np.concatenate([outputs for _, outputs in several])
            claims = self._of(rows)
            if len(claims) != len(rows):
                raise InputError(self._name, f"{len(claims)} values for {len(rows)} rows")
        except Exception as error:
            if len(several) == 1:
                caught("claims", error)
                return {}
            # One of them is at fault; the labels of the others will come.
            found: dict[str, list[Claim]] = {}
            for each in several:
                found.update(self._together([each], caught))
            return found
        found, at = {}, 0
        for request_id, outputs in several:
            found[request_id] = claims[at : at + len(outputs)]
            at += len(outputs)
        return found

    def _of(self, array: NDArray[Any]) -> list[Claim]:
        if not isinstance(self._task, Classification):
            return list(array.astype(np.float64).reshape(-1).tolist())
        classes = self._task.classes
        p = self._task.probabilities(array, field=self._name)
        if self.multiple:
            return [[classes[at] for at in np.flatnonzero(row)] for row in p >= 0.5]
        tops, known = p.argmax(axis=1).tolist(), (~np.isnan(p[:, 0])).tolist()
        return [classes[top] if ok else None for top, ok in zip(tops, known, strict=True)]

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
