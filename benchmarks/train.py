"""What `TrainingMonitor` adds to a training step at its defaults.

Blocks of steps with the monitor, without it, and without it once more take turns in one training,
so that a slow moment of the machine falls on all of them; the second one without it is the control.
Each step is timed from its begin to the begin of the next one.

Other programs on the machine only ever add time, so what a step takes is the twentieth percentile
of its kind: not looked at, looked at, looked at deeply, without the monitor. A step with the
monitor is the mean of its three kinds, as often as each occurs. What the monitor's own threads use
of the processor, as a share of the time by the clock, is added in full, though most of it runs
while the training waits; all of it is booked to the half of the time in which the monitor is on.

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
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

DOCUMENT = Path("docs/performance.md")
BEGIN, END = "<!-- training: begin -->", "<!-- training: end -->"
NETWORKS = {"mlp-1m": "MLP, 1.1 M", "mlp-10m": "MLP, 10 M", "cnn": "CNN, 0.8 M"}
MODES = ("graph", "pynative")
WARM, BLOCK, SECONDS, BATCH = 200, 20, 75.0, 64
WITH, WITHOUT, CONTROL = "with", "without", "control"
DEPTHS = ("none", "light", "deep")


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
    return judged(turns.steps, turns.threads)


def turning(monitor: Any) -> Any:
    """A callback that lets the monitor see every third block only, and times each step."""
    from mindspore.train.callback import Callback

    class Turns(Callback):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.steps: dict[str, list[float]] = {}
            self.threads = 0.0
            self.count = 0
            self.what, self.depth = WITH, "none"
            self.began = self.until = self.cpu = 0.0
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
                self.steps.setdefault(kind, []).append(now - self.began)
            session = monitor._training.session
            self.began = now
            if self.count == WARM:
                self.until, self.cpu = now + SECONDS, session.desk.cpu
            if self.count >= WARM and (self.count - WARM) % BLOCK == 0:
                self.order = self.order or [WITH, WITHOUT, WITH, CONTROL]
                self.what = self.order.pop(0)
                self.began = 0.0  # the first step of a block still has the other one in its caches
                session.pause()
            self.count += 1
            if self.what == WITH:
                monitor.on_train_step_begin(run_context)
                training = monitor._training
                self.depth = (
                    "deep" if training.deep else "light" if training._step is not None else "none"
                )

        def on_train_step_end(self, run_context: Any) -> None:
            if self.what == WITH:
                monitor.on_train_step_end(run_context)
            if self.until and time.perf_counter() > self.until:
                self.threads = (monitor._training.session.desk.cpu - self.cpu) / (SECONDS / 2)
                self.until = 0.0
                run_context.request_stop()

        def on_train_end(self, run_context: Any) -> None:
            monitor.on_train_end(run_context)

    return Turns()


def judged(steps: dict[str, list[float]], threads: float) -> dict[str, Any]:
    """Shares of a step without the monitor."""
    plain = usual(steps[WITHOUT])
    watched = sum(len(steps.get(depth, ())) for depth in DEPTHS)
    mean = sum(len(each) * usual(each) for depth in DEPTHS if (each := steps.get(depth))) / watched
    return {
        "steps": sum(map(len, steps.values())),
        "ms": 1e3 * plain,
        "training": mean / plain - 1,
        "threads": threads,
        "control": usual(steps[CONTROL]) / plain - 1,
        "every": watched / max(watched - len(steps.get("none", ())), 1),
        "kinds": {kind: (len(each), round(1e3 * usual(each), 3)) for kind, each in steps.items()},
        "deep": watched / max(len(steps.get("deep", ())), 1),
    }


def usual(seconds: Sequence[float]) -> float:
    """What such a step takes when nothing else runs: the twentieth percentile."""
    if len(seconds) < 5:
        return statistics.median(seconds)
    return statistics.quantiles(seconds, n=5)[0]


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
    "`make bench-train`: what `TrainingMonitor` adds to a training step at its defaults, as a "
    f"share of the step (batch {BATCH}, one thread for operators). Blocks of {BLOCK} steps with "
    f"and without it take turns in one training for {SECONDS:.0f} s; steps are compared by the "
    "twentieth percentile of each kind, since other programs only add time. The control is the "
    "same comparison of blocks without the monitor with others without it: so much the machine "
    "itself makes of nothing.",
    "",
    f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}.",
    "",
    "| network | mode | step | in the training | in its threads | added | control | a point every "
    "| gradients every | steps timed |",
    "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
)


def row(words: str, mode: str, found: dict[str, Any]) -> str:
    """A line of the table."""
    added = found["training"] + found["threads"]
    shares = [f"{each:+.2%}" for each in (found["training"], found["threads"])]
    cells = [words, mode, f"{found['ms']:.2f} ms", *shares, f"**{added:+.2%}**"]
    cells += [f"{found['control']:+.2%}", f"{found['every']:.1f} steps"]
    cells += [f"{found['deep']:.0f} steps", f"{found['steps']:,}"]
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
