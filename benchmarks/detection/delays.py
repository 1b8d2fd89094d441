"""Delay: how many requests after a change each detector calls it, on the same rows."""

from __future__ import annotations

import numpy as np

from driftline.metadata.reference import Reference
from driftline.metadata.signals import Floats, Ints

from . import table
from .changes import CHANGES, CLOSE_CALLS
from .fleet import RING, Fleet, Look, count
from .rivals import RIVALS
from .work import Found, Scale, Task

ALPHA = 1e-4
REFERENCE = 4_991
ROWS = 50
STEP = 10
PARTS = ROWS // STEP
HOURS = 4
HORIZON = 10_000
# Looks every `STEP` requests for so many, then at each bucket's end.
CLOSE = 1_000
CHUNK = 8
# So many times the streams where detectors are near each other: medians of sixteen jump by a tenth.
OFTEN = 3
# Clean requests of the stream that rivals have seen before the change.
WARM = 5_000
CLEAN = 50_000


def tasks(scale: Scale) -> list[Task]:
    """Chunks of streams for each change, and of clean streams for the rivals' false alarms."""
    chunks = max(scale.streams // CHUNK, 1)
    found = [Task(rates, {"seed": seed}) for seed in range(OFTEN * chunks)]
    for kind in CHANGES:
        times = OFTEN if kind in CLOSE_CALLS else 1
        found += [Task(chunk, {"kind": kind, "seed": seed}) for seed in range(times * chunks)]
    return found


def rates(seed: int) -> Found:
    """Alarms of each rival on a clean stream of the table, by 50-request window.

    A window counts once, however many fields alarm in it.
    """
    random = np.random.default_rng([1, seed])
    reference, stream = table.clean(random, REFERENCE), table.clean(random, CLEAN)
    alarms = {
        name: len(np.unique((rival(reference, stream, CLEAN) - 1) // ROWS))
        for name, rival in RIVALS.items()
    }
    return {"rates": alarms, "windows": CLEAN // ROWS}


def chunk(kind: str, seed: int) -> Found:
    """Delays of `CHUNK` streams, None where a detector called nothing within `HORIZON`.

    The change comes at any request of a bucket and any minute of an hour.
    """
    random = np.random.default_rng([2, list(CHANGES).index(kind), seed])
    fitter = table.extractor(random)
    before = ROWS * (60 * HOURS + int(random.integers(60)))
    delays: dict[str, list[int | None]] = {name: [] for name in ("driftline", *RIVALS)}
    references, cells, changes = [], [], []
    for _ in range(CHUNK):
        offset = int(random.integers(ROWS))
        rows = table.clean(random, REFERENCE)
        stream = table.clean(random, before + HORIZON + ROWS)
        changed = before + offset
        stream[changed:] = CHANGES[kind](random, stream[changed:].copy())
        for name, rival in RIVALS.items():
            found = rival(rows, stream[changed - WARM :], WARM)
            later = found[found > WARM]
            delays[name].append(int(later[0]) - WARM if len(later) else None)
        reference = table.reference_of(fitter, rows)
        references.append(reference)
        cells.append(count(reference, fitter.extract(stream), STEP))
        changes.append(changed)
    delays["driftline"] = ours(references, cells, changes)
    return {"kind": kind, "delays": delays}


def ours(references: list[Reference], cells: list[Ints], changes: list[int]) -> list[int | None]:
    """Requests from each stream's change to its first call; `cells` are by `STEP` requests."""
    delays: list[int | None] = [None] * len(references)
    left = list(range(len(references)))
    fleet, sums = _gathered(references, cells, left)
    first = min(changes) // ROWS * PARTS
    for at in _looks(first, len(cells[0])):
        look = _look(sums, at)
        over = fleet.joint(look, ALPHA) >= -np.log(ALPHA) - 1e-9
        for place in np.flatnonzero(over).tolist():
            stream = left[place]
            delay = (at + 1) * STEP - changes[stream]
            if delays[stream] is None and delay > 0 and fleet.called(place, look, ALPHA):
                delays[stream] = delay
        still = [stream for stream in left if delays[stream] is None]
        if not still:
            break
        if 2 * len(still) <= len(left):
            left = still
            fleet, sums = _gathered(references, cells, left)
    return delays


def _gathered(
    references: list[Reference], cells: list[Ints], streams: list[int]
) -> tuple[Fleet, Ints]:
    """The fleet of some streams, and the sums of their counts up to each step."""
    whole = np.concatenate([cells[stream] for stream in streams], axis=1)
    sums = np.concatenate([np.zeros_like(whole[:1]), np.cumsum(whole, axis=0)])
    return Fleet([references[stream] for stream in streams]), sums


def _look(sums: Ints, at: int) -> Look:
    """Both rings after step `at`; the last bucket and the last hour are not finished."""
    return Look(_blocks(sums, at, PARTS)[-RING:], _blocks(sums, at, 60 * PARTS))


def _blocks(sums: Ints, at: int, length: int) -> Ints:
    ends = np.append(np.arange(0, at + 1, length), at + 1)
    return np.diff(sums[ends], axis=0)


def _looks(first: int, steps: int) -> list[int]:
    near = min(first + CLOSE // STEP, steps)
    later = [at for at in range(near, steps) if (at + 1) % PARTS == 0]
    return list(range(first, near)) + later


def summed(values: list[int | None]) -> tuple[float | None, float | None, float]:
    """Median and 90th percentile (None where that share saw nothing), and the share that saw."""
    seen: Floats = np.array([np.inf if value is None else value for value in values], dtype=float)
    quantiles = [float(np.quantile(seen, q, method="inverted_cdf")) for q in (0.5, 0.9)]
    middle, late = (None if np.isinf(value) else value for value in quantiles)
    return middle, late, float(np.isfinite(seen).mean())
