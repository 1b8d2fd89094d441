"""A run that several trainings or processes continue is told as one."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from watched import Trained, dataset, rows, train

from driftline.metadata.extract import Classification, Tabular
from driftline.metadata.package import ModelPackage
from driftline.train_side import restoring
from driftline.train_side.fingerprint import FingerprintCallback
from driftline.train_side.monitor import TrainingMonitor
from driftline.train_side.point import Saved
from driftline.train_side.reading import read_journal
from driftline.train_side.record import Record
from driftline.train_side.settings import MonitorSettings, Sampling

SETTINGS = MonitorSettings(sampling=Sampling(every=1))
X, Y = rows(16)


def monitor_of(folder: Path, **arguments: Any) -> TrainingMonitor:
    return TrainingMonitor(folder, sinks=(), settings=SETTINGS, **arguments)


def live(monitor: TrainingMonitor, *, epochs: int = 1, nan: int = 0, dies: bool = False) -> None:
    """Epochs of ten steps; step `nan` has no number as its loss."""
    with monitor.loop() as loop:
        for epoch in range(1, epochs + 1):
            for step in range(1, 11):
                loss = math.nan if step == nan else 1.0 / step
                loop.step(loss=loss, inputs=X, labels=Y)
            if dies and epoch == epochs:
                raise RuntimeError("planted")
            loop.add_metric("bleu", 0.1 * epoch)
            loop.epoch()


def report(folder: Path) -> str:
    return (folder / "training_report.md").read_text(encoding="utf-8")


def test_two_trainings_of_one_monitor_are_one_run(tmp_path: Path) -> None:
    monitor = monitor_of(tmp_path)
    live(monitor, nan=5)
    first = monitor.health()
    live(monitor)
    health = monitor.health()
    assert first is not None
    assert health is not None
    assert (health.steps, health.epochs, health.rows_seen) == (20, 2, 320)
    assert len(health.loss_by_epoch) == 2
    assert health.finite is False
    assert [(each.rule, each.step) for each in health.events] == [("non_finite", 5)]
    assert health.seconds > first.seconds
    assert "| steps | 20 in 2 epochs |" in report(tmp_path)
    assert "| 5 | non_finite | critical |" in report(tmp_path)


def test_a_run_that_cannot_be_written_is_one_run_too(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    monitor = monitor_of(tmp_path / "file" / "run")
    live(monitor, nan=5)
    live(monitor)
    health = monitor.health()
    assert health is not None
    assert (health.steps, health.epochs, health.rows_seen) == (20, 2, 320)
    assert [(each.rule, each.step) for each in health.events] == [("non_finite", 5)]


def test_what_a_process_before_found_is_told(tmp_path: Path) -> None:
    """The second process knows of it from the journal alone."""
    with pytest.raises(RuntimeError):
        live(monitor_of(tmp_path), epochs=3, nan=5, dies=True)
    monitor = monitor_of(tmp_path)
    live(monitor, epochs=2)
    health = monitor.health()
    assert health is not None
    assert (health.steps, health.epochs, health.rows_seen) == (50, 4, 800)
    assert health.finite is False
    assert [(each.rule, each.step) for each in health.events] == [("non_finite", 5)]
    trained = Trained([], [], {}, tmp_path)
    assert set(trained.series("epoch").values()) == {1.0, 2.0, 3.0, 4.0}
    ends = [each.epoch for each in trained.points() if each.source == "epoch"]
    assert ends == [1, 2, 3, 4]
    assert "| steps | 50 in 4 epochs |" in report(tmp_path)
    assert "| 5 | non_finite | critical |" in report(tmp_path)
    assert "ended after step 30" in report(tmp_path)


def test_a_record_read_back_is_the_one_that_was(tmp_path: Path) -> None:
    monitor = monitor_of(tmp_path)
    live(monitor, epochs=3, nan=7)
    kept = monitor._past
    assert kept is not None
    found = Record()
    restoring.restore(found, tmp_path, 10**9)
    for name in ("step", "samples", "notices", "rows_before", "metrics"):
        assert getattr(found, name) == getattr(kept, name), name
    assert found.epochs.closed == kept.epochs.closed
    assert found.latest() == pytest.approx(kept.latest())
    for mine, theirs in zip(found.losses.series(), kept.losses.series(), strict=True):
        assert mine.tolist() == theirs.tolist()
    assert found.seconds_before == pytest.approx(kept.seconds_before, abs=1.0)


def test_of_a_long_journal_only_the_newest_points_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(restoring, "WHOLE", 0)
    monitor = monitor_of(tmp_path)
    live(monitor, epochs=3, nan=7)
    kept = monitor._past
    assert kept is not None
    found = Record()
    restoring.restore(found, tmp_path, 10**9)
    assert found.samples == 0
    assert found.notices == kept.notices
    assert found.epochs.count == 3
    for mine, theirs in zip(found.epochs.closed, kept.epochs.closed, strict=True):
        assert mine.loss.mean == pytest.approx(theirs.loss.mean)
        assert mine.loss.sd == pytest.approx(theirs.loss.sd)


def test_checkpoints_of_a_life_before_are_in_the_report(tmp_path: Path) -> None:
    path = tmp_path / "net.ckpt"
    path.write_bytes(b"")

    def saves() -> None:
        with monitor_of(tmp_path / "run").loop() as loop:
            loop.step(loss=0.25)
            loop.checkpoint(path)
            raise RuntimeError("planted")

    with pytest.raises(RuntimeError):
        saves()
    assert [each.path for each in read_journal(tmp_path / "run") if isinstance(each, Saved)]
    live(monitor_of(tmp_path / "run"))
    assert f"| `{path}` | 1 | 0.25 | best |" in report(tmp_path / "run")


@pytest.mark.slow
def test_the_package_holds_the_whole_run(tmp_path: Path, graph: None) -> None:
    fingerprint = FingerprintCallback(
        tmp_path / "package",
        inputs=Tabular(fields=tuple(f"x{index}" for index in range(12))),
        task=Classification(classes=("a", "b", "c")),
        model_name="rows",
        reference=[rows(200, seed=5)],
    )
    trained = train(tmp_path / "run", epochs=1)
    trained.model.train(1, dataset(), callbacks=[trained.monitor, fingerprint])
    metadata = ModelPackage.open(tmp_path / "package").metadata
    health = metadata.health
    assert health is not None
    assert metadata.loss_curve is not None
    assert metadata.loss_curve.points == 20
    assert (health.steps, health.epochs, health.rows_seen) == (20, 2, 320)
    assert len(health.loss_by_epoch) == 2
