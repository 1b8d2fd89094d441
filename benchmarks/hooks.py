"""What the hooks add to a request, beside plain NumPy Welford in the same run.

Twenty tabular columns and three classes, one row a request. Three ways are timed in turn, so that
a slow moment of the machine falls on all of them:

- driftline: ``before(inputs)`` and ``after(outputs)``; rows are noted, and counted in a thread;
- Welford: mean and variance of the same 23 numbers updated in the request, and nothing else (no
  cells, no missing values, no latency, no time, no lock);
- nothing: an empty loop, taken off the others.

Other programs on the machine only ever add time, so the limit is held against the tenth percentile
of the rounds; median and ninetieth percentile stand beside it.

The second table is the price that is paid off the request path: extracting and counting the noted
rows, per request, in batches as the background thread meets them.

Run it with ``make bench``.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from driftline.metadata.extract import EXTRACTORS, Classification, Number, Tabular
from driftline.metadata.fitting import fit_reference
from driftline.metadata.package import ModelPackage
from driftline.metadata.quality import Health
from driftline.metadata.sample import RowSample
from driftline.metadata.schema import (
    Extraction,
    Framework,
    ModelInfo,
    ModelMetadata,
    TensorSpec,
    TrainDataStats,
)
from driftline.serving.hooks import InferenceMonitor
from driftline.serving.hooks.seen import Seen

COLUMNS, CLASSES = 20, ("red", "green", "blue")
ROUNDS, CALLS = 25, 2_000
LIMIT = 10.0


class Welford:
    """Running mean and variance of a vector (Welford 1962), in NumPy."""

    def __init__(self, width: int) -> None:
        self.count = 0
        self.mean = np.zeros(width)
        self.m2 = np.zeros(width)

    def update(self, values: np.ndarray) -> None:
        """Takes one vector in."""
        self.count += 1
        delta = values - self.mean
        self.mean += delta / self.count
        self.m2 += delta * (values - self.mean)


def main() -> int:
    """Prints the tables; 0 when the hooks keep to their limit."""
    random = np.random.default_rng(5)
    inputs = random.normal(size=(1, COLUMNS)).astype(np.float32)
    outputs = random.normal(size=(1, len(CLASSES))).astype(np.float32)
    with tempfile.TemporaryDirectory() as folder:
        monitor = InferenceMonitor(_monitor(Path(folder)).plan)
        inside, outside = Welford(COLUMNS), Welford(len(CLASSES))

        def hooks() -> None:
            monitor.after(monitor.before(inputs), outputs)

        def welford() -> None:
            inside.update(inputs[0])
            outside.update(outputs[0])

        hooks()
        ways = {"driftline hooks": hooks, "NumPy Welford": welford, "nothing": _nothing}
        found = _timed(ways, monitor.flush)
        counted = _counted(monitor, inputs, outputs)
        monitor.close()
        assert not monitor.fence.failures, monitor.fence.failures
    empty = found.pop("nothing")
    told = {
        name: [ours - theirs for ours, theirs in zip(_tenths(times), _tenths(empty), strict=True)]
        for name, times in found.items()
    }
    base = told["NumPy Welford"][1]
    print(f"{COLUMNS} columns, {len(CLASSES)} classes, one row a request; {ROUNDS}×{CALLS} calls")
    print(f"{'on the request path, µs':<26}{'p10':>8}{'median':>8}{'p90':>8}{'ratio':>8}")
    for name, (fast, middle, slow) in told.items():
        print(f"{name:<26}{fast:>8.2f}{middle:>8.2f}{slow:>8.2f}{middle / base:>8.2f}")
    print(f"\n{'off the request path':<26}{'µs a row':>16}{'ratio':>16}")
    for size, cost in counted.items():
        print(f"{f'counted, {size:,} at once':<26}{cost:>16.2f}{cost / base:>16.2f}")
    ours = told["driftline hooks"][0]
    print(f"\nthe hooks take {ours:.2f} µs a request; the limit is {LIMIT:g} µs")
    return 0 if ours <= LIMIT else 1


def _tenths(times: list[float]) -> tuple[float, float, float]:
    """The tenth, fiftieth and ninetieth percentile."""
    cuts = statistics.quantiles(times, n=10)
    return cuts[0], cuts[4], cuts[8]


def _nothing() -> None:
    return None


def _timed(
    ways: dict[str, Callable[[], None]], between: Callable[[], object]
) -> dict[str, list[float]]:
    """Microseconds a call, one figure a round; what waits is counted `between`, untimed."""
    found: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name, call in ways.items():
            began = time.perf_counter()
            for _ in range(CALLS):
                call()
            found[name].append((time.perf_counter() - began) / CALLS * 1e6)
            between()
    return found


def _counted(
    monitor: InferenceMonitor, inputs: np.ndarray, outputs: np.ndarray
) -> dict[int, float]:
    """Microseconds a row to extract and count, by the number of rows at once."""
    tally, found = monitor.session.tally, {}
    for size in (10, 100, 1_000):
        batch = []
        for _ in range(size):
            seen = Seen(inputs)
            seen.outputs, seen.at, seen.seconds = outputs, time.time(), 0.001
            batch.append(seen)
        times = []
        for _ in range(10):
            began = time.perf_counter()
            tally.count(batch)
            times.append((time.perf_counter() - began) / size * 1e6)
        found[size] = statistics.median(times)
    return found


def _monitor(folder: Path) -> InferenceMonitor:
    """Of a package with a table of numbers and a classifier."""
    random = np.random.default_rng(6)
    table = Tabular(tuple(Number(f"c{index}") for index in range(COLUMNS)))
    task = Classification(CLASSES)
    matrices = {
        "input": random.normal(size=(5_000, COLUMNS)),
        "output": random.normal(size=(5_000, len(CLASSES))),
    }
    table = table.fit(matrices["input"])
    samples = {}
    for group, part in (("input", table), ("output", task)):
        samples[group] = RowSample(len(part.columns()), seed=1)
        samples[group].add(part.extract(matrices[group]))
    metadata = ModelMetadata(
        created="2026-01-01T00:00:00Z",
        model=ModelInfo(name="bench", version="1", architecture="none", parameters=0),
        framework=Framework(
            name="numpy",
            version=np.__version__,
            mode="eager",
            device="CPU",
            python="3",
            numpy=np.__version__,
            driftline="0.1.0",
            host="bench",
        ),
        inputs=(TensorSpec("x", "float32", (None, COLUMNS)),),
        outputs=(TensorSpec("y", "float32", (None, len(CLASSES))),),
        extractions=(
            Extraction("input", "x", EXTRACTORS.encode(table)),
            Extraction("output", "y", EXTRACTORS.encode(task)),
        ),
        class_names=CLASSES,
        train_data_stats=TrainDataStats(rows=5_000),
        reference=fit_reference(
            samples, {"input": table.columns(), "output": task.columns()}, source="held_out"
        ),
        health=Health(steps=1, epochs=1, seconds=1.0),
    )
    return InferenceMonitor.open(ModelPackage.write(folder / "package", metadata, {}))


if __name__ == "__main__":
    raise SystemExit(main())
