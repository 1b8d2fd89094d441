"""What `TrainingMonitor` adds to a training step at its defaults.

Blocks of steps with the monitor, without it, and without it once more take turns in one training,
so that a slow moment of the machine falls on all of them; the second one without it is the control.
Two figures are told.

*Added*, from the parts that a noisy machine can still measure to a hundredth of a hundredth of a
step: the time inside the monitor's callbacks (which for a point includes waiting for the loss); for
steps whose gradients are looked at, how much longer the whole step takes; and what the monitor's
own threads use of the processor, as a share of the time by the clock. The last is added in full,
though most of it runs while the training waits, and is booked to the half of the time in which the
monitor is on.

The *ratio* of whole steps: each block's mean step with the monitor over that of the block without
it just after, the median of these, and its 95 % interval (bootstrap). Both are means of as many
steps, so that without a difference it is as often above 1 as under it. (Over the median step of
the blocks around, which it was, one slow step weighs on one side only: the control came to 1.01.)

The monitor's free points are taken before the first block. Console, journal and TensorBoard files
are on, as they are by default.

Run it with ``make bench-train``; it writes its table into ``docs/performance.md``.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.document import put

DOCUMENT = Path("docs/performance.md")
NETWORKS = {"mlp-1m": "MLP, 1.1 M", "mlp-10m": "MLP, 10 M", "cnn": "CNN, 0.8 M"}
MODES = ("graph", "pynative")
WARM, BLOCK, SECONDS, BATCH = 200, 5, 60.0, 64
WITH, WITHOUT, CONTROL = "with", "without", "control"
DEPTHS = ("none", "light", "deep")
# A block's steps: their kind, seconds, and seconds of these inside the monitor's callbacks.
Block = list[tuple[str, float, float]]


def network(name: str) -> Any:
    """The cell of that name."""
    from mindspore import nn

    if name == "cnn":
        return nn.SequentialCell(
            nn.Conv2d(1, 16, 3),
            nn.ReLU(),
            nn.MaxPool2d(2, 2),
            nn.Conv2d(16, 32, 3),
            nn.ReLU(),
            nn.Flatten(),
            nn.Dense(32 * 14 * 14, 128),
            nn.ReLU(),
            nn.Dense(128, 10),
        )
    widths = (784, 1024, 256, 10) if name == "mlp-1m" else (784, 2048, 2048, 2048, 10)
    cells: list[Any] = [nn.Flatten()]
    for wide, narrow in pairwise(widths):
        cells += [nn.Dense(wide, narrow), nn.ReLU()]
    return nn.SequentialCell(*cells[:-1])


def measure(name: str, mode: str) -> dict[str, Any]:
    """One training, in which the blocks take turns."""
    import mindspore as ms
    import numpy as np
    from mindspore import nn
    from mindspore.dataset import NumpySlicesDataset

    from driftline.train_side.monitor import TrainingMonitor

    ms.set_context(mode=ms.GRAPH_MODE if mode == "graph" else ms.PYNATIVE_MODE)
    ms.set_seed(1)
    random = np.random.default_rng(0)
    # A prime number of batches, which no pattern of blocks falls in step with.
    x = random.normal(size=(BATCH * 23, 1, 28, 28)).astype(np.float32)
    y = random.integers(0, 10, size=BATCH * 23).astype(np.int32)
    ms.dataset.config.set_num_parallel_workers(1)  # two cores, one of which computes
    data = NumpySlicesDataset((x, y), shuffle=False).batch(BATCH).repeat(100_000)
    model_of = network(name)
    optimizer = nn.Momentum(model_of.trainable_params(), 0.01, 0.9)
    loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    model = ms.Model(model_of, loss, optimizer)

    with tempfile.TemporaryDirectory() as folder:
        monitor = TrainingMonitor(Path(folder) / "run")
        turns = turning(monitor)
        model.train(1, data, callbacks=[turns])
    return judged(turns.blocks, turns.threads)


def turning(monitor: Any) -> Any:
    """A callback that lets the monitor see every second block only, and times each step."""
    from mindspore.train.callback import Callback

    class Turns(Callback):
        def __init__(self) -> None:
            super().__init__()
            self.blocks: list[Block] = []
            self.threads = 0.0
            self.count = 0
            self.what, self.depth = WITH, "none"
            self.began = self.until = self.cpu = self.own = 0.0
            self.order: list[str] = []

        def __enter__(self) -> Any:
            monitor.__enter__()
            return self

        def __exit__(self, *error: object) -> None:
            monitor.__exit__(*error)

        def on_train_begin(self, run_context: Any) -> None:
            monitor.on_train_begin(run_context)

        def on_train_step_begin(self, run_context: Any) -> None:
            now = time.perf_counter()
            if self.count > WARM and self.began:
                kind = self.depth if self.what == WITH else self.what
                self.blocks[-1].append((kind, now - self.began, self.own))
            session = monitor._training.session
            self.began, self.own = now, 0.0
            if self.count == WARM:
                self.until, self.cpu = now + SECONDS, session.desk.cpu
            if self.count >= WARM and (self.count - WARM) % BLOCK == 0:
                self.order = self.order or [WITH, WITHOUT, WITH, CONTROL]
                self.what = self.order.pop(0)
                self.blocks.append([])
                self.began = 0.0  # the first step of a block still has the other one in its caches
                session.pause()
            self.count += 1
            if self.what == WITH:
                before = time.perf_counter()
                monitor.on_train_step_begin(run_context)
                self.own += time.perf_counter() - before
                training = monitor._training
                self.depth = (
                    "deep" if training.deep else "light" if training._step is not None else "none"
                )

        def on_train_step_end(self, run_context: Any) -> None:
            if self.what == WITH:
                before = time.perf_counter()
                monitor.on_train_step_end(run_context)
                self.own += time.perf_counter() - before
            if self.until and time.perf_counter() > self.until:
                self.threads = (monitor._training.session.desk.cpu - self.cpu) / (SECONDS / 2)
                self.until = 0.0
                run_context.request_stop()

        def on_train_end(self, run_context: Any) -> None:
            monitor.on_train_end(run_context)

    return Turns()


def judged(blocks: list[Block], threads: float) -> dict[str, Any]:
    """Shares of a step without the monitor."""
    beside = [around(blocks, at) for at in range(len(blocks))]
    steps = [
        (kind, seconds / plain, own / plain)
        for block, plain in zip(blocks, beside, strict=True)
        for kind, seconds, own in block
    ]
    watched = [each for each in steps if each[0] in DEPTHS]
    deep = [ratio - 1 for kind, ratio, _ in watched if kind == "deep"]
    points = sum(kind != "none" for kind, _, _ in watched)
    own = sum(own for kind, _, own in watched if kind != "deep")
    longer = len(deep) * max(statistics.median(deep), 0.0) if deep else 0.0
    seconds = [each for block in blocks for kind, each, _ in block if kind == WITHOUT]
    return {
        "steps": len(steps),
        "ms": 1e3 * statistics.median(seconds),
        "callbacks": own / len(watched),
        "deep": longer / len(watched),
        "threads": threads,
        "ratio": middle(blocks, DEPTHS, 1),
        "control": middle(blocks, (CONTROL,), 2),
        "points_every": len(watched) / max(points, 1),
        "deep_every": len(watched) / max(len(deep), 1),
    }


def around(blocks: list[Block], at: int) -> float:
    """Median step without the monitor of the blocks before and after one."""
    # With, without, with, control, …: next to each are two without the monitor, next to these two
    # with it, and then again two without.
    far = 2 if blocks[at] and blocks[at][0][0] in (WITHOUT, CONTROL) else 1
    places = [place for place in (at - far, at + far) if 0 <= place < len(blocks)]
    return statistics.median(seconds for place in places for _, seconds, _ in blocks[place])


def middle(blocks: list[Block], kinds: tuple[str, ...], after: int) -> tuple[float, float, float]:
    """The median ratio of such blocks to the one so many blocks later, which is without the
    monitor, and its 95 % interval."""
    ratios = [
        statistics.fmean(seconds for _, seconds, _ in block)
        / statistics.fmean(seconds for _, seconds, _ in later)
        for block, later in zip(blocks, blocks[after:], strict=False)
        if block and block[0][0] in kinds and later
    ]
    random = Random(1)
    again = [statistics.median(random.choices(ratios, k=len(ratios))) for _ in range(999)]
    low, high = sorted(again)[24], sorted(again)[974]
    return statistics.median(ratios), low, high


def main() -> None:
    """Each network in each mode in a process of its own, or the one that is named."""
    if len(sys.argv) == 3:
        print(json.dumps(measure(sys.argv[1], sys.argv[2])))
        return
    rows = []
    for name, words in NETWORKS.items():
        for mode in MODES:
            done = subprocess.run(
                [sys.executable, "-m", "benchmarks.train", name, mode],
                env=os.environ | {"OMP_NUM_THREADS": "1"},
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                check=True,
                text=True,
            )
            found = json.loads(done.stdout.splitlines()[-1])
            rows.append(row(words, mode, found))
            print(rows[-1], flush=True)
    put(DOCUMENT, "# Performance", "training", "Training", "\n".join([*HEAD, *rows]))


HEAD = (
    "`make bench-train`: what `TrainingMonitor` adds to a training step at its defaults, as a "
    f"share of the step (batch {BATCH}, one thread for operators). Blocks of {BLOCK} steps with "
    f"and without it take turns in one training for {SECONDS:.0f} s. Added is the time in its "
    "callbacks, how much longer steps take whose gradients are looked at, and all that its threads "
    "use of the processor. The ratio is that of whole steps to those just after them without the "
    "monitor, with its 95 % interval; the control is the same ratio of steps without the monitor, "
    "and shows what this machine can tell.",
    "",
    f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}.",
    "",
    "| network | mode | step | callbacks | gradients | threads | added | ratio of steps | control "
    "| a point every | gradients every | steps timed |",
    "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
)


def row(words: str, mode: str, found: dict[str, Any]) -> str:
    """A line of the table."""
    parts = [found[name] for name in ("callbacks", "deep", "threads")]
    cells = [words, mode, f"{found['ms']:.1f} ms", *(f"{each:.2%}" for each in parts)]
    cells += [f"**{sum(parts):.2%}**"]
    for name in ("ratio", "control"):
        ratio, low, high = found[name]
        cells.append(f"{ratio:.3f} ({low:.3f} to {high:.3f})")
    cells += [f"{found[name]:.0f} steps" for name in ("points_every", "deep_every")]
    return "| " + " | ".join([*cells, f"{found['steps']:,}"]) + " |"


if __name__ == "__main__":
    main()
