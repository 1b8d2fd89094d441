"""What `TrainingMonitor` adds to a training step at its defaults.

Blocks of steps with the monitor, without it, and without it once more take turns in one training,
so that a slow moment of the machine falls on all of them. Each block with the monitor is divided
by the one without it that follows; the second one without it is the control, which shows what the
machine's own noise makes of the same division. Two quotients are given:

- time: seconds by the clock;
- work: seconds of processor time of all threads of the process, which other programs on the
  machine add little to.

Beside them stands what can be counted: processor time in the monitor's hooks and threads, and
what reading the gradients has added to the steps that were read, as a share of all work.

The monitor's first 100 free points are taken before the first block. Console, journal and
TensorBoard files are on, as they are by default.

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
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

DOCUMENT = Path("docs/performance.md")
BEGIN, END = "<!-- training: begin -->", "<!-- training: end -->"
NETWORKS = {"mlp-1m": "MLP, 1.1 M", "mlp-10m": "MLP, 10 M", "cnn": "CNN, 0.8 M"}
MODES = ("graph", "pynative")
WARM, ROUNDS, BLOCK_SECONDS, BATCH = 160, 30, 0.8, 64
WITH, WITHOUT, CONTROL = "with", "without", "control"


def _kinds() -> dict[str, list[float]]:
    return {WITH: [], WITHOUT: [], CONTROL: []}


@dataclass
class Blocks:
    """Seconds by the clock and of the processor, a step, of each block."""

    time: dict[str, list[float]] = field(default_factory=_kinds)
    work: dict[str, list[float]] = field(default_factory=_kinds)


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
    x = random.normal(size=(BATCH * 20, 1, 28, 28)).astype(np.float32)
    y = random.integers(0, 10, size=BATCH * 20).astype(np.int32)
    data = NumpySlicesDataset((x, y), shuffle=False).batch(BATCH).repeat(100_000)
    model_of = network(name)
    optimizer = nn.Momentum(model_of.trainable_params(), 0.01, 0.9)
    loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    model = ms.Model(model_of, loss, optimizer)

    with tempfile.TemporaryDirectory() as folder:
        monitor = TrainingMonitor(Path(folder) / "run")
        turns = turning(monitor)
        model.train(1, data, callbacks=[turns])
    blocks: Blocks = turns.blocks
    record = turns.record
    return {
        "steps": turns.block,
        "ms": 1e3 * statistics.median(blocks.time[WITHOUT]),
        "time": quotients(blocks.time),
        "work": quotients(blocks.work),
        "counted": turns.share,
        "every": turns.watched / max(record[0], 1),
        "deep": turns.watched / max(record[1], 1),
    }


def turning(monitor: Any) -> Any:
    """A callback that lets the monitor see every third block only."""
    from mindspore.train.callback import Callback

    class Turns(Callback):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.blocks = Blocks()
            self.block = self.count = self.watched = 0
            self.record = self.first = (0, 0)
            self.counted = self.elsewhere = self.share = 0.0
            self.what = WITH
            self.order: list[str] = []
            self.began = (0.0, 0.0)

        def __enter__(self) -> Any:
            monitor.__enter__()
            return self

        def __exit__(self, *error: object) -> None:
            monitor.__exit__(*error)

        def on_train_begin(self, run_context: Any) -> None:
            monitor.on_train_begin(run_context)
            self.began = now()

        def on_train_step_begin(self, run_context: Any) -> None:
            if self.what == WITH:
                began = time.thread_time()
                monitor.on_train_step_begin(run_context)
                self.counted += time.thread_time() - began

        def on_train_step_end(self, run_context: Any) -> None:
            if self.what == WITH:
                began = time.thread_time()
                monitor.on_train_step_end(run_context)
                self.counted += time.thread_time() - began
            self.count += 1
            if not self.block:
                if self.count == WARM // 2:
                    self.began = now()
                elif self.count == WARM:
                    step = (now()[0] - self.began[0]) / (WARM - WARM // 2)
                    self.block = max(int(BLOCK_SECONDS / step), 20)
                    self.turn(None)
            elif self.count == self.block:
                self.turn(run_context)

        def turn(self, run_context: Any) -> None:
            """Ends a block, and begins the next one when all that was launched has run."""
            session = monitor._training.session
            taken = (session.sampler.light.taken, session.sampler.deep.taken)
            elsewhere = session.desk.cpu + session.sampler._deep_cost
            if run_context is None:
                self.first, self.elsewhere, self.counted = taken, elsewhere, 0.0
            else:
                run_context.original_args().net_outputs.asnumpy()
                seconds, work = (end - begin for end, begin in zip(now(), self.began, strict=True))
                self.blocks.time[self.what].append(seconds / self.block)
                self.blocks.work[self.what].append(work / self.block)
                if self.what == WITH:
                    self.watched += self.block
                self.record = (taken[0] - self.first[0], taken[1] - self.first[1])
                own = self.counted + elsewhere - self.elsewhere
                self.share = own / (sum(self.blocks.work[WITH]) * self.block)
            self.order = self.order or [WITH, WITHOUT, CONTROL]
            self.what = self.order.pop(0)
            session.pause()
            if len(self.blocks.time[CONTROL]) == ROUNDS and run_context is not None:
                run_context.request_stop()
            self.count = 0
            self.began = now()

        def on_train_end(self, run_context: Any) -> None:
            monitor.on_train_end(run_context)

    return Turns()


def now() -> tuple[float, float]:
    """Seconds by the clock, and of the processor."""
    return time.perf_counter(), time.process_time()


def quotients(seconds: dict[str, list[float]]) -> dict[str, list[float]]:
    """Quartiles of with / without, and of control / without."""
    found = {}
    for what in (WITH, CONTROL):
        ratios = [a / b for a, b in zip(seconds[what], seconds[WITHOUT], strict=False)]
        found[what] = statistics.quantiles(ratios, n=4)
    return found


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
    write("\n".join([*HEAD, *rows]))


HEAD = (
    "## Training",
    "",
    "`make bench-train`: what `TrainingMonitor` adds to a step at its defaults. Blocks with and "
    f"without it take turns in one training ({ROUNDS} of each, {BLOCK_SECONDS} s long, batch "
    f"{BATCH}, one thread for operators); given are the median quotients of neighbouring blocks "
    "and, in brackets, their quartiles. The control is a block without the monitor divided by "
    "another one without it: what differs from 1 there is the machine's noise. Work is processor "
    "time of all threads. Counted is the processor time in the monitor's hooks and threads, with "
    "what reading gradients has added to steps, as a share of all work.",
    "",
    f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}.",
    "",
    "| network | mode | step | time with / without | control | work with / without | control "
    "| counted | a point every | gradients every |",
    "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
)


def row(words: str, mode: str, found: dict[str, Any]) -> str:
    """A line of the table."""
    cells = [words, mode, f"{found['ms']:.2f} ms"]
    for what in ("time", "work"):
        for which in (WITH, CONTROL):
            low, middle, high = found[what][which]
            cells.append(f"{middle:.3f} ({low:.3f}–{high:.3f})")
    cells.append(f"{found['counted']:.2%}")
    cells += [f"{found['every']:.1f} steps", f"{found['deep']:.0f} steps"]
    return "| " + " | ".join(cells) + " |"


def write(text: str) -> None:
    """Puts the table between its markers, and makes these where they are not there yet."""
    old = DOCUMENT.read_text() if DOCUMENT.exists() else "# Performance\n"
    before, _, rest = old.partition(BEGIN)
    _, _, after = rest.partition(END)
    if BEGIN not in old:
        before, after = old.rstrip("\n") + "\n\n", "\n"
    DOCUMENT.parent.mkdir(exist_ok=True)
    DOCUMENT.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}")


if __name__ == "__main__":
    main()
