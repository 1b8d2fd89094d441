"""A snapshot of the fault when something is not finite."""

from __future__ import annotations

import json
import logging
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .batches import to_array
from .probes.probe import Step
from .rules.non_finite import in_words, looked_at, non_finite
from .session import Session
from .voice import say

MOST_SNAPSHOTS = 3
CALM = 50
LARGEST = 512 * 1024**2
POINTS = 200


class Snapshots:
    """Saves ``faults/step-<n>/`` when a value is not finite: at most three times in a run,
    its lives before this one included.

    In it: ``parameters.npz`` (where they fit into 512 MB), ``fault.json`` with the statistics of
    each parameter and of each part of the batch, and ``points.jsonl``, the last 200 points. No row
    of the batch is kept. The copy is made in the training thread, once an episode; the files are
    written on the worker's.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._points: deque[tuple[int, Mapping[str, float]]] = deque(maxlen=POINTS)
        self._taken = 0
        self._calm = CALM
        self._rests_on: frozenset[str] = frozenset()

    def look(self, step: Step, values: Mapping[str, float]) -> None:
        """Takes a snapshot if this is the begin of an episode."""
        self._points.append((step.number, values))
        found = non_finite(values)
        if not found:
            if self._rests_on <= values.keys():  # else this step does not show that it is over
                self._calm += 1
            return
        begins = self._calm >= CALM
        self._calm = 0
        self._rests_on = looked_at(found)
        if begins and self._taken < MOST_SNAPSHOTS:
            faults = self._session.place.folder / "faults"
            self._taken = max(self._taken, sum(1 for _ in faults.glob("step-*"))) + 1
            if self._taken <= MOST_SNAPSHOTS:
                self._take(step, found)

    def _take(self, step: Step, found: Sequence[str]) -> None:
        parameters = {each.name: to_array(each) for each in (*step.parameters, *step.others)}
        fits = sum(array.nbytes for array in parameters.values()) <= LARGEST
        fault = {
            "step": step.number,
            "epoch": step.epoch,
            "not_finite": [in_words(name) for name in found],
            "batch": [statistics(to_array(part)) for part in step.batch],
            "parameters": {name: statistics(array) for name, array in parameters.items()},
        }
        copies = {name: array.copy() for name, array in parameters.items()} if fits else None
        points = list(self._points)
        folder = self._session.place.folder / "faults" / f"step-{step.number}"
        self._session.do(lambda: _write(folder, fault, copies, points))


def statistics(array: NDArray[Any]) -> dict[str, object]:
    """Shape, type, range, mean and deviation of the finite values, and how many are not."""
    found: dict[str, object] = {"shape": list(array.shape), "dtype": str(array.dtype)}
    if array.dtype.kind not in "iufb" or not array.size:
        return found
    finite = np.isfinite(array)
    found["nan"] = int(np.isnan(array).sum()) if array.dtype.kind == "f" else 0
    found["infinite"] = int(array.size - finite.sum()) - int(str(found["nan"]))
    if finite.any():
        values = array[finite].astype(np.float64)
        found |= {
            "min": float(values.min()),
            "max": float(values.max()),
            "mean": float(values.mean()),
            "sd": float(values.std()),
        }
    return found


def _write(
    folder: Path,
    fault: Mapping[str, object],
    parameters: Mapping[str, NDArray[Any]] | None,
    points: Sequence[tuple[int, Mapping[str, float]]],
) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "fault.json").write_text(json.dumps(fault, indent=2) + "\n", encoding="utf-8")
    with (folder / "points.jsonl").open("w", encoding="utf-8") as file:
        for step, values in points:
            shown = {name: v if np.isfinite(v) else None for name, v in values.items()}
            file.write(json.dumps({"step": step, "values": shown}) + "\n")
    if parameters is not None:
        np.savez(folder / "parameters.npz", **dict(parameters))
    say(logging.WARNING, "snapshot of the fault: %s", folder)
