"""Kill -9, a full disk, an unwritable folder, with the sinks that everybody has."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from watched import Trained, train, until

from driftline.train_side.monitor import TrainingMonitor
from driftline.train_side.point import Start
from driftline.train_side.reading import read_journal

pytestmark = pytest.mark.slow

LOOP = """
import resource, sys, time
from pathlib import Path
from driftline.train_side.monitor import TrainingMonitor
folder, steps, largest = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
if largest:
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest, resource.RLIM_INFINITY))
losses = []
with TrainingMonitor(folder).loop() as loop:
    for step in range(1, steps + 1):
        losses.append(1.0 / step)
        loop.step(loss=losses[-1])
        time.sleep(0.001)
        print(step, flush=True)
assert len(losses) == steps
print("done", flush=True)
"""


def started(folder: Path, steps: int, largest: int = 0) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", LOOP, str(folder), str(steps), str(largest)],
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


def tensorboard(folder: Path) -> list[int]:
    reader = EventAccumulator(str(folder / "tensorboard"))
    reader.Reload()
    return [each.step for each in reader.Scalars("loss")]


def test_kill_9(tmp_path: Path) -> None:
    """What stands in the files is whole, and the next process goes on with all of them."""
    with started(tmp_path, 10**6) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if int(line) == 200:
                break
        journalled = Trained([], [], {}, tmp_path)
        until(lambda: len(journalled.series("loss")) >= 100)
        process.send_signal(signal.SIGKILL)
        process.stdout.read()
        assert process.wait(30) == -signal.SIGKILL
    first = list(journalled.series("loss"))
    assert first[:100] == list(range(1, 101))
    with TrainingMonitor(tmp_path).loop() as loop:
        for _ in range(5):
            loop.step(loss=0.5)
    steps = list(journalled.series("loss"))
    last = max(first)
    assert steps == [*first, *range(last + 1, last + 6)]
    assert tensorboard(tmp_path)[-5:] == steps[-5:]
    starts = [each for each in read_journal(tmp_path) if isinstance(each, Start)]
    assert starts[1].resumed_after == last
    report = (tmp_path / "training_report.md").read_text(encoding="utf-8")
    assert f"stopped without an end after step {last}" in report


def test_a_full_disk(tmp_path: Path) -> None:
    """No file may grow beyond some bytes; the loop does not notice."""
    with started(tmp_path, 300, largest=3000) as process:
        told, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    assert told.endswith("done\n")
    steps = list(Trained([], [], {}, tmp_path).series("loss"))
    assert steps == list(range(1, len(steps) + 1))
    assert steps


def test_an_unwritable_folder(tmp_path: Path, graph: None) -> None:
    (tmp_path / "file").write_text("in the way")
    alone = train(tmp_path / "alone", watched=False, epochs=1)
    monitor = TrainingMonitor(tmp_path / "file" / "run")
    watched = train(tmp_path / "watched", watched=False, epochs=1, callbacks=[monitor])
    assert watched.losses == alone.losses
    health = monitor.health()
    assert health is not None
    assert health.steps == 10
