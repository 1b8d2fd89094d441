"""Replay: recorded traffic through the very monitor that watches a service, bucket by bucket."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from driftline.drift.verdict import State
from driftline.metadata.errors import InputError
from driftline.metadata.signals import Ints

from ..evaluation.evaluator import Evaluator
from ..evaluation.standing import Standing, decode
from ..hooks.courier import Courier
from ..hooks.seen import Seen
from ..hooks.session import Plan
from ..hooks.tally import Tally
from ..stores.memory import MemoryStore
from .recorded import Arrays, Recorded

MOST_BUCKETS = 100_000
# A recording is judged about so often, but never less often than every tenth bucket.
TURNS, MOST_SKIPPED = 300, 10
# Rows that the model predicts at once.
AT_ONCE = 256


class Model(Protocol):
    """What predicts the outputs where none were recorded."""

    def predict(self, arrays: Mapping[str, Any]) -> Arrays:
        """The outputs by name."""
        ...


@dataclass(frozen=True, slots=True)
class Change:
    """A change of the overall state: at which row (from 1), at which time, to what, and why."""

    row: int
    at: int
    state: State
    sentence: str


@dataclass(frozen=True, eq=False, slots=True)
class Replayed:
    """What a replay found.

    `store` holds counts, verdict and timeline as a service's would; `starts` are the first rows
    of the buckets (from 1) by the Unix second at which they begin.
    """

    rows: int
    changes: tuple[Change, ...]
    standing: Standing
    store: MemoryStore
    starts: dict[int, int]


def replay(
    plan: Plan,
    recorded: Recorded,
    *,
    rows_per_bucket: int = 500,
    model: Model | None = None,
    told: Callable[[int, int], None] = lambda done, of: None,
) -> Replayed:
    """What the monitor would have said while this traffic came.

    Each row counts as a request. Rows go into buckets by their times; without times, each bucket
    gets so many rows, and the recording is taken to end now. Latency is not in a recording. A long
    one is judged every few buckets only: a change is then called some buckets later.

    Args:
        plan: what is watched; its store is not used.
        recorded: the traffic; sorted by time if it is not.
        rows_per_bucket: where there are no times.
        model: predicts the outputs where none were recorded; without it only inputs are watched.
        told: is called with the number of buckets done, and of all.

    Raises:
        InputError: an array is not what the model takes, or the times span too many buckets.
    """
    store, series, metadata = MemoryStore(), plan.series, plan.package.metadata
    limits = plan.thresholds
    tally = Tally(
        metadata, series, low_confidence=limits.low_confidence, latency_ms=limits.latency_ms
    )
    courier = Courier(store, series.keep)
    evaluator = Evaluator(metadata, series, store, thresholds=limits, holder="replay")
    at = _places(recorded, series.bucket, rows_per_bucket)
    changes: list[Change] = []
    starts: dict[int, int] = {}
    groups = list(_grouped(at))
    every = min(max(1, len(groups) // TURNS), MOST_SKIPPED)
    done = 0
    for number, (start, rows) in enumerate(groups):
        starts[start] = done + 1
        counts, counters = tally.count(_requests(recorded, rows, start, model))
        courier.add(counts, counters)
        courier.send()
        done += len(rows)
        told(number + 1, len(groups))
        if (number + 1) % every and number + 1 < len(groups):
            continue
        # In the bucket's last second, when all of it has come.
        evaluator.turn(start + series.bucket - 1)
        standing = _standing(store, series.verdict)
        if not changes or standing.verdict.state != changes[-1].state:
            verdict = standing.verdict
            changes.append(Change(done, start + series.bucket, verdict.state, verdict.sentence))
    return Replayed(len(recorded), tuple(changes), standing, store, starts)


def _standing(store: MemoryStore, key: str) -> Standing:
    document = store.get(key)
    standing = decode(document[1]) if document else None
    assert standing is not None, "the only holder of the lease writes at every turn"
    return standing


def _places(recorded: Recorded, width: int, rows_per_bucket: int) -> Ints:
    """The start of each row's bucket."""
    if recorded.times is None:
        buckets = math.ceil(len(recorded) / rows_per_bucket)
        first = int(time.time()) // width * width - buckets * width
        found: Ints = np.arange(len(recorded)) // rows_per_bucket * width + first
    else:
        found = (np.floor(recorded.times / width) * width).astype(np.int64)
    if len(np.unique(found)) > MOST_BUCKETS:
        raise InputError("file", f"more than {MOST_BUCKETS:,} buckets; take a longer --bucket")
    return found


def _grouped(places: Ints) -> Iterator[tuple[int, Ints]]:
    order = np.argsort(places, kind="stable")
    starts, first = np.unique(places[order], return_index=True)
    yield from zip(starts.tolist(), np.split(order, first[1:]), strict=True)


def _requests(recorded: Recorded, rows: Ints, start: int, model: Model | None) -> list[Seen]:
    outputs = None
    if recorded.outputs is not None:
        outputs = {name: array[rows] for name, array in recorded.outputs.items()}
    inputs = {name: array[rows] for name, array in recorded.inputs.items()}
    if outputs is None and model is not None:
        outputs = _predicted(model, inputs)
    found = []
    for row in range(len(rows)):
        seen = Seen({name: array[row : row + 1] for name, array in inputs.items()})
        if outputs is not None:
            seen.outputs = {name: array[row : row + 1] for name, array in outputs.items()}
        # Not measured, which is not the same as quick.
        seen.at, seen.seconds = float(start), math.nan
        found.append(seen)
    return found


def _predicted(model: Model, inputs: Arrays) -> Arrays:
    rows = len(next(iter(inputs.values())))
    parts = [
        model.predict({name: array[first : first + AT_ONCE] for name, array in inputs.items()})
        for first in range(0, rows, AT_ONCE)
    ]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
