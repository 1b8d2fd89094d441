"""The commands in the report can be pasted."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from driftline.train_side.monitor import TrainingMonitor
from driftline.train_side.settings import MonitorSettings, Sampling
from driftline.train_side.sinks import Sink, TensorBoard


def commands(folder: Path, sinks: Sequence[Sink]) -> list[list[str]]:
    settings = MonitorSettings(sampling=Sampling(every=1))
    with TrainingMonitor(folder, sinks=sinks, settings=settings).loop() as loop:
        loop.step(loss=1.0)
    report = (folder / "training_report.md").read_text(encoding="utf-8")
    return [shlex.split(line) for line in report.split("```sh\n")[1].split("\n```")[0].splitlines()]


def test_a_folder_with_a_space_and_a_quote_is_one_word(tmp_path: Path) -> None:
    folder = tmp_path / "my run's $HOME"
    first, second = commands(folder, [TensorBoard()])
    assert first == ["tensorboard", "--logdir", str(folder / "tensorboard")]
    assert second == ["less", f"{folder}/journal-*.jsonl"]


def test_what_was_not_written_is_not_to_be_opened(tmp_path: Path) -> None:
    assert [words[0] for words in commands(tmp_path / "run", ())] == ["less"]
